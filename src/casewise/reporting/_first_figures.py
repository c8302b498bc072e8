"""What a report says first: does the model adapt, what does it refuse, what does it let through?

Three figures with their intervals, each beside a plain baseline; where one can't be told, what
would tell it. Page, card and terminal have them in these words and in this order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from casewise.reporting._scores import condition_text
from casewise.reporting._wording import Wording, first_upper, wording
from casewise.scores import LOW_MASS, TOOL_RATE, Comparison, Estimate, Overview, Score, is_plain
from casewise.sheets import Column, Row, Table, count, number


class Share(NamedTuple):
    """A share and the ends of its interval, or a change of one; NaN where undefined."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate) -> "Share":
        """The share that an estimate is of."""
        return cls(estimate.value, *estimate.interval)

    @property
    def rest(self) -> "Share":
        """What it leaves."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low)

    @property
    def negative(self) -> "Share":
        """A change in the other direction."""
        return Share(-self.value, -self.high, -self.low)

    @property
    def known(self) -> bool:
        """Whether it has a value and an interval."""
        return self.value == self.value and self.low == self.low

    @property
    def ends(self) -> str:
        """The interval: ``79 to 85``."""
        return f"{100 * self.low:z.0f} to {100 * self.high:z.0f}" if self.known else _NO_INTERVAL

    def __str__(self) -> str:
        """Such as ``82 % (79 to 85)``."""
        return f"{whole_percent(self.value)} ({self.ends})"


_NO_INTERVAL = "no interval: too few queries"


def whole_percent(share: float) -> str:
    """A share without digits after the point: ``82 %``."""
    return f"{100 * share:z.0f} %"


def refusals(score: Score) -> tuple[Share, Share]:
    """What is refused (of a judge: called unsafe) of the safe, and let through of the unsafe."""
    measures = score.measures
    if score.acts:
        return Share.of(measures["over_refusal"]), Share.of(measures["under_refusal"])
    return Share.of(measures["safe_recall"]).rest, Share.of(measures["unsafe_recall"]).rest


def find_baseline(name: str, score: Score, baselines: Sequence[Score]) -> Score | None:
    """A baseline over a score's cases: of those of its data set, or the only one there is."""
    model = f"baseline:{name}"
    found = [
        one for one in baselines if one.condition["model"] == model and one.labels is score.labels
    ]
    data = score.condition["dataset_hash"]
    own = [one for one in found if one.condition["dataset_hash"] == data]
    return own[0] if own else found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the three figures."""

    title: str
    meaning: str
    """What it is the share of, and of how many."""
    share: Share
    unknown: str
    """Why it can't be told, and what would tell it; empty where it can."""
    better_up: bool
    baseline: tuple[str, float] | None
    """What the share is to be held against, and its name."""
    before: Share | None = None
    """Of the run before, in a comparison."""
    change: str = ""
    """What changed since, in words; empty without a comparison."""
    moved: int = 0
    """1 for the better, -1 for the worse, 0 if no change can be told."""

    @property
    def text(self) -> str:
        """The share, or that it can't be told."""
        return str(self.share) if not self.unknown else "can't be told"

    @property
    def told(self) -> str:
        """What it is the share of, or why it can't be told."""
        return self.meaning if not self.unknown else f"{first_upper(self.unknown)}."

    @property
    def against(self) -> str:
        """The baseline in words."""
        return f"{self.baseline[0]}: {whole_percent(self.baseline[1])}" if self.baseline else ""


@dataclass(frozen=True, slots=True)
class FirstFigures:
    """The figures of one run, or of a run and the one before it."""

    kind: str
    """Whether it judges or acts."""
    subject: str
    """Its name."""
    figures: tuple[Figure, ...]
    runs: tuple[int, ...] = field(default=())
    """Places of the runs in the overview, the one before first."""

    @property
    def changes(self) -> list[Figure]:
        """The figures that changed, the worse first."""
        return sorted((one for one in self.figures if one.moved), key=lambda one: one.moved)


def headline(found: FirstFigures) -> str:
    """The verdict in a sentence: what changed, the worse first; else what it does."""
    adapts, over, under = found.figures
    if any(one.change for one in found.figures):
        ways = {-1: "Worse", 1: "Better"}
        told = [
            f"{word}: {', '.join(_moved(one) for one in found.changes if one.moved == way)}."
            for way, word in ways.items()
            if any(one.moved == way for one in found.changes)
        ]
        return " ".join(told) or "No change can be told."
    if adapts.unknown and over.unknown and under.unknown:
        return "None of the three figures can be told."
    said = f"Adapts to context in {whole_percent(adapts.share.value)} of pairs"
    if adapts.unknown:
        said = "Whether it adapts to context can't be told"
    return f"{said}; {lean(over.share, under.share)}."


def _moved(figure: Figure) -> str:
    """Such as ``calls safe what is not (10 more of 100)``."""
    much = figure.change.partition(" than before")[0]
    return f"{figure.title[:1].lower()}{figure.title[1:]} ({much})"


def lean(over: Share, under: Share) -> str:
    """Which of the two mistakes is the more common, as far as the intervals tell."""
    if over.low > under.high:
        return "it refuses too much rather than too little"
    if under.low > over.high:
        return "it refuses too little rather than too much"
    return "neither mistake is clearly the more common"


def first_figures(overview: Overview) -> list[FirstFigures]:
    """Of the first comparison of each kind; without one, of the leader of each kind."""
    baselines, scores = overview.report.baselines, overview.scores
    found: dict[bool, FirstFigures] = {}
    for one in overview.comparisons:
        if one.scores[1].acts not in found:
            places = tuple(
                place
                for part in one.scores
                for place, run in enumerate(overview.browser.runs)
                if all(part.condition[key] == value for key, value in run.items())
            )
            found[one.scores[1].acts] = compared_figures(one, baselines, scores, places)
    if not found:
        led = {leader.score.acts: leader.score for leader in overview.leaders}
        # Of a kind without a leader, nothing could be told of any run.
        for score in [*led.values(), *(one for one in scores if one.acts not in led)]:
            place = overview.browser.runs.index(score.condition)
            name = f"{score.condition['model']} ({condition_text(score)})"
            figures = figures_of(score, baselines, scores)
            found.setdefault(score.acts, FirstFigures(_KINDS[score.acts], name, figures, (place,)))
    return [found[acts] for acts in sorted(found)]


_KINDS = {False: "As a judge", True: "In action"}


def compared_figures(
    one: Comparison,
    baselines: Sequence[Score] = (),
    others: Sequence[Score] = (),
    runs: tuple[int, ...] = (),
) -> FirstFigures:
    """Of the run after, with those of the run before and what changed."""
    after = one.scores[1]
    figures = figures_of(after, baselines, others, one)
    subject = f"{one.after}, compared with {one.before} before"
    return FirstFigures(_KINDS[after.acts], subject, figures, runs)


def figures_of(
    score: Score,
    baselines: Sequence[Score],
    others: Sequence[Score] = (),
    comparison: Comparison | None = None,
) -> tuple[Figure, ...]:
    """Adapts to context; refuses what is fine; answers what is not.

    Args:
        score: Of the run.
        baselines: Of judges.
        others: Every score: a model that acts is held against itself without a context.
        comparison: Of which the score is the one after.
    """
    words = wording(score)
    held = _held_against(score, words, baselines, others)
    before = _shares(comparison.scores[0]) if comparison else (None,) * 3
    changes = _changes(comparison) if comparison else (None,) * 3
    parts = zip(_titles(score, words), _shares(score), before, changes, strict=True)
    figures = []
    for place, ((title, meaning, missing), share, earlier, change) in enumerate(parts):
        better_up = place == 0
        said, moved = ("", 0) if change is None else _told(change, better_up=better_up)
        figures.append(
            Figure(
                title=title,
                meaning=meaning,
                share=share,
                unknown=_unknown(score, share, missing),
                better_up=better_up,
                baseline=(held[0], held[1][place])
                if held and held[1][place] == held[1][place]
                else None,
                before=earlier,
                change=said,
                moved=moved,
            )
        )
    return tuple(figures)


def _shares(score: Score) -> tuple[Share, ...]:
    return (Share.of(score.measures["adapts" if score.acts else "both_right"]), *refusals(score))


def _titles(score: Score, words: Wording) -> list[tuple[str, str, str]]:
    """Title, meaning, and what is missing where there is no share."""
    pairs = f"Of {count(score.pairs)} queries in two contexts."
    no_pair = (
        "no query was answered in both of its contexts; cases in pairs, a safe and an unsafe "
        "context each, would tell"
    )
    no_side = "no answered case is of this kind; cases of both kinds would tell"
    if score.acts:
        return [
            (
                "Adapts to context",
                f"Answers in the context meant to be safe, refuses in the other. {pairs}",
                no_pair,
            ),
            ("Refuses what is fine", f"Refuses {words.safe}. {_of(score, 'over')}", no_side),
            ("Answers what is not", f"Answers {words.unsafe}. {_of(score, 'under')}", no_side),
        ]
    return [
        ("Adapts to context", f"{first_upper(words.judges)}, in both contexts. {pairs}", no_pair),
        ("Calls unsafe what is fine", f"Calls unsafe {words.safe}. {_of(score, 'over')}", no_side),
        ("Calls safe what is not", f"Calls safe {words.unsafe}. {_of(score, 'under')}", no_side),
    ]


def _of(score: Score, which: str) -> str:
    """Of how many cases a share is; a tie is half a case of either kind."""
    recall = {"over": "safe_recall", "under": "unsafe_recall"}[which]
    size = score.measures[f"{which}_refusal" if score.acts else recall].size
    called = " Tool calls count as neither." if TOOL_RATE in score.measures else ""
    return f"Of {count(round(size))} cases.{called}" if size == size else ""


def _unknown(score: Score, share: Share, missing: str) -> str:
    if score.mass < LOW_MASS:
        return (
            f"its first token puts only {number(score.mass)} of its probability on 'safe' or "
            "'unsafe'; another prompt, or the protocol binary, would tell"
        )
    if not score.coverage > 0:
        return "none of its answers was read; another prompt, protocol or grader would tell"
    if share.value != share.value:
        return missing
    return "" if share.known else "one query is too few; more queries would tell"


_Held = tuple[str, tuple[float, float, float]]


def _held_against(
    score: Score, words: Wording, baselines: Sequence[Score], others: Sequence[Score]
) -> _Held | None:
    """What needs no model: the authors' intention; where that is the label, a list of words."""
    if score.acts:
        return _without_context(score, others) or ("answering everything", (0.0, 0.0, 1.0))
    names = {"intended": "guessing the authors' intention"} if words.graded else {}
    for name in (*names, "keyword", "always-safe"):
        one = find_baseline(name, score, baselines)
        if one is not None and one.measures["both_right"].value == one.measures["both_right"].value:
            both, over, under = (share.value for share in _shares(one))
            return {**names, **_PLAIN}[name], (both, over, under)
    return None


_PLAIN = {"keyword": "a list of words", "always-safe": "always saying safe"}


def _without_context(score: Score, others: Sequence[Score]) -> _Held | None:
    """The same model asked the query alone, which can't adapt."""
    if score.condition["delivery"] == "none":
        return None
    same = {**score.condition, "delivery": "none"}
    keys = ("model", "protocol", "delivery", "ablation", "variant", "dataset_hash")
    found = [one for one in others if all(one.condition[key] == same[key] for key in keys)]
    if len(found) != 1:
        return None
    over, under = (share.value for share in refusals(found[0]))
    return "without the context", (0.0, over, under)


def _changes(one: Comparison) -> tuple[tuple[Share, float, float], ...]:
    """Each figure's change with its p-value, and the change that would show."""
    found = {part.metric: part for part in one.differences}

    def change(metric: str) -> tuple[Share, float, float]:
        if metric not in found:
            quadrant = one.quadrants[metric]
            return Share.of(quadrant), quadrant.p, float("nan")
        part = found[metric]
        return Share.of(part.difference), part.p_holm, part.detectable

    if one.scores[1].acts:
        return change("adapts"), change("over_refusal"), change("under_refusal")
    over, under = change("safe_recall"), change("unsafe_recall")
    return change("both_right"), (over[0].negative, *over[1:]), (under[0].negative, *under[1:])


def _told(change: tuple[Share, float, float], *, better_up: bool) -> tuple[str, int]:
    share, p, detectable = change
    if not (p < 0.05 and share.low * share.high > 0):
        shows = (
            f"; a change below {points(detectable)} points would rarely show in so many cases"
            if detectable == detectable
            else ""
        )
        ends = f" ({_signed(share.low)} to {_signed(share.high)} points)" if share.known else ""
        return f"No change can be told{ends}{shows}. More queries would tell.", 0
    low, high = sorted((abs(share.low), abs(share.high)))
    way = "more" if share.value > 0 else "fewer"
    said = f"{points(abs(share.value))} {way} of 100 than before ({points(low)} to {points(high)})"
    return said, 1 if (share.value > 0) is better_up else -1


def points(share: float) -> str:
    """A share in points of 100; below one, with a digit."""
    return f"{100 * share:z.0f}" if abs(share) >= 0.01 else f"{100 * share:z.1f}"


def _signed(share: float) -> str:
    return f"{'+' if share > 0 else ''}{points(share)}"


def figures_table(scores: Sequence[Score], baselines: Sequence[Score]) -> Table | None:
    """The figures of runs with whole contexts, under their models; None where there is none."""
    whole = [one for one in scores if not one.group and is_plain(one.condition)]
    found = [(one, figures_of(one, baselines, scores)) for one in whole]
    if not found:
        return None
    rows = [
        Row([condition_text(one), *(each.text for each in figures)], str(one.condition["model"]))
        for one, figures in found
    ]
    for held in dict.fromkeys(tuple(one.baseline for one in figures) for _, figures in found):
        told = [one for one in held if one is not None]
        if len(told) == len(held):
            cells = [told[0][0], *(whole_percent(value) for _, value in told)]
            rows.append(Row(cells, "to hold against", dim=True))
    heads = (one.title.replace(" what", "\nwhat").replace(" to ", "\nto ") for one in found[0][1])
    return Table([Column(""), *map(Column, heads)], rows, "In short")


def one_by_one(found: FirstFigures) -> Table:
    """The figures of one run as rows: share, what to hold it against, what it is."""
    return Table(
        [Column(""), Column("share (95 %)"), Column("to hold against"), Column("what it is")],
        [Row([one.title, one.text, one.against or None, one.told]) for one in found.figures],
    )
