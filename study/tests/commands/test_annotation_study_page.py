"""The commands of study/docs/annotation-study.md and annotation-running.md, on a small study.

Planning is run in test_annotate_plan.py. Here the study is smaller than the page's, so that a
served study takes seconds; the commands are the page's own.
"""

import re
import shlex
import signal
from pathlib import Path

import pytest
from conftest import ROOT, Cli, clean_env
from support.exchanged import write_prolific
from support.serving import Guest, Origin
from support.starts import Start
from support.studies import read_csv, read_yaml, some_cases, write_arms, write_cases

PAGE = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
RUNNING = (ROOT / "study/docs/annotation-running.md").read_text("utf-8")


def commands(section: str, page: str = PAGE) -> list[str]:
    match = re.search(rf"\n###? {re.escape(section)}\n.*?(?=\n###? |\Z)", page, re.DOTALL)
    assert match is not None, section
    blocks = re.findall(r"```bash\n(.*?)```", match[0], re.DOTALL)
    assert blocks, section
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    return [line.strip() for line in lines if line.strip()]


@pytest.mark.slow
def test_eight_commands_lead_from_the_idea_to_published_votes(
    cli_inside: Cli, tmp_path: Path
) -> None:
    plan, simulate, *steps = commands("From cases to a published set")
    assert len({step.split()[2] for step in (plan, simulate, *steps)}) == 8
    # The page's plan, as people get it; then a study small enough to be judged in seconds.
    planned = cli_inside(*shlex.split(plan)[1:])
    assert planned.returncode == 0, planned.stderr
    made = read_yaml(tmp_path / "study.yaml")["recruitment"]
    assert (made["platform"], made["signed"]) == ("prolific", True)
    write_arms(tmp_path, recruitment=made, timing={"least_seconds": 0})
    simulated = cli_inside(*shlex.split(simulate)[1:])
    assert simulated.returncode == 0, simulated.stderr
    # Nobody here can sign links as Prolific does, or takes as long as people do.
    write_arms(
        tmp_path,
        recruitment=made | {"signed": False},
        timing={"least_seconds": 0},
        screening={"fast_share": None},
    )
    accounts: list[str] = []
    for step in steps:
        arguments = shlex.split(step)[1:]
        if "--try" in arguments:
            tried(arguments, tmp_path)
            continue
        if "serve" in arguments and "--write-service" not in arguments:
            accounts = [f"51a{number:021x}" for number in range(6)]
            origin = arguments.index("--public-url")
            # Browsers come here without HTTPS, to which cookies of a public address are not sent.
            here = [*arguments[:origin], *arguments[origin + 2 :]]
            said = served_and_judged(here, tmp_path, [f"PROLIFIC_PID={one}" for one in accounts])
            assert "6 places: 0 free, 0 held" in said
            log = (tmp_path / "requests.log").read_text("utf-8")
            assert " POST /page/{number} 303 " in log
            continue
        if "prolific_export.csv" in arguments:
            rows = [(account, "AWAITING REVIEW", "") for account in accounts]
            write_prolific(tmp_path / "prolific_export.csv", *rows, Age="30", Sex="Female")
        done = cli_inside(*arguments)
        assert done.returncode == 0, (step, done.stderr)
    listed = (tmp_path / "payments.csv").read_text("utf-8")
    assert all(account in listed for account in accounts)
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "24 counted votes of 6 people. 12 of 12 cells complete" in card
    # Everything else on running a study: a list of the same people, and one of them excluded.
    (again,) = commands("Paying people", RUNNING)
    assert cli_inside(*shlex.split(again)[1:], "--force").returncode == 0
    (serve,) = commands("On a machine of yours", RUNNING)
    assert serve in steps
    rater = read_csv(tmp_path / "votes/people.csv")[0]["rater"]
    (exclude,) = commands("Excluding a person", RUNNING)
    done = cli_inside(*shlex.split(exclude.replace("p-0123456789", rater))[1:])
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_flagged_person_is_replaced_in_a_study_without_a_platform(
    cli_inside: Cli, tmp_path: Path
) -> None:
    plan, serve, *steps = (shlex.split(line)[1:] for line in commands("Without a platform"))
    write_cases(tmp_path, some_cases(20))
    assert cli_inside(*plan).returncode == 0
    rules = {"attention_failed": 0, "fast_share": None}
    write_arms(tmp_path, recruitment={}, timing={"least_seconds": 0}, screening=rules)
    people = [f"participant={number}" for number in range(6)]
    served_and_judged(serve, tmp_path, people, careless=people[0])
    export, exclude, again = steps
    first = cli_inside(*export)
    assert "24 counted votes of 6 people, 20 of 5 without flagged people (6 came)" in first.stdout
    assert cli_inside(*exclude).returncode == 0
    assert "--force" in cli_inside(*export).stderr
    assert "complete" in served_and_judged(serve, tmp_path, ["participant=7"])
    last = cli_inside(*again)
    assert "24 counted votes of 6 people (7 came)" in last.stdout, last.stderr


def test_a_trial_lists_what_the_platform_needs(tmp_path: Path) -> None:
    """Nobody comes from the platform now, but later everybody will."""
    write_arms(tmp_path, recruitment={"platform": "prolific"})
    command = ["annotate", "serve", "study.yaml", "--try", "--port", "0"]
    process = Start(command, tmp_path, clean_env())
    with Guest(Origin(process.line().split()[1].rstrip("/"))) as one:
        shown = one.page.text
    process.send_signal(signal.SIGINT)
    said = process.communicate(30)[1]
    for line in ("recruitment.return_url is null", "recruitment.completed is the default code"):
        assert line in said
        assert line in shown


def tried(arguments: list[str], folder: Path) -> None:
    """Look at the study as the page says: the whole walk, of which nothing is kept."""
    before = sorted(folder.iterdir())
    process = Start([*arguments, "--port", "0"], folder, clean_env())
    with Guest(Origin(process.line().split()[1].rstrip("/"))) as one:
        assert "Trial: answers are not kept." in one.page.text
        one.begin()
        while one.at.startswith("/page/"):
            one.answer()
        assert one.at == "/done"
    process.send_signal(signal.SIGINT)
    assert "nothing answered is kept" in process.communicate(30)[1]
    assert sorted(folder.iterdir()) == before


def served_and_judged(
    arguments: list[str], folder: Path, people: list[str], careless: str = ""
) -> str:
    """Serve as the page says, and have people judge; returns what the server said."""
    process = Start([*arguments, "--port", "0"], folder, clean_env())
    try:
        server = Origin(process.line().split()[1].rstrip("/"))
        for person in people:
            with Guest(server, f"/?{person}") as one:
                one.begin()
                while one.at.startswith("/page/"):
                    is_check = "Please answer unsafe here." in one.page.text
                    one.answer("unsafe" if is_check and person != careless else "safe")
                assert one.at == "/done"
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(30)[1]
    return said
