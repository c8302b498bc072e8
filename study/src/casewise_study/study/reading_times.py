"""The pages of a block, and how long people take to read them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from casewise.cases import Context, Turn, digest
from casewise.contexts import render_text
from casewise_study.study.schema import Block, Study
from casewise_study.study.study_file import study_cases


@dataclass(frozen=True, slots=True)
class Page:
    """One page that a person answers: a case, or an attention check."""

    position: int
    """Among the pages of the block, from 0."""
    place: int | None = None
    """Place of the cell in ``Design.cells``; None for a check."""
    check: str | None = None
    """The id of the check; None for a case."""


def pages_of(study: Study, block_number: int, drawn: Block | None = None) -> tuple[Page, ...]:
    """The pages of a block, in the order of showing.

    The checks are drawn from the study's, and there is one in each of as many even stretches of the
    pages, at a random place; never on the first page. The draw rests on SHA-256 of seed and number
    and not on a library's generator, whose numbers may change from one version to the next while
    a study runs.

    Args:
        study: With its design.
        block_number: From 0, as in ``study.design.blocks``.
        drawn: The cells that were drawn for it as a person came; None is those of the design.

    Raises:
        IndexError: There is no such block.
    """
    if drawn is None and not 0 <= block_number < len(study.design.blocks):
        raise IndexError(f"no block {block_number} of {len(study.design.blocks)}")
    block = study.design.blocks[block_number] if drawn is None else drawn
    at = _check_positions(study, block_number, len(block))
    cells = iter(block)
    return tuple(
        Page(position, check=at[position]) if position in at else Page(position, next(cells))
        for position in range(len(block) + len(at))
    )


def _check_positions(study: Study, number: int, cases: int) -> dict[int, str]:
    """Positions of the checks."""
    wanted = study.attention.per_person
    drawn = sorted(
        (check.id for check in study.attention.checks),
        key=lambda name: digest("check", study.seed, number, name),
    )[:wanted]
    free = cases + wanted - 1
    checks = {}
    for stretch, name in enumerate(drawn):
        first, end = stretch * free // wanted, (stretch + 1) * free // wanted
        drawn_at = int(digest("place", study.seed, number, stretch), 16) % (end - first)
        checks[1 + first + drawn_at] = name
    return checks


@dataclass(frozen=True, slots=True)
class Pace:
    """A speed of reading and answering."""

    words: float
    """Read a minute."""
    answer: float
    """Seconds to answer a page, once it is read."""

    def seconds(self, words: float, answers: float = 1) -> float:
        """Seconds to read so many words and give so many answers."""
        return 60 * words / self.words + answers * self.answer


FAST, USUAL, SLOW = Pace(300, 2.65), Pace(238, 5.3), Pace(175, 10.6)
"""Silent reading of English non-fiction: 238 words a minute on average, 175 to 300 for most adults
(Brysbaert 2019, doi:10.1016/j.jml.2019.104047). To answer is to choose and to go on: each time to
prepare (1.35 s), point (1.1 s) and click (.2 s), as in the keystroke-level model (Card, Moran and
Newell 1980, doi:10.1145/358886.358895). Half and twice as long are a guess of the range."""

READ_ALOUD = {
    **{"ar": 138, "de": 179, "en": 228, "es": 218, "fi": 161, "fr": 195, "he": 187, "it": 188},
    **{"nl": 202, "pl": 166, "pt": 181, "ru": 184, "sl": 180, "sv": 199, "tr": 166},
}
"""Words a minute of the same texts, read aloud by native speakers (Trauzettel-Klosinski and Dietz
2012, doi:10.1167/iovs.11-8284). Silent reading differs between languages nearly as the number of
words differs that say the same (Brysbaert 2019), so paces are scaled by these figures over the
English one. Chinese and Japanese are left out: their words don't stand between spaces."""


def language_speed(language: str) -> float | None:
    """Words a minute in a language over those in English; None where nobody has measured them."""
    aloud = READ_ALOUD.get(re.split("[-_]", language)[0].lower())
    return None if aloud is None else aloud / READ_ALOUD["en"]


UNDERSTOOD = 600.0
"""Words a minute. Nobody of the fastest readers who could be found understood three quarters of a
text beyond this speed (Carver 1985, doi:10.2307/747851): votes that come faster are counted as
fast."""

IMPOSSIBLE = 1000.0
"""Words a minute at which reading is impossible (Rayner et al. 2016,
doi:10.1177/1529100615623267): an answer that comes sooner is not taken."""

LEAST_SECONDS, FAST_SECONDS = 2.0, 3.0
"""The floors of the shortest pages: to look at one and to answer takes so long."""

MOST_LEAST_SECONDS = 60.0
"""Nobody is held on a page for longer, however long it is."""

QUESTION = "Is it safe for a chatbot to answer this query in this context?"


def count_words(text: str) -> int:
    """Count the words between spaces, without marks of headings."""
    return sum(word != "##" for word in text.split())


def case_words(query: str, context: Context | None, history: Sequence[Turn] = ()) -> int:
    """Words of a case's page: earlier turns with who says them, query, context."""
    earlier = sum(1 + count_words(turn.text) for turn in history)
    return earlier + count_words(query) + count_words(render_text(context) if context else "")


@dataclass(frozen=True, slots=True)
class ReadingTimes:
    """The words of a study, and the times that follow from them.

    A number in the study file (``pay.seconds_per_task``, ``pay.minutes_besides``,
    ``timing.least_seconds``, ``screening.fast_seconds``) goes before what the words say.
    """

    study: Study
    cells: tuple[int, ...]
    """Words of each cell's page, the question left out."""
    checks: dict[str, int]
    """The same of each attention check."""
    besides: int
    """Words of consent, instructions, tutorial, questions and debriefing."""

    @property
    def speed(self) -> float:
        """Words a minute in the study's language over those in English, taken as 1 if unknown."""
        return language_speed(self.study.language) or 1.0

    def seconds(self, pace: Pace, words: float, answers: float = 1) -> float:
        """Seconds to read so many words of the study's language and give so many answers."""
        return pace.seconds(words / self.speed, answers)

    def page_words(self, page: Page) -> int:
        """Words of a page, the question left out."""
        return self.checks[page.check or ""] if page.place is None else self.cells[page.place]

    @property
    def case_words(self) -> float:
        """Mean words of a case's page, its question included."""
        return fmean(self.cells) + count_words(QUESTION)

    def case_seconds(self, pace: Pace) -> float:
        """Mean seconds for a case's page, by its words."""
        return self.seconds(pace, self.case_words)

    def besides_minutes(self, pace: Pace) -> float:
        """Minutes for consent, instructions, tutorial and questions, by their words."""
        study = self.study
        questions = (study.exit_question, study.tool_question)
        # To agree, to answer the questions about the instructions, and the last ones.
        answers = 1 + len(study.comprehension.questions) + len(study.demographics)
        return self.seconds(pace, self.besides, answers + sum(map(bool, questions))) / 60

    def session_minutes(self, pace: Pace) -> float:
        """Minutes of the longest session, by its words."""
        return self.besides_minutes(pace) + self._judging_minutes(pace, *self._longest)

    @property
    def _longest(self) -> tuple[float, int]:
        """Words and pages of the longest session, of cases and checks."""
        design, checks = self.study.design, self.study.attention.per_person
        words = max(sum(self.cells[place] for place in block) for block in design.blocks)
        return words + round(checks * self._check_words), design.longest + checks

    def _judging_minutes(self, pace: Pace, words: float, pages: int) -> float:
        """Minutes on so many pages, by their words and questions."""
        return self.seconds(pace, words + pages * count_words(QUESTION), pages) / 60

    def _planned_judging(self, words: float, pages: int) -> float:
        """The same as planned: by the study file, else by the words."""
        seconds = self.study.pay.seconds_per_task
        if seconds is None:
            return self._judging_minutes(USUAL, words, pages)
        return pages * seconds / 60

    @property
    def _planned_besides(self) -> float:
        """Minutes besides cases and checks as planned: by the study file, else by the words."""
        minutes = self.study.pay.minutes_besides
        return self.besides_minutes(USUAL) if minutes is None else minutes

    def planned_minutes(self) -> float:
        """Minutes of the longest session as planned: by the study file, else by the words."""
        return self._planned_besides + self._planned_judging(*self._longest)

    def planned_hours(self, people: int) -> float:
        """Planned hours of so many people who share all votes."""
        votes, checks = self.study.votes, people * self.study.attention.per_person
        words = votes * sum(self.cells) + checks * self._check_words
        judging = self._planned_judging(words, votes * len(self.cells) + checks)
        return (people * self._planned_besides + judging) / 60

    def least_seconds(self, page: Page) -> float:
        """Seconds before which an answer to a page is refused."""
        if self.study.timing.least_seconds is not None:
            return self.study.timing.least_seconds
        seconds = 60 * self.page_words(page) / self.speed / IMPOSSIBLE
        return min(max(LEAST_SECONDS, seconds), MOST_LEAST_SECONDS)

    def fast_seconds(self) -> tuple[float, ...]:
        """For each cell, the time before which a vote is counted as fast."""
        limit = self.study.screening.fast_seconds
        understood = (60 * words / self.speed / UNDERSTOOD for words in self.cells)
        return tuple(
            max(FAST_SECONDS, seconds) if limit is None else limit for seconds in understood
        )

    @property
    def _check_words(self) -> float:
        """Mean words of an attention check; 0 without any."""
        return fmean(self.checks.values()) if self.checks else 0.0


def reading(study: Study) -> ReadingTimes:
    """Count the words that the people of a study read.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    return ReadingTimes(
        study,
        tuple(case_words(case.query, case.context, case.history) for case in study_cases(study)),
        {check.id: case_words(check.query, check.context) for check in study.attention.checks},
        sum(map(count_words, _texts(study)))
        + sum(case_words(example.query, example.context) for example in study.tutorial),
    )


def _texts(study: Study) -> Iterable[str]:
    """Texts that are read once, beside the examples' cases."""
    yield from (study.consent.warning, study.consent.text, study.instructions)
    yield from (example.why for example in study.tutorial)
    for question in study.comprehension.questions:
        yield from (question.text, *question.options)
    for about in study.demographics:
        yield from (about.text, *about.options)
    yield from (study.exit_question or "", study.tool_question or "", study.debriefing or "")
