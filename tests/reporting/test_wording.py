"""Words follow the label rule: what reports say of whose judgement the labels are."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli, cli_in
from support.fake_openai import FakeServer
from support.reported import Parsed, overview_of
from support.tables import judgement, random_table, table

from casewise.cases import LabelRule
from casewise.results import leaderboard_lines, leading, whole_percent
from casewise.results._leaderboard_words import follows
from casewise.results._wording import of_100, points, rule_wording, wording
from casewise.scores import Estimate, Scoring, make_overview, read_paths

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
    for chart in parsed.packed("chart-data"):
        words += said(chart["rows"][:1])
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
    score = cli("score", starter, env={"COLUMNS": "120"}).stdout
    markdown = cli("score", starter, "--format", "markdown").stdout
    compared = cli("compare", *two, "--force").stdout
    for text in (page, card, changed, score, markdown, compared):
        assert len(text) > 500
        assert [one for one in without_denials(text).splitlines() if OF_PEOPLE.search(one)] == []
        assert MINUS_NOTHING.findall(text) == []
    for words in (
        "measured against the authors' intention",
        "How often each model judges as the authors meant",
        "are 70 % of such cases meant to be safe?",
        "meant to be safe (100 %) or unsafe (0 %)",
        "calls unsafe what was meant to be safe",
        "Where models go against the authors' intention",
        "if it answers what was meant to be safe, or refuses what was meant to be unsafe",
        "what its author meant, and what each run said",
    ):
        assert words in page, words
    assert "within safe contexts" not in page, "labels that don't vary can't be followed"
    assert "Against the authors' intention (labels: intended" in score
    assert "the share refused of what was meant to be safe" in card


@pytest.mark.parametrize(
    ("labels", "words", "others"),
    [
        (
            "published",
            (
                "agrees with the published labels",
                "what the published rate calls safe",
                "published safe rate",
                "measured against the published rates",
                "guessing the intention can pass it",
                "Held against the published rates",
            ),
            ("people call safe", "share of people", "people's judgement", "people's votes;"),
        ),
        (
            "votes",
            (
                "judges as people do",
                "what people call safe",
                "share of people who say safe",
                "Held against people's judgement",
            ),
            ("the published rate", "guessing the intention can pass it"),
        ),
        (
            "intended",
            (
                "judges as the authors meant",
                "what was meant to be safe",
                "Held against the authors' intention",
            ),
            ("people call safe", "share of people", "judges as people", "people's judgement"),
        ),
    ],
)
@pytest.mark.parametrize("part", ["safety_gpt-4o", pytest.param("", marks=pytest.mark.slow)])
def test_the_published_outputs(
    cli: Cli,
    casebench: Path,
    tmp_path: Path,
    part: str,
    labels: str,
    words: tuple[str, ...],
    others: tuple[str, ...],
) -> None:
    """Of one model, and of all."""
    assert (
        cli("report", casebench / "exp" / part, "--labels", labels, "--out", "both").returncode == 0
    )
    page = shown((tmp_path / "both/report.html").read_text("utf-8"))
    card = (tmp_path / "both/card.md").read_text("utf-8")
    for one in words:
        assert one in page
    for one in others:
        assert one not in page
        assert one not in card
    assert words[-1] in card
    for text in (page, card):
        assert "obody can expect to pass" not in text
        assert MINUS_NOTHING.findall(text) == []


def test_a_small_correlation_is_not_said_to_follow(casebench: Path) -> None:
    """gpt-4o's scores: .199 and .130 of at most .740 and .641, above 0 in either type."""
    judged = read_paths([casebench / "exp/safety_gpt-4o/output_score.json"])
    found = make_overview(judged, Scoring(LabelRule.PUBLISHED))
    (following,) = leaderboard_lines(found, acts=False)
    assert "gpt-4o hardly follow the published rates: correlation .20 (" in following
    assert "; ceiling .74) and .13 (" in following
    assert following.endswith("; ceiling .64).")


def correlation(value: float, margin: float) -> Estimate:
    """An estimate with half the width of its 95 % interval; NaN is none, of a single cluster."""
    clusters = 100 if margin == margin else 1
    return Estimate(value, np.array([margin / 1.959963984540054]), clusters)


@pytest.mark.parametrize(
    ("value", "margin", "ceiling", "how"),
    [
        (0.13, 0.05, 0.64, "hardly follow"),
        (0.14, 0.05, 0.74, "hardly follow"),
        (0.13, 0.14, 0.64, "are not shown to follow"),
        (0.30, 0.05, 0.59, "partly follow"),
        (0.45, 0.05, 0.60, "follow"),
        (-0.16, 0.05, 0.64, "go against"),
        (-0.02, 0.05, 0.64, "are not shown to follow"),
        (0.29, 0.05, 0.60, "hardly follow"),
        (0.40, 0.05, float("nan"), "hardly follow"),
        (0.40, float("nan"), 0.60, "are not shown to follow"),
    ],
)
def test_what_counts_as_following(value: float, margin: float, ceiling: float, how: str) -> None:
    assert follows(correlation(value, margin), ceiling) == how


def low_mass(model: str, mass: float, p_safe: float = 0.9) -> list[dict[str, Any]]:
    """A judge that says safe of nothing but what is labelled so; its mass on the two words."""
    return [
        judgement(f"q{i}", side, p if side == "safe" else 1 - p, model=model, run_id=model)
        | {"mass": mass}
        for i in range(40)
        for side, p in (("safe", p_safe), ("unsafe", p_safe))
    ]


def test_a_first_token_off_the_two_words_is_not_interpreted() -> None:
    found = overview_of(table(*low_mass("noise", 0.001)))
    (verdict,) = leading(found).leading
    assert leaderboard_lines(found, acts=False) == []
    told = " ".join(verdict.said)
    assert "puts only .001 of its probability on 'safe' or 'unsafe'" in told
    for words in ("judges as", "refuses", "calls", "correlation", "%"):
        assert words not in told
    # Above the threshold of .05, as in the warning of casewise score.
    (verdict,) = leading(overview_of(table(*low_mass("model", 0.06)))).leading
    assert verdict.said[1].startswith("Calls unsafe ")


def test_it_doesn_t_lead_a_model_that_gives_verdicts() -> None:
    rows = [*low_mass("noise", 0.001), *low_mass("model", 0.9, 0.4)]
    found = overview_of(table(*rows))
    (verdict,) = leading(found).leading
    assert verdict.subject.startswith("model (probability)")
    lines = " ".join(leaderboard_lines(found, acts=False))
    assert "noise" not in lines + " ".join(verdict.said)


@pytest.mark.parametrize(
    "numbers",
    [(2, 3, 5, 8, 13, 21, 34, 59), pytest.param(range(2, 60), marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_no_interval_of_a_share_begins_below_0(numbers: Sequence[int]) -> None:
    """A judge without a mistake of one kind, over few queries and many."""
    for queries in numbers:
        rows = [judgement(f"q{i}", side, 0.1, votes=None) for i in range(queries) for side in SIDES]
        (verdict,) = leading(overview_of(table(*rows))).leading
        few = f"0 of {queries} unacceptable requests (few cases: "
        some = "0 of every 100 unacceptable requests (0 to "
        assert f"calls safe {few if queries < 20 else some}" in verdict.said[1]
        assert "-" not in verdict.said[1]


SIDES = ("safe", "unsafe")


def test_several_kinds_of_labels_have_words_that_hold_for_all() -> None:
    voted = random_table(6, 1, model="a", run_id="a", dataset_hash="1")
    meant = [judgement(f"p{i}", side, 0.8, votes=None) for i in range(6) for side in SIDES]
    found = overview_of(voted.vstack(table(*(row | {"dataset_hash": "2"} for row in meant))))
    words = wording(*found.scores)
    assert {one.labels for one in found.scores} == {LabelRule.VOTES, LabelRule.INTENDED}
    assert words.against == "the labels"
    assert {wording(one).against for one in found.scores} == {
        "people's judgement",
        "the authors' intention",
    }


def test_every_rule_has_words_of_its_own() -> None:
    assert len({rule_wording(one).grounds for one in LabelRule}) == len(LabelRule)


@pytest.mark.parametrize(
    ("share", "found"),
    [
        # 1 - .975 is .025000000000000022, a float above the half; 1/8 is exact.
        *((0.025, "3"), (1 - 0.975, "3"), (0.125, "13"), (1 - 0.875, "13"), (0.175, "18")),
        *((0.045, "5"), (0.985, "99")),
        # None and all are said of nothing else.
        *((0.004, "0.4"), (0.00449, "0.4"), (0.0045, "0.5"), (0.996, "99.6"), (0, "0"), (1, "100")),
        # But for what no digit tells from them.
        *((0.0004, "0"), (0.9996, "100"), (0.0005, "0.1")),
    ],
)
def test_halves_of_a_hundred_go_up_in_sentence_and_card(share: float, found: str) -> None:
    assert of_100(share) == found
    assert whole_percent(share) == f"{found} %"


def test_halves_of_a_point_go_away_from_zero() -> None:
    assert [points(one) for one in (0.125, -0.125, 0.0045, 0.0101)] == ["13", "-13", "0.5", "1"]
