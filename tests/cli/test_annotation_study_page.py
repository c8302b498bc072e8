"""docs/how-to/annotation-study.md, from the rehearsal to the data card, on a small study.

Planning is run in test_annotate_plan.py. Here the study is smaller than the page's, so that two
rehearsals and a served study take seconds; the commands are the page's own.
"""

import asyncio
import json
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Cli, clean_env
from support.starts import Start
from support.studies import write_three_arms

from casewise.annotation.rehearsal.rehearse import send_people
from casewise.annotation.rehearsal.seen_pages import known_pages
from casewise.annotation.rehearsal.simulated_people import Mixture, true_rates
from casewise.annotation.rehearsal.visit import Mishaps, Scene
from casewise.annotation.study.schema import Timing
from casewise.annotation.study.study_file import load_study
from casewise.cases import load_cases

PAGE = (ROOT / "docs/how-to/annotation-study.md").read_text("utf-8")
FAST = ["--speed", "100"]


def commands(section: str) -> list[str]:
    found = re.search(rf"\n###? {re.escape(section)}\n.*?(?=\n###? )", PAGE, re.DOTALL)
    assert found is not None, section
    text = found[0]
    block = re.search(r"```bash\n(.*?)```", text, re.DOTALL)
    assert block is not None, section
    return block[1].splitlines()


@pytest.mark.slow
def test_its_rehearsals(cli: Cli, tmp_path: Path) -> None:
    write_three_arms(tmp_path, queries=4, votes=2)
    first, second = commands("Rehearsing")
    table = cli(*shlex.split(first)[1:], *FAST)
    assert table.returncode == 0, table.stderr
    assert "12 of 12" in table.stdout
    found = cli(*shlex.split(second)[1:], *FAST)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["sound"]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_a_study_is_served_answered_and_exported(cli: Cli, tmp_path: Path) -> None:
    # 4 queries in 3 arms with 2 votes are 24 votes, by 6 people of 4 pages each.
    write_three_arms(tmp_path, queries=4, votes=2, timing=Timing(least_seconds=0))
    here, elsewhere = commands("Running")
    assert here == "casewise annotate serve study.yaml"
    assert elsewhere.startswith(here)
    for option in re.findall(r"--[\w-]+", elsewhere):
        assert option in cli("annotate", "serve", "--help").stdout
    process = Start([*shlex.split(here)[1:], "--port", "0"], tmp_path, clean_env())
    try:
        address = process.line().split()[1].rstrip("/")
        judge_all(address, tmp_path / "study.yaml")
        copy, from_copy = commands("Backups")
        backed_up = cli(*shlex.split(copy)[1:])
        assert backed_up.returncode == 0, backed_up.stderr
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(30)[1]
    assert "6 of 6 blocks completed" in said
    (export,) = commands("Screening, export and the data card")
    done = cli(*shlex.split(export)[1:])
    assert done.returncode == 0, done.stderr
    (cases,) = (tmp_path / "votes").glob("cases*.jsonl")
    voted = load_cases(cases).cases
    assert sum((case.votes_safe or 0) + (case.votes_unsafe or 0) for case in voted) == 24
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "6 people with 24 counted votes on 12 cells" in card
    assert "Krippendorff" in card
    again = cli(*shlex.split(from_copy)[1:], "--force")
    assert again.returncode == 0, again.stderr
    assert load_cases(cases).cases == voted


def judge_all(address: str, file: Path) -> None:
    """Honest people come, hurry, and answer."""
    study = load_study(file)
    rates = true_rates(study, 0)
    mishaps = Mishaps(leave=0, withdraw=0)
    scene = Scene(address, study, known_pages(study), rates, mishaps, 1000)
    coming = send_people(scene, Mixture(1, 0, 0, 0), seed=1, at_once=3, most=12, progress=print)
    asyncio.run(coming)
