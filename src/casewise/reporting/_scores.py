"""Columns and names that all tables of scores share, and remarks on scores."""

from collections.abc import Callable, Sequence

from casewise.choices import Measure, View
from casewise.dataset import plural
from casewise.measures import in_view
from casewise.reporting._wording import wording
from casewise.scores import (
    LEAST_EFFECTIVE,
    PROVISIONAL,
    Score,
    cut_note,
    is_provisional,
    mass_warning,
    rules_note,
    uneven_measures,
)
from casewise.sheets import Cell, Column, Kind, number

ScoreColumn = tuple[Column, Callable[[Score], Cell]]
"""A column, and a function from a score to its cell."""


def baseline_text(score: Score) -> str:
    """A baseline's name in plain words."""
    name = score.condition.model.removeprefix("baseline:").replace("-", " ")
    if score.condition.of is not None:
        return f"{name}: {score.condition.of} ({score.condition.text})"
    return name


def title(scores: Sequence[Score]) -> str:
    """Title: labels that the scores are measured against, and what unread answers count as."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = wording(*scores).against
    policies = " and ".join(dict.fromkeys(str(score.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


def number_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of judging, the interval beside the first."""
    headline, *others = rows
    return [
        *answer_counts("read"),
        *interval_columns(headline),
        *map(measure_column, others),
    ]


def answer_counts(read: str) -> list[ScoreColumn]:
    """Columns for the number of answers, and the share that was read or graded."""
    return [
        (Column("n", Kind.COUNT), lambda score: score.n),
        (Column(read, Kind.SHARE), lambda score: score.coverage),
    ]


def pair_counts() -> list[ScoreColumn]:
    """Columns for the number of queries with pairs of contexts, and of pairs."""
    return [
        (Column("queries", Kind.COUNT), lambda score: score.paired_queries),
        (Column("pairs", Kind.COUNT), lambda score: score.pairs),
    ]


def context_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of the two contexts of a query."""
    return [*pair_counts(), *map(measure_column, rows)]


def of_contexts(scores: Sequence[Score]) -> list[tuple[str, list[Score], list[ScoreColumn]]]:
    """Heading, rows and columns of tables on any number of contexts, and on seeing one, if any."""
    return [
        (view.value, rows, [queries_of(view), *map(measure_column, in_view(view))])
        for view in (View.CONTEXTS, View.SEEN)
        if (rows := [one for one in scores if not one.group and has_view(one, view)])
    ]


def queries_of(view: View) -> ScoreColumn:
    """Column for the number of queries that a table on contexts rests on."""
    flips = {View.CONTEXTS: "model_flips", View.SEEN: "seen_flips"}[view]
    return Column("queries", Kind.COUNT), lambda score: score.measures[flips].clusters


def has_view(score: Score, view: View) -> bool:
    """Tell whether the measures of a table apply to the cases of a score."""
    return all(row.name in score.measures for row in in_view(view))


def measure_column(row: Measure) -> ScoreColumn:
    """A column of a measure."""
    return Column(row.heading, Kind.NUMBER), lambda score: score.measures[row.name].value


def interval_columns(row: Measure) -> list[ScoreColumn]:
    """Columns for a measure and its interval."""
    ends = Column("95 %", Kind.INTERVAL), lambda score: score.measures[row.name].interval
    return [measure_column(row), ends]


def group_text(score: Score) -> str:
    """Values of the group that a score is split to; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    words = {"appropriate": "the share that is appropriate"}.get(
        name, f"the {name.replace('_', '-')}"
    )
    return f"{words} anywhere from {number(ends[0])} to {number(ends[1])}"


def kind_of(score: Score) -> str:
    """Heading for a score: ``As a judge``, ``In action``, and whether it is provisional."""
    if not score.acts:
        return "As a judge"
    return f"In action ({PROVISIONAL})" if is_provisional(score) else "In action"


def provisional_note(scores: Sequence[Score]) -> str:
    """Pointer to ``rules_remark`` at the top of a page; empty where no rules graded."""
    if not any(map(is_provisional, scores)):
        return ""
    return f"Rates of replies that rules graded are {PROVISIONAL}: see the top of the page."


def rules_remark(scores: Sequence[Score]) -> str:
    """Reliability of the rules that graded replies; empty where they graded none."""
    ruled = [score for score in scores if is_provisional(score)]
    if not ruled:
        return ""
    if all(is_provisional(score) for score in scores if score.acts):
        return rules_note()
    names = [score.condition.title for score in ruled]
    return rules_note(list(dict.fromkeys(names)))


def run_warnings(scores: Sequence[Score]) -> list[str]:
    """Warnings for all that show numbers: of doubtful probabilities, cut answers, few queries."""
    return [*mass_warnings(scores), *cut_notes(scores), *uneven_notes(scores)]


def mass_warnings(scores: Sequence[Score]) -> list[str]:
    """A warning for each score whose probabilities mean little."""
    found = (mass_warning(one.condition.title, one.mass) for one in scores)
    return [line for line in found if line is not None]


def cut_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score some of whose answers a token limit ended."""
    found = (cut_note(one.condition.title, one.cut, acts=one.acts) for one in scores)
    return [line for line in found if line is not None]


def uneven_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score with measures whose queries weigh too unequally for an interval."""
    lines = []
    for score in scores:
        uneven = uneven_measures(score)
        if uneven and not score.group:
            least = min(one.effective for one in uneven.values())
            names = ", ".join(name.replace("_", " ") for name in uneven)
            lines.append(
                f"{score.condition.title}: no interval for {names}: a few queries outweigh the "
                f"others (as few as {least:.1f} effective queries; an interval takes "
                f"{LEAST_EFFECTIVE:g})."
            )
    return lines


def state_lines(scores: Sequence[Score]) -> list[str]:
    """First lines of every view: runs that ended early or had errors, a line each."""
    states = [(one, one.state.sentence) for one in scores if one.state is not None]
    return [f"{one.condition.title}: {said}." for one, said in states if said]


def remarks(scores: Sequence[Score]) -> list[str]:
    """Notes on the numbers, a line each."""
    lines = []
    for score in scores:
        name = score.condition.title
        called = score.classes.get("tool_call", 0)
        if score.coverage < 1 or called:
            unread = [f"{n} {what}" for what, n in score.statuses.items() if what != "ok"]
            if called:
                unread.append(plural(called, "tool call"))
            lines.append(
                f"{name}: {', '.join(unread)} of {score.n}; counted one way or the other, they "
                "would put " + " and ".join(_bound_text(*one) for one in score.bounds.items()) + "."
            )
        if score.partly:
            classes = [f"{n} {what.replace('_', ' ')}" for what, n in score.partly.items()]
            lines.append(
                f"{name}: to {sum(score.partly.values())} requests that the deployment allows in "
                f"part: {', '.join(classes)}."
            )
        elif score.label_coverage < 1:
            lines.append(
                f"{name}: {number(score.label_coverage)} of the judgements have a label under "
                f"the rule '{score.labels}'; the others are left out."
            )
        lines += run_warnings([score])
        if score.condition.model == "casewise/smollm2":
            lines.append(
                f"{name}: the embedded model shows that everything works; it judges at chance."
            )
    lines += [line for line in (rules_remark(scores),) if line]
    data = [score.condition.data_text for score in scores if score.condition.dataset_hash]
    if data:
        lines.append(f"Cases: {'; '.join(dict.fromkeys(data))}.")
    return list(dict.fromkeys(lines))
