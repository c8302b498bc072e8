"""The words and cells that every table of scores shares, and the remarks beside the numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from casewise.dataset import plural
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
"""A column, and what makes its cells."""

HEADS = {
    "accuracy": "accu-\nracy",
    "safe_recall": "recall\nsafe",
    "unsafe_recall": "recall\nunsafe",
    "f1_safe": "F1\nsafe",
    "f1_unsafe": "F1\nunsafe",
    "pcc": "PCC",
    "bce": "BCE",
    "brier": "Brier",
}

_CONTEXT_HEADS = {
    "within_pcc_safe": "PCC in\nsafe",
    "within_pcc_unsafe": "PCC in\nunsafe",
    "ece": "ECE",
    "both_right": "both\nright",
    "rank_accuracy": "ranked\nright",
    "adapts": "as\nmeant",
    "always_safe": "always\nsafe",
    "always_unsafe": "always\nunsafe",
    "inverted": "in-\nverted",
}
"""Headings: effect of a safe and an unsafe context of a query, and how answers follow labels within
a type."""

_WITHIN_HEADS = {
    "rank_agreement": "ranked as\nlabels do",
    "pcc_within_query": "PCC in\nqueries",
    "pcc_between_queries": "PCC be-\ntween",
    "verdict_share": "variance in\nqueries",
    "vote_share": "of\nvotes",
    "model_flips": "flips",
    "people_flips": "labels\nflip",
    "missed_flips": "flips\nmissed",
    "extra_flips": "flips\nextra",
}
"""Headings: effect of any number of contexts of a query."""

_SEEN_HEADS = {
    "seen_change": "safe\nverdicts",
    "seen_people_change": "safe\nlabels",
    "seen_shift_pcc": "PCC of\nshifts",
    "seen_flips": "flips",
    "seen_people_flips": "labels\nflip",
    "seen_missed_flips": "flips\nmissed",
    "seen_extra_flips": "flips\nextra",
}
"""Headings: effect of a context against none."""

CONTEXT_TABLES = {
    "What any two contexts of a query do": _WITHIN_HEADS,
    "What seeing the context changes": _SEEN_HEADS,
}
"""Tables that only some cases have: the heading of each measure, by the table's own."""


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


def number_columns(*, wide: bool) -> list[ScoreColumn]:
    """The columns of numbers; narrow tables leave F1 out."""
    metrics = [name for name in HEADS if wide or not name.startswith("f1")]
    return [
        (Column("n", Kind.COUNT), lambda score: score.n),
        (Column("read", Kind.SHARE), lambda score: score.coverage),
        *interval_columns("accuracy", HEADS["accuracy"]),
        *(measure_column(name, HEADS[name]) for name in metrics if name != "accuracy"),
    ]


def pair_counts() -> list[ScoreColumn]:
    """The columns of how many queries have pairs of contexts, and how many pairs those are."""
    return [
        (Column("queries", Kind.COUNT), lambda score: score.paired_queries),
        (Column("pairs", Kind.COUNT), lambda score: score.pairs),
    ]


def context_columns(*, wide: bool) -> list[ScoreColumn]:
    """The columns of what the contexts do; narrow tables leave out what the others tell."""
    metrics = [name for name in _CONTEXT_HEADS if wide or name not in ("ece", "inverted")]
    return [
        *pair_counts(),
        *(measure_column(name, _CONTEXT_HEADS[name]) for name in metrics),
    ]


def of_contexts(scores: Sequence[Score]) -> list[tuple[str, list[Score], list[ScoreColumn]]]:
    """Heading, rows and columns of the tables within queries, of seeing the context; if any."""
    return [
        (heading, rows, [queries_of(heads), *(measure_column(*one) for one in heads.items())])
        for heading, heads in CONTEXT_TABLES.items()
        if (rows := [one for one in scores if not one.group and has_all(one, heads)])
    ]


def queries_of(heads: Mapping[str, str]) -> ScoreColumn:
    """The column of how many queries a table of ``CONTEXT_TABLES`` goes by."""
    (flips,) = {"model_flips", "seen_flips"} & heads.keys()
    return Column("queries", Kind.COUNT), lambda score: score.measures[flips].clusters


def has_all(score: Score, names: Iterable[str]) -> bool:
    """Tell whether these measures apply to the cases of a score."""
    return set(names) <= score.measures.keys()


def measure_column(name: str, heading: str) -> ScoreColumn:
    """A column of a measure."""
    return Column(heading, Kind.NUMBER), lambda score: score.measures[name].value


def interval_columns(name: str, heading: str) -> list[ScoreColumn]:
    """The columns of a measure and of both ends of its interval."""
    ends = Column("95 %", Kind.INTERVAL), lambda score: score.measures[name].interval
    return [measure_column(name, heading), ends]


def group_text(score: Score) -> str:
    """The value that a split stands for; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    words = {"appropriate": "the share that is appropriate"}.get(
        name, f"the {name.replace('_', '-')}"
    )
    return f"{words} anywhere from {number(ends[0])} to {number(ends[1])}"


def kind_of(score: Score) -> str:
    """Kind of a score: judging or acting, and provisional, as headings have it."""
    if not score.acts:
        return "As a judge"
    return f"In action ({PROVISIONAL})" if is_provisional(score) else "In action"


def provisional_note(scores: Sequence[Score]) -> str:
    """The short form of ``rules_remark``, for a page that has that at its top."""
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
