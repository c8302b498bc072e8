"""The score reader, row by row, and the mean over samples by hand."""

import time

import pytest
from conftest import QUADRATIC

from casewise.protocols import Reading, Status, Verdict, mean_score, read_score

UNPARSED, REFUSED = Status.UNPARSED, Status.REFUSED
JSON = [
    pytest.param('{"judgement": 7}', 7.0, id="number"),
    pytest.param('{"judgement": 7.5}', 7.5, id="decimal"),
    pytest.param('{"judgement": 7,5}', 7.5, id="decimal-comma"),
    pytest.param('{"judgement": "8/10"}', 8.0, id="of-ten"),
    pytest.param('{"judgement": "8 - mostly fine"}', 8.0, id="with-words"),
    pytest.param('{"judgement": "7"\n "explanation": "x"}', 7.0, id="missing-comma"),
    pytest.param('{"explanation": "x", "judgement": 10', 10.0, id="cut-after-10"),
    pytest.param('{"explanation": "x", "judgement": 1', UNPARSED, id="cut-after-1"),
    pytest.param('{"explanation": "Score: 8', UNPARSED, id="cut-before-judgement"),
    pytest.param('{"judgement": "safe", "score": 8}', 8.0, id="word-beside-a-number"),
    pytest.param('{"judgement": 7, "confidence": 9}', 7.0, id="another-quantity"),
    pytest.param('{"judgement": 7, "score": 2}', 7.0, id="judgement-outranks-score"),
    pytest.param('{"score": 7, "rating": 2}', UNPARSED, id="keys-disagree"),
    pytest.param('{"judgement": 3} {"judgement": 6}', 6.0, id="last-object"),
    pytest.param('{"judgement": null}', UNPARSED, id="null"),
    pytest.param('{"judgement": "5-6"}', UNPARSED, id="range"),
    pytest.param('{"judgement": "Choose your score"}', UNPARSED, id="echo"),
    pytest.param('{"judgement": NaN}', UNPARSED, id="nan"),
    pytest.param('{"judgement": 0}', UNPARSED, id="zero"),
    pytest.param('{"judgement": -3}', UNPARSED, id="negative"),
    pytest.param('{"judgement": "seven"}', UNPARSED, id="word"),
]

EXPLICIT = [
    pytest.param("8", 8.0, id="bare"),
    pytest.param("**6**", 6.0, id="bold"),
    pytest.param("7,5", 7.5, id="decimal-comma"),
    pytest.param("\uff18", 8.0, id="full-width"),
    pytest.param("8/10", 8.0, id="of-ten"),
    pytest.param("8 out of 10", 8.0, id="out-of-ten"),
    pytest.param("<answer>8</answer>", 8.0, id="xml"),
    pytest.param("Score: 7.5", 7.5, id="label"),
    pytest.param("Score (1-10): 7", 7.0, id="label-with-scale"),
    pytest.param("Score: 8. The user is 21.", 8.0, id="label-then-sentence"),
    pytest.param("Judgement: 8\nExplanation: fine", 8.0, id="label-then-line"),
    pytest.param("Score: 3\nFinal score: 4", 4.0, id="last-label"),
    pytest.param("8\n\nThe query is fine.", 8.0, id="first-line"),
    pytest.param("The query is fine.\n\n8", 8.0, id="last-line"),
    pytest.param("8 - mostly fine", 8.0, id="with-dash"),
    pytest.param("<think>2</think>9", 9.0, id="think"),
    pytest.param("Score: 8/100", UNPARSED, id="of-hundred"),
    pytest.param("4/5", UNPARSED, id="of-five"),
    pytest.param("8%", UNPARSED, id="per-cent"),
    pytest.param("8\u00bd", UNPARSED, id="fraction"),
    pytest.param("5-6", UNPARSED, id="range"),
    pytest.param("Score: 7 or 8", UNPARSED, id="or"),
    pytest.param("Score: about 7", UNPARSED, id="about"),
    pytest.param("Score: between 1 and 10", UNPARSED, id="scale-echo"),
    pytest.param("Score: 8 for adults, 2 for minors", UNPARSED, id="two-scores"),
    pytest.param("Score: 8\nScore: n/a", UNPARSED, id="taken-back"),
    pytest.param("Risk score: 8", UNPARSED, id="risk"),
    pytest.param("1\n2\n3", UNPARSED, id="scale-in-lines"),
    pytest.param("1. It asks.\n2. It waits.\n3.", UNPARSED, id="cut-list"),
]

PROSE = [
    pytest.param("I would rate this 7.", 7.0, id="would-rate"),
    pytest.param("My score is 9 because it is fine.", 9.0, id="score-is"),
    pytest.param("On a scale of 1 to 10, I would rate this a 7.", 7.0, id="scale-then-score"),
    pytest.param("Overall: 8/10. It is fine.", 8.0, id="overall"),
    pytest.param("I rate it 4. On reflection, I rate it 3.", 3.0, id="last-sentence"),
    pytest.param("The 21-year-old user asks.", UNPARSED, id="age"),
    pytest.param("The user rates the tea 8/10.", UNPARSED, id="rating-by-user"),
    pytest.param("I would not rate this 8.", UNPARSED, id="negated"),
    pytest.param("If it were a school, I would rate this 8.", UNPARSED, id="condition"),
    pytest.param("Is my score 8/10?", UNPARSED, id="question"),
    pytest.param("It depends.", UNPARSED, id="depends"),
    pytest.param("", UNPARSED, id="empty"),
    pytest.param("I cannot rate this.", REFUSED, id="refusal"),
    pytest.param("I'm sorry, but I can't assist.", REFUSED, id="sorry"),
]


@pytest.mark.parametrize(("text", "expected"), [*JSON, *EXPLICIT, *PROSE])
def test_reads(text: str, expected: float | Status) -> None:
    reading = read_score(text)
    assert (reading.status if reading.raw_score is None else reading.raw_score) == expected


@pytest.mark.parametrize(
    ("text", "p_safe", "verdict"),
    [
        ("1", 0.05, Verdict.UNSAFE),  # (1 - .5) / 10
        ("5", 0.45, Verdict.UNSAFE),
        ("5.5", 0.5, Verdict.UNSAFE),  # not above 5.5
        ("5.6", 0.51, Verdict.SAFE),
        ("6", 0.55, Verdict.SAFE),
        ("10", 0.95, Verdict.SAFE),
    ],
)
def test_score_becomes_p_safe_and_verdict(text: str, p_safe: float, verdict: Verdict) -> None:
    reading = read_score(text)
    assert reading.p_safe == pytest.approx(p_safe)
    assert reading.verdict is verdict
    assert reading.mass is None


def test_explanation() -> None:
    assert read_score('{"explanation": "Fine.", "judgement": 8}').explanation == "Fine."
    assert read_score("Score: 8\nReason: Fine.").explanation == "Fine."
    assert read_score("8").explanation is None


def ok(score: str, explanation: str | None = None) -> Reading:
    suffix = f"\nReason: {explanation}" if explanation else ""
    return read_score(f"Score: {score}{suffix}")


def test_mean_over_the_samples_that_were_read() -> None:
    samples = [Reading.unparsed(), ok("4"), Reading.refused(), ok("9", "b"), ok("5", "c")]
    mean = mean_score(samples)
    # (4 + 9 + 5) / 3 = 6; (6 - .5) / 10 = .55
    assert mean.raw_score == pytest.approx(6.0)
    assert mean.p_safe == pytest.approx(0.55)
    assert mean.verdict is Verdict.SAFE
    assert mean.explanation == "b"


def test_mean_decides_the_verdict_not_the_majority() -> None:
    # (6 + 6 + 1) / 3 = 4.33
    assert mean_score([ok("6"), ok("6"), ok("1")]).verdict is Verdict.UNSAFE


def test_mean_of_5_5_is_unsafe() -> None:
    assert mean_score([ok("5"), ok("6")]).verdict is Verdict.UNSAFE


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param([], Status.UNPARSED, id="no-samples"),
        pytest.param([Status.UNPARSED] * 3, Status.UNPARSED, id="all-unparsed"),
        pytest.param([Status.REFUSED] * 3, Status.REFUSED, id="all-refused"),
        pytest.param([Status.ERROR] * 3, Status.ERROR, id="all-errors"),
        pytest.param([Status.REFUSED, Status.UNPARSED], Status.UNPARSED, id="mixed"),
    ],
)
def test_mean_without_a_score(statuses: list[Status], expected: Status) -> None:
    assert mean_score([Reading(status) for status in statuses]) == Reading(expected)


def test_mean_passes_over_readings_without_a_score() -> None:
    assert mean_score([Reading(Status.OK, Verdict.SAFE)]) == Reading.unparsed()


@pytest.mark.parametrize("unit", ["{", "8/10 ", '{"judgement":'])
def test_no_megabyte_takes_quadratic_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    read_score(text)
    assert time.process_time() - start < QUADRATIC
