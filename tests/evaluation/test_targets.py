"""Bots behind addresses of their own, and functions, through ``casewise run --target``."""

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.bots import (
    ANSWER,
    BOTS,
    CLASSES,
    OPENAI_TARGET,
    SESSION_TARGET,
    BotServer,
    SessionBot,
    line_of,
    openai_bot,
    told,
    wanted_by_case,
    write_target,
)
from support.fake_openai import Raw
from support.fault_runs import PATIENCE_S, write_questions
from support.faulty import KINDS, FaultyServer
from support.secret import KEY

from casewise.cases import CARDS, load_card
from casewise.evaluation.models._target import load_target
from casewise.evaluation.models._target_file import TargetFile
from casewise.evaluation.models._target_http import ABSENT, fill
from casewise.protocols import load_script
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ENV = {"BOT_KEY": KEY}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return read_paths([folder]).table.to_dicts()


def run(cli: Cli, target: Path | str, *options: str | Path, status: int = 0) -> str:
    command = ("run", "--target", target, "--protocol", "respond", "--log-dir", "logs", *options)
    done = cli(*command, env=ENV)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("bot", BOTS)
def test_every_card_is_recovered(cli: Cli, tmp_path: Path, bot: str, card: str) -> None:
    """Each bot draws the card's line, in replies, in histories and over a script's turns."""
    make, target = BOTS[bot]
    line = line_of(card)
    with make(line) as server:
        run(cli, write_target(tmp_path, target, server), "--deployment", card)
    rows = rows_of(tmp_path / "logs")
    found = {row["case_id"]: row["response_class"] for row in rows if row["category"] != "script"}
    assert found == wanted_by_case(card)
    turns = sorted((row for row in rows if row["category"] == "script"), key=itemgetter("case_id"))
    script = load_script(load_card(card).script_path or Path())
    said = [tuple(turn.user for turn in script.turns[: n + 1]) for n in range(len(script.turns))]
    assert [row["response_class"] for row in turns] == [CLASSES[line[one]] for one in said]
    assert {row["model"] for row in rows} == {f"casewise-target/{bot}"}
    assert {row["error"] for row in rows} == {None}


def test_what_is_sent(cli: Cli, tmp_path: Path) -> None:
    """Headers from the environment, the conversation with its roles, settings; tokens are read."""
    with openai_bot(line_of("customer-support")) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        run(cli, path, "--deployment", "customer-support", "--max-tokens", "99")
        sent = [one for one in server.requests if len(one["messages"]) == 2]
        assert {headers["authorization"] for _, _, headers in server.asked} == {f"Bearer {KEY}"}
    assert {one["temperature"] for one in sent} == {0.0}
    assert {one["max_tokens"] for one in sent} == {99}
    roles = {tuple(turn["role"] for turn in one["messages"]) for one in server.requests}
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
    histories = {
        (*(turn.content for turn in case.history if turn.role == "user"), case.query)
        for case in load_card("customer-support").cases
    }
    turns = load_script(load_card("customer-support").script_path or Path()).turns
    assert conversations == histories | {tuple(turn.user for turn in turns)}
    firsts = [one for one in server.requests if "conversation" not in one]
    assert len(firsts) == len(bot.sessions)
    assert len({one["instructions"] for one in server.requests}) == 1
    # Made here, where no answer names one: another for each conversation.
    with BotServer(lambda request: told({"text": ANSWER})) as server:
        own = {"session": None, "reply": "text", "refused": None, "name": "ours"}
        path = write_target(tmp_path, SESSION_TARGET, server, **own)
        run(cli, path, "--deployment", "customer-support", "--log-dir", "ours")
    named = Counter(one["conversation"] for one in server.requests)
    assert sorted(named.values())[-1] == len(turns)
    assert len(named) == len(bot.sessions)


LOSES = {
    "no place for the system message": {"body": {"q": "{last}"}, "history": None, "session": None},
    "keeps its own history, has not seen": {"history": None},
    "no place for the earlier turns": {
        "body": {"q": "{last}", "s": "{system}"},
        "history": None,
        "session": None,
    },
}


@pytest.mark.parametrize("message", LOSES)
def test_what_would_be_lost_is_refused(cli: Cli, tmp_path: Path, message: str) -> None:
    with BotServer(SessionBot({})) as server:
        path = write_target(tmp_path, SESSION_TARGET, server, **LOSES[message])
        for more in ("--dry-run", "--max-connections=2"):
            options = ("--deployment", "customer-support", more)
            assert message in run(cli, path, *options, status=2)
        assert not server.requests
    assert not (tmp_path / "logs").exists()


UNREAD: dict[str, tuple[Raw, str]] = {
    "html": (
        Raw(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}),
        "the answer is an HTML page, no JSON: is the address right?",
    ),
    "text": (Raw(200, b"ok", {"Content-Type": "text/plain"}), "the answer is no JSON (text/plain)"),
    "empty": (Raw(200, b"", {}), "the answer is empty"),
    "missing": (told({"choices": []}), "expected a text at reply (choices[0].message.content)"),
    "type": (told({"choices": [{"message": {"content": ["a"]}}]}), "found a list"),
    "redirect": (
        Raw(302, b"", {"Location": "http://localhost:9/elsewhere"}),
        "HTTP 302 redirects to another host (http://localhost:9), to which nothing was sent",
    ),
    "loop": (Raw(307, b"", {"Location": "/again"}), "redirects more than 5 times"),
    "key": (told({"detail": f"bad key {KEY}"}, 401), "HTTP 401 (authentication)"),
    "path": (Raw(404, b"<html>no</html>", {}), "or the url of a target"),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_answers_that_never_will_do(cli: Cli, tmp_path: Path, kind: str) -> None:
    """Told once, at once: by the check, and by a run, whose other cases are not asked in vain."""
    answer, message = UNREAD[kind]
    with BotServer(lambda request: answer) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        done = cli("target", "check", path, env=ENV)
        assert done.returncode == 1
        assert message in " ".join((done.stdout + done.stderr).split())
        said = run(cli, path, "--deployment", "customer-support", status=2)
        # Of each that were under way, the case is told once.
        assert said.count(message) <= 2
        assert len(server.requests) < 100
    assert message in said


def test_redirects_on_the_host_are_followed(cli: Cli, tmp_path: Path) -> None:
    bot = openai_bot(line_of("customer-support"))
    well, kinds = bot.answer, iter([301, 302, 307, 308] * 100)

    def answer(request: dict[str, Any]) -> Any:
        path = bot.asked[-1][1]
        return well(request) if "moved" in path else Raw(next(kinds), b"", {"Location": "/moved"})

    bot.answer = answer
    with bot as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        run(cli, path, "--deployment", "customer-support", "--max-connections", "1")
        assert {headers["authorization"] for _, _, headers in server.asked} == {f"Bearer {KEY}"}
    found = {row["case_id"]: row["response_class"] for row in rows_of(tmp_path / "logs")}
    assert wanted_by_case("customer-support").items() <= found.items()


def test_a_refusal_that_is_told(cli: Cli, tmp_path: Path) -> None:
    """By a field, with words or without, or by a status with JSON; each is the bot's own."""
    kinds = [told({"no": True}), told({"no": True, "r": "Sorry."}), told({"no": True}, 400)]
    answers = iter(kinds * 20)
    with BotServer(lambda request: next(answers)) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server, reply="r", refused="no", usage=None)
        cases = write_questions(tmp_path / "cases.jsonl", 6)
        run(cli, path, "--cases", cases)
    rows = rows_of(tmp_path / "logs")
    assert {(row["response_class"], row["graded_by"]) for row in rows} == {("refusal", "provider")}


FAULTS = [*KINDS]


@pytest.mark.parametrize(
    "how",
    [
        "1",
        pytest.param("10", marks=pytest.mark.slow),
        pytest.param("storm", marks=pytest.mark.slow),
    ],
)
def test_every_fault(cli: Cli, tmp_path: Path, how: str) -> None:
    """Nothing is lost, doubled or invented, and each fault is counted."""
    models, cases = [f"{fault}-{how}" for fault in KINDS], 20
    questions = write_questions(tmp_path / "cases.jsonl", cases)
    with FaultyServer() as server:
        server.choose_salts(models, cases)
        command: list[str | Path] = ["run", "--cases", questions, "--protocol", "binary"]
        command += ["--max-connections", "6", "--attempt-timeout", str(PATIENCE_S)]
        for model in models:
            spec = {"name": model, "accept": f"model == '{model}'"}
            body = {"model": model, "messages": "{messages}"}
            path = write_target(tmp_path, OPENAI_TARGET, server, body=body, **spec)
            command += ["--target", path]
        command += ["--log-dir", "logs"]
        done = cli(*command, env=ENV)
        assert "Traceback" not in done.stderr
        first = json.loads((tmp_path / "logs/faults.json").read_text())["starts"][0]["faults"]
        if done.returncode:
            assert "To go on:" in done.stderr
            server.healed = True
            again = cli(*command, env=ENV)
            assert again.returncode == 0, again.stderr
    rows = rows_of(tmp_path / "logs")
    for model in models:
        fault, name = model.rpartition("-")[0], f"casewise-target/{model}"
        own = [row for row in rows if row["model"] == name]
        assert Counter(row["case_id"] for row in own).total() == cases
        assert len({row["case_id"] for row in own}) == cases
        assert {row["verdict"] for row in own} <= {"safe", None}
        assert {row["status"] for row in own} <= {"ok", "refused"}
        assert ("refused" in {row["status"] for row in own}) <= (fault == "filter")
        # By what a file knows, another model's answer is one that is not accepted.
        kind = {"other-model": "unreadable_answer"}.get(fault, KINDS[fault])
        kinds = {kind, "timeout"} if fault == "large" else {kind}
        assert server.failed[model]
        assert kinds & first[name].keys(), (model, first.get(name))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown placeholder": (
        {"body": {"q": "Say {quesiton}"}},
        "field 'body.q': unknown placeholder (a brace that means itself is written twice) "
        "(found '{quesiton}'; expected {messages}, {text}, {last}",
    ),
    "a list in a text": (
        {"body": {"q": ["As of {messages}"]}},
        "a list within a text (found 'As of {messages}'; expected {messages} alone",
    ),
    "unknown field": ({"reponse": "a"}, "field 'reponse': unknown field (expected one of name"),
    "missing": ({"reply": None}, "field 'reply': the field is missing"),
    "expression": (
        {"reply": "choices[0"},
        "field 'reply': not a JMESPath expression",
    ),
    "nothing asked": ({"body": {"q": "hello"}}, "nothing says where the conversation stands"),
    "method": ({"method": "DELETE"}, "field 'method': wrong value (found 'DELETE'; expected"),
    "get": ({"method": "GET"}, "field 'body': GET sends no body"),
    "address": ({"url": "localhost/chat"}, "field 'url': no address of a web server"),
    "password": (
        {"url": "http://me:needle-0f9d31@127.0.0.1/chat"},
        "field 'url': a name or password in the address: send them in a header",
    ),
    "key in the address": (
        {"url": "http://127.0.0.1/chat?api_key=needle-0f9d31"},
        "field 'url': 'api_key' holds a secret (expected {env:NAME}",
    ),
    "key in a header": (
        {"headers": {"Authorization": "Bearer needle-0f9d31"}},
        "field 'headers.Authorization': 'Authorization' holds a secret (expected {env:NAME}",
    ),
    "key in the body": (
        {"body": {"q": "{last}", "auth": {"api_token": "needle-0f9d31"}}},
        "field 'body.auth.api_token': 'api_token' holds a secret",
    ),
    "conversation in a header": (
        {"headers": {"X-Said": "{last}"}},
        "field 'headers.X-Said': {last} can't stand here",
    ),
    "session": ({"session": "id"}, "field 'session': nothing sends it back"),
    "replay": ({"history": "replay"}, "only a bot with sessions can be told earlier turns"),
    "end": ({"end": "[DONE]"}, "field 'end': only a stream has an end (expected stream: true)"),
    "name": ({"name": "our bot"}, "field 'name': wrong value (found 'our bot'; expected letters"),
    "timeout": ({"timeout": "soon"}, "field 'timeout': wrong value"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files(cli: Cli, tmp_path: Path, kind: str) -> None:
    changed, message = BAD[kind]
    with openai_bot({}) as server:
        spec = {"name": "bot", **changed}
        path = write_target(tmp_path, OPENAI_TARGET, server, **spec)
        if path.name != "bot.yaml":
            path = path.rename(tmp_path / "bot.yaml")
        for command in (["run", "--target", path, "--dry-run"], ["target", "check", path]):
            done = cli(*command, env=ENV)
            assert done.returncode == 2, done.stdout
            said = " ".join(done.stderr.split())
            assert said.startswith(f"error: {path}, "), said
            assert message in said
            assert "needle" not in done.stdout + done.stderr
            assert "Traceback" not in done.stderr
        assert not server.requests


def test_a_variable_that_is_not_set(cli: Cli, tmp_path: Path) -> None:
    """Noted by a dry run, which needs no key; refused by all that would send it."""
    options = ("--deployment", "customer-support", "--protocol", "respond")
    with openai_bot({}) as server:
        path = write_target(tmp_path, OPENAI_TARGET, server)
        message = "field 'headers.Authorization': BOT_KEY is not set in the environment"
        done = cli("run", "--target", path, *options, "--dry-run")
        assert (done.returncode, "a run would end here" in done.stderr) == (0, True)
        assert message in " ".join(done.stderr.split())
        for command in (("run", "--target", path, *options), ("target", "check", path)):
            done = cli(*command)
            assert done.returncode == 2
            assert message in " ".join(done.stderr.split())
        # Even the address may stand there, and is checked when it is used.
        moved = write_target(tmp_path, OPENAI_TARGET, server, url="{env:BOT_URL}/v1", name="b")
        done = cli("target", "check", moved, env={**ENV, "BOT_URL": "localhost"})
        assert "expected http://HOST:PORT/PATH): check BOT_URL" in " ".join(done.stderr.split())
        assert not server.requests
    assert not (tmp_path / "logs").exists()


def test_placeholders_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "name: t\nurl: http://127.0.0.1:1/{session}\nreply: r\nheaders: {X-K: {env:A_B}, Y: '{{'}\n"
        "body: {m: {messages}, t: [{text}], n: 3, left: {system}, s: 'a {{last}} {last}'}\n"
    )
    spec = load_target(str(tmp_path / "t.yaml")).spec
    assert isinstance(spec, TargetFile)
    assert spec.variables == {"A_B": "headers.X-K"}
    values = {"messages": [1], "text": "x", "last": "y", "system": ABSENT, "session": "a/b"}
    assert fill(spec.body, values) == {"m": [1], "t": ["x"], "n": 3, "s": "a {last} y"}
    assert fill(spec.headers, {"env:A_B": "v"}) == {"X-K": "v", "Y": "{"}
