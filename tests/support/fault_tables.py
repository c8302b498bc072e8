"""The table of ends of runs as the documents show it."""

from casewise.evaluation.executor._ending import TABLE


def endings_table() -> str:
    """A line for each reason why a run ends before all is judged."""
    lines = ["| `reason` | first line | exit status |", "|---|---|---:|"]
    for row in TABLE:
        words = "; ".join(filter(None, (row.words, row.advice)))
        lines.append(f"| {row.reason} | {words} | {row.status} |")
    return "\n".join(lines)
