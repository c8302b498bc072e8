"""A condition's text form is read back, and a stranger's stays to the letter."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from casewise.protocols import RunCondition

WORDS = st.text("abz-_.09 ,é", min_size=1, max_size=8)
NAMES = st.lists(st.text("abz_.", min_size=1, max_size=6), max_size=3).map(tuple)
SETTINGS = st.lists(st.sampled_from(["top_p=0.9", "a.b=#c", "top_k=5"]), max_size=2, unique=True)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


CONDITIONS = st.builds(
    RunCondition,
    model=WORDS,
    protocol=WORDS,
    delivery=maybe(WORDS),
    ablation=NAMES,
    prompt_version=maybe(WORDS),
    sampling=maybe(WORDS),
    settings=SETTINGS.map(tuple),
    card=maybe(WORDS),
    swap=maybe(WORDS),
    variation=maybe(st.sampled_from(["urgency", "filler-4k,seed=3"])),
    draw_seed=maybe(WORDS),
    dtype=maybe(WORDS),
    dataset_hash=maybe(WORDS),
    dataset_version=maybe(WORDS),
    run_id=maybe(WORDS),
)


@given(CONDITIONS)
def test_a_condition_is_read_back_from_its_columns(condition: RunCondition) -> None:
    assert RunCondition.of_row(dict(condition)) == condition


PIECES = st.sampled_from(
    [
        *("greedy", "", "swap=a", "swap=", "vary=x,seed=3", "vary=x,seed=03", "vary=x,seed=0"),
        *("draw-seed=٣", "draw-seed=1", "draw-seed=-0", "dtype=b", "card=c=d", "=", "pressure=3"),
    ]
)


@given(st.none() | st.text("ab=;,", max_size=12) | st.lists(PIECES, max_size=6).map(";".join))
def test_any_variant_is_kept_to_the_letter(text: str | None) -> None:
    found = RunCondition.of_row({"model": "m", "protocol": "binary", "variant": text})
    assert found.variant == text
    assert found["variant"] == text
    assert RunCondition.of_row(dict(found)) == found


def test_the_key_leaves_out_fields_and_the_data() -> None:
    one = RunCondition.of_row(
        {"model": "m", "protocol": "binary", "variant": "swap=a;greedy", "run_id": "1"}
    )
    other = RunCondition("m", "binary", sampling="greedy", dataset_hash="d", run_id="2")
    assert one.same_but("swap") == other.same_but("swap")
    assert one.same_but() != other.same_but()
    assert one.same_but("variant") == RunCondition("m", "binary")


def test_a_condition_in_words() -> None:
    whole = RunCondition("m", "binary", "judge", sampling="greedy")
    assert whole.title == "m (binary)"
    short = replace(whole, ablation=("sender", "recipient"), draw_seed="3")
    assert short.text == "binary, without sender, recipient, draw-seed 3"
    emptied = ("transmission_principle", "sender", "recipient")
    assert replace(whole, ablation=emptied).text == "binary, context emptied"
    assert RunCondition("m", "respond", "system", card="c").text == "respond, system, card c"
    past = RunCondition("m", "respond", "system", sampling="transcripts")
    assert past.text == "respond, transcripts"


def test_what_nobody_here_knows_stays_among_the_settings() -> None:
    """As does a second part of a name."""
    odd = RunCondition.of_row({"variant": "pressure=3;greedy;swap=a;swap=b;draw-seed=7"})
    assert (odd.sampling, odd.swap, odd.draw_seed) == ("greedy", "a", "7")
    assert odd.settings == ("pressure=3", "swap=b")
    assert odd.changed
    assert not RunCondition("m", "respond", card="clinic", draw_seed="3").changed
