"""A study that was begun while its code was a part of casewise goes on: same files, same database.

``data/begun`` was written by that code: three people came; one finished, one stands at the second
page, one was excluded. Its secrets protect nobody.
"""

import shutil
import sqlite3
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from support.serving import Guest, Serving
from support.studies import Clock, finish

from casewise_study.store.study_store import Store
from casewise_study.study.accounts import load_secrets
from casewise_study.study.study_file import load_study
from casewise_study.study.study_rules import Rule

BEGUN = ROOT / "study/tests/data/begun"
FINISHED, AT_WORK = "one" * 10, "two" * 10


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    for name in ("study.yaml", "cases.jsonl", "study.secrets.json"):
        shutil.copy(BEGUN / name, tmp_path)
    (tmp_path / "study.secrets.json").chmod(0o600)
    with sqlite3.connect(tmp_path / "study.db") as database:
        database.executescript((BEGUN / "study.sql").read_text("utf-8"))
    database.close()
    return tmp_path / "study.yaml"


def test_its_votes_are_exported_as_before(begun: Path, cli: Cli) -> None:
    done = cli("annotate", "export", "study.yaml", "--out", "out")
    assert done.returncode == 0, done.stderr
    wanted = (BEGUN / "votes.csv").read_text("utf-8")
    assert (begun.parent / "out/votes.csv").read_text("utf-8") == wanted
    assert wanted.count(",true\n") == 4
    # ``agreement_most`` bounded the one, and ``words_p`` was off: they are not named.
    told = "The study file sets one_answer_share and agreement_p: rules that casewise no longer has"
    card = (begun.parent / "out/data-card.md").read_text("utf-8")
    assert card.count(told) == " ".join(done.stdout.split()).count(told) == 1
    assert load_study(begun).screening.rules == (Rule.ATTENTION, Rule.FAST)
    text = begun.read_text("utf-8").replace("  agreement_p: 0.05", "  agreement_q: 0.05")
    begun.write_text(text, "utf-8")
    done = cli("annotate", "export", "study.yaml", "--out", "again")
    assert done.returncode == 2
    assert "agreement_q" in done.stderr


def test_who_was_at_work_goes_on(begun: Path) -> None:
    clock = Clock()
    clock.turn(minutes=1)
    keys = load_secrets(begun.with_suffix(".secrets.json"))
    address = f"sqlite:///{begun.with_suffix('.db')}"
    with Store(load_study(begun), address, keys, clock=clock) as store:
        before = store.person(AT_WORK)
        assert before is not None
        assert (before.status, before.position) == ("active", 1)
        assert store.person_of_platform(keys.platform_key("none", "ada")) is not None
        finish(store, clock, AT_WORK)
        assert store.progress().completed == 2
        votes = [vote for vote in store.collected().votes if vote.rater == before.rater]
        assert len(votes) == 3


def test_who_finished_comes_back_by_the_personal_code(begun: Path) -> None:
    keys = load_secrets(begun.with_suffix(".secrets.json"))
    code = keys.personal_code(FINISHED)
    with Serving(begun, keys=keys) as server, Guest(server, "/resume") as ada:
        ada.come_back(code)
        assert ada.at == "/done"
        assert code in ada.page.text
