"""Whom a planned study's screening finds among planted people.

    python benchmarks/planted_people.py ../shared/data/casebench    # a minute or two

People are planted among honest ones, drawn by nothing that screening or ``simulation/`` know of:
truth is the share of votes on CASE-Bench's cases. Ends with an error where
``benchmarks/results/screening.md`` gives a figure that isn't found.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casewise.cases import load_cases, write_cases
from casewise_study.study.planning import plan_study
from casewise_study.study.reading_times import pages_of, reading
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import load_study, study_cases, write_study
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
    vote_table,
)
from casewise_study.votes.screening import model_verdicts, screen

ROOT = Path(__file__).resolve().parents[1]
FloatArray = NDArray[np.float64]
START = datetime(2026, 3, 4, 9, tzinfo=UTC)
KINDS = ("clicker", "fast", "always", "pattern", "copies", "two")
UNREAD = KINDS[:4]
"""Kinds who don't read."""
PATTERNS = ("su", "ssuu", "sssuuu", "ssu", "suu")


@dataclass(frozen=True, slots=True)
class Town:
    """Honest people."""

    leniency: float = 0.5
    """Spread in log-odds."""
    slip: float = 0.03
    """Share of cases answered at random, and of checks missed."""
    minds: float = 0.0
    """Share of people of another mind, who shift each case by log-odds of their own."""
    apart: float = 1.5
    """Spread of that shift."""
    pace: float = 0.3
    """Spread of the logarithm of people's pace."""
    jitter: float = 0.5
    """The same of single pages."""
    hurry: float = 0.3
    """Fall of the logarithm of times over the session, on average."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A study's answers, and what its people are: ``honest`` or one of ``KINDS``."""

    collected: Collected
    kinds: dict[str, str] = field(default_factory=dict)


def planted_study(casebench: Path, folder: Path, seed: int) -> tuple[Study, FloatArray]:
    """A study of 63 people with 30 cases and 8 checks each, and the share of safe votes by cell.

    Its 45 queries, in two contexts each, are drawn from CASE-Bench's.
    """
    cases = load_cases(casebench / "CASEBench_data.json").cases
    queries = list(dict.fromkeys(case.query_id for case in cases))
    chosen = set(np.random.default_rng(seed).permutation(queries)[:45].tolist())
    arms = (Arm.SAFE, Arm.UNSAFE)
    folder.mkdir(exist_ok=True)
    some = [case for case in cases if case.query_id in chosen]
    write_cases(some, folder / "cases.jsonl")
    file, path = folder / "cases.jsonl", folder / "study.yaml"
    planned = plan_study(
        load_cases(file), file, path, title="Ladders", votes=21, tasks=30, arms=arms, attention=8
    )
    write_study(planned, path)
    study = load_study(path)
    assert len(study.design.blocks) == 63
    cells = study_cases(study)
    safe, unsafe = (
        np.array([getattr(case, f"votes_{side}") for case in cells], float)
        for side in ("safe", "unsafe")
    )
    return study, (safe + 0.5) / (safe + unsafe + 1)


def knowing(study: Study, *runs: Path) -> Study:
    """The study with runs that its screening knows."""
    rules = study.screening.model_copy(update={"models": tuple(map(str, runs))})
    return study.model_copy(update={"screening": rules})


def logit(share: FloatArray) -> FloatArray:
    return np.asarray(np.log(share / (1 - share)))


def plant(
    study: Study,
    share: FloatArray,
    seed: int,
    town: Town | None = None,
    each: int = 4,
    kinds: Sequence[str] = KINDS,
    model: FloatArray | None = None,
) -> Planted:
    """Have everybody answer a block: so many people of each kind, the others honest.

    Args:
        study: Whose pages they see.
        share: Of people who say safe, by cell. Strictly in 0..1.
        model: Verdicts by cell, above 0 safe, that copies give but for 3 in 100; drawn if not
            given.
    """
    town, rng = town or Town(), np.random.default_rng(seed)
    people = len(study.design.blocks)
    named = np.array(["honest"] * people, dtype=object)
    where = rng.permutation(people)[: each * len(kinds)]
    named[where] = np.repeat(list(kinds), each)
    level = logit(share)
    other = level + rng.normal(0, town.apart, len(level))
    agrees = np.where(rng.random(len(level)) < 0.8, level, rng.permutation(level))
    drawn = agrees > np.median(level)
    copied = drawn if model is None else model > 0
    read, cases = reading(study), study_cases(study)
    records, votes, checks = [], [], []

    def honest() -> Callable[[int], bool]:
        lean, mind = rng.normal(0, town.leniency), rng.random() < town.minds
        odds = (other if mind else level) + lean

        def says(place: int) -> bool:
            if rng.random() < town.slip:
                return bool(rng.random() < 0.5)
            return bool(rng.random() < 1 / (1 + np.exp(-odds[place])))

        return says

    def paced(words: int, pace: float, spread: float, along: float) -> float:
        usual = 60 * words / 238 + 5.3
        return float(usual * np.exp(pace - town.hurry * along + spread * rng.normal()))

    for number in range(people):
        rater, kind = f"p{number:03d}", named[number]
        pages = pages_of(study, number)
        pace, says = rng.normal(0, town.pace), honest()
        turn = len(pages) + 1
        if kind == "two":
            turn, second = int(rng.integers(8, len(pages) - 8)), honest()
            second_pace = pace + rng.choice([-1, 1]) * rng.uniform(0.7, 1.2)
        patient = rng.uniform(12, 60)
        rate, safely = rng.uniform(0.35, 0.65), rng.random() < 0.5
        pattern = _pattern(rng)
        time = START + timedelta(minutes=7 * number)
        for page in pages:
            words = read.page_words(page) + 12
            along = page.position / len(pages) - 0.5
            random = bool(rng.random() < rate)
            if kind in ("honest", "copies"):
                seconds = paced(words, pace, town.jitter, along)
            elif kind == "two":
                now = pace if page.position < turn else second_pace
                seconds = paced(words, now, town.jitter, 0)
            elif kind == "fast":
                seconds = rng.uniform(3, 4)
            else:
                seconds = patient * np.exp(0.45 * rng.normal())
            seconds = max(float(seconds), read.least_seconds(page))
            time += timedelta(seconds=seconds)
            if kind == "always":
                unread = safely if rng.random() < 0.98 else not safely
            elif kind == "pattern":
                unread = next(pattern)
            else:
                unread = random
            reads = kind in ("honest", "copies", "two")
            if page.place is None:
                check = study.check(page.check)
                passed = rng.random() >= 0.03 if reads else unread == (check.expected == "safe")
                checks.append(CheckRecord(rater, check.id, bool(passed), page.position, seconds))
                continue
            if kind == "copies":
                safe = bool(copied[page.place]) == (rng.random() >= 0.03)
            elif kind == "two" and page.position >= turn:
                safe = second(page.place)
            else:
                safe = says(page.place) if reads else unread
            cell = study.design.cells[page.place]
            votes.append(
                VoteRecord(
                    rater,
                    cell.case_id,
                    cases[page.place].query_id,
                    cell.arm,
                    "safe" if safe else "unsafe",
                    page.position,
                    time=time,
                    seconds=seconds,
                )
            )
        records.append(PersonRecord(rater, PersonStatus.COMPLETED, block=number))
    collected = Collected(tuple(records), tuple(votes), tuple(checks))
    return Planted(collected, {f"p{number:03d}": kind for number, kind in enumerate(named)})


def _pattern(rng: np.random.Generator) -> Iterator[bool]:
    letters, place = PATTERNS[rng.integers(len(PATTERNS))], int(rng.integers(6))
    while True:
        said = letters[place % len(letters)] == "s"
        yield said if rng.random() < 0.97 else not said
        place += 1


HARD = Town(leniency=1.2, slip=0.12, minds=0.3, jitter=0.8, pace=0.5, hurry=0.6)
"""Honest people who differ, slip and hurry; nearly a third are of another mind."""

PAGE = " ".join((ROOT / "benchmarks/results/screening.md").read_text("utf-8").split())


class Tally:
    """Flagged people by kind, and labels, over several studies."""

    def __init__(self) -> None:
        self.people, self.flagged = Counter[str](), Counter[str]()
        self.labels = self.wrong = self.turned = 0

    def add(self, study: Study, planted: Planted) -> None:
        flagged = screen(study, planted.collected).flagged()
        for rater, kind in planted.kinds.items():
            self.people[kind] += 1
            self.flagged[kind] += rater in flagged
        table = vote_table(study, planted.collected)
        bad = frozenset(rater for rater, kind in planted.kinds.items() if kind in UNREAD)
        everybody, kept, honest = (
            one.majorities for one in (table, table.without(flagged), table.without(bad))
        )
        self.labels += len(everybody)
        self.turned += int((everybody * kept < 0).sum())
        # Labels that the screening turns, and that leaving out just those who don't read doesn't.
        self.wrong += int(((everybody * kept < 0) & (honest * kept < 0)).sum())

    def recall(self, *kinds: str) -> float:
        return sum(self.flagged[kind] for kind in kinds) / sum(self.people[kind] for kind in kinds)

    @property
    def precision(self) -> float:
        """Of those flagged, who are planted."""
        return 1 - self.flagged["honest"] / max(1, self.flagged.total())


def tally(
    planned: Sequence[tuple[Study, FloatArray]],
    seeds: range,
    town: Town | None = None,
    kinds: Sequence[str] = KINDS,
) -> Tally:
    found = Tally()
    for seed in seeds:
        study, share = planned[seed % len(planned)]
        found.add(study, plant(study, share, 7000 + seed, town, 4 if kinds else 0, kinds))
    return found


def copying(
    planned: Sequence[tuple[Study, FloatArray]], seeds: range, copied: Path, runs: Sequence[Path]
) -> Tally:
    """Copies give the verdicts of a run; the screening knows runs."""
    found = Tally()
    for seed in seeds:
        study, share = planned[seed % len(planned)]
        (model, *_) = model_verdicts(knowing(study, copied)).values()
        found.add(knowing(study, *runs), plant(study, share, 9000 + seed, model=model))
    return found


def with_checks(study: Study, number: int) -> Study:
    """The same study, with so many checks a person."""
    fewer = study.attention.model_copy(update={"per_person": number})
    return study.model_copy(update={"attention": fewer})


def check_kinds(planned: list[tuple[Study, FloatArray]]) -> None:
    """Each kind, and honest people unlike those that the screening was made for."""
    seeds = range(100, 108)
    found, alone = tally(planned, seeds), tally(planned, seeds, kinds=("clicker",))
    honest, hard = tally(planned, seeds[:4], kinds=()), tally(planned, seeds, HARD)
    few = tally([(with_checks(one, 4), share) for one, share in planned], seeds, kinds=("clicker",))

    def told(one: Tally, kind: str) -> str:
        return f"{one.flagged[kind]} of {one.people[kind]}"

    for kind in KINDS:
        assert f"| {told(found, kind)} |" in PAGE, kind
    assert f"{told(alone, 'clicker')} where they are the only four" in PAGE
    assert f"and {told(few, 'clicker')} with 4 checks" in PAGE
    assert f"| honest | {told(found, 'honest')} | in studies of honest people alone " in PAGE
    assert f"alone {told(honest, 'honest')} |" in PAGE
    assert f"Of those flagged {found.precision:.3f} are planted".replace("0.", ".") in PAGE
    assert f"{found.turned} majorities turn" in PAGE
    assert f"and {found.wrong} that leaving out" in PAGE
    assert f"{told(hard, 'honest')} honest people are flagged" in PAGE
    assert min(found.recall(*UNREAD), hard.recall(*UNREAD)) >= 0.9
    assert found.precision >= 0.95
    assert alone.precision >= 0.95
    assert max(one.wrong / one.labels for one in (found, honest, hard)) <= 0.01


def check_copies(planned: list[tuple[Study, FloatArray]], casebench: Path) -> None:
    """Copies give what GPT-4o or Llama answered."""
    gpt, llama = (casebench / "exp" / f"safety_{name}" for name in ("gpt-4o", "llama370B"))
    binary = [folder / "output_binary.json" for folder in (gpt, llama)]
    same = [copying(planned, range(100, 104), one, binary) for one in binary]
    score, other = (
        copying(planned, range(100, 104), one, binary[:1])
        for one in (gpt / "output_score.json", binary[1])
    )
    found = [one.flagged["copies"] for one in (*same, score, other)]
    assert f"of 16 who give GPT-4o's verdicts {found[0]} are flagged" in PAGE
    assert f"of 16 who give Llama's {found[1]}" in PAGE
    assert f"under another prompt {found[2]} of 16 are" in PAGE
    assert f"another model's {found[3]} of 16" in PAGE
    assert min(one.precision for one in same) >= 0.95


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        planned = [planted_study(data, Path(folder) / str(seed), seed) for seed in range(3)]
        check_kinds(planned)
        check_copies(planned, data)


if __name__ == "__main__":
    main()
