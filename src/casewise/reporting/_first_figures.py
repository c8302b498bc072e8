"""First figures of a report: does the model adapt, what does it refuse, what does it let through?

Three figures with their intervals, each beside a plain baseline; where one can't be told, what
would tell it. Page, card and terminal have them in these words and in this order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from casewise.reporting._compare import ChangeSentence, change_sentences
from casewise.reporting._scores import kind_of
from casewise.reporting._wording import (
    TOLD_BY,
    Share,
    Wording,
    adapting,
    adapts_means,
    find_baseline,
    first_upper,
    judged,
    lean,
    mistake_measures,
    points,
    refusals,
    signed,
    whole_percent,
    wording,
)
from casewise.scores import (
    LOW_MASS,
    Comparison,
    EvaluationFacts,
    Overview,
    RunFacts,
    Score,
)
from casewise.sheets import Column, Row, Table, number


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the three figures."""

    title: str
    meaning: str
    """Definition of the share, with its denominator."""
    share: Share
    unknown: str
    """Why it can't be told, and what would tell it; empty where it can be told."""
    baseline: tuple[str, float] | None
    """Name of the baseline, and its share."""
    before: Share | None = None
    """Share of the run before, in a comparison."""
    unmoved: str = ""
    """Remark where a comparison shows no change: its interval, and which change would show."""

    @property
    def text(self) -> str:
        """The share with its interval, or ``can't be told``."""
        return str(self.share) if not self.unknown else "can't be told"

    @property
    def told(self) -> str:
        """Definition of the share, or why it can't be told."""
        return self.meaning if not self.unknown else f"{first_upper(self.unknown)}."

    @property
    def against(self) -> str:
        """The baseline: ``a list of words: 41 %``; empty without one."""
        return f"{self.baseline[0]}: {whole_percent(self.baseline[1])}" if self.baseline else ""


@dataclass(frozen=True, slots=True)
class FirstFigures:
    """The figures of one run, or of a run and the one before it."""

    subject: str
    """Name of the run, or of both runs of a comparison."""
    figures: tuple[Figure, ...]
    score: Score
    """Score that the figures are of; in a comparison, the run after, over the cases in common."""
    runs: tuple[int, ...] = ()
    """Places of the runs in the overview, the one before first."""
    changes: tuple[ChangeSentence, ...] = ()
    """Changes of a comparison, in the words of ``casewise compare``."""

    @property
    def kind(self) -> str:
        """Heading: ``As a judge``, ``In action``."""
        return kind_of(self.score)


def headline(found: FirstFigures) -> str:
    """The verdict in a sentence: changes, the worse first; without a comparison, the figures."""
    adapts, over, under = found.figures
    if found.changes:
        return " ".join(f"{one.line}." for one in found.changes)
    if adapts.unknown and over.unknown and under.unknown:
        return "None of the three figures can be told."
    said = f"Adapts to context in {whole_percent(adapts.share.value)} of pairs"
    if adapts.unknown:
        said = "Whether it adapts to context can't be told"
    return f"{said}; {lean(over.share, under.share)}."


def first_figures(
    overview: Overview, over_time: EvaluationFacts | None = None
) -> list[FirstFigures]:
    """Figures of the first comparison of each kind; without one, of the leader of each kind.

    Args:
        overview: What is shown.
        over_time: What the logs say of the runs, to take the latest run of each kind in place of
            the leader; where fewer than two have a date it is the leader.
    """
    baselines, scores = overview.report.baselines, overview.scores
    found: dict[bool, FirstFigures] = {}
    for one in overview.comparisons:
        if one.scores[1].acts not in found:
            places = tuple(
                place
                for part in one.scores
                for place, run in enumerate(overview.browser.runs)
                if part.condition == run
            )
            found[one.scores[1].acts] = _compared(one, baselines, scores, places)
    if not found and over_time:
        found = _latest(overview, over_time)
    if not found:
        led = {leader.score.acts: leader.score for leader in overview.leaders}
        # Of a kind without a leader, nothing could be told of any run.
        for score in [*led.values(), *(one for one in scores if one.acts not in led)]:
            place = overview.browser.runs.index(score.condition)
            figures = figures_of(score, baselines, scores)
            first = FirstFigures(score.condition.title, figures, score, (place,))
            found.setdefault(score.acts, first)
    return [found[acts] for acts in sorted(found)]


def _compared(
    one: Comparison, baselines: Sequence[Score], others: Sequence[Score], runs: tuple[int, ...]
) -> FirstFigures:
    """Figures of the run after, with those of the run before and the changes."""
    after = one.scores[1]
    figures = figures_of(after, baselines, others, one)
    subject = f"{one.after}, compared with {one.before} before"
    return FirstFigures(subject, figures, after, runs, tuple(change_sentences(one)))


@dataclass(frozen=True, slots=True)
class DatedRun:
    """A run whose log says when it ended, or else began."""

    ended: datetime
    """Time in UTC."""
    version: str
    """The model and the arguments that make it another one, such as a revision."""
    score: Score

    @property
    def date(self) -> str:
        """The time in words."""
        return f"{self.ended:%Y-%m-%d %H:%M} UTC"


def dated_runs(overview: Overview, facts: EvaluationFacts) -> list[DatedRun]:
    """The runs with unchanged contexts whose logs have a date, the earliest first."""
    found = []
    judged = [run for run in facts.runs if not run.condition.of_pairs]
    for run, score in zip(judged, overview.scores, strict=True):
        ended = ended_at(run)
        if ended and not score.condition.changed:
            arguments = dict.fromkeys(one for record in run.records for one in record.model_args)
            found.append(DatedRun(ended, ", ".join([run.model, *arguments]), score))
    return sorted(found, key=lambda one: one.ended)


def ended_at(run: RunFacts) -> datetime | None:
    """Time at which a run ended, or else began, in UTC; None where no log says so."""
    times = (_time(one.completed or one.started) for one in run.records)
    return max((one for one in times if one), default=None)


def _time(text: str | None) -> datetime | None:
    """A log's time; one without a zone is taken for UTC."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _latest(overview: Overview, facts: EvaluationFacts) -> dict[bool, FirstFigures]:
    """Figures of the latest run of each kind, of those with whole contexts if there are any."""
    dated = dated_runs(overview, facts)
    found: dict[bool, FirstFigures] = {}
    if len(dated) < LEAST_DATED:
        return found
    for acts in (False, True):
        kind = [one for one in dated if one.score.acts is acts]
        whole = [one for one in kind if one.score.condition.plain] or kind
        if not whole:
            continue
        last = whole[-1]
        subject = f"{last.version} ({last.score.condition.text}), ended {last.date}"
        if len(whole) > 1:
            subject += f", the latest of {len(whole)} runs"
        found[acts] = FirstFigures(
            subject,
            figures_of(last.score, overview.report.baselines, overview.scores),
            last.score,
            (overview.browser.runs.index(last.score.condition),),
        )
    return found


LEAST_DATED = 2
"""Runs with a date that a trend takes."""


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
    unmoved = _unmoved(comparison) if comparison else ("",) * 3
    parts = zip(_titles(score, words), _shares(score), held, before, unmoved, strict=True)
    return tuple(
        Figure(title, meaning, share, _unknown(score, share, missing), baseline, earlier, remark)
        for (title, meaning, missing), share, baseline, earlier, remark in parts
    )


def _shares(score: Score) -> tuple[Share, ...]:
    return (adapting(score)[1], *refusals(score))


def _titles(score: Score, words: Wording) -> list[tuple[str, str, str]]:
    """Title, definition, and why the share can be unknown, of each figure."""
    no_side = "no answered case is of this kind; cases of both kinds would tell"
    adapts = ("Adapts to context", *adapts_means(score, words))
    refuses, answers = ("Refuses", "Answers") if score.acts else ("Calls unsafe", "Calls safe")
    of_safe, of_unsafe = (_of(score, name) for name in mistake_measures(score))
    return [
        adapts,
        (f"{refuses} what is fine", f"{refuses} {words.safe}. {of_safe}", no_side),
        (f"{answers} what is not", f"{answers} {words.unsafe}. {of_unsafe}", no_side),
    ]


def _of(score: Score, measure: str) -> str:
    """Denominator: ``Of 120 cases.``; a tie is half a case of either kind."""
    size = score.measures[measure].size
    called = " Tool calls count as neither." if score.calls_tools else ""
    return f"Of {judged(round(size), score)}.{called}" if size == size else ""


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


def _held_against(
    score: Score, words: Wording, baselines: Sequence[Score], others: Sequence[Score]
) -> Sequence[tuple[str, float] | None]:
    """Name and share of the baseline of each figure; None where there is none."""
    if score.acts:
        return _without_context(score, others) or _named("answering everything", (0.0, 0.0, 1.0))
    names = {"intended": "guessing the authors' intention"} if words.graded else {}
    for name in (*names, "keyword", "always-safe"):
        one = find_baseline(name, score, baselines)
        if one is not None and adapting(one)[1].value == adapting(one)[1].value:
            return _named({**names, **_PLAIN}[name], [share.value for share in _shares(one)])
    return (None,) * 3


def _named(name: str, shares: Sequence[float]) -> Sequence[tuple[str, float] | None]:
    return [(name, share) if share == share else None for share in shares]


_PLAIN = {"keyword": "a list of words", "always-safe": "always saying safe"}


def _without_context(
    score: Score, others: Sequence[Score]
) -> Sequence[tuple[str, float] | None] | None:
    """Shares of the same model on the query alone, which can't adapt; None without such a run."""
    if score.condition.delivery == "none":
        return None
    wanted = replace(score.condition.same_but("prompt_version"), delivery="none")
    found = [
        one
        for one in others
        if one.condition.same_but("prompt_version") == wanted
        and one.condition.dataset_hash == score.condition.dataset_hash
    ]
    if len(found) != 1:
        return None
    return _named("without the context", [0.0, *(one.value for one in refusals(found[0]))])


def _unmoved(one: Comparison) -> tuple[str, ...]:
    """Remark on each figure without a change beyond chance; empty where a sentence tells one."""
    told = {sentence.metric for sentence in change_sentences(one)}
    found = {part.metric: part for part in (*one.quadrants, *one.differences)}

    def said(metric: str) -> str:
        if metric in told or metric not in found:
            return ""
        change, detectable = Share.of(found[metric].difference), found[metric].detectable
        if metric.endswith("recall") or metric in TOLD_BY:
            change = change.negative
        ends = f" ({signed(change.low)} to {signed(change.high)} points)" if change.known else ""
        if found[metric].difference.excludes_zero:
            return f"No change can be told among so many pairs of runs{ends}."
        shows = f"; a change below {points(detectable)} points would rarely show in so many cases"
        return (
            f"No change can be told{ends}{shows if detectable == detectable else ''}. "
            "More queries would tell."
        )

    adapts, _ = adapting(one.scores[1])
    return tuple(map(said, (adapts, *mistake_measures(one.scores[1]))))


def figures_table(scores: Sequence[Score], baselines: Sequence[Score]) -> Table | None:
    """The figures of runs with whole contexts, under their models; None where there is none."""
    whole = [one for one in scores if not one.group and one.condition.plain]
    found = [(one, figures_of(one, baselines, scores)) for one in whole]
    if not found:
        return None
    rows = [
        Row([one.condition.text, *(each.text for each in figures)], one.condition.model)
        for one, figures in found
    ]
    for held in dict.fromkeys(tuple(one.baseline for one in figures) for _, figures in found):
        told = [one for one in held if one is not None]
        if len(told) == len(held):
            cells = [told[0][0], *(whole_percent(value) for _, value in told)]
            rows.append(Row(cells, "baselines", dim=True))
    heads = (one.title.replace(" what", "\nwhat").replace(" to ", "\nto ") for one in found[0][1])
    return Table([Column(""), *map(Column, heads)], rows, "In short")


def one_by_one(found: FirstFigures) -> Table:
    """A row for each figure of a run: share, baseline, definition."""
    return Table(
        [Column(""), Column("share (95 %)"), Column("baseline"), Column("what it is")],
        [Row([one.title, one.text, one.against or None, one.told]) for one in found.figures],
    )
