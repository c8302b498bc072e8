"""Deployment cards that can't be used, and what is said of each."""

from pathlib import Path

import pytest
from support.cards import CARD, changed, write_card

from casewise.cases import load_card
from casewise.errors import InputError

HISTORY = ("cases", 0, "history")
ORDER = "expected 'system' first if at all, then 'user' and 'assistant' in turn, 'assistant' last)"


def turns(*roles: str) -> list[dict[str, str]]:
    return [{"role": role, "content": "Hello."} for role in roles]


BAD: dict[str, tuple[object, str]] = {
    "not YAML": ("name: [", ", line 2: not valid YAML: did not find expected node content"),
    "two documents": ("a: 1\n---\nb: 2\n", ", line 2: not valid YAML: but found another document"),
    "twice the same key": ("name: a\nname: b\n", ", line 2: not valid YAML: the key 'name' stands"),
    "no such date": ("name: 2026-02-31\n", ": not valid YAML: day is out of range for month; "),
    "control character": ("name: \x07\n", "not valid YAML: control characters are not allowed"),
    "not a mapping": ("- name\n", ": not a card (found ['name']; expected a mapping of name, "),
    "empty": (" \n", ": the file is empty"),
    "alias": ("name: &a x\ntitle: *a\n", ", line 2: a YAML alias (found '*a'; expected the text"),
    "alias cycle": ("&a [*a]\n", ", line 1: a YAML alias (found '*a'; "),
    "alias bomb": (
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        ", line 2: a YAML alias (found '*a'; ",
    ),
    "tag": ("name: !!python/name:os.system\n", ", line 1: a YAML tag (found 'tag:yaml.org,2002:p"),
    "deep": ("[" * 100_000, ", line 1: nested too deeply"),
    "too large": ("#" * 1_000_001, ": too large for a card (found 1000001; expected at most "),
    "unknown field": (
        CARD | {"titel": "x"},
        ", field 'titel': unknown field (expected one of name, title, sender, users, lines, ",
    ),
    "misspelt field": (
        changed("cases", 1, value={"id": "c2", "qurey": "q", "line": "books", "note": "n"}),
        ", cases, record 2, field 'qurey': unknown field (expected one of id, query, line, note, ",
    ),
    "unknown field of a line": (
        changed("lines", 0, "reason", value="x"),
        ", lines, record 1, field 'reason': unknown field (expected one of id, rule, what, why, ",
    ),
    "unknown field of a turn": (
        changed(*HISTORY, value=[{"role": "user", "content": "x", "mood": "y"}]),
        ", cases, record 1, field 'history[0].mood': unknown field (expected one of role, content,",
    ),
    "missing field": (changed("users"), ", field 'users': the field is missing"),
    "missing field of a line": (
        changed("lines", 1, "why"),
        ", lines, record 2, field 'why': the field is missing",
    ),
    "unknown rule": (
        changed("lines", 0, "rule", value="maybe"),
        ", lines, record 1, field 'rule': wrong value "
        "(found 'maybe'; expected 'allowed', 'disallowed' or 'partly')",
    ),
    "partly without how": (
        changed("lines", 2, "how"),
        ", lines, record 3, field 'how': the field is missing "
        "(expected 'how' where the rule is 'partly', and only there; it is 'partly')",
    ),
    "how without partly": (
        changed("lines", 0, "how", value="x"),
        ", lines, record 1, field 'how': doesn't go with this rule (expected 'how' where ",
    ),
    "no such line": (
        changed("cases", 1, "line", value="films"),
        ", cases, record 2, field 'line': no such line "
        "(found 'films'; expected one of books, readers, law)",
    ),
    "duplicate line": (
        changed("lines", 1, "id", value="books"),
        ", lines, record 2, field 'id': duplicate id "
        "(found 'books'; expected one of its own; record 1 has this one)",
    ),
    "duplicate case": (
        changed("cases", 2, "id", value="c2"),
        ", cases, record 3, field 'id': duplicate id (found 'c2'; ",
    ),
    "name with a space": (
        changed("name", value="my card"),
        ", field 'name': wrong value (found 'my card'; expected letters, digits, '.', '_' and ",
    ),
    "number for text": (
        changed("title", value=12),
        ", field 'title': wrong value (found 12; expected text (quote numbers, dates, yes and no))",
    ),
    "text for a list": (changed("lines", value="x"), ", field 'lines': wrong value (found 'x'; "),
    "text for a mapping": (
        changed("cases", 0, value="x"),
        ", cases, record 1: wrong value (found 'x'; expected a mapping)",
    ),
    "no cases": (
        changed("cases", value=[]),
        ", field 'cases': wrong value (found []; expected at least one entry)",
    ),
    "blank query": (
        changed("cases", 0, "query", value=" \t"),
        ", cases, record 1, field 'query': the text is blank",
    ),
    "blank reason": (
        changed("lines", 0, "why", value=""),
        ", lines, record 1, field 'why': the text is blank",
    ),
    "unknown role": (
        changed(*HISTORY, value=turns("user", "bot")),
        ", cases, record 1, field 'history[1].role': wrong value "
        "(found 'bot'; expected 'system', 'user', 'assistant' or 'tool')",
    ),
    "system later": (
        changed(*HISTORY, value=turns("user", "system", "assistant")),
        ", cases, record 1, field 'history': wrong order of roles "
        f"(found ['user', 'system', 'assistant']; {ORDER}",
    ),
    "ends with user": (
        changed(*HISTORY, value=turns("user", "assistant", "user")),
        f", field 'history': wrong order of roles (found ['user', 'assistant', 'user']; {ORDER}",
    ),
    "starts with assistant": (
        changed(*HISTORY, value=turns("assistant", "user", "assistant")),
        f"wrong order of roles (found ['assistant', 'user', 'assistant']; {ORDER}",
    ),
    "blank turn": (
        changed(*HISTORY, value=[{"role": "user", "content": ""}, *turns("assistant")]),
        ", cases, record 1, field 'history': the text is blank",
    ),
    "blank call": (
        changed(*HISTORY, value=[{"role": "user", "content": "x"}, {"role": "assistant"}]),
        ", cases, record 1, field 'history[1].content': the field is missing",
    ),
    "call without a result": (
        changed(
            *HISTORY,
            value=[
                {"role": "user", "content": "x"},
                {"role": "assistant", "tool_calls": [{"name": "find"}]},
                {"role": "assistant", "content": "x"},
            ],
        ),
        ", cases, record 1, field 'history': wrong order of roles (found ['user', 'assistant', "
        "'assistant']; expected after the call of the tool 'find' its result, a turn with the ",
    ),
    "unknown field of a call": (
        changed(*HISTORY, value=[{"role": "assistant", "tool_calls": [{"nmae": "find"}]}]),
        ", cases, record 1, field 'history[0].tool_calls[0].nmae': unknown field (expected one of "
        "id, name, arguments)",
    ),
    "arguments of a call": (
        changed(
            *HISTORY,
            value=[{"role": "assistant", "tool_calls": [{"name": "a", "arguments": "x"}]}],
        ),
        ", field 'history[0].tool_calls[0]': wrong value (found {'arguments': 'x', 'name': 'a'}; "
        "expected arguments as a JSON object, or as its text)",
    ),
    "two system messages": (
        CARD | {"system": "x", "system_file": "y"},
        ", field 'system_file': the system message is given twice (expected one of both)",
    ),
    "blank system message": (CARD | {"system": " "}, ", field 'system': the text is blank"),
    "missing system file": (
        CARD | {"system_file": "bot.txt"},
        ", field 'system_file': no such file (found 'bot.txt'; expected a file, its name as seen ",
    ),
    "no name of a tool": (
        CARD | {"tools": [{"description": "x"}]},
        ", tools, record 1, field 'name': the field is missing",
    ),
    "name of a tool with a space": (
        CARD | {"tools": [{"name": "find it"}]},
        ", tools, record 1, field 'name': wrong value (found 'find it'; expected ",
    ),
    "a tool twice": (
        CARD | {"tools": [{"name": "find"}, {"name": "find"}]},
        ", tools, record 2, field 'name': duplicate name (found 'find'; expected one of its own; ",
    ),
    "parameters that are no object": (
        CARD | {"tools": [{"name": "find", "parameters": {"type": "string"}}]},
        ", tools, record 1, field 'parameters': wrong value (found {'type': 'string'}; expected a "
        "JSON schema of type 'object')",
    ),
    "unknown field of a tool": (
        CARD | {"tools": [{"name": "find", "strict": True}]},
        ", tools, record 1, field 'strict': unknown field (expected one of name, description, ",
    ),
    "blank retrieved text": (
        CARD | {"retrieved": ["x", " "]},
        ", retrieved, record 2: the text is blank",
    ),
    "retrieved text for a list": (
        changed("cases", 0, "retrieved", value="x"),
        ", cases, record 1, field 'retrieved': wrong value (found 'x'; expected a list)",
    ),
    "missing script": (
        CARD | {"script": "talk.yaml"},
        ", field 'script': no such file (found 'talk.yaml'; expected a file, its name as seen ",
    ),
    "script is a folder": (CARD | {"script": "."}, ", field 'script': no such file (found '.'; "),
    "script with an endless name": (CARD | {"script": "x" * 5000}, ", field 'script': no such "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_cards(tmp_path: Path, name: str) -> None:
    data, message = BAD[name]
    path = write_card(tmp_path, data)
    with pytest.raises(InputError) as caught:
        load_card(path)
    shown = str(caught.value)
    assert shown.startswith(str(path))
    assert message in shown
    assert "\n" not in shown


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "card.yaml"
    path.write_bytes(b"name: caf\xe9\n")
    with pytest.raises(InputError, match=r"line 1: wrong encoding .*expected UTF-8"):
        load_card(path)


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder, expected a file"):
        load_card(tmp_path)


def test_no_such_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"custom-support: no such card .* creative-writing, cust"):
        load_card("custom-support")
