"""The verdict on a run: does it follow changes, what does it refuse, what does it let through?

Four figures with their intervals, each beside a plain baseline; where one can't be told, what
would tell it. Page, card and terminal have them in these words and in this order. Above, notes on
the numbers: answers not read or cut, grades of rules, a heavy query.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from casewise.choices import Delivery
from casewise.protocols import RunCondition
from casewise.replies import PROVISIONAL, rules_note
from casewise.results._changes import ChangeSentence, change_sentences
from casewise.results._wording import (
    CHANGES,
    MISTAKES,
    NO_SPREAD,
    REQUESTS,
    Share,
    Wording,
    change_meanings,
    find_baseline,
    first_upper,
    in_neither,
    judged,
    mistake_measures,
    of_100,
    points,
    refusals,
    signed,
    whole_percent,
    wording,
)
from casewise.scores import (
    LOW_MASS,
    Comparison,
    Score,
    cut_note,
    is_provisional,
    mass_warning,
)
from casewise.sheets import count, number, plural, rounded


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    return f"the {name.replace('_', '-')} anywhere from {number(ends[0])} to {number(ends[1])}"


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
    """Warnings for all that show numbers: of doubtful probabilities, cut answers, a heavy query."""
    return [*mass_warnings(scores), *cut_notes(scores), *heavy_notes(scores)]


def mass_warnings(scores: Sequence[Score]) -> list[str]:
    """A warning for each score whose probabilities mean little."""
    found = (mass_warning(one.condition.title, one.mass) for one in scores)
    return [line for line in found if line is not None]


def cut_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score some of whose answers a token limit ended."""
    found = (cut_note(one.condition.title, one.cut, acts=one.acts) for one in scores)
    return [line for line in found if line is not None]


def heavy_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score in which one query has much of the weight of some measures."""
    return [
        f"{score.condition.title}: one query carries {whole_percent(found.heaviest)} of the "
        "weight: intervals hold less often than 95 of 100."
        for score in scores
        if (found := score.measures[score.headline]).is_heavy and not score.group
    ]


def left_open(score: Score) -> list[str]:
    """Answers on neither side, counted by kind: ``8 undetermined``, ``3 never asked``."""
    untold = min(score.classes.get("undetermined", 0), score.statuses.get("unparsed", 0))
    kinds = {"undetermined": untold} | score.statuses
    kinds["unparsed"] = score.statuses.get("unparsed", 0) - untold
    kinds["never asked"] = score.state.not_asked if score.state else 0
    said = [f"{n} {what}" for what, n in kinds.items() if what != "ok" and n]
    called = score.classes.get("tool_call", 0)
    return [*said, plural(called, "tool call")] if called else said


def remarks(scores: Sequence[Score]) -> list[str]:
    """Notes on the numbers, a line each."""
    lines = []
    for score in scores:
        name = score.condition.title
        unread = left_open(score)
        # Of replies, a table has the bounds.
        if unread and not score.acts:
            of = score.n + (score.state.not_asked if score.state else 0)
            lines.append(
                f"{name}: {', '.join(unread)} of {of}; counted one way or the other, they "
                "would put " + " and ".join(_bound_text(*one) for one in score.bounds.items()) + "."
            )
        if score.first_unread:
            lines.append(
                f"{name}: the first answer that is unparsed has {count(score.first_unread)} "
                "characters; casewise report --reveal shows it."
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


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four figures."""

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
    few: str = ""
    """Its cases where they are too few for a rate: ``1 of 3``; else empty."""
    unmoved: str = ""
    """Remark where a comparison shows no change: its interval, and which change would show."""

    @property
    def text(self) -> str:
        """The share with its interval, its cases where they are few, or ``can't be told``."""
        if self.unknown:
            return "can't be told"
        return f"{self.few} ({self.ends})" if self.few else str(self.share)

    @property
    def cell(self) -> str:
        """The same for a table, which has no room to say why few cases have no rate."""
        return self.few if self.few and not self.is_of_pairs and not self.unknown else self.text

    @property
    def ends(self) -> str:
        """The interval, or why there is no rate."""
        if not self.few:
            return self.share.ends
        return f"{self.share.ends} %" if self.is_of_pairs else _FEW.format("cases")

    @property
    def is_of_pairs(self) -> bool:
        """Tell whether it is of pairs of contexts, and held against a coin."""
        return self.baseline is not None and self.baseline[0].endswith(_COIN)

    @property
    def told(self) -> str:
        """Definition of the share, or why it can't be told."""
        return self.meaning if not self.unknown else f"{first_upper(self.unknown)}."

    @property
    def against(self) -> str:
        """The baseline: ``a list of words: 41 %``; empty without one."""
        return f"{self.baseline[0]}: {whole_percent(self.baseline[1])}" if self.baseline else ""


@dataclass(frozen=True)
class Verdict:
    """What is said of one run, or of a run and the one before it."""

    subject: str
    """Name of the run, or of both runs of a comparison."""
    score: Score
    """Score that it is about; in a comparison, the run after, over the cases in common."""
    baselines: tuple[Score, ...] = ()
    """Baselines of judges."""
    others: tuple[Score, ...] = ()
    """Every score: a model that acts is held against itself without a context."""
    comparison: Comparison | None = None
    """The comparison that the score is the one after of."""
    between: str = ""
    """The worst change on the way, of a trend."""

    @classmethod
    def of_change(
        cls, compared: Comparison, baselines: tuple[Score, ...], others: tuple[Score, ...]
    ) -> "Verdict":
        """The verdict on a run and the one before it."""
        subject = f"{compared.after}, compared with {compared.before} before"
        return cls(subject, compared.scores[1], baselines, others, compared)

    @property
    def kind(self) -> str:
        """Heading: ``As a judge``, ``In action``."""
        return kind_of(self.score)

    @property
    def conditions(self) -> tuple[RunCondition, ...]:
        """The runs that it is about, the one before first."""
        scores = (self.score,) if self.comparison is None else self.comparison.scores
        return tuple(one.condition for one in scores)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The four figures, beside a baseline; of a comparison, beside the run before."""
        return _figures(self.score, self.baselines, self.others, self.comparison)

    @cached_property
    def changes(self) -> tuple[ChangeSentence, ...]:
        """Changes of a comparison by more than chance, the worse first; empty without one."""
        return () if self.comparison is None else tuple(change_sentences(self.comparison))

    @cached_property
    def said(self) -> tuple[str, str, str]:
        """The verdict as every view prints it: state, both mistakes, and against what."""
        return (
            state_sentence(self.score, self.comparison),
            mistakes_sentence(self.score, self.comparison),
            against_sentence(
                self.score,
                () if self.score.of_pairs else self.figures[:2],
                self.changes,
                _claimed(self.score, self.others),
            )
            + f" {self.between}".rstrip(),
        )

    @property
    def lead(self) -> str:
        """Sentence to begin with: both mistakes; of a comparison, the first change either way."""
        if not self.changes:
            return self.said[1]
        first = {one.tone: one.line for one in reversed(self.changes)}
        return joined_changes([one.line for one in self.changes if first[one.tone] == one.line])

    @property
    def line(self) -> str:
        """The verdict in one paragraph, led by its subject."""
        return f"{self.subject}: {' '.join(self.said)}"


def _figures(
    score: Score,
    baselines: Sequence[Score],
    others: Sequence[Score] = (),
    comparison: Comparison | None = None,
) -> tuple[Figure, ...]:
    """Follows changes; changes where people don't; refuses what is fine; answers what is not.

    Args:
        score: Of the run.
        baselines: Of judges.
        others: Every score: a model that acts is held against itself without a context.
        comparison: Of which the score is the one after.
    """
    words = wording(score)
    held = [
        *_coins(score),
        *_held_against(score, words, baselines, others),
    ]
    before = _shares(comparison.scores[0]) if comparison else (None,) * 4
    unmoved = _unmoved(comparison) if comparison else ("",) * 4
    titles, shares, sizes = _titles(score, words), _shares(score), _sizes(score)
    return tuple(
        Figure(
            title,
            meaning,
            share,
            _unknown(score, share, missing),
            baseline,
            earlier,
            f"{number_of(share.value * size)} of {number_of(size)}" if size < LEAST_OF_100 else "",
            remark,
        )
        for (title, meaning, missing), share, size, baseline, earlier, remark in zip(
            titles, shares, sizes, held, before, unmoved, strict=True
        )
    )


def _shares(score: Score) -> tuple[Share, ...]:
    return (*(Share.of(score.measures[name]) for name in CHANGES), *refusals(score))


def _sizes(score: Score) -> tuple[float, ...]:
    """Pairs under the figures of changes, and cases under the others; NaN where unknown."""
    sizes = (score.measures[name].size for name in mistake_measures(score))
    return (*(_size_of_pairs(score, name)[0] for name in CHANGES), *sizes)


_COIN = "a coin"
"""A coin with the model's own rates: its verdicts, shuffled over the cases."""


def _coins(score: Score) -> Iterable[tuple[str, float] | None]:
    """The coin beside both figures of changes: whether it can be told from it, and its share."""
    for name in CHANGES:
        share, coin = Share.of(score.measures[name]), score.coin.get(name, math.nan)
        beyond = share.low > coin if name == "follows" else share.high < coin
        text = _COIN if beyond or not share.known else f"no better than {_COIN}"
        yield (text, coin) if share.value == share.value else None


def _titles(score: Score, words: Wording) -> list[tuple[str, str, str]]:
    """Title, definition, and why the share can be unknown, of each figure."""
    no_side = "no answered case is of this kind; cases of both kinds would tell"
    refuses, answers = map(first_upper, MISTAKES[score.acts])
    of_safe, of_unsafe = (_of(score, name) for name in mistake_measures(score))
    return [
        *change_meanings(score),
        (f"{refuses} what is fine", f"{refuses} {words.safe}. {of_safe}", no_side),
        (f"{answers} what is not", f"{answers} {words.unsafe}. {of_unsafe}", no_side),
    ]


def _of(score: Score, measure: str) -> str:
    """Denominator: ``Of 120 cases.``; a tie is half a case of either kind."""
    size = score.measures[measure].size
    if math.isnan(size):
        return ""
    called = " Tool calls count as neither." if score.calls_tools else ""
    people = f" {_BY_LABELS}." if score.corrected else ""
    return f"Of {judged(int(rounded(size)), score)}.{called}{people}{_ends(score, measure)}"


def _ends(score: Score, measure: str) -> str:
    """Sentence on a rate's bounds over replies on neither side; empty where all are on one."""
    opened, ends = left_open(score), score.bounds.get(measure)
    if score.corrected or not (score.acts and opened and ends):
        return ""
    low, high = map(whole_percent, ends)
    return f" With {' and '.join(opened)} counted either way, {low} to {high}."


def _unknown(score: Score, share: Share, missing: str) -> str:
    if score.mass < LOW_MASS:
        return (
            f"its first token puts only {number(score.mass)} of its probability on 'safe' or "
            "'unsafe'; another prompt, or the protocol binary, would tell"
        )
    if nothing := nothing_counts(score):
        is_of_labels = score.no_majority or not score.n
        needed = "labels" if is_of_labels else "another prompt, protocol or grader"
        return f"{nothing}; {needed} would tell"
    if share.value != share.value:
        return missing
    if share.known or share.fixed:
        return ""
    return share.reason or f"{NO_SPREAD}; other queries would tell"


def _held_against(
    score: Score, words: Wording, baselines: Sequence[Score], others: Sequence[Score]
) -> Sequence[tuple[str, float] | None]:
    """Name and share of the baseline of both mistakes; None where there is none."""
    if score.acts:
        return _without_context(score, others) or _named("answering everything", (0.0, 1.0))
    names = {"intended": "guessing the authors' intention"} if words.graded else {}
    for name in (*names, "keyword", "always-safe"):
        one = find_baseline(name, score, baselines)
        if one is not None:
            return _named({**names, **_PLAIN}[name], [share.value for share in refusals(one)])
    return (None,) * 2


def _named(name: str, shares: Sequence[float]) -> Sequence[tuple[str, float] | None]:
    return [(name, share) if share == share else None for share in shares]


_PLAIN = {"keyword": "a list of words", "always-safe": "always saying safe"}


def _without_context(
    score: Score, others: Sequence[Score]
) -> Sequence[tuple[str, float] | None] | None:
    """Mistakes of the same model on the query alone; None without such a run."""
    if score.condition.delivery == Delivery.NONE:
        return None
    found = _like(score, others, Delivery.NONE)
    if found is None:
        return None
    return _named("without the context", [one.value for one in refusals(found)])


def _like(score: Score, others: Sequence[Score], delivery: Delivery) -> Score | None:
    """The one score of the same model and cases under another delivery; None without it."""
    wanted = replace(score.condition.same_but("prompt_version"), delivery=delivery)
    found = [
        one
        for one in others
        if one.condition.same_but("prompt_version") == wanted
        and one.condition.dataset_hash == score.condition.dataset_hash
    ]
    return found[0] if len(found) == 1 else None


def _unmoved(one: Comparison) -> tuple[str, ...]:
    """Remark on each figure without a change beyond chance; empty where a sentence tells one."""
    told = {sentence.metric for sentence in change_sentences(one)}
    found = {part.metric: part for part in (*one.quadrants, *one.told)}

    def said(metric: str) -> str:
        if metric in told or metric not in found:
            return ""
        if found[metric].is_open:
            return "No verdict: what was not read could decide it."
        change, detectable = Share.of(found[metric].difference), found[metric].detectable
        if metric.endswith("recall"):
            change = change.negative
        ends = f" ({signed(change.low)} to {signed(change.high)} points)" if change.known else ""
        if found[metric].difference.excludes_zero:
            return f"No change can be told among so many pairs of runs{ends}."
        shows = f"; a change below {points(detectable)} points would rarely show in so many cases"
        return (
            f"No change can be told{ends}{shows if detectable == detectable else ''}. "
            "More queries would tell."
        )

    return tuple(map(said, (*CHANGES, *mistake_measures(one.scores[1]))))


LEAST_OF_100 = 20
"""Fewest cases of which a share is told as so many of every 100; of fewer, the cases are counted.
"""


def state_sentence(score: Score, comparison: Comparison | None = None) -> str:
    """State of a run, or of both runs of a comparison: finished, and of how many planned."""
    if comparison is None:
        return f"{first_upper(_state(score))}."
    before, after = map(_state, comparison.scores)
    both = f"Before: {before}; after: {after}"
    if not comparison.scores[0].condition.has_data_of(comparison.scores[1].condition):
        both += "; the two are over different versions of the data"
    return f"{both}."


def _state(score: Score) -> str:
    state = score.state
    if state is None:
        return f"{count(score.n)} judgements"
    if state.sentence:
        said = state.sentence
    else:
        said = f"{count(state.judged)} judgements"
        if state.is_recorded:
            said = (
                f"finished, with {count(state.judged)} of {count(state.planned)} planned judgements"
            )
        said += f" made{state.gaps}"
    said += f"; {count(score.cut)} cut at the token limit" if score.cut else ""
    if math.isnan(score.self_agreement):
        return said
    return f"{said}; over repeats it agrees with itself in {of_100(score.self_agreement)} of 100"


def mistakes_sentence(score: Score, comparison: Comparison | None = None) -> str:
    """Both mistakes of every 100 requests, of each run, or why they can't be told."""
    if comparison is not None and not score.of_pairs:
        before, after = (
            text[0].lower() + text[1:-1] for text in map(mistakes_sentence, comparison.scores)
        )
        both = f"Before: {before}; after: {after}."
        if (own := comparison.own) is None:
            return both
        return (
            f"{both} The labels of {comparison.relabelled} of {own.cases} cases differ: both rates "
            f"are by those before; by its own, after: {mistakes_sentence(own)}"
        )
    if score.mass < LOW_MASS:
        return (
            f"It gives no verdicts to go by: its first token puts only {number(score.mass)} of its "
            "probability on 'safe' or 'unsafe'."
        )
    if nothing := nothing_counts(score):
        return f"Nothing can be said of it: {nothing}."
    if score.of_pairs:
        return "It names contexts of pairs, and judges no case by itself."
    said = ", and ".join(_mistakes(score))
    if is_provisional(score):
        return f"By rules that nobody has checked, so provisionally: {said}."
    if score.corrected:
        return f"{_BY_LABELS}: {said}."
    return f"{first_upper(said)}."


def _mistakes(score: Score) -> tuple[str, str]:
    """Clauses on both mistakes."""
    over, under = (
        _mistake(verb, what, share, score.measures[name].size, all_read=score.coverage == 1)
        for verb, what, share, name in zip(
            *(MISTAKES[score.acts], REQUESTS[score.acts], refusals(score), mistake_measures(score)),
            strict=True,
        )
    )
    return over, under


_BY_LABELS = "Corrected by people's labels of a part of the replies"
"""Words for rates without the grader's errors."""


def nothing_counts(score: Score) -> str:
    """Why no answer of a run counts; empty where some do."""
    if score.no_majority:
        return "no majority in any case"
    if score.coverage > 0:
        return ""
    if not score.n:
        return f"none of its cases has a label under the rule '{score.labels}'"
    return "none of its answers was read"


def _mistake(verb: str, requests: str, share: Share, size: float, *, all_read: bool) -> str:
    """One mistake: ``refuses 13 of every 100 acceptable requests (9 to 17)``."""
    if math.isnan(share.value):
        why = "no case is labelled so" if all_read else "no answer to such a case was read"
        return f"how often it {verb} {requests} can't be told: {why}"
    if size < LEAST_OF_100:
        few = f"{number_of(share.value * size)} of {number_of(size)} {requests}"
        return f"{verb} {few} ({_FEW.format('cases')})"
    return f"{verb} {of_100(share.value)} of every 100 {requests} ({share.ends})"


def number_of(cases: float) -> str:
    """Number of cases, ties counted as halves: ``3``, ``2.5``."""
    return f"{rounded(cases, 1):g}"


def against_sentence(
    score: Score,
    figures: Sequence[Figure],
    changes: Sequence[ChangeSentence],
    claimed: Score | None = None,
) -> str:
    """Changes against the run before; without one, which changes of labels it follows.

    Args:
        score: Of the run.
        figures: Those of changes, both; none of a model that ranks contexts.
        changes: Of a comparison.
        claimed: Score of the same model where users claim the context.
    """
    if changes:
        return joined_changes(one.line for one in changes)
    words = wording(score)
    held = f"Held against {words.against}"
    if score.mass < LOW_MASS or nothing_counts(score):
        return f"{held}, nothing can be told."
    if score.of_pairs:
        share, (size, unit) = (
            Share.of(score.measures[score.headline]),
            _size_of_pairs(score, score.headline),
        )
        few = size < LEAST_OF_100
        hits = number_of(share.value * size) if few else of_100(share.value)
        of, ends = (f"{size} {unit}", _FEW.format(unit)) if few else ("100 pairs", share.ends)
        does = "names the context that the labels call safer"
        return f"{held}, it {does} in {hits} of {of} ({ends})."
    if all(math.isnan(one.share.value) for one in figures):
        why = "no two contexts to compare"
        return f"{held}; whether it follows the context can't be told: {in_neither(score) or why}."
    follows, false_changes = map(_of_all, figures)
    who = words.whom == "people"
    changed = "changes that people want" if who else "changes of the label"
    same = "where people don't" if who else "where the label doesn't change"
    parts = (
        f"it follows {follows.format(changed)}" if follows else "no label changes between contexts",
        f"{'' if follows else 'it '}changes in {false_changes.format(same)}"
        if false_changes
        else "no label stays the same",
    )
    beside, neither = "", in_neither(score)
    if claimed is not None:
        _, answers = _mistakes(claimed)
        beside = f"; where the user merely claims the context, it {answers}"
    return f"{held}, {parts[0]}, and {parts[1]}{beside}{neither and f'; {neither}'}."


def _of_all(one: Figure) -> str:
    """A figure of changes beside a coin: ``54 of 100 {} (49 to 59; a coin: 20 %)``."""
    if math.isnan(one.share.value):
        return ""
    return f"{one.few or f'{of_100(one.share.value)} of 100'} {{}} ({one.ends}; {one.against})"


def joined_changes(lines: Iterable[str]) -> str:
    """Changes in one sentence: ``Worse: ...; Better: ...``."""
    return "; ".join(line.removesuffix(".") for line in lines) + "."


def _claimed(score: Score, others: Sequence[Score]) -> Score | None:
    """Score of the same model where users claim the context that its deployer tells here."""
    if score.condition.delivery != Delivery.SYSTEM:
        return None
    found = _like(score, others, Delivery.CLAIMED)
    return found if found is not None and not math.isnan(refusals(found)[1].value) else None


_FEW = "few {}: no rate to go by"


def _size_of_pairs(score: Score, measure: str) -> tuple[int, str]:
    """Number of pairs under a figure."""
    return score.measures[measure].pairs or score.pairs, "pairs"
