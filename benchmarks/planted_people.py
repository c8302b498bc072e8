"""Whom a planned study's screening finds among planted people: the figures of the page on votes.

    python benchmarks/planted_people.py ../shared/data/casebench    # a minute or two

People are planted by a simulation that shares no line with the screening or with ``simulation/``
(``study/tests/support/planted_people.py``). Ends with an error where
``study/docs/annotation-votes.md`` gives a figure that isn't found.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from casewise_study.simulation.check_power import check_power, enough_checks
from casewise_study.study.schema import Study
from casewise_study.votes.collected import vote_table
from casewise_study.votes.model_verdicts import model_verdicts
from casewise_study.votes.screening import screen

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "study/tests")]

from support.planted_people import (  # noqa: E402
    KINDS,
    UNREAD,
    FloatArray,
    Planted,
    Town,
    knowing,
    plant,
    planted_study,
)

HARD = Town(leniency=1.2, slip=0.12, minds=0.3, jitter=0.8, pace=0.5, hurry=0.6)
"""Honest people who differ, slip and hurry; nearly a third are of another mind."""

PAGE = " ".join((ROOT / "study/docs/annotation-votes.md").read_text("utf-8").split())


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
    study = planned[0][0]
    assert enough_checks(study, check_power(study, 0)).checks == study.attention.per_person

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
    data = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        planned = [planted_study(data, Path(folder) / str(seed), seed) for seed in range(3)]
        check_kinds(planned)
        check_copies(planned, data)


if __name__ == "__main__":
    main()
