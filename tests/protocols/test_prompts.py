"""Templates, and that whatever a query holds reaches the prompt unchanged."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import casewise as cw
from casewise.errors import AssetError, InputError, UsageError
from casewise.protocols import (
    Delivery,
    Protocol,
    Status,
    Verdict,
    find_protocol,
    load_prompts,
    other_words,
)
from casewise.protocols.binary import read_binary
from casewise.protocols.score import read_score

CONTEXT = {"sender": {"platform_type": "a forum"}}
BINARY, SCORE, PROBABILITY = map(find_protocol, ("binary", "score", "probability"))
JUDGING = (BINARY, SCORE, PROBABILITY)


def a_case(query: str = "q", context: object = None, **fields: Any) -> Any:
    (case,) = cw.load_cases([{"query": query, "context": context} | fields])
    return case


@given(st.text(min_size=1).filter(str.strip), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_query_and_context(query: str, parameters: dict[str, str]) -> None:
    context = {"sender": dict(parameters)}
    prompts = load_prompts(None, BINARY, Delivery.JUDGE)
    before, after = prompts.render(a_case("\x00", {})).split("\x00")
    middle, end = after.split("{}", 1)
    rendered = prompts.render(a_case(query, context))
    assert rendered == f"{before}{query}{middle}{json.dumps(context)}{end}"


def test_a_case_without_a_context_is_asked_without_one() -> None:
    prompts = load_prompts(None, PROBABILITY, Delivery.JUDGE)
    alone = load_prompts(None, PROBABILITY, Delivery.NONE)
    assert prompts.render(a_case()) == alone.render(a_case("q", CONTEXT))
    assert "Situation" not in prompts.render(a_case())
    assert prompts.version.startswith("casewise/probability-judge-1@")
    assert alone.version.startswith("casewise/probability-none-1@")


@pytest.mark.parametrize(
    ("protocol", "delivery"),
    [(find_protocol("respond"), Delivery.NONE), (BINARY, Delivery.SYSTEM)],
)
def test_where_nothing_is_judged_there_is_no_prompt(protocol: Protocol, delivery: Delivery) -> None:
    with pytest.raises(UsageError, match="no prompt judges"):
        load_prompts(None, protocol, delivery)


def test_earlier_turns_stand_before_the_query() -> None:
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello {x}"}]
    case = a_case("And now?", CONTEXT, history=history)
    prompt = load_prompts(None, BINARY, Delivery.JUDGE).render(case)
    assert "\nuser: Hi\nassistant: Hello {x}\nuser: And now?\n" in prompt


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("Q {query} C {context}", 'Q a{b C {"a": "{c}"}'),
        # In the manner of str.format, literal braces are doubled.
        ('{query}{context} {{"judgement": 1}}', 'a{b{"a": "{c}"} {"judgement": 1}'),
        # Single braces that are no field: the template is taken literally.
        ('{query}{context} {"judgement": {"x": 1}}', 'a{b{"a": "{c}"} {"judgement": {"x": 1}}'),
        ("{context} {query} {query} }", '{"a": "{c}"} a{b a{b }'),
    ],
)
def test_templates(tmp_path: Path, template: str, rendered: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(template, "utf-8")
    prompts = load_prompts(str(path), BINARY, Delivery.JUDGE)
    assert prompts.render(a_case("a{b", {"a": "{c}"})) == rendered


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("Ask: {query}", "utf-8")
    with pytest.raises(InputError, match=r"mine\.txt.*lacks \{context\}"):
        load_prompts(str(path), BINARY, Delivery.JUDGE)
    prompts = load_prompts(str(path), BINARY, Delivery.NONE)
    assert prompts.render(a_case("q", CONTEXT)) == "Ask: q"
    path.write_text("{query} {context} {question}", "utf-8")
    with pytest.raises(InputError, match="unknown field"):
        load_prompts(str(path), BINARY, Delivery.JUDGE)
    path.write_text("{query} in {context}", "utf-8")
    prompts = load_prompts(str(path), BINARY, Delivery.NONE)
    # Asked to go without a context, the template is given the empty one.
    assert prompts.render(a_case("q", CONTEXT)) == "q in {}"


UPSTREAM = '''"""Stands in for upstream's file, which stays out of this repository."""
import os
os.environ["CASEWISE_EXECUTED"] = "yes"
judge = """Judge {query} in {context}: {{"judgement": ""}}"""
judgescore = "Score {query} in {context}"
judgelogits = "Word {query} in {context}"
'''


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path))
    path = tmp_path / "casebench/135f221/template.py"
    path.parent.mkdir(parents=True)
    path.write_text(UPSTREAM, "utf-8")
    return path


def test_upstream_templates_are_read_and_not_executed(
    templates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CASEWISE_EXECUTED", raising=False)
    context = '{"sender": {"platform_type": "a forum"}}'
    for protocol, prompt in (
        (BINARY, f'Judge q in {context}: {{"judgement": ""}}'),
        (SCORE, f"Score q in {context}"),
        (PROBABILITY, f"Word q in {context}"),
    ):
        prompts = load_prompts("upstream", protocol, Delivery.JUDGE)
        assert prompts.render(a_case("q", CONTEXT)) == prompt
    assert "CASEWISE_EXECUTED" not in os.environ


def test_upstream_templates_that_are_absent(templates: Path) -> None:
    templates.write_text("judge = 3\n", "utf-8")
    with pytest.raises(InputError, match="holds no such template"):
        load_prompts("upstream", BINARY, Delivery.JUDGE)
    templates.unlink()
    with pytest.raises(AssetError, match="casewise cases fetch casebench"):
        load_prompts("upstream", BINARY, Delivery.JUDGE)


# --- languages ------------------------------------------------------------------------------

ASKED = {"es": "seguro", "fr": "acceptable", "de": "akzeptabel", "zh": "安全"}


@pytest.mark.parametrize("protocol", JUDGING)
@pytest.mark.parametrize("language", ASKED)
def test_translations_have_the_same_structure(protocol: Protocol, language: str) -> None:
    case = a_case("QUERY", {"a": "护士"}, language=language)
    for delivery in (Delivery.JUDGE, Delivery.NONE):
        prompts = load_prompts(None, protocol, delivery, [language])
        ours = load_prompts(None, protocol, delivery).render(case)
        theirs = prompts.render(case)
        assert theirs != ours
        assert theirs == load_prompts(f"casewise:{language}", protocol, delivery).render(case)
        assert theirs.count("QUERY") == 1
        assert len(theirs.split("\n")) == len(ours.split("\n"))
        assert ("护士" in theirs) is (delivery is Delivery.JUDGE)
        form = '{"explanation": "<' in theirs, '"judgement": ' in theirs
        assert form == ((True, True) if protocol is not PROBABILITY else (False, False))
        if protocol is not SCORE:
            assert ASKED[language] in theirs.rsplit("\n", 2)[-2]
        # A model that repeats what it was asked has said nothing.
        for reading in (read_binary(theirs, language), read_score(theirs)):
            assert reading.status is not Status.OK


@pytest.mark.parametrize("language", ASKED)
def test_the_words_asked_for_are_read(language: str) -> None:
    words = {verdict: word.text for verdict, word in other_words(language).items()}
    assert words[Verdict.SAFE] == ASKED[language]
    for verdict, word in words.items():
        assert read_binary(word, language).verdict is verdict
        assert read_binary(f'{{"judgement": "{word}"}}', language).verdict is verdict
        asked = load_prompts(f"casewise:{language}", PROBABILITY, Delivery.NONE)
        assert word in asked.render(a_case())


def version(*languages: str | None, source: str | None = None) -> str:
    return load_prompts(source, BINARY, Delivery.JUDGE, languages).version


def test_versions_name_every_template() -> None:
    english = version()
    assert english == version(None) == version("en", "en-GB", None) == version("tlh")
    assert english.startswith("casewise/binary-judge-1@")
    spanish = version("es-MX")
    assert spanish == version("es") == version(source="casewise:es")
    assert spanish.startswith("casewise/binary-judge-1.es@")
    assert version("es", None, "zh") == f"{english} + {spanish} + {version('zh')}"
    assert version("es", source="casewise:en") == english


def test_a_case_is_asked_in_its_language() -> None:
    prompts = load_prompts(None, SCORE, Delivery.JUDGE, ["es", "tlh", None])
    starts = {
        tag: prompts.render(a_case("q", language=tag)).split(" ")[0]
        for tag in ("es-AR", "ES", "tlh", None)
    }
    assert starts == {"es-AR": "Valora", "ES": "Valora", "tlh": "Rate", None: "Rate"}
    forced = load_prompts("casewise:de", SCORE, Delivery.JUDGE, ["es"])
    assert forced.render(a_case("q", language="es")).startswith("Bewerte")
    spanish, english = a_case("q", language="es-AR"), a_case()
    assert (prompts.answered_in(spanish), prompts.answered_in(english)) == ("es", "en")
    assert (forced.answered_in(spanish), forced.answered_in(english)) == ("de", "de")
    with pytest.raises(UsageError, match="our templates are written in en, de, es, fr, zh"):
        load_prompts("casewise:tlh", SCORE, Delivery.JUDGE)


def test_contexts_in_other_scripts_can_be_read(templates: Path) -> None:
    context = {"a": "медсестра"}
    prompts = load_prompts(None, BINARY, Delivery.JUDGE)
    assert "медсестра" in prompts.render(a_case("q", context, language="ru"))
    # In English cases the bytes stay what they were; upstream's are so in every language.
    assert "медсестра" not in prompts.render(a_case("q", context))
    upstream = load_prompts("upstream", BINARY, Delivery.JUDGE)
    assert "медсестра" not in upstream.render(a_case("q", context, language="ru"))
