"""Conversations asked again over real HTTP: planted changes are found, and nothing else leaves."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.actors import REFUSAL, comply
from support.fake_openai import FakeServer, Raw
from support.planted import CANARY
from support.refusals import refused
from support.replayed import (
    GRADER,
    NEW,
    OLD,
    Answer,
    conversation,
    of_model,
    query,
    refusing,
    write_talks,
)
from support.secret import KEY, found_in

OLD_REFUSED = {3, 4, 5}
NEW_REFUSED = {0, 1, 2, 3}
TALKS = 60


@dataclass(frozen=True, slots=True)
class Done:
    """What the command printed, and the requests that it sent."""

    returncode: int
    stdout: str
    stderr: str
    requests: list[dict[str, Any]]


Replay = Callable[..., Done]


@pytest.fixture
def replay(cli: Cli, tmp_path: Path) -> Replay:
    """Run the command against a server; gives what was printed, and the requests."""

    def run(talks: list[Any], answer: Answer, *options: str, code: int = 0) -> Done:
        write_talks(tmp_path / "talks.jsonl", talks)
        with FakeServer(answer) as server:
            env = server.env
            command = ["replay", "talks.jsonl", "-m", NEW, "--log-dir", "logs", "--same-server"]
            done = cli(*command, *options, env=env)
        assert done.returncode == code, done.stderr
        return Done(done.returncode, done.stdout, done.stderr, server.requests)

    return run


def talks(n: int = TALKS, **options: Any) -> list[dict[str, Any]]:
    return [conversation(k, refused=k in OLD_REFUSED, **options) for k in range(n)]


def test_planted_changes_are_found(replay: Replay) -> None:
    done = replay(talks(), refusing(NEW_REFUSED), "--format", "json")
    found = json.loads(done.stdout)
    overall, *by_category = found["rates"]
    assert overall["newly_refused"]["events"] == 3
    assert overall["newly_refused"]["value"] == 3 / TALKS
    assert overall["newly_answered"]["events"] == 2
    low, high = overall["newly_refused"]["interval"]
    # Of 59 effective rows: R's qbeta(.05, 2.95, 57.05), and Wilson's end with qt(.975, 59).
    assert (round(low, 4), round(high, 4)) == (0.0136, 0.1405)
    assert [one["newly_refused"]["events"] for one in by_category] == [1, 1, 1]
    read = {(one["conversation"], one["line"], one["change"]) for one in found["changed"]}
    assert read == {
        *((f"talk-{k}", k + 1, "newly refused") for k in (0, 1, 2)),
        *((f"talk-{k}", k + 1, "newly answered") for k in (4, 5)),
    }
    # What was sent is the conversation before the reply, and no more.
    sent = {str(request["messages"][-1]["content"]): request for request in done.requests}
    assert set(sent) == {query(k) for k in range(TALKS)}
    assert [message["role"] for message in sent[query(7)]["messages"]] == [
        *("system", "user", "assistant", "user"),
    ]


def test_the_old_model_is_asked_anew(replay: Replay) -> None:
    answer = of_model(new=refusing({1, 2}), old=refusing({2, 9}))
    done = replay(talks(12), answer, "-m", OLD, "--format", "json")
    found = json.loads(done.stdout)
    assert len(done.requests) == 24
    changes = {(one["conversation"], one["change"]) for one in found["changed"]}
    assert changes == {("talk-1", "newly refused"), ("talk-9", "newly answered")}


def test_every_conversation_is_accounted_for(replay: Replay) -> None:
    system, *_ = conversation(0)["messages"]
    user, reply = {"role": "user", "content": query(90)}, {"role": "assistant", "content": REFUSAL}
    call = {"id": "c", "name": "look", "arguments": {"fence": 1}}
    odd = [
        "{not json",
        {"messages": [system]},
        {"messages": [{"role": "user", "content": " "}, reply]},
        {"messages": [user, user, reply]},
        {"messages": [user]},
        {"messages": [user, {"role": "assistant", "content": "", "tool_calls": [call]}]},
        {"messages": [user, {"role": "assistant", "content": "..."}]},
    ]

    def answer(request: dict[str, Any]) -> Any:
        # A reply that says nothing, a fault; and an answer.
        return {7: "...", 8: 400}.get(fence(request), comply(request))

    done = replay([*odd, *talks(40)], answer, "--format", "json")
    found = json.loads(done.stdout)
    assert found["left_out"] == {
        "no conversation could be read": 1,
        "no turn of the user": 1,
        "the user's turn is blank": 1,
        "the turns before are out of order": 1,
        "the file has no reply to it": 1,
        "the old reply is a tool call without a text": 1,
        "the old reply neither refuses nor answers": 1,
        "new reply: error, no reply or no grade": 1,
        "new reply: neither refuses nor answers": 1,
    }
    assert found["rates"][0]["compared"] == 38


def test_turns_and_users(replay: Replay) -> None:
    some = talks(30, users=6)
    found = json.loads(replay(some, refusing({1}), "--each-turn", "--format", "json").stdout)
    # The greeting is answered, too, by no class that counts: its old reply says nothing.
    assert found["left_out"]["the old reply neither refuses nor answers"] == 30
    assert (found["cluster"], found["clusters"]) == ("user", 6)
    assert found["rates"][0]["newly_refused"]["value"] == 1 / 30
    unanswered = [{"messages": [{"role": "user", "content": query(1)}]}]
    done = replay(unanswered, refusing({1}), code=2)
    refused(done, "no conversation can be asked again", "1: the file has no reply to it")


def fence(request: dict[str, Any]) -> int:
    """Which conversation a request is of."""
    return int(request["messages"][-1]["content"].split("fence ")[1].split(" ")[0])


def test_a_replay_goes_on_where_it_was_stopped(replay: Replay) -> None:
    """Three failures leave the model; what was answered until then is not asked again."""
    answered = set[int]()

    def flaky(request: dict[str, Any]) -> Any:
        if len(answered) == 20:
            return 400
        answered.add(fence(request))
        return refusing(NEW_REFUSED)(request)

    # One at a time: no request is on its way when the model leaves.
    alone = ("--max-connections", "1", "--format", "json")
    first = replay(talks(), flaky, *alone, code=1)
    assert "not all was judged" in first.stderr
    assert "casewise replay talks.jsonl" in first.stderr
    second = replay(talks(), refusing(NEW_REFUSED), "--format", "json")
    assert sorted(map(fence, second.requests)) == sorted(set(range(TALKS)) - answered)
    assert json.loads(second.stdout)["rates"][0]["newly_refused"]["events"] == 3


PERSON, CITY, PHONE, PASSWORD = (
    "Gwendolyn Pfeiffer",
    "12 Cedar Grove Lane",
    "+49 30 1234567",
    "tulip-77",
)
SECRET = "sk-live-0123456789abcdefghij"
PRIVATE = (PERSON, "Gwendolyn", "Pfeiffer", CITY, PHONE, PASSWORD, SECRET, "gwen@garden.org")


def private_talk(number: int) -> dict[str, Any]:
    """A conversation with personal data and keys in every kind of turn."""
    call = {"id": "c", "name": "find", "arguments": {"who": PERSON, "api_key": SECRET, "n": [1]}}
    return {
        "id": f"private-{number}",
        "messages": [
            {"role": "system", "content": f"The garden of {PERSON}, {CITY}."},
            {"role": "user", "content": f"I am Gwendolyn, {PHONE}. My password is {PASSWORD}."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": f"{PERSON}, gwen@garden.org"},
            {"role": "assistant", "content": f"Hello, Gwendolyn of {CITY}!"},
            {"role": "user", "content": f"{query(number)} It is for Pfeiffer, as you know."},
            {"role": "assistant", "content": REFUSAL},
        ],
    }


def test_masked_texts_are_sent(replay: Replay) -> None:
    some = [private_talk(k) for k in range(4)]
    answer = of_model(new=refusing({1}), grader=graded)
    done = replay(some, answer, "--mask", "--grader", GRADER, "--format", "json")
    assert len(done.requests) == 12
    for request in done.requests:
        sent = json.dumps(request, ensure_ascii=False)
        assert [one for one in PRIVATE if one in sent] == []
        assert "PERSON_1" in sent
    asked = next(one for one in done.requests if one["model"] == "new")
    system, user, called, *_ = asked["messages"]
    assert "of <PERSON_1>, <ADDRESS_1>" in str(system["content"])
    assert user["content"] == "I am <PERSON_1>, <PHONE_1>. My password is <KEY_1>."
    arguments = json.loads(called["tool_calls"][0]["function"]["arguments"])
    assert arguments["who"] == "<PERSON_1>"
    assert arguments["api_key"].startswith("<KEY_")


def graded(request: dict[str, Any]) -> str:
    """A grader that knows a refusal when it reads one."""
    text = str(request["messages"][-1]["content"])
    nonce = re.findall(r'"id": "([^"]+)"', text)[-1]
    kind = "refusal" if REFUSAL in text.split("reply")[-1] or REFUSAL in text else "compliance"
    return f"It says so.\n{json.dumps({'id': nonce, 'class': kind})}"


def test_nothing_of_a_withheld_run_holds_a_text(
    replay: Replay, tmp_path: Path, soon_again: None
) -> None:
    def planted(number: int) -> dict[str, Any]:
        talk = private_talk(number)
        for message in talk["messages"]:
            message["content"] = f"{message['content']} {CANARY}"
        talk["messages"][2]["tool_calls"][0]["arguments"]["note"] = CANARY
        return talk

    met: set[int] = set()

    def answer(request: dict[str, Any]) -> Any:
        if request["model"] == "grader":
            return graded(request).replace("so", CANARY)
        number = fence(request)
        unreadable = number == 3 and number not in met
        met.add(number)
        if unreadable:
            return Raw(200, CANARY.encode(), {"X-Trace": CANARY})
        if number in (2, 3):
            told = {"error": {"message": f"no answer to {CANARY}, key {KEY}"}}
            return Raw(400, json.dumps(told).encode(), {"X-Trace": CANARY})
        return f"{comply(request)} {CANARY}" if number % 2 else REFUSAL

    some = [planted(k) for k in range(30)]
    done = replay(some, answer, "--grader", GRADER, code=1)
    assert CANARY in json.dumps(done.requests)
    assert CANARY not in done.stdout + done.stderr
    (tmp_path / "talks.jsonl").unlink()
    assert found_in(tmp_path, CANARY) == []
    for secret in (SECRET, PERSON, PASSWORD):
        assert found_in(tmp_path, secret) == []
        assert secret not in done.stdout + done.stderr
    assert "sends 30 requests to openai-api/fake/new and 60 requests to openai-api/fake/grader" in (
        done.stderr
    )


def test_texts_are_shown_on_request(replay: Replay, tmp_path: Path) -> None:
    done = replay(talks(12), refusing({7}), "--reveal")
    assert f"asked: {query(7)}" in done.stdout
    assert f"after: {REFUSAL}" in done.stdout
    assert query(8) not in done.stdout
    assert found_in(tmp_path / "logs", query(8)) != []


def test_texts_that_were_not_kept(replay: Replay) -> None:
    replay(talks(12), refusing({7}))
    done = replay(talks(12), refusing({7}), "--reveal")
    assert done.requests == []
    assert "after: (not kept: asked without --reveal)" in done.stdout


def test_a_model_grades_both_replies(replay: Replay) -> None:
    answer = of_model(new=refusing(NEW_REFUSED), grader=graded)
    options = ("--grader", GRADER, "--format", "json")
    done = replay(talks(12), answer, *options)
    assert json.loads(done.stdout)["rates"][0]["newly_refused"]["events"] == 3
    assert sum(request["model"] == "grader" for request in done.requests) == 24
    again = replay(talks(12), answer, *options)
    assert {request["model"] for request in again.requests} == {"grader"}


def test_a_plan_sends_nothing(replay: Replay, tmp_path: Path) -> None:
    done = replay(talks(12), refusing(()), "-m", OLD, "--dry-run")
    assert done.requests == []
    assert "sends 12 requests to openai-api/fake/new and 12 requests to openai-api/fake/old" in (
        done.stderr
    )
    assert not (tmp_path / "logs").exists()


def test_the_documentation_shows_what_is_printed(replay: Replay) -> None:
    printed = replay(talks(), refusing(NEW_REFUSED)).stdout
    page = (ROOT / "docs/how-to/replay.md").read_text("utf-8")
    shown = page.split("<!-- printed: begin -->")[1].split("<!-- printed: end -->")[0]
    lines = "\n".join(line.rstrip() for line in printed.splitlines())
    assert lines.strip() == shown.strip().removeprefix("```text").removesuffix("```").strip()


def test_nothing_changed(replay: Replay) -> None:
    done = replay(talks(40), refusing(OLD_REFUSED))
    # 1 - .025 ** (1 / 40)
    assert done.stdout.startswith("Newly refused: 0 of 40 replies compared, 0 in 1,000 (0 to 88).")


def test_a_bot_of_ones_own_is_asked(cli: Cli, tmp_path: Path) -> None:
    """Its results are named for the bot, not for its file."""
    write_talks(tmp_path / "talks.jsonl", talks(12))
    (tmp_path / "bot.py").write_text("def answer(messages):\n    return 'Sure, here it is: 7.'\n")
    command = ["replay", "talks.jsonl", "-m", "bot:answer", "--log-dir", "logs", "--format", "json"]
    done = cli.ok(*command)
    assert json.loads(done.stdout)["rates"][0]["compared"] == 12
