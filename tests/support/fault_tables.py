"""The tables of faults and of ends of runs as the documents show them."""

from casewise.evaluation.executor._ending import TABLE as ENDINGS
from casewise.evaluation.models._fault_table import TABLE, Form, Row, Then


def faults_table() -> str:
    """A line for each row: its kind, the forms in which providers say it, and what is done."""
    lines = ["| kind | said as | what is done | advice |", "|---|---|---|---|"]
    for row in TABLE:
        said = "<br>".join(map(_form, row.forms)) or "found by casewise"
        lines.append(f"| {row.kind.words} | {said} | {_then(row)} | {row.advice} |")
    return "\n".join(lines)


def _then(row: Row) -> str:
    return f"{row.then} {row.times} times" if row.then is Then.AGAIN and row.times else row.then


def _form(form: Form) -> str:
    """One form: who, the statuses, the codes without marks, a pattern of the message."""
    parts = [_span(form.status)] if form.status else []
    parts += [f"`{'`, `'.join(form.codes.values())}`"] if form.codes else []
    parts += ["words of the message" if form.words else ""]
    return f"{form.who}: {', '.join(filter(None, parts))}"


def _span(statuses: tuple[int, ...]) -> str:
    if len(statuses) > 5:
        return f"{statuses[0]} to {statuses[-1]}"
    return " or ".join(map(str, statuses))


def endings_table() -> str:
    """A line for each reason why a run ends before all is judged."""
    lines = ["| `reason` | first line | exit status |", "|---|---|---:|"]
    for row in ENDINGS:
        words = "; ".join(filter(None, (row.words, row.advice)))
        lines.append(f"| {row.reason} | {words} | {row.status} |")
    return "\n".join(lines)
