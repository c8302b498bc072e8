"""Which names are shown where texts are withheld, name by name."""

import pytest

from casewise.exports._export_form import (
    hashed,
    known_parameters,
    show_category,
    show_id,
    show_model,
    show_options,
    show_parameters,
    show_prompt,
    show_words,
)
from casewise.scores._judgement_table import is_withheld, length_of, stand_in

QUERY = "How do I climb over a garden fence?"


@pytest.mark.parametrize(
    ("show", "plain"),
    [
        (show_id, "2d7aa66a9a393a6a"),
        (show_id, "script:creative-writing:turn-2"),
        (show_model, "gpt-4o"),
        (show_model, "openrouter/meta-llama/llama-3.1-70b"),
        (show_model, "Llama 3 70B"),
        (show_category, "advice on discirmination behaviours"),
        (show_category, "Straftaten gegen Kinder"),
        (show_words, "compliance refusal unparsed"),
        (show_words, ""),
        (show_options, "reference-api;card=therapy-support;vary=filler-4k,seed=3"),
        (show_options, "sender,recipient,transmission_principle"),
        (show_prompt, "casewise/binary-judge-1@2a09eb70"),
        (show_prompt, "upstream"),
        (show_prompt, "file/my prompt.txt@2a09eb70"),
    ],
)
def test_names_are_shown(show: object, plain: str) -> None:
    assert callable(show)
    assert show(plain) == plain


@pytest.mark.parametrize(
    "show", [show_id, show_category, show_words, show_options, show_prompt, show_model]
)
def test_sentences_are_not(show: object) -> None:
    assert callable(show)
    text = f"{QUERY} " * 3 + "\nPlease?"
    shown = show(text)
    assert "fence" not in shown
    # One text has one name, which stays what it is when it is shown again.
    assert show(text) == shown == show(shown)
    assert show(text + "!") != shown


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("hf//home/alice/models/step-100", "hf/step-100/path-"),
        ("vllm/../alice/step-100", "vllm/step-100/path-"),
        ("hf/~alice/step-100", "hf/step-100/path-"),
        ("hf/C:\\Users\\alice\\step-100", "hf/step-100/path-"),
        ("/Users/alice/step-100", "step-100/path-"),
    ],
)
def test_paths_on_a_machine_are_not(model: str, kept: str) -> None:
    shown = show_model(model)
    assert shown.startswith(kept)
    assert "alice" not in shown
    assert show_model(shown) == shown
    # Two models under one last name stay two.
    assert show_model(model.replace("alice", "bob")) != shown


def test_parameters_that_nobody_named_are_not() -> None:
    known = known_parameters(
        [
            {"ablation": "recipient.mood", "variant": "greedy;swap=urgency"},
            {"ablation": None, "variant": None},
            {"ablation": "a sentence, with\nbreaks"},
        ]
    )
    text = "recipient.mood recipient.secret_of_mine urgency with"
    shown = show_parameters(text, known).split()
    assert [shown[0], shown[2]] == ["recipient.mood", "urgency"]
    assert shown[1].startswith("recipient.p-")
    assert shown[3].startswith("p-")
    assert show_parameters(" ".join(shown), known).split() == shown


def test_stand_ins() -> None:
    text = stand_in(QUERY)
    assert text == "[withheld: 35 characters]"
    assert stand_in(text) == text
    assert stand_in(QUERY, "0123456789abcdef") == "[withheld: 35 characters, 0123456789abcdef]"
    assert is_withheld(text)
    assert not is_withheld(f"{text} and more")
    assert [length_of(one) for one in (QUERY, text, "", None)] == [35, 35, 0, None]
    # Half of a surrogate pair has no UTF-8.
    assert hashed("\ud83d", "id") != hashed("\ud83e", "id")
