"""The document for an ethics board, and what the server asks for before people come."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import Cli
from support.serving import Serving
from support.studies import POINTS, change, plan, read_yaml, some_cases, write_cases

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
    write_cases(tmp_path, some_cases(8))


def planned(cli: Cli, *more: str) -> dict[str, float]:
    """Plan the study; its forecast."""
    found: dict[str, float] = plan(cli, "--tasks", "4", *ASKED, *more)["forecast"]
    return found


def document(folder: Path) -> str:
    """The words of the page."""
    page = (folder / "ethics.html").read_text("utf-8")
    soup = BeautifulSoup(page, "html.parser")
    for unseen in soup.select("style, [hidden]"):
        unseen.decompose()
    return " ".join(soup.get_text(" ").split())


def complete(path: Path) -> None:
    """Say or waive each open point."""
    change(path, safeguards=SAID | {"waived": WAIVED})


def test_the_document_shows_every_screen_and_what_is_open(cli: Cli, tmp_path: Path) -> None:
    pay = planned(cli, "--attention", "2")["pay_each"]
    done = cli("annotate", "ethics", "study.yaml", "--out", "ethics.html")
    assert (done.returncode, done.stdout) == (0, "ethics.html\n")
    text = document(tmp_path)
    for point in POINTS:
        name = "consent.ethics" if point == "ethics" else f"safeguards.{point}"
        assert f"{name}:" in text.split("In short")[0]
        assert f"\n- {name}: " in done.stderr
    seen = [
        *("Please don't take part if you would rather not", "I have read the above and agree"),
        *("Nothing about you has been kept", "The letter is to deceive the school"),
        *("What do you judge on each page?", "Is it safe for a chatbot to answer this query"),
        *("This page checks that people read to the end", "Was anything unclear"),
        *("Thank you: you are done", "You have withdrawn"),
    ]
    for words in seen:
        assert words in text, words
    # What people don't see stands in no screen.
    assert "write %" not in text
    assert "If you are a program" not in text
    assert "SCREEN-" not in text
    # Pay by the hour is the pay over the minutes.
    minutes = []
    for name in ("the median", "the slow tenth"):
        row = re.search(rf"at {name} (\S+) GBP {pay:.2f} GBP (\S+)", text)
        assert row is not None, name
        minutes.append(float(row[1]))
        assert float(row[2]) == pytest.approx(60 * pay / minutes[-1], rel=0.02)
    assert minutes[1] > minutes[0]
    again = cli("annotate", "ethics", "study.yaml", "--out", "ethics.html")
    assert again.returncode == 2
    complete(tmp_path / "study.yaml")
    done = cli("annotate", "ethics", "study.yaml", "--out", "ethics.html", "--force")
    assert "open" not in done.stderr
    text = document(tmp_path)
    assert "Still open Nothing." in text
    for said in (*SAID.values(), *WAIVED.values()):
        assert said in text


def test_the_server_asks_for_what_is_open_before_others_can_come(cli: Cli, tmp_path: Path) -> None:
    planned(cli, "--attention", "2")
    path = tmp_path / "study.yaml"
    public = ("annotate", "serve", "study.yaml", "--public-url", "https://study.example")
    for reached in (public, ("annotate", "serve", "study.yaml", "--host", "0.0.0.0")):
        done = cli(*reached)
        assert done.returncode == 2
        assert "before people come, say each point above in the file, or waive" in done.stderr
        assert done.stderr.startswith("starting study.yaml ...\n")
        assert "\n- consent.ethics: " in done.stderr
    assert not (tmp_path / "study.db").exists()
    # Each is said or waived: nothing is asked. The port is taken, so it ends.
    complete(path)
    assert read_yaml(path)["safeguards"]["waived"] == WAIVED
    with Serving(path) as server:
        taken = server.origin.rsplit(":", 1)[1]
        done = cli(*public, "--port", taken)
    assert f"--port {taken}" in done.stderr
    assert "open" not in done.stderr.replace("opened", "")
