"""The commands of study/docs/annotation-study.md and annotation-running.md, on a small study.

Planning is run in test_annotate_plan.py. Here the study is smaller than the page's, so that a
served study takes seconds; the commands are the page's own.
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
from support.exchanged import prolific_csv
from support.rehearsal import known_pages, send_people
from support.starts import Start
from support.studies import write_three_arms
from support.visit import Mishaps, Scene

from casewise.cases import load_cases
from casewise_study.simulation.simulated_people import Mixture, true_rates
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import load_secrets
from casewise_study.study.schema import Timing
from casewise_study.study.study_file import load_study

PAGE = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
RUNNING = (ROOT / "study/docs/annotation-running.md").read_text("utf-8")


def commands(section: str, page: str = PAGE) -> list[str]:
    found = re.search(rf"\n###? {re.escape(section)}\n.*?(?=\n###? |\Z)", page, re.DOTALL)
    assert found is not None, section
    blocks = re.findall(r"```bash\n(.*?)```", found[0], re.DOTALL)
    assert blocks, section
    return [line.strip() for block in blocks for line in block.strip().splitlines()]


def test_its_simulations(cli: Cli, tmp_path: Path) -> None:
    write_three_arms(tmp_path, queries=4, votes=2)
    first, second = commands("Simulating")
    table = cli(*shlex.split(first)[1:])
    assert table.returncode == 0, table.stderr
    assert "Whom does the screening flag?" in table.stdout
    found = cli(*shlex.split(second)[1:])
    assert found.returncode == 0, found.stderr
    people = [one["n"] for one in json.loads(found.stdout)["flagged"].values()]
    assert sum(people) == json.loads(found.stdout)["people"] == 6


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_a_study_is_served_answered_and_exported(cli: Cli, tmp_path: Path) -> None:
    # 4 queries in 3 arms with 2 votes are 24 votes, by 6 people of 4 pages each.
    # Nobody here takes as long as people do, and of five pages two are soon left or copied from.
    rules = dict.fromkeys(("fast_share", "left_share", "copied_share"))
    write_three_arms(tmp_path, queries=4, votes=2, timing=Timing(least_seconds=0), screening=rules)
    here, elsewhere = commands("Running")
    assert here == "casewise annotate serve study.yaml"
    assert elsewhere.startswith(here)
    for option in re.findall(r"--[\w-]+", elsewhere):
        assert option in cli("annotate", "serve", "--help").stdout
    process = Start([*shlex.split(here)[1:], "--port", "0"], tmp_path, clean_env())
    try:
        address = process.line().split()[1].rstrip("/")
        judge_all(address, tmp_path / "study.yaml")
        copy, restore = commands("Backups", RUNNING)
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
    from_copy = re.search(r"`(casewise annotate export backup/[^`]+)`", RUNNING)
    assert from_copy is not None
    assert cli(*shlex.split(restore)[1:]).returncode == 0
    for line in (from_copy[1], from_copy[1].replace("backup/", "restored/")):
        again = cli(*shlex.split(line)[1:], "--force")
        assert again.returncode == 0, again.stderr
        assert load_cases(cases).cases == voted


def test_the_checklist_leads_from_the_idea_to_published_votes(cli: Cli, tmp_path: Path) -> None:
    plan, simulate, *steps = commands("Checklist")
    named = re.search(r"Eight commands lead .*? `export`", PAGE, re.DOTALL)
    assert named is not None
    called = [step.split()[2] for step in (plan, simulate, *steps)]
    eight = [one for one in dict.fromkeys(called) if one != "backup"]
    assert sorted(re.findall(r"`(\w+)`", named[0])) == sorted(eight)
    # The page's plan, as people get it; then a study small enough to be judged in seconds.
    planned = cli(*shlex.split(plan)[1:])
    assert planned.returncode == 0, planned.stderr
    assert load_study(tmp_path / "study.yaml").recruitment.platform == "prolific"
    made = load_study(tmp_path / "study.yaml").recruitment
    write_three_arms(tmp_path, recruitment=made, timing=Timing(least_seconds=0))
    assert made.signed
    simulated = cli(*shlex.split(simulate)[1:])
    assert simulated.returncode == 0, simulated.stderr
    # Nobody here can sign links as Prolific does, or takes as long as people do.
    unsigned = made.model_copy(update={"signed": False})
    write_three_arms(
        tmp_path,
        recruitment=unsigned,
        timing=Timing(least_seconds=0),
        screening={"fast_share": None},
    )
    accounts: list[str] = []
    for step in steps:
        arguments = shlex.split(step)[1:]
        if "serve" in arguments and "--write-service" not in arguments:
            accounts = served_and_judged(arguments, tmp_path)
            continue
        if "prolific_export.csv" in arguments:
            rows = [
                {"Submission id": f"s{number}", "Participant id": one, "Status": "AWAITING REVIEW"}
                | {"Age": "30", "Sex": "Female"}
                for number, one in enumerate(accounts)
            ]
            (tmp_path / "prolific_export.csv").write_text(prolific_csv(rows), "utf-8")
        done = cli(*arguments)
        assert done.returncode == 0, (step, done.stderr)
    assert len(accounts) == 6
    listed = (tmp_path / "payments.csv").read_text("utf-8")
    assert all(account in listed for account in accounts)
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "6 people with 24 counted votes on 12 cells" in card
    # Everything else on running a study: a list of the same people, and one of them excluded.
    (again,) = commands("Paying people", RUNNING)
    assert cli(*shlex.split(again)[1:], "--force").returncode == 0
    (serve,) = commands("On a machine of yours", RUNNING)
    assert serve in steps
    rater = load_cases(tmp_path / "votes/cases.jsonl").cases[0].votes[0].rater  # type: ignore[index]
    (exclude,) = commands("Excluding a person", RUNNING)
    done = cli(*shlex.split(exclude.replace("p-0123456789", str(rater)))[1:])
    assert done.returncode == 0, done.stderr


def served_and_judged(arguments: list[str], folder: Path) -> list[str]:
    """Serve as the page says, and have people judge; returns the ids of those who finished."""
    origin = arguments.index("--public-url")
    # Their browsers come here without HTTPS, to which cookies of the public address are not sent.
    here = [*arguments[:origin], *arguments[origin + 2 :], "--port", "0"]
    process = Start(here, folder, clean_env())
    try:
        # As many as the platform has places: here the study takes more, until the export is read.
        judge_all(process.line().split()[1].rstrip("/"), folder / "study.yaml", most=6)
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(30)[1]
    assert "6 of 6 blocks completed" in said
    log = (folder / "requests.log").read_text("utf-8")
    assert " POST /page/{number} 303 " in log
    with Store(
        load_study(folder / "study.yaml"),
        f"sqlite:///{folder / 'study.db'}",
        load_secrets(folder / "study.secrets.json"),
    ) as store:
        ids = (f"51a{number:021x}" for number in range(13))
        keys = ((one, store.keys.platform_key("prolific", one)) for one in ids)
        people = [(one, store.person_of_platform(key)) for one, key in keys]
    return [one for one, person in people if person and person.status == "completed"]


def judge_all(address: str, file: Path, most: int = 12) -> None:
    """Honest people come, hurry, and answer."""
    study = load_study(file)
    rates = true_rates(study, 0)
    mishaps = Mishaps(leave=0, withdraw=0)
    scene = Scene((address,), study, known_pages(study), rates, rates, mishaps, 1000)
    coming = send_people(scene, Mixture(1, 0, 0, 0), seed=1, at_once=3, most=most, progress=print)
    asyncio.run(coming)
