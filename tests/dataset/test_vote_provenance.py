"""What an audit finds: rates, ties, raters, columns, contexts, pairs, queries."""

import numpy as np
import pytest
from support.voted import Record, case, counts, described, findings, rows


@pytest.mark.parametrize(
    ("rates", "level", "said"),
    [
        # 3 of 5 votes, and 1 of 5: the shares themselves.
        ([0.6, 0.2], None, ""),
        # One vote more: 4 of 6 (safe) and 1 of 6 (unsafe), as intended.
        ([4 / 6, 1 / 6], "problem", "the intended side in 2 of 2"),
        # One vote more, against the intention once.
        ([3 / 6, 1 / 6], "warning", "the intended side in 1 of 2"),
        ([0.9, 0.2], "problem", "no share of the votes"),
    ],
)
def test_published_rates(rates: list[float], level: str | None, said: str) -> None:
    record = described(
        [
            case("a", "safe", counts(3, 2), published_safe_rate=rates[0]),
            case("a", "unsafe", counts(1, 4), published_safe_rate=rates[1]),
        ]
    )
    found = [one for one in record["findings"] if one["check"] == "published rate"]
    if level is None:
        assert found == []
    else:
        (told,) = [one for one in found if said in one["text"]]
        assert told["level"] == level


def test_a_rater_who_votes_as_intended() -> None:
    cases = []
    for n in range(5):
        for side in ("safe", "unsafe"):
            other = "safe" if n % 2 else "unsafe"
            cases.append(case(f"query {n}", side, rows(ann=side, bob=other, cid="safe")))
    found = described(cases)
    assert found["provenance"]["raters_like_intention"] == ["ann"]
    assert findings(found)["raters"]["level"] == "problem"
    assert "ann" in findings(found)["raters"]["text"]
    # Four cases could be chance.
    assert described(cases[:4])["provenance"]["raters_like_intention"] == []


def panels(shift: str, seed: int) -> list[Record]:
    """Ten categories of ten queries judged by twelve raters (or columns) of unequal severity."""
    random = np.random.default_rng(seed)
    cases = []
    always = random.normal(0, 1.2, 12)
    for category in range(10):
        severity = {"none": np.zeros(12), "raters": always, "panels": random.normal(0, 1.2, 12)}
        for n in range(10):
            for side, level in (("safe", 0.7), ("unsafe", -0.9)):
                chance = 1 / (1 + np.exp(-(level + severity[shift])))
                said = random.random(12) < chance
                votes = rows(**{f"r{i}": "safe" if one else "unsafe" for i, one in enumerate(said)})
                cases.append(case(f"{category} {n}", side, votes, category=f"c{category}"))
    return cases


def test_columns_that_differ() -> None:
    assert "columns" not in findings(described(panels("none", 1)))
    # The same raters throughout: some are stricter, and categories are not confounded with them.
    strict = findings(described(panels("raters", 2)))["columns"]
    assert strict["level"] == "note"
    assert "stricter" in strict["text"]
    confounded = findings(described(panels("panels", 3)))["columns"]
    assert confounded["level"] == "warning"
    assert "one panel" in confounded["text"]


def test_contexts_and_pairs() -> None:
    shared = {"where": "a library"}
    cases = [
        case("a one", "safe", context=shared, category="x"),
        case("a one", "unsafe", context=shared, category="x", id="same"),
        case("b two", "safe", context=shared, category="y"),
        case("b two", "safe", context={"where": "a bar"}, category="y"),
        case("c three", "safe", category="y"),
        case("c three", "unsafe", category="y"),
    ]
    found = described(cases)["provenance"]
    assert found["contexts"] == {
        "shared_texts": 1,
        "cases": 3,
        "both_sides": 1,
        "across_categories": 1,
    }
    assert found["pairs"] == {"missing_twin": 2, "same_context": 2, "repeated_side": 2}
    texts = [one["text"] for one in described(cases)["findings"]]
    assert any("very same context" in text for text in texts)
    assert any("No twin" in text for text in texts)
    assert any("share query and intended side" in text for text in texts)


def test_near_duplicates_as_brute_force_has_them() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    random = np.random.default_rng(6)
    words = ["".join(random.choice(list("abcdefgh"), 5)) for _ in range(60)]
    texts = [" ".join(random.choice(words, 6)) for _ in range(150)]
    texts += [" ".join([*text.split()[:5], "else"]) for text in texts[:30]]
    texts = list(dict.fromkeys(texts))
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4)).fit_transform(texts)
    cosine = (vectors @ vectors.T).toarray()
    expected = int((np.triu(cosine, 1) >= 0.7).sum())
    assert expected >= 25
    record = described([case(text, "safe") for text in texts])
    assert record["provenance"]["near_duplicates"]["n"] == expected
