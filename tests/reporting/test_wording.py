"""Words follow the label rule: what reports say of whose judgement the labels are."""

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, cli_in
from support.fake_openai import FakeServer
from support.reported import Parsed

OF_PEOPLE = re.compile(
    r"\b(people|persons?|humans?(?!(?: |%20)resources)|vot(e|es|ed|ers?)|crowd)\b", re.I
)
NO_VOTE = ("no votes", "No vote counts", "No votes are counted", "cases with votes")
"""Where a report says that there are none."""

MINUS_NOTHING = re.compile(r"(?<![\w.])[-\N{MINUS SIGN}]0?\.?0+(?![\w.])")
"""A zero with a sign."""


def shown(html: str) -> str:
    """All that a reader of a page sees: its text, its labels for the blind, and its charts' words.

    Of the scripts, which hold the words of the case browser, the words that the data choose.
    """
    parsed = Parsed(html)
    labels = [attributes.get("aria-label") or "" for _, attributes in parsed.tags]
    texts = [text for text in parsed.texts if len(text) < 5000]
    words = [*labels, *texts, parsed.packed("case-data")["against"]]
    return "\n".join(words)


def said(part: Any) -> list[str]:
    """The names and the texts of JSON."""
    if isinstance(part, dict):
        return [*part, *(text for value in part.values() for text in said(value))]
    if isinstance(part, list):
        return [text for value in part for text in said(value)]
    return [part] if isinstance(part, str) else []


def without_denials(text: str) -> str:
    for words in NO_VOTE:
        text = text.replace(words, "")
    # How far the rules agree with people is about the rules, not about these cases.
    measured = r"Replies were graded by rules \(.*?under-refusal\s+by\s+up\s+to\s+\.\d+\."
    return re.sub(measured, "", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two models that judge the starter cases, and of one that answers them."""
    folder = tmp_path_factory.mktemp("starter")

    def answer(request: dict[str, Any]) -> Any:
        if not request.get("logprobs"):
            return "I can't help with that." if "urgent" in str(request) else "Here is how. Do it."
        sure = -0.2 if len(str(request["messages"])) % 3 else -1.9
        other = -1.9 if sure == -0.2 else -0.2
        return {"safe": sure, "unsafe": other}

    with FakeServer(answer) as server:
        for name, protocol in (("a", "probability"), ("b", "probability"), ("a", "respond")):
            command = ["run", "-m", f"openai-api/fake/{name}"]
            command += ["--protocol", protocol, "--log-dir", f"logs/{name}-{protocol}"]
            env = {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}
            done = cli_in(folder)(*command, env=env)
            assert done.returncode == 0, done.stderr
    return folder / "logs"


def test_cases_without_votes_are_not_said_to_have_any(
    cli: Cli, starter: Path, tmp_path: Path
) -> None:
    assert cli("report", starter, "--out", "both").returncode == 0
    page = shown((tmp_path / "both/report.html").read_text("utf-8"))
    card = (tmp_path / "both/card.md").read_text("utf-8")
    two = [starter / name for name in ("a-probability", "b-probability")]
    # Two models are subtracted by force.
    done = cli("report", *two, "--compare", "--force", "--out", "changed.html")
    assert done.returncode == 0, done.stderr
    changed = shown((tmp_path / "changed.html").read_text("utf-8"))
    score = cli("score", starter, "--all", env={"COLUMNS": "120"}).stdout
    markdown = cli("score", starter, "--all", "--format", "markdown").stdout
    compared = cli("compare", *two, "--force").stdout
    for text in (page, card, changed, score, markdown, compared):
        assert len(text) > 500
        assert [line for line in without_denials(text).splitlines() if OF_PEOPLE.search(line)] == []
        assert MINUS_NOTHING.findall(text) == []
    assert "against the authors' intention" in page
    assert "alls unsafe what is fine" in page
    assert "Against the authors' intention (labels: intended" in markdown
    assert "Held against the authors' intention" in card


@pytest.mark.parametrize(
    ("labels", "words", "others"),
    [
        ("published", "the published rates", ("people call safe", "people's judgement")),
        ("votes", "people's judgement", ("the published rate",)),
        ("intended", "the authors' intention", ("people call safe", "people's judgement")),
    ],
)
def test_the_published_outputs(
    cli: Cli,
    casebench: Path,
    tmp_path: Path,
    labels: str,
    words: str,
    others: tuple[str, ...],
) -> None:
    assert (
        cli(
            "report", casebench / "exp/safety_gpt-4o", "--labels", labels, "--out", "both"
        ).returncode
        == 0
    )
    page = shown((tmp_path / "both/report.html").read_text("utf-8"))
    card = (tmp_path / "both/card.md").read_text("utf-8")
    assert f"against {words}" in page
    assert f"Held against {words}" in card
    for other in others:
        assert other not in page
        assert other not in card
    for text in (page, card):
        assert "obody can expect to pass" not in text
        assert MINUS_NOTHING.findall(text) == []
