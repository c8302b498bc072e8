"""The document for an ethics board, and what the server asks for before people come."""

import html
import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import Cli
from support.planned import on_disk, pairs
from support.serving import Guest, Serving
from support.studies import KEYS

from casewise_study.app_study.ethics import SessionMinutes
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.planning import open_points, session_pay
from casewise_study.study.study_file import load_study, study_language

ASKED = ("--by", "A lab", "--contact", "lab@example.org", "--pay", "12", "--votes", "3")
SAID = {
    "helplines": "Samaritans, 116 123",
    "data_controller": "Example University",
    "legal_basis": "consent",
    "storage_place": "a server in Germany",
    "access": "Ada and Ben",
}
WAIVED = {"ethics": "Ada Example: reviewed as a survey", "partial_pay": "Ada Example: all are paid"}


@pytest.fixture(autouse=True)
def cases(tmp_path: Path) -> None:
    on_disk(tmp_path, pairs(8))


def planned(cli: Cli, *more: str) -> None:
    done = cli(
        "annotate", "plan", "cases.jsonl", "--out", "study.yaml", "--tasks", "4", *ASKED, *more
    )
    assert done.returncode == 0, done.stderr


def complete(path: Path) -> None:
    """Say or waive each open point."""
    text = path.read_text("utf-8")
    for name, value in SAID.items():
        text = re.sub(rf"(?m)^  {name}: null", f"  {name}: {json.dumps(value)}", text)
    path.write_text(text.replace("  waived: {}", f"  waived: {json.dumps(WAIVED)}"), "utf-8")
    assert open_points(load_study(path)) == []


def test_the_document_shows_every_screen_and_what_is_open(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(cli_inside, "--attention", "2")
    # No browser prints it here.
    monkeypatch.setenv("PATH", str(tmp_path))
    done = cli_inside("annotate", "ethics", "study.yaml", "--out", "ethics")
    assert (done.returncode, done.stdout) == (0, "ethics\n")
    assert "save ethics/ethics.html as PDF" in done.stderr
    study = load_study(tmp_path / "study.yaml")
    text = (tmp_path / "ethics/ethics.md").read_text("utf-8")
    page = html.unescape((tmp_path / "ethics/ethics.html").read_text("utf-8"))
    for point in open_points(study):
        assert f"- `{point}`" in text.split("## In short")[0]
        assert f"still open: {point}" in done.stderr
    seen = [
        *("Please don't take part if you would rather not", "I have read the above and agree"),
        *("Nothing about you has been kept", "The letter is to deceive the school"),
        *("What do you judge on each page?", "Is it safe for a chatbot to answer this query"),
        *("This page checks that people read to the end", "Was anything unclear"),
        *("Thank you: you are done", "You have withdrawn"),
    ]
    for words in seen:
        assert words in text, words
        assert words in page, words
    # What people don't see stands in no screen.
    assert "write %" not in text
    assert "If you are a program" not in text
    assert "SCREEN-" not in page
    # Pay by the hour is the pay over the minutes.
    minutes, pay = SessionMinutes.by_words(study), session_pay(study)
    assert minutes.slow > minutes.median
    for name, each in (("the median", minutes.median), ("the slow tenth", minutes.slow)):
        assert f"| at {name} | {each:.1f} | GBP {pay:.2f} | GBP {60 * pay / each:.2f} |" in text
    again = cli_inside("annotate", "ethics", "study.yaml", "--out", "ethics")
    assert again.returncode == 2
    complete(tmp_path / "study.yaml")
    done = cli_inside("annotate", "ethics", "study.yaml", "--out", "ethics", "--force")
    assert "open" not in done.stderr
    text = (tmp_path / "ethics/ethics.md").read_text("utf-8")
    assert "## Still open\n\nNothing." in text
    for said in (*SAID.values(), *WAIVED.values()):
        assert said in text


def test_minutes_are_those_of_a_pilot_and_screens_of_its_language(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(cli_inside, "--attention", "0", "--tasks", "2", "--language", "de")
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)
    study = load_study(tmp_path / "study.yaml")
    with Serving(tmp_path / "study.yaml") as server:
        for seconds in (60, 120, 180):
            with Guest(server) as guest:
                guest.agree().understand(study)
                while guest.at.startswith("/page/"):
                    guest.answer(seconds=seconds)
    pilot = ("--from-pilot", "study.yaml")
    done = cli_inside("annotate", "ethics", "study.yaml", "--out", "ethics", *pilot)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "ethics/ethics.md").read_text("utf-8")
    # Two pages of 1, 2 and 3 minutes: 2, 4 and 6, whose median is 4 and ninth tenth 5.6.
    assert "as measured in a pilot of 3 people" in text
    assert "| at the median | 4.0 |" in text
    assert "| at the slow tenth | 5.6 |" in text
    for said in ("Agree and go on", "Thank you: you are done", "Last questions"):
        assert study_language(study).say(said) in text


@pytest.mark.slow
@pytest.mark.browser
def test_a_browser_prints_it(cli_inside: Cli, tmp_path: Path) -> None:
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed")
    planned(cli_inside)
    done = cli_inside("annotate", "ethics", "study.yaml", "--out", "ethics")
    assert done.returncode == 0, done.stderr
    printed = (tmp_path / "ethics/ethics.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert b"/MarkInfo" in printed


def test_the_server_asks_for_what_is_open_before_others_can_come(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(cli_inside)
    public = ("annotate", "serve", "study.yaml", "--public-url", "https://study.example")
    for reached in (public, ("annotate", "serve", "study.yaml", "--host", "0.0.0.0")):
        done = cli_inside(*reached)
        assert done.returncode == 2
        assert "before people come, say each in the file, or waive it" in done.stderr
        assert "consent.ethics" in done.stderr
    assert not (tmp_path / "study.db").exists()
    # People have come: it goes on, and names what is open. The port is taken, so it ends.
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as guest:
        guest.agree()
        taken = server.origin.rsplit(":", 1)[1]
        done = cli_inside(*public, "--port", taken)
    assert "still open, so give or waive it" in done.stderr
    assert f"--port {taken}" in done.stderr
    (tmp_path / "study.db").unlink()
    # Each is said or waived: nothing is asked.
    complete(tmp_path / "study.yaml")
    with Serving(tmp_path / "study.yaml") as server:
        done = cli_inside(*public, "--port", server.origin.rsplit(":", 1)[1])
    assert "open" not in done.stderr.replace("opened", "")
