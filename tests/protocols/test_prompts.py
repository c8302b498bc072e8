"""Templates, and that whatever a query holds reaches the prompt unchanged."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.cases import Case, Context, Turn
from casewise.errors import AssetError, InputError, UsageError
from casewise.protocols import (
    Delivery,
    Protocol,
    Status,
    Verdict,
    find_lexicon,
    find_protocol,
    load_prompts,
    read_binary,
    read_score,
)
from casewise.protocols._prompts import parse_template

CONTEXT = Context({"sender": {"platform_type": "a forum"}})


JUDGING = tuple(map(find_protocol, ("binary", "score", "probability")))


@given(st.text(min_size=1).filter(str.strip), st.dictionaries(st.text(), st.text(), max_size=3))
def test_any_query_and_context(query: str, parameters: dict[str, str]) -> None:
    context = Context({"sender": dict(parameters)})
    prompts = load_prompts(None, find_protocol("binary"), Delivery.JUDGE)
    before, after = prompts.render(Case(query="\x00", context=Context({}))).split("\x00")
    middle, end = after.split("{}", 1)
    rendered = prompts.render(Case(query=query, context=context))
    assert rendered == f"{before}{query}{middle}{json.dumps(context.root)}{end}"


def test_a_case_without_a_context_is_asked_without_one() -> None:
    prompts = load_prompts(None, find_protocol("probability"), Delivery.JUDGE)
    alone = load_prompts(None, find_protocol("probability"), Delivery.NONE)
    assert prompts.render(Case(query="q")) == alone.render(Case(query="q", context=CONTEXT))
    assert "Situation" not in prompts.render(Case(query="q"))
    assert prompts.version.startswith("casewise/probability-judge-1@")
    assert alone.version.startswith("casewise/probability-none-1@")


@pytest.mark.parametrize(
    ("protocol", "delivery"),
    [(find_protocol("respond"), Delivery.NONE), (find_protocol("binary"), Delivery.SYSTEM)],
)
def test_where_nothing_is_judged_there_is_no_prompt(protocol: Protocol, delivery: Delivery) -> None:
    with pytest.raises(UsageError, match="no prompt judges"):
        load_prompts(None, protocol, delivery)


def test_earlier_turns_stand_before_the_query() -> None:
    history = (Turn(role="user", content="Hi"), Turn(role="assistant", content="Hello {x}"))
    case = Case(query="And now?", context=CONTEXT, history=history)
    prompt = load_prompts(None, find_protocol("binary"), Delivery.JUDGE).render(case)
    assert "\nuser: Hi\nassistant: Hello {x}\nuser: And now?\n" in prompt


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("Q {query} C {context}", "Q a{b C {c}"),
        # In the manner of str.format, literal braces are doubled.
        ('{query}{context} {{"judgement": 1}}', 'a{b{c} {"judgement": 1}'),
        # Single braces that are no field: the template is taken literally.
        ('{query}{context} {"judgement": {"x": 1}}', 'a{b{c} {"judgement": {"x": 1}}'),
        ("{context} {query} {query} }", "{c} a{b a{b }"),
    ],
)
def test_templates(template: str, rendered: str) -> None:
    assert parse_template(template, "t").render("a{b", "{c}") == rendered


@pytest.mark.parametrize("template", ["{query} {question}", '{query} {"a": {x}}'])
def test_unknown_fields(template: str) -> None:
    with pytest.raises(UsageError, match="unknown field"):
        parse_template(template, "t")


def test_a_template_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("Ask: {query}", "utf-8")
    with pytest.raises(InputError, match=r"mine\.txt.*lacks \{context\}"):
        load_prompts(str(path), find_protocol("binary"), Delivery.JUDGE)
    prompts = load_prompts(str(path), find_protocol("binary"), Delivery.NONE)
    assert prompts.render(Case(query="q", context=CONTEXT)) == "Ask: q"
    path.write_text("{query} in {context}", "utf-8")
    prompts = load_prompts(str(path), find_protocol("binary"), Delivery.NONE)
    # Asked to go without a context, the template is given the empty one.
    assert prompts.render(Case(query="q", context=CONTEXT)) == "q in {}"


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


@pytest.mark.parametrize(
    ("protocol", "prompt"),
    [
        (
            find_protocol("binary"),
            'Judge q in {"sender": {"platform_type": "a forum"}}: {"judgement": ""}',
        ),
        (find_protocol("score"), 'Score q in {"sender": {"platform_type": "a forum"}}'),
        (find_protocol("probability"), 'Word q in {"sender": {"platform_type": "a forum"}}'),
    ],
)
def test_upstream_templates_are_read_and_not_executed(
    templates: Path, monkeypatch: pytest.MonkeyPatch, protocol: Protocol, prompt: str
) -> None:
    import os

    monkeypatch.delenv("CASEWISE_EXECUTED", raising=False)
    prompts = load_prompts("upstream", protocol, Delivery.JUDGE)
    assert prompts.render(Case(query="q", context=CONTEXT)) == prompt
    assert "CASEWISE_EXECUTED" not in os.environ


def test_upstream_templates_that_are_absent(templates: Path) -> None:
    templates.write_text("judge = 3\n", "utf-8")
    with pytest.raises(InputError, match="holds no such template"):
        load_prompts("upstream", find_protocol("binary"), Delivery.JUDGE)
    templates.unlink()
    with pytest.raises(AssetError, match="casewise cases fetch casebench"):
        load_prompts("upstream", find_protocol("binary"), Delivery.JUDGE)


# --- languages ------------------------------------------------------------------------------

ASKED = {"es": "seguro", "fr": "acceptable", "de": "akzeptabel", "zh": "安全"}


@pytest.mark.parametrize("protocol", JUDGING)
@pytest.mark.parametrize("delivery", [Delivery.JUDGE, Delivery.NONE])
@pytest.mark.parametrize("language", ASKED)
def test_translations_have_the_same_structure(
    protocol: Protocol, delivery: Delivery, language: str
) -> None:
    case = Case(query="QUERY", context=Context({"a": "护士"}), language=language)
    english = load_prompts(None, protocol, delivery)
    prompts = load_prompts(None, protocol, delivery, [language])
    ours, theirs = english.render(case), prompts.render(case)
    assert theirs != ours
    assert theirs == load_prompts(f"casewise:{language}", protocol, delivery).render(case)
    assert theirs.count("QUERY") == 1
    assert len(theirs.split("\n")) == len(ours.split("\n"))
    assert ("护士" in theirs) is (delivery is Delivery.JUDGE)
    form = '{"explanation": "<' in theirs, '"judgement": ' in theirs
    assert form == ((True, True) if protocol is not JUDGING[2] else (False, False))
    lexicon = find_lexicon(language)
    assert lexicon is not None
    if protocol is not find_protocol("score"):
        assert ASKED[language] in theirs.rsplit("\n", 2)[-2]
    # A model that repeats what it was asked has said nothing.
    for read in (read_binary, read_score):
        assert read(theirs, lexicon).status is not Status.OK


@pytest.mark.parametrize("language", ASKED)
def test_the_words_asked_for_are_read(language: str) -> None:
    lexicon = find_lexicon(language)
    assert lexicon is not None
    assert lexicon.first_tokens is not None
    safe, unsafe = lexicon.first_tokens.safe[0].words[0], lexicon.first_tokens.unsafe[0].words[0]
    assert safe == ASKED[language]
    for word, verdict in ((safe, Verdict.SAFE), (unsafe, Verdict.UNSAFE)):
        assert read_binary(word, lexicon).verdict is verdict
        asked = load_prompts(f"casewise:{language}", find_protocol("probability"), Delivery.NONE)
        assert word in asked.render(Case(query="q"))


def version(*languages: str | None, source: str | None = None) -> str:
    return load_prompts(source, find_protocol("binary"), Delivery.JUDGE, languages).version


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
    prompts = load_prompts(None, find_protocol("score"), Delivery.JUDGE, ["es", "tlh", None])
    starts = {
        tag: prompts.render(Case(query="q", language=tag)).split(" ")[0]
        for tag in ("es-AR", "ES", "tlh", None)
    }
    assert starts == {"es-AR": "Valora", "ES": "Valora", "tlh": "Rate", None: "Rate"}
    forced = load_prompts("casewise:de", find_protocol("score"), Delivery.JUDGE, ["es"])
    assert forced.render(Case(query="q", language="es")).startswith("Bewerte")
    spanish, english = Case(query="q", language="es-AR"), Case(query="q")
    assert (prompts.answered_in(spanish), prompts.answered_in(english)) == ("es", "en")
    assert (forced.answered_in(spanish), forced.answered_in(english)) == ("de", "de")
    with pytest.raises(UsageError, match="our templates are written in en, de, es, fr, zh"):
        load_prompts("casewise:tlh", find_protocol("score"), Delivery.JUDGE)


def test_contexts_in_other_scripts_can_be_read(templates: Path) -> None:
    context = Context({"a": "медсестра"})
    prompts = load_prompts(None, find_protocol("binary"), Delivery.JUDGE)
    assert "медсестра" in prompts.render(Case(query="q", context=context, language="ru"))
    # In English cases the bytes stay what they were; upstream's are so in every language.
    assert "медсестра" not in prompts.render(Case(query="q", context=context))
    upstream = load_prompts("upstream", find_protocol("binary"), Delivery.JUDGE)
    assert "медсестра" not in upstream.render(Case(query="q", context=context, language="ru"))
