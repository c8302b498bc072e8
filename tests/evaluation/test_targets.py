"""Bots behind addresses of their own, and functions, through ``casewise run --model``."""

import json
import re
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, Cli
from support.bots import (
    ANSWER,
    BOTS,
    CARDS,
    CLASSES,
    OPENAI_TARGET,
    REFUSE,
    SESSION_TARGET,
    BotServer,
    SessionBot,
    card_of,
    line_of,
    openai_bot,
    script_of,
    told,
    wanted_by_case,
    write_target,
)
from support.fake_openai import Raw
from support.fault_runs import write_questions
from support.scores import model_rows
from support.secret import KEY

import casewise as cw

ENV = {"BOT_KEY": KEY}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return cw.judgements(folder).to_dicts()


def evaluation_card_of(folder: Path) -> str:
    """Evaluation card of the run."""
    return cw.report(folder / "logs", folder / "card.md").read_text("utf-8").replace("\\", "")


def run(cli: Cli, target: Path | str, *options: str | Path, status: int = 0) -> str:
    command = ("run", "--model", target, "--protocol", "respond", "--log-dir", "logs", *options)
    done = cli(*command, env=ENV)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("bot", BOTS)
def test_every_card_is_recovered(cli: Cli, tmp_path: Path, bot: str) -> None:
    """Bots draw a card's line, in replies, in histories and over a script's turns."""
    make, target = BOTS[bot]
    cards = CARDS if bot == "openai-form" else CARDS[:1]
    sweep = []
    with ExitStack() as servers:
        for card in cards:
            server = servers.enter_context(make(line_of(card)))
            path = write_target(tmp_path, target, server, name=f"{bot}-{card}")
            sweep.append({"model": path.name, "protocol": "respond", "deployment": card})
        (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
        done = cli("run", "sweep.yaml", "--log-dir", "logs", env=ENV)
        assert done.returncode == 0, done.stderr
    every = rows_of(tmp_path / "logs")
    for card in cards:
        line = line_of(card)
        rows = [one for one in every if one["model"].endswith(f"/{bot}-{card}")]
        rows.sort(key=itemgetter("case_id"))
        found = {
            row["case_id"]: row["response_class"] for row in rows if row["category"] != "script"
        }
        assert found == wanted_by_case(card)
        turns = [row["response_class"] for row in rows if row["category"] == "script"]
        said = script_turns(card)
        assert turns == [CLASSES[line[tuple(said[: n + 1])]] for n in range(len(said))]
    assert {row["error"] for row in every} == {None}


def script_turns(card: str) -> list[str]:
    return [turn["user"] for turn in script_of(card)]


def test_what_is_sent(cli: Cli, tmp_path: Path) -> None:
    """Headers from the environment, the conversation with its roles, settings; tokens are read."""
    with openai_bot(line_of("customer-support")) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        run(cli, path, "--deployment", "customer-support", "--max-tokens", "99")
        sent = [request for request in server.requests if len(request["messages"]) == 2]
        assert {headers["authorization"] for _, _, headers in server.asked} == {f"Bearer {KEY}"}
    assert {request["temperature"] for request in sent} == {0.0}
    assert {request["max_tokens"] for request in sent} == {99}
    assert "temperature 0.0, max_tokens 99" in evaluation_card_of(tmp_path)
    roles = {tuple(turn["role"] for turn in request["messages"]) for request in server.requests}
    assert ("system", "user", "assistant", "user") in roles
    assert {row["input_tokens"] for row in rows_of(tmp_path / "logs")} >= {100}


def test_sessions(cli: Cli, tmp_path: Path) -> None:
    """A session a conversation; only the newest turn is sent; earlier ones are replayed."""
    bot = SessionBot(line_of("customer-support"))
    with BotServer(bot) as server:
        path = write_target(tmp_path, SESSION_TARGET, server)
        run(cli, path, "--deployment", "customer-support")
        assert {headers["x-api-key"] for _, _, headers in server.asked} == {KEY}
    conversations = set(map(tuple, bot.sessions.values()))
    histories = {said for said, _ in card_of("customer-support").values()}
    turns = script_turns("customer-support")
    assert conversations == histories | {tuple(turns)}
    firsts = [request for request in server.requests if "conversation" not in request]
    assert len(firsts) == len(bot.sessions)
    assert len({request["instructions"] for request in server.requests}) == 1
    with BotServer(bot) as server:
        path = write_target(tmp_path, SESSION_TARGET, server, session="id")
        done = cli("target", "check", path, env=ENV)
    assert "no reply was read: expected the conversation's id at session (id)" in done.stderr


def test_what_would_be_lost_is_refused(cli: Cli, tmp_path: Path) -> None:
    with BotServer(SessionBot({})) as server:
        for message, changes in (
            (
                "no place for the system message",
                {"body": {"q": "{last}"}, "history": None, "session": None},
            ),
            ("keeps its own history, has not seen", {"history": None}),
        ):
            path = write_target(tmp_path, SESSION_TARGET, server, **changes)
            assert message in run(cli, path, "--deployment", "customer-support", status=2)
        assert not server.requests


UNREAD: dict[str, tuple[Raw, str]] = {
    "html": (
        Raw(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}),
        "the answer is an HTML page and no JSON; check the address",
    ),
    "missing": (told({"choices": []}), "expected a text at reply (choices[0].message.content)"),
    "type": (told({"choices": [{"message": {"content": ["a"]}}]}), "found a list"),
    "redirect": (
        Raw(302, b"", {"Location": "http://localhost:9/elsewhere"}),
        "HTTP 302 (redirected) to http://localhost:9/elsewhere: nothing was sent there",
    ),
    "key": (
        told({"detail": f"bad key {KEY}"}, 401),
        "HTTP 401 (authentication): the bot does not take its key",
    ),
    "denied": (told({}, 403), "HTTP 403 (no access): the bot does not let this key in"),
    "path": (told({}, 404), "HTTP 404 (not found): there is no such path: check the url"),
    "packed": (Raw(200, b"no gzip", {"Content-Encoding": "gzip"}), "can't be unpacked"),
    "cut": (Raw(None), "before the answer was whole"),
}


def test_a_check_says_why_nothing_was_read(cli: Cli, tmp_path: Path) -> None:
    answers = iter(answer for answer, _ in UNREAD.values())
    with BotServer(lambda request: next(answers)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        for _, message in UNREAD.values():
            done = cli("target", "check", path, env={"BOT_KEY": f"{KEY}\n"})
            assert done.returncode == 1
            assert message in " ".join((done.stdout + done.stderr).split())


def test_a_refusal_that_is_told(cli: Cli, tmp_path: Path) -> None:
    """By a field, with words or without, or by a status with JSON; each is the bot's own."""
    kinds = [told({"no": True}), told({"no": True, "r": "Sorry."}), told({"no": True}, 400)]
    answers = iter(kinds * 20)
    with BotServer(lambda request: next(answers)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server, reply="r", refused="no", usage=None)
        cases = write_questions(tmp_path / "cases.jsonl", 6)
        said = run(cli, path, "--cases", cases)
    assert "6 declined by the bot" in said
    # Replies that come at once make one line of progress.
    assert [word for word in said.split() if word.startswith("judged")] == ["judged"]
    assert "judged 6/6" in said
    assert "content filter" not in said
    rows = rows_of(tmp_path / "logs")
    assert {(row["response_class"], row["graded_by"]) for row in rows} == {("refusal", "provider")}


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"body": {"q": "{last}", "from": {"type": "{sender.platform_type}"}}},
        "field 'body.from.type': unknown placeholder (a brace that means itself is written "
        "twice) (found '{sender.platform_type}'; expected {messages}",
    ),
    ({"url": "http://{context.sender.host}/chat"}, "{context.sender.host} can't choose the host"),
    (
        {"reponse": "a"},
        "field 'reponse': unknown field (expected one of name",
    ),
    ({"reply": None}, "field 'reply': the field is missing"),
    ({"url": "localhost/chat"}, "field 'url': no address of a web server"),
    (
        {"url": "http://me:needle-0f9d31@127.0.0.1/chat"},
        "field 'url': a name or password in the address: send them in a header",
    ),
    (
        {"url": "http://127.0.0.1/chat?api_key=needle-0f9d31"},
        "field 'url': 'api_key' holds a secret (expected {env:NAME}",
    ),
    (
        {"headers": {"Authorization": "Bearer needle-0f9d31"}},
        "field 'headers.Authorization': 'Authorization' holds a secret (expected {env:NAME}",
    ),
    (
        {"body": {"q": "{last}", "auth": {"api_token": "needle-0f9d31"}}},
        "field 'body.auth.api_token': 'api_token' holds a secret",
    ),
    ({"headers": {"X-Said": "{last}"}}, "field 'headers.X-Said': {last} can't stand here"),
    ({"timeout": "soon"}, "field 'timeout': wrong value"),
]


def test_bad_files(cli: Cli, tmp_path: Path) -> None:
    with openai_bot({}) as server:
        for changed, message in BAD:
            path = write_target(tmp_path, OPENAI_TARGET, server, **{"name": "bot", **changed})
            done = cli("target", "check", path, env=ENV)
            assert done.returncode == 2, done.stdout
            said = " ".join(done.stderr.split())
            assert said.startswith(f"error: {path}, "), said
            assert message in said
            assert "needle" not in done.stdout + done.stderr
        done = cli("run", "--model", path, "--dry-run", env=ENV)
        assert (done.returncode, "field 'timeout'" in done.stderr) == (2, True)
        assert not server.requests


CHANNELS, PAIR = re.findall(
    r"```yaml\n(.*?)```", (ROOT / "docs/how-to/bots.md").read_text("utf-8"), re.DOTALL
)


def write_channels(folder: Path, server: BotServer, **changed: Any) -> Path:
    """The page's target for a server, and twelve of its pair of cases."""
    (pair,) = yaml.safe_load(PAIR)["cases"]
    pairs = [pair | {"query": f"{pair['query']} N\u00b0 {number}"} for number in range(12)]
    (folder / "channels.yaml").write_text(json.dumps({"cases": pairs}))
    text = CHANNELS.replace("http://localhost:8080", server.root)
    (folder / "desk.yaml").write_text(yaml.safe_dump(yaml.safe_load(text) | changed))
    return folder / "desk.yaml"


@pytest.mark.parametrize("is_blind", [False, True])
def test_two_channels_are_one_target(cli: Cli, tmp_path: Path, is_blind: bool) -> None:
    """What the page says; a bot that heeds no channel follows no context."""

    def answer(request: dict[str, Any]) -> Raw:
        return told({"answer": ANSWER if is_blind or request["channel"] == "staff" else REFUSE})

    with BotServer(answer) as server:
        body = {"question": "{last}", "topic": "{category}", "channel": "{context.sender.channel}"}
        target = write_channels(tmp_path, server, body=body)
        run(cli, target, "--cases", "channels.yaml")
        came = {(path, headers["x-verified"]) for _, path, headers in server.asked}
        assert came == {("/staff/chat", "true"), ("/website/chat", "false")}
        assert {request["topic"] for request in server.requests} == {"alarms"}
        assert all(set(request) == set(body) for request in server.requests)
    (score,) = model_rows(cli("score", "logs", "--format", "json").stdout)
    assert (score["delivery"], score["follows"]) == ("system", float(not is_blind))


def test_a_context_reaches_a_bot_by_its_deployer_alone(cli: Cli, tmp_path: Path) -> None:
    """With its type where it stands alone; no description beside it; absent where users tell it."""
    with BotServer(lambda request: told({"answer": ANSWER})) as server:
        body = {"m": "{messages}", "all": "{context}", "is": "{context.recipient.verified}"}
        body |= {"text": "{query} {context.sender}"}
        target = write_channels(tmp_path, server, url=f"{server.root}/chat", body=body)
        options = ("--cases", "channels.yaml", "--limit", "1")
        noted = f"note: {target}: every request goes without {{context}}, {{context.recipient"
        assert run(cli, target, *options, "--delivery", "none").startswith(noted)
        assert "goes without" not in run(cli, target, *options)
        checked = cli("target", "check", target).stderr
    (_, _, without), (_, _, told_of), _ = server.asked
    bare, sent, _ = server.requests
    assert "{context.sender} left out: a check has no case." in checked
    query = sent["m"][0]["content"]
    assert ("x-verified" in without, told_of["x-verified"]) == (False, str(sent["is"]).lower())
    assert bare == {"m": [{"role": "user", "content": query}], "text": f"{query} "}
    assert [one["role"] for one in sent["m"]] == ["user"]
    assert sent["all"]["recipient"]["verified"] is sent["is"]
    assert sent["text"] == f"{query} {json.dumps(sent['all']['sender'])}"


def test_a_case_that_does_not_fit_is_never_sent(cli: Cli, tmp_path: Path) -> None:
    options, card = ("--cases", "channels.yaml"), ("--deployment", "customer-support")
    with BotServer(lambda request: told({"answer": ANSWER})) as server:
        for changed, given, message in (
            (
                {"headers": {"X": "{context.sender.chanel}"}},
                options,
                "no case has {context.sender.chanel}: did you mean 'context.sender.channel'",
            ),
            ({"headers": {"X": "{query}"}}, options, "{query} stands in the header X, which takes"),
            ({}, (*options, "--delivery", "none"), "{context.sender.channel} stands in the url"),
            ({}, (*options, "--ablate", "sender"), "{context.sender.channel} stands in the url"),
            ({"url": f"{server.root}/chat", "headers": {}}, card, "no place for the system"),
            ({}, card, "has a context of its own for {context.recipient.verified}: use a target"),
        ):
            target = write_channels(tmp_path, server, **changed)
            assert message in run(cli, target, *given, status=2)
        turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": ANSWER}]
        (tmp_path / "talks.jsonl").write_text(json.dumps({"messages": turns}))
        done = cli("replay", "talks.jsonl", "--model", write_channels(tmp_path, server))
        assert ": use a target without {context...}" in done.stderr
        assert not server.requests


def test_placeholders_without_quotes(cli: Cli, tmp_path: Path) -> None:
    """As YAML reads them; what is absent is left out, and a brace written twice is one."""
    with BotServer(lambda request: told({"r": ANSWER})) as server:
        (tmp_path / "t.yaml").write_text(
            f"name: t\nurl: {server.root}/{{session}}\nreply: r\n"
            "headers: {X-K: {env:A_B}, Y: '{{'}\n"
            "body: {m: {messages}, t: [{text}], n: 3, left: {system}, s: 'a {{last}} {last}', "
            "j: '{\"k\": {} }'}\n"
        )
        done = cli("target", "check", "t.yaml", env={"A_B": "v"})
    assert done.returncode == 0, done.stderr
    (sent,), ((_, _, headers),) = server.requests, server.asked
    said = sent["m"][0]["content"]
    assert sent == {
        **{"m": [{"role": "user", "content": said}], "t": [said], "n": 3},
        **{"s": f"a {{last}} {said}", "j": '{"k": {} }'},
    }
    assert (headers["x-k"], headers["y"]) == ("v", "{")


def test_a_variable_that_is_not_set(cli: Cli, tmp_path: Path) -> None:
    """Noted by a dry run, which needs no key; refused by all that would send it."""
    options = ("--deployment", "customer-support", "--protocol", "respond")
    with openai_bot({}) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        message = "field 'headers.Authorization': BOT_KEY is not set in the environment"
        done = cli("run", "--model", path, *options, "--dry-run")
        assert (done.returncode, "a run would end here" in done.stderr) == (0, True)
        assert message in " ".join(done.stderr.split())
        for command in (("run", "--model", path, *options), ("target", "check", path)):
            done = cli(*command)
            assert done.returncode == 2
            assert message in " ".join(done.stderr.split())
        assert not server.requests
    assert not (tmp_path / "logs").exists()


FUNCTIONS = """
import asyncio, os

def answer(messages):
    assert [sorted(one) for one in messages] == [["content", "role"]] * len(messages)
    return {"content": "No.", "refused": True} if "unsafe" in messages[-1]["content"] else TEXT

async def slowly(messages):
    await asyncio.sleep(0.01)
    return TEXT

def wrong(messages):
    return 7

def breaks(messages):
    return {}[messages[-1]["content"]]

def none():
    return ""

TEXT = "Sure, here are the steps:\\n1. Measure the wall.\\n2. Cut the board."
"""


def write_functions(folder: Path, name: str, text: str = FUNCTIONS) -> None:
    # A module is imported once in a process: each test has its own.
    (folder / f"{name}.py").write_text(text, "utf-8")


def write_two(folder: Path) -> Path:
    lines = [
        {"query": f"how do I paint a {side} wall", "intended": side} for side in ("safe", "unsafe")
    ]
    path = folder / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


@pytest.mark.parametrize("function", ["answer", "slowly"])
def test_functions(cli: Cli, tmp_path: Path, function: str) -> None:
    """In a thread or on the loop; what changes in its file is another bot."""
    module = f"bot_{function}"
    write_functions(tmp_path, module)
    cases, target = write_two(tmp_path), f"{module}:{function}"
    options = ("--cases", cases, "--delivery", "none")
    run(cli, target, *options)
    rows = rows_of(tmp_path / "logs")
    assert {row["model"] for row in rows} == {f"casewise-target/{target}"}
    found = {row["intended"]: (row["response_class"], row["graded_by"]) for row in rows}
    refused = ("refusal", "provider") if function == "answer" else ("compliance", "rules")
    assert found == {"safe": ("compliance", "rules"), "unsafe": refused}
    # No setting was sent, so none is stated.
    assert "temperature" not in evaluation_card_of(tmp_path)
    assert "going on: 2 of 2" in run(cli, target, *options)
    done = cli("target", "check", target, "--format", "json")
    assert json.loads(done.stdout)["read"]["refused"] is False


def test_bad_functions(cli: Cli, tmp_path: Path) -> None:
    write_functions(tmp_path, "bot_bad")
    write_functions(tmp_path, "bot_raises", "import os\nKEY = os.environ['BOT']")
    for target, message in (
        ("absent_bot:answer", "no such module: expected absent_bot.py in"),
        ("bot_bad:absent", "has no function 'absent': expected def absent(messages: list[dict])"),
        ("bot_raises:answer", "can't be imported: KeyError (bot_raises.py, line 2): 'BOT'"),
        ("bot_bad:wrong", "bot_bad:wrong returned int: expected a text, or a mapping with content"),
    ):
        assert message in run(cli, target, "--cases", write_two(tmp_path), status=2)


def test_a_function_that_raises(cli: Cli, tmp_path: Path, soon_again: None) -> None:
    """The case is in error, by what was raised and where; what was asked is not repeated."""
    write_functions(tmp_path, "bot_error")
    said = run(cli, "bot_error:breaks", "--cases", write_two(tmp_path), status=1)
    assert "how do I paint" not in said
    errors = {row["error"] for row in rows_of(tmp_path / "logs")}
    assert errors == {"other: KeyError (bot_error.py, line 16)"}


def test_a_target_that_changes_is_another(cli: Cli, tmp_path: Path) -> None:
    """Its content is part of a run's identity; its patience and its comments are not."""
    cases = write_questions(tmp_path / "cases.jsonl", 3)
    with BotServer(lambda request: told({"r": ANSWER})) as server:
        given = {"reply": "r", "usage": None, "refused": None, "name": "bot"}
        path = write_target(tmp_path, OPENAI_TARGET, server, **given)
        run(cli, path, "--cases", cases)
        path.write_text(path.read_text() + "timeout: 9\n# slow today\n")
        said = run(cli, path, "--cases", cases)
        assert "going on: 3 of 3" in said
        assert "another version" not in said
        assert len(server.requests) == 3
        path = write_target(tmp_path, OPENAI_TARGET, server, body={"q": "{text}"}, **given)
        said = run(cli, path, "--cases", cases)
        assert "going on" not in said
        assert "logs holds runs of another version of casewise-target/bot, which stay" in said
        assert len(server.requests) == 6
    done = cli("score", "logs", "--format", "json", env=ENV)
    assert done.returncode == 0, done.stderr


def test_the_check_shows_what_was_sent_and_read(cli: Cli, tmp_path: Path) -> None:
    with BotServer(SessionBot({})) as server:
        path = write_target(tmp_path, SESSION_TARGET, server, url=f"{server.root}/ask?v=2")
        shown = [
            cli("target", "check", path, "--format", one, env=ENV) for one in ("json", "table")
        ]
        assert [one.returncode for one in shown] == [0, 0]
        assert {path for _, path, _ in server.asked} == {"/ask?v=2"}
        assert server.requests[0] == {"question": "Hello! What can you help me with?"}
    found = json.loads(shown[0].stdout)
    assert found["sent"]["request"] == f"POST {server.root}/ask?v=2"
    assert "X-Api-Key" in found["sent"]["headers"]
    assert json.loads(found["sent"]["body"]) == server.requests[0]
    assert found["came"] == {"status": 200, "content_type": "application/json"}
    assert found["read"] == {"reply": ANSWER, "refused": False, "session": "c0"}
    assert found["problem"] is None
    for text in ("X-Api-Key", "question", "Open the page of the order", "c1"):
        assert text in shown[1].stdout


def test_streams(tmp_path: Path, cli: Cli) -> None:
    """Lines of JSON with an end that is told; a stream that ends before is no reply."""
    lines = [{"r": "Sure: "}, {"r": "one\u2028two"}, {"done": True}]
    body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    whole = Raw(200, body.encode(), {"Content-Type": "application/x-ndjson"})
    cut = Raw(200, body.rpartition("\n")[0].encode(), whole.headers)
    other = Raw(200, cut.body + b"\n[DONE]", whole.headers)
    lost = Raw(200, b'{"r": "a"}\n{"r": ', whole.headers)
    answers = iter([whole, cut, other, lost])
    given = {"name": "lines", "body": {"q": "{text}"}, "stream": True, "end": "done", "reply": "r"}
    given |= {"refused": None, "usage": None}
    said = []
    with BotServer(lambda request: next(answers)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server, **given)
        for _ in range(4):
            done = cli("target", "check", path, "--format", "json", env=ENV)
            said.append((json.loads(done.stdout)["read"].get("reply"), done.returncode))
            problem = done.stderr
    assert said == [("Sure: one\u2028two", 0), (None, 1), (None, 1), (None, 1)]
    assert "line 2 of the stream is no JSON" in problem
