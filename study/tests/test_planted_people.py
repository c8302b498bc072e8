"""Planted people: whom a planned study's screening finds, judged by a simulation of its own.

``support.planted_people`` shares no line with the screening or with ``simulation/``. Truth is the
share of votes on CASE-Bench's cases.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from support.planned import a_plan, on_disk
from support.planted_people import KINDS, FloatArray, Planted, Town, plant

from casewise.cases import load_cases
from casewise_study.simulation.check_power import check_power, enough_checks
from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import load_study, write_study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.collected import vote_table
from casewise_study.votes.model_verdicts import model_verdicts
from casewise_study.votes.screening import screen

FOUND = ("clicker", "fast", "always", "pattern")
"""Kinds who don't read."""

HARD = Town(leniency=1.2, slip=0.12, minds=0.3, jitter=0.8, pace=0.5, hurry=0.6)
"""Honest people who differ, slip and hurry; nearly a third are of another mind."""


@pytest.fixture(scope="module")
def planned(
    casebench: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Study, FloatArray]]:
    """Studies of 63 people with 30 cases and 8 checks each, of 45 queries in two contexts."""
    cases = load_cases(casebench / "CASEBench_data.json").cases
    queries = list(dict.fromkeys(case.query_id for case in cases))
    studies = []
    for seed in range(3):
        chosen = set(np.random.default_rng(seed).permutation(queries)[:45].tolist())
        folder = tmp_path_factory.mktemp("planted")
        some = [case for case in cases if case.query_id in chosen]
        plan = a_plan(votes=21, tasks=30, arms=(Arm.SAFE, Arm.UNSAFE), attention=8)
        write_study(on_disk(folder, some, plan), folder / "study.yaml")
        study = load_study(folder / "study.yaml")
        by_id = {case.id: case for case in some}
        votes = np.array(
            [
                (by_id[cell.case_id].votes_safe, by_id[cell.case_id].votes_unsafe)
                for cell in study.design.cells
            ],
            float,
        )
        assert len(study.design.blocks) == 63
        studies.append((study, (votes[:, 0] + 0.5) / (votes.sum(axis=1) + 1)))
    return studies


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
        bad = frozenset(rater for rater, kind in planted.kinds.items() if kind in FOUND)
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


def known(study: Study, *runs: Path) -> Study:
    """The study with runs that its screening knows."""
    rules = study.screening.model_copy(update={"models": tuple(map(str, runs))})
    return study.model_copy(update={"screening": rules})


def copying(
    planned: Sequence[tuple[Study, FloatArray]], seeds: range, copied: Path, runs: Sequence[Path]
) -> Tally:
    """Copies give the verdicts of a run; the screening knows runs."""
    found = Tally()
    for seed in seeds:
        study, share = planned[seed % len(planned)]
        (model, *_) = model_verdicts(known(study, copied)).values()
        found.add(known(study, *runs), plant(study, share, 9000 + seed, model=model))
    return found


def test_who_does_not_read_is_found(planned: list[tuple[Study, FloatArray]]) -> None:
    """Four of each kind among 63 people."""
    found = tally(planned, range(3))
    assert found.recall(*FOUND) >= 0.9
    assert found.precision >= 0.95
    assert found.wrong <= 0.01 * found.labels


def test_who_gives_the_verdicts_of_a_run(
    planned: list[tuple[Study, FloatArray]], casebench: Path, tmp_path: Path
) -> None:
    run = casebench / "exp/safety_gpt-4o/output_binary.json"
    study, share = planned[1]
    (name, model), *_ = model_verdicts(known(study, run)).items()
    planted = plant(study, share, 9001, model=model)
    screened = screen(known(study, run), planted.collected)
    copies = screened.flagged(Rule.MODEL)
    assert len(copies) >= 3
    assert {planted.kinds[rater] for rater in copies} == {"copies"}
    reasons = [
        flag.reason
        for person in screened.people
        for flag in person.flags
        if flag.rule is Rule.MODEL
    ]
    assert name == "gpt-4o binary"
    assert all(reason.startswith(f"gives the verdicts of {name} (") for reason in reasons)
    assert not screen(study, planted.collected).flagged(Rule.MODEL)
    nowhere = tmp_path / "none.json"
    lost = known(study, nowhere)
    assert f"screening.models: {nowhere} is not there" in check_ready(lost)


def with_checks(study: Study, number: int) -> Study:
    """The same study, with so many checks a person."""
    fewer = study.attention.model_copy(update={"per_person": number})
    return study.model_copy(update={"attention": fewer})


@pytest.mark.slow
def test_the_page_says_who_is_found(planned: list[tuple[Study, FloatArray]]) -> None:
    """The figures of ``annotation-votes.md``, and honest people unlike those it was made for."""
    page = " ".join((ROOT / "study/docs/annotation-votes.md").read_text("utf-8").split())
    seeds = range(100, 108)
    found, alone = tally(planned, seeds), tally(planned, seeds, kinds=("clicker",))
    honest, hard = tally(planned, seeds[:4], kinds=()), tally(planned, seeds, HARD)
    few = tally([(with_checks(one, 4), share) for one, share in planned], seeds, kinds=("clicker",))
    study = planned[0][0]
    assert enough_checks(study, check_power(study, 0)).checks == study.attention.per_person

    def told(one: Tally, kind: str) -> str:
        return f"{one.flagged[kind]} of {one.people[kind]}"

    for kind in KINDS:
        assert f"| {told(found, kind)} |" in page, kind
    assert f"{told(alone, 'clicker')} where they are the only four" in page
    assert f"and {told(few, 'clicker')} with 4 checks" in page
    assert f"| honest | {told(found, 'honest')} | in studies of honest people alone " in page
    assert f"alone {told(honest, 'honest')} |" in page
    assert f"Of those flagged {found.precision:.3f} are planted".replace("0.", ".") in page
    assert f"{found.turned} majorities turn" in page
    assert f"and {found.wrong} that leaving out" in page
    assert f"{told(hard, 'honest')} honest people are flagged" in page
    assert min(found.recall(*FOUND), hard.recall(*FOUND)) >= 0.9
    assert found.precision >= 0.95
    assert alone.precision >= 0.95
    assert max(one.wrong / one.labels for one in (found, honest, hard)) <= 0.01


@pytest.mark.slow
def test_copies_of_a_run_that_the_screening_knows(
    planned: list[tuple[Study, FloatArray]], casebench: Path
) -> None:
    """The figures of ``annotation-votes.md``: copies give what GPT-4o or Llama answered."""
    page = " ".join((ROOT / "study/docs/annotation-votes.md").read_text("utf-8").split())
    gpt, llama = (casebench / "exp" / f"safety_{name}" for name in ("gpt-4o", "llama370B"))
    binary = [folder / "output_binary.json" for folder in (gpt, llama)]
    same = [copying(planned, range(100, 104), one, binary) for one in binary]
    score, other = (
        copying(planned, range(100, 104), one, binary[:1])
        for one in (gpt / "output_score.json", binary[1])
    )
    found = [one.flagged["copies"] for one in (*same, score, other)]
    assert f"of 16 who give GPT-4o's verdicts {found[0]} are flagged" in page
    assert f"of 16 who give Llama's {found[1]}" in page
    assert f"under another prompt {found[2]} of 16 are" in page
    assert f"another model's {found[3]} of 16" in page
    assert min(one.precision for one in same) >= 0.95
