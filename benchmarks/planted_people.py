"""Whom a planned study's screening finds among planted people.

    python benchmarks/planted_people.py ../shared/data/casebench    # a minute or two

People are planted among honest ones, drawn by nothing that screening or ``simulation/`` know of:
truth is the share of votes on CASE-Bench's cases. Ends with an error where
``benchmarks/results/screening.md`` gives a figure that isn't found.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casewise.cases import Side, load_cases, write_cases
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
EACH = 4
"""People of each kind in a study."""
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


def changed(study: Study, part: str, **fields: object) -> Study:
    """The study with some fields of a part changed."""
    return study.model_copy(update={part: getattr(study, part).model_copy(update=fields)})


def logit(share: FloatArray) -> FloatArray:
    return np.asarray(np.log(share / (1 - share)))


def plant(
    study: Study,
    share: FloatArray,
    seed: int,
    town: Town | None = None,
    kinds: Sequence[str] = KINDS,
    model: FloatArray | None = None,
) -> tuple[Collected, dict[str, str]]:
    """Have everybody answer a block: four people of each kind, the others honest.

    Args:
        study: Whose pages they see.
        share: Of people who say safe, by cell. Strictly in 0..1.
        model: Verdicts by cell, above 0 safe, that copies give but for 3 in 100; drawn if not
            given.

    Returns:
        Their answers, and of each person ``honest`` or one of ``KINDS``.
    """
    town, rng = town or Town(), np.random.default_rng(seed)
    people = len(study.design.blocks)
    named = np.array(["honest"] * people, dtype=object)
    where = rng.permutation(people)[: EACH * len(kinds)]
    named[where] = np.repeat(list(kinds), EACH)
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

    def paced(words: int, pace: float, along: float) -> float:
        usual = 60 * words / 238 + 5.3
        return float(usual * np.exp(pace - town.hurry * along + town.jitter * rng.normal()))

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
            random, is_second = bool(rng.random() < rate), page.position >= turn
            if kind in ("honest", "copies"):
                along = page.position / len(pages) - 0.5
                seconds = paced(words, pace, along)
            elif kind == "two":
                seconds = paced(words, second_pace if is_second else pace, 0)
            elif kind == "fast":
                seconds = rng.uniform(3, 4)
            else:
                seconds = patient * np.exp(0.45 * rng.normal())
            seconds = max(float(seconds), read.least_seconds(page))
            time += timedelta(seconds=seconds)
            unread = random
            if kind == "always":
                unread = safely if rng.random() < 0.98 else not safely
            elif kind == "pattern":
                unread = next(pattern)
            if page.place is None:
                check = study.check(page.check)
                passed = unread == (check.expected == "safe")
                if kind not in UNREAD:
                    passed = rng.random() >= 0.03
                checks.append(CheckRecord(rater, check.id, bool(passed), page.position, seconds))
                continue
            if kind == "copies":
                safe = bool(copied[page.place]) == (rng.random() >= 0.03)
            elif kind in UNREAD:
                safe = unread
            else:
                safe = (second if is_second else says)(page.place)
            cell, query = study.design.cells[page.place], cases[page.place].query_id
            side: Side = "safe" if safe else "unsafe"
            vote = VoteRecord(rater, cell.case_id, query, cell.arm, side, page.position)
            votes.append(replace(vote, time=time, seconds=seconds))
        records.append(PersonRecord(rater, PersonStatus.COMPLETED, block=number))
    kinds_by_rater = {record.rater: kind for record, kind in zip(records, named, strict=True)}
    return Collected(tuple(records), tuple(votes), tuple(checks)), kinds_by_rater


def _pattern(rng: np.random.Generator) -> Iterator[bool]:
    letters, place = PATTERNS[rng.integers(len(PATTERNS))], int(rng.integers(6))
    while True:
        said = letters[place % len(letters)] == "s"
        yield said if rng.random() < 0.97 else not said
        place += 1


HARD = Town(leniency=1.2, slip=0.12, minds=0.3, jitter=0.8, pace=0.5, hurry=0.6)
"""Honest people who differ, slip and hurry; nearly a third are of another mind."""

PAGE = " ".join((ROOT / "benchmarks/results/screening.md").read_text("utf-8").split())


Planned = list[tuple[Study, FloatArray]]


class Tally:
    """Flagged people by kind, and labels, over several studies."""

    def __init__(self) -> None:
        self.people, self.flagged = Counter[str](), Counter[str]()
        self.labels = self.wrong = self.turned = 0

    def add(self, study: Study, collected: Collected, kinds: dict[str, str]) -> None:
        flagged = screen(study, collected).flagged()
        self.people.update(kinds.values())
        self.flagged.update(kind for rater, kind in kinds.items() if rater in flagged)
        table = vote_table(study, collected)
        bad = frozenset(rater for rater, kind in kinds.items() if kind in UNREAD)
        everybody, kept, honest = (
            one.majorities for one in (table, table.without(flagged), table.without(bad))
        )
        self.labels += len(everybody)
        self.turned += int((everybody * kept < 0).sum())
        # Labels that the screening turns, and that leaving out just those who don't read doesn't.
        self.wrong += int(((everybody * kept < 0) & (honest * kept < 0)).sum())

    def share(self, kind: str) -> str:
        return f"{self.flagged[kind]} of {self.people[kind]}"

    @property
    def recall(self) -> float:
        """Of those who don't read, who are flagged."""
        return sum(self.flagged[one] for one in UNREAD) / sum(self.people[one] for one in UNREAD)

    @property
    def precision(self) -> float:
        """Of those flagged, who are planted."""
        return 1 - self.flagged["honest"] / max(1, self.flagged.total())


def tally(
    planned: Planned,
    seeds: range,
    town: Town | None = None,
    kinds: Sequence[str] = KINDS,
    copied: Path | None = None,
    known: Sequence[Path] = (),
) -> Tally:
    """Plant people in a study a seed, and screen them.

    Args:
        planned: Studies, which take turns.
        seeds: Of the people.
        town: Honest people.
        kinds: The others.
        copied: Run whose verdicts copies give.
        known: Runs that the screening knows.
    """
    found = Tally()
    for seed in seeds:
        study, share = planned[seed % len(planned)]
        model = None
        if copied:
            (model,) = model_verdicts(changed(study, "screening", models=(str(copied),))).values()
            study = changed(study, "screening", models=tuple(map(str, known)))
        found.add(
            study, *plant(study, share, (9000 if copied else 7000) + seed, town, kinds, model)
        )
    return found


def of_kinds(planned: Planned) -> list[str]:
    """Figures of each kind, and of honest people unlike those that the screening was made for."""
    seeds = range(100, 108)
    found, alone = tally(planned, seeds), tally(planned, seeds, kinds=("clicker",))
    honest, hard = tally(planned, seeds[:4], kinds=()), tally(planned, seeds, HARD)
    fewer = [(changed(one, "attention", per_person=4), share) for one, share in planned]
    few = tally(fewer, seeds, kinds=("clicker",))
    assert min(found.recall, hard.recall) >= 0.9
    assert min(found.precision, alone.precision) >= 0.95
    assert max(one.wrong / one.labels for one in (found, honest, hard)) <= 0.01
    return [
        *(f"| {found.share(kind)} |" for kind in KINDS),
        f"{alone.share('clicker')} where they are the only four, and {few.share('clicker')} with 4",
        f"| honest | {found.share('honest')} | in studies of honest people alone "
        f"{honest.share('honest')} |",
        f"Of those flagged {found.precision:.3f} are planted".replace("0.", "."),
        f"{found.turned} majorities turn as they are left out, and {found.wrong} that leaving out",
        f"{hard.share('honest')} honest people are flagged",
    ]


def of_copies(planned: Planned, casebench: Path) -> list[str]:
    """Figures of people who give what GPT-4o or Llama answered."""
    gpt, llama = (casebench / "exp" / f"safety_{name}" for name in ("gpt-4o", "llama370B"))
    binary = [folder / "output_binary.json" for folder in (gpt, llama)]
    ways = [(one, binary) for one in binary]
    ways += [(one, binary[:1]) for one in (gpt / "output_score.json", binary[1])]
    found = [tally(planned, range(100, 104), copied=one, known=known) for one, known in ways]
    assert min(one.precision for one in found[:2]) >= 0.95
    first, second, other_prompt, other_model = (one.flagged["copies"] for one in found)
    return [
        f"of 16 who give GPT-4o's verdicts {first} are flagged, of 16 who give Llama's {second}",
        f"under another prompt {other_prompt} of 16 are",
        f"another model's {other_model} of 16",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("casebench", type=Path, help="folder of CASE-Bench's files")
    data = parser.parse_args().casebench.resolve()
    with tempfile.TemporaryDirectory() as folder:
        planned = [planted_study(data, Path(folder) / str(seed), seed) for seed in range(3)]
        figures = of_kinds(planned) + of_copies(planned, data)
    missing = [figure for figure in figures if figure not in PAGE]
    print(*(f"not on the page: {figure}" for figure in missing), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
