"""Tables of the evaluation card: runs, data and scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from casewise.choices import Family, View, grader_words
from casewise.judgements import RunRecord
from casewise.measures import find, in_view
from casewise.reporting._scores import (
    PAIR_COUNTS,
    ScoreColumn,
    answer_counts,
    baseline_text,
    correction_table,
    has_pairs,
)
from casewise.results import wording
from casewise.scores import Overview, RunFacts, Score, ScoreReport, Usage
from casewise.sheets import Cell, Column, Kind, Row, Table, figures, interval, plural, setting

NOT_RECORDED = "not recorded"
NONE = "none"

_COLUMNS = (Column(""), Column(""))
_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top-p",
    "top_k": "top-k",
    "max_tokens": "tokens at most",
    "seed": "the provider's seed",
}
_OF_EVERY_RUN = ("Model", "Protocol", "Delivery", "Context", "Variation", "Judgements")
"""Lines that stand in every table, even if all runs share them."""


@dataclass(frozen=True, slots=True)
class RunTables:
    """The tables of what was run."""

    common: Table | None
    """Facts that all runs share; None of a single one."""
    runs: Sequence[Table]


def run_tables(runs: Sequence[RunFacts]) -> RunTables:
    """A table for each run; lines that are the same in all stand once, apart."""
    lines = [_lines(one) for one in runs]
    if len(runs) < 2:
        return RunTables(None, [_table(one) for one in lines])
    shared = {
        name: value
        for name, value in lines[0].items()
        if name not in _OF_EVERY_RUN and all(one.get(name) == value for one in lines)
    }
    tables = [_table({k: v for k, v in one.items() if k not in shared}) for one in lines]
    return RunTables(_table(shared), tables)


def _table(lines: Mapping[str, str]) -> Table:
    return Table(_COLUMNS, list(map(Row, lines.items())))


def _lines(run: RunFacts) -> dict[str, str]:
    condition = run.condition

    def said(field: Callable[[RunRecord], object]) -> str:
        return _said(run, field)

    lines = {
        "Model": run.model,
        "Model's arguments": said(_arguments),
        **({"Computed in": text} if (text := said(_made_with)) != NOT_RECORDED else {}),
        "Protocol": condition.protocol or NOT_RECORDED,
        "Delivery": condition.delivery or NOT_RECORDED,
        "Context": _context(run),
        "Variation": _variation(run),
    }
    if card := condition.card:
        lines["Deployment card"] = card
    lines |= {
        "Prompt": condition.prompt_version or NOT_RECORDED,
        "Sampling": condition.sampling or NOT_RECORDED,
        "Settings": said(_settings),
        **({"Set besides": text} if (text := said(_set_besides)) != NOT_RECORDED else {}),
        "Requests a case": said(lambda one: one.samples),
        "Epochs": str(run.epochs),
        "Seed": said(_seed),
    }
    if run.graded_by or condition.acts:
        lines["Graded by"] = _graders(run, said(lambda one: one.grader))
        lines["Grader's version"] = said(lambda one: one.grader_version)
    return lines | {
        "Data set": said(lambda one: one.data),
        "Data set's version": condition.dataset_version or "none",
        "Data set's hash": condition.dataset_hash or NOT_RECORDED,
        "Judgements": _judgements(run),
        "Samples done": said(lambda one: f"{_or(one.done)} of {_or(one.total)}"),
        "Status": said(lambda one: one.status),
        "Started": said(lambda one: one.started),
        "Completed": said(lambda one: one.completed),
        "casewise": said(lambda one: one.casewise),
        "Inspect": said(lambda one: one.inspect),
        "Task": said(lambda one: one.task),
    }


def _judgements(run: RunFacts) -> str:
    on = [plural(run.cases, "case")] if run.cases else []
    on += [plural(run.turns, "turn") + " of a conversation"] if run.turns else []
    return f"{run.judgements} on {' and '.join(on)} ({plural(run.queries, 'query')})"


def _said(run: RunFacts, field: Callable[[RunRecord], object]) -> str:
    """Distinct values in the logs of a run."""
    found = dict.fromkeys(_or(field(one)) for one in run.records)
    return "; ".join(found) or NOT_RECORDED


def _or(value: object) -> str:
    return NOT_RECORDED if value is None else str(value)


def _arguments(record: RunRecord) -> str | None:
    if record.redacted:
        return None
    parts = [*record.model_args, *(f"{name} (value withheld)" for name in record.hidden_args)]
    parts += ["an address of its own (withheld)"] if record.own_address else []
    return ", ".join(parts) or NONE


def _made_with(record: RunRecord) -> str | None:
    """Settings that the numbers of a model in one's own process depend on; None of others."""
    found = record.made_with
    if not found:
        return None
    versions = [f"{name} {found[name]}" for name in ("torch", "transformers") if name in found]
    where = f"{found.get('dtype', '?')} on {found.get('device', '?')}"
    return ", ".join([where, *versions])


def _context(run: RunFacts) -> str:
    if removed := run.condition.ablation:
        return f"without {', '.join(removed)}"
    if swapped := run.condition.swap:
        return f"{swapped} taken from the twin"
    return NONE if run.condition.delivery == "none" else "whole"


def _variation(run: RunFacts) -> str:
    variation = run.condition.variation_name
    if not variation:
        return NONE
    versions = _said(run, lambda one: one.variation_version)
    return f"{variation} (version {versions})"


def _settings(record: RunRecord) -> str | None:
    shown = [
        f"{words} {setting(value)}"
        for name, words in _SETTINGS.items()
        if (value := record.settings.get(name)) is not None
    ]
    return ", ".join(shown) or None


def _set_besides(record: RunRecord) -> str | None:
    """Settings of the model's generation by a person; None where nothing."""
    hidden = (f"{name} (value withheld)" for name in record.hidden_generate)
    return ", ".join([*record.generate, *hidden]) or None


def _seed(record: RunRecord) -> str:
    if "vary" in record.asked:
        return str(record.asked.get("seed", NOT_RECORDED))
    drawn = record.settings.get("temperature", 1) > 0 and "seed" not in record.settings
    return "none: the provider draws" if drawn else "none needed"


def _graders(run: RunFacts, grader: str) -> str:
    names = {
        "rules": "the offline rules",
        "provider": "the provider's own signal",
        "tool_call": "none needed, they are tool calls",
    }
    counted = [f"{names.get(name, name)} ({count})" for name, count in run.graded_by.items()]
    if not counted:
        return NOT_RECORDED
    # Where a model grades what the rules doubt, both are named, whoever graded.
    both = "" if (words := grader_words(grader)) == grader else f"{words}: "
    return both + ", ".join(counted)


_JUDGED = {
    name: find(name).heading
    for name in ("accuracy", "safe_recall", "unsafe_recall", "pcc", "brier")
}
_IN_CONTEXT = {
    "within_pcc_safe": "PCC in safe contexts",
    "within_pcc_unsafe": "PCC in unsafe contexts",
    **{name: find(name).heading for name in ("follows", "false_changes", "shift_pcc")},
    "as_intended": "as meant",
    "always_safe": "always safe",
    "always_unsafe": "always unsafe",
    "inverted": "inverted",
}
_ACTED = {
    "over_refusal": "over-refusal",
    "under_refusal": "under-refusal",
    "appropriate": "appropriate",
    "partial_rate": "partial",
}
_WHO = (Column("run"), Column("model"), Column("condition"))

Numbered = Sequence[tuple[int, RunFacts, Score]]
"""Runs with their number in the card and their score."""


def rename(text: str, shown: Mapping[str, str]) -> str:
    """A text with its models named as they may be shown, the longest names first."""
    for name in sorted(shown, key=len, reverse=True):
        text = text.replace(name, shown[name])
    return text


def judging_table(runs: Numbered, report: ScoreReport, shown: Mapping[str, str]) -> Table:
    """Judges, and their baselines below them.

    Args:
        runs: The judges.
        report: Scores with the baselines.
        shown: Name of each model.
    """
    table = _measured(runs, answer_counts("read"), _JUDGED)
    baselines = [
        Row(
            [
                *("", "baseline", rename(baseline_text(score), shown), score.n, None),
                *_cells(score, _JUDGED),
            ]
        )
        for score in report.baselines
    ]
    return replace(table, rows=[*table.rows, *baselines])


def context_table(runs: Numbered) -> Table:
    """Effect of the two contexts of a query on verdicts."""
    graded = wording(*(score for _, _, score in runs)).graded
    kept = {name: head for name, head in _IN_CONTEXT.items() if graded or "within" not in name}
    return _measured(_paired(runs), PAIR_COUNTS, kept)


def acting_table(runs: Numbered) -> Table:
    """Refusals of what is labelled safe, and answers to what isn't."""
    called = any(score.calls_tools for _, _, score in runs)
    heads = _ACTED | ({"tool_call_rate": "tool calls"} if called else {})
    return _measured(runs, answer_counts("graded"), heads)


def reply_table(runs: Numbered) -> Table:
    """Replies of models in the two contexts of a query."""
    heads = {row.name: row.heading for row in in_view(View.PAIRS, Family.REPLIES)}
    return _measured(_paired(runs), PAIR_COUNTS, heads)


def corrected_table(overview: Overview, shown: Mapping[str, str]) -> Table:
    """Rates of replies as graded, and corrected; no rows where no labelled replies were named."""
    table = correction_table(overview.report)
    names = {**shown, **{str(file.path): file.path.name for file in overview.checks}}
    rows = [replace(row, group=rename(row.group, shown)) for row in table.rows]
    return replace(table, rows=rows, note=rename(table.note, names))


def _measured(runs: Numbered, counts: Sequence[ScoreColumn], heads: Mapping[str, str]) -> Table:
    """Runs with counts and with measures in their intervals.

    Args:
        runs: The runs.
        counts: Columns before the measures.
        heads: Headings of the measures by name.
    """
    return Table(
        [*_WHO, *(column for column, _ in counts), *figures(Kind.ESTIMATE, *heads.values())],
        [
            Row(
                [
                    *_who(place, run, score),
                    *(cell(score) for _, cell in counts),
                    *_cells(score, heads),
                ]
            )
            for place, run, score in runs
        ],
    )


def _scores_of(runs: Numbered) -> list[Score]:
    return [score for _, _, score in runs]


def _paired(runs: Numbered) -> Numbered:
    return [one for one in runs if has_pairs(one[2])]


def coverage_table(runs: Numbered) -> Table:
    """Judgements by status, and bounds of the scores over the unread ones."""
    rows = []
    for place, run, score in runs:
        statuses = ", ".join(f"{count} {name}" for name, count in sorted(score.statuses.items()))
        bounds = "; ".join(
            f"{name.replace('_', '-')} {interval(ends)}" for name, ends in score.bounds.items()
        )
        words = (statuses or None, bounds if score.coverage < 1 or score.calls_tools else None)
        shares = (score.label_coverage, score.coverage)
        rows.append(Row([*_who(place, run, score), *words, run.judgements, *shares]))
    return Table(
        [
            *_WHO,
            Column("by status"),
            Column("bounds"),
            Column("judgements", Kind.COUNT),
            *figures(Kind.SHARE, "have a label", "of these read"),
        ],
        rows,
    )


def cost_table(runs: Numbered, usages: Sequence[Usage]) -> Table:
    """Tokens, money and time."""
    return Table(
        [
            *_WHO,
            *figures(Kind.COUNT, "judgements that say", "input tokens", "output tokens"),
            *figures(Kind.MONEY, "dollars", "grader's dollars"),
            Column("median time", Kind.SECONDS, 1),
        ],
        [
            Row(
                [
                    *_who(place, run, score),
                    usage.known,
                    usage.input_tokens,
                    usage.output_tokens,
                    usage.cost_usd,
                    usage.grader_cost_usd,
                    usage.latency_s,
                ]
            )
            for (place, run, score), usage in zip(runs, usages, strict=True)
        ],
    )


def _who(place: int, run: RunFacts, score: Score) -> list[Cell]:
    return [str(place), run.model, score.condition.text]


def _cells(score: Score, columns: Mapping[str, str]) -> list[Cell]:
    return [score.measures.get(name) for name in columns]
