"""Conversations asked again over real HTTP: planted changes are found, and nothing else leaves."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import REFUSAL, comply
from support.fake_openai import FakeServer
from support.refusals import refused
from support.replayed import (
    NEW,
    OLD,
    Answer,
    conversation,
    of_model,
    query,
    refusing,
    write_talks,
)

OLD_REFUSED = {3, 4, 5}
NEW_REFUSED = {0, 1, 2, 3}
TALKS = 60

Replay = Callable[..., Any]


@pytest.fixture
def replay(cli: Cli, tmp_path: Path) -> Replay:
    """Run the command against a server; gives what was printed, and the requests."""

    def run(talks: list[Any], answer: Answer, *options: str, code: int = 0) -> Any:
        write_talks(tmp_path / "talks.jsonl", talks)
        with FakeServer(answer) as server:
            env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
            command = ["replay", "talks.jsonl", "-m", NEW, "--log-dir", "logs", *options]
            done = cli(*command, env=env)
        assert done.returncode == code, done.stderr
        done.requests = server.requests
        return done

    return run


def talks(n: int = TALKS, **options: Any) -> list[dict[str, Any]]:
    return [conversation(k, refused=k in OLD_REFUSED, **options) for k in range(n)]


def test_planted_changes_are_found(replay: Replay) -> None:
    done = replay(talks(), refusing(NEW_REFUSED), "--format", "json")
    found = json.loads(done.stdout)
    overall, *by_category = found["rates"]
    assert (found["conversations"], found["turns"], found["asked"]) == (TALKS, TALKS, TALKS)
    assert overall["newly_refused"]["events"] == 3
    assert overall["newly_refused"]["value"] == 3 / TALKS
    assert overall["newly_answered"]["events"] == 2
    low, high = overall["newly_refused"]["interval"]
    assert (round(low, 4), round(high, 4)) == (0.0104, 0.1392)  # R: binom.test(3, 60)
    assert [one["category"] for one in by_category] == ["c0", "c1", "c2"]
    assert [one["newly_refused"]["events"] for one in by_category] == [1, 1, 1]
    read = {(one["conversation"], one["line"], one["change"]) for one in found["changed"]}
    assert read == {
        *((f"talk-{k}", k + 1, "newly refused") for k in (0, 1, 2)),
        *((f"talk-{k}", k + 1, "newly answered") for k in (4, 5)),
    }
    # What was sent is the conversation before the reply, and no more.
    sent = {str(request["messages"][-1]["content"]): request for request in done.requests}
    assert set(sent) == {query(k) for k in range(TALKS)}
    assert [one["role"] for one in sent[query(7)]["messages"]] == [
        *("system", "user", "assistant", "user"),
    ]


def test_the_old_model_is_asked_anew(replay: Replay) -> None:
    answer = of_model(new=refusing({1, 2}), old=refusing({2, 9}))
    done = replay(talks(12), answer, "-m", OLD, "--format", "json")
    found = json.loads(done.stdout)
    assert found["old"] == OLD
    assert len(done.requests) == 24
    assert [one["newly_refused"]["events"] for one in found["rates"][:1]] == [1]
    assert [one["newly_answered"]["events"] for one in found["rates"][:1]] == [1]
    assert {one["conversation"] for one in found["changed"]} == {"talk-1", "talk-9"}


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
        {"messages": [user, {"role": "assistant", "content": "Hm."}]},
    ]

    def answer(request: dict[str, Any]) -> Any:
        number = request["messages"][-1]["content"].split("fence ")[1].split(" ")[0]
        # A reply that says nothing, a fault; and an answer.
        return {"7": "Hm.", "8": 400}.get(number, comply(request))

    done = replay([*odd, *talks(40)], answer, "--format", "json")
    found = json.loads(done.stdout)
    assert found["left_out"] == {
        "no conversation could be read": 1,
        "no such turn of the user": 1,
        "the user's turn is blank": 1,
        "the turns before are out of order": 1,
        "the file has no reply to it": 1,
        "the old reply is a tool call without a text": 1,
        "the old reply neither refuses nor answers": 1,
    }
    assert (found["conversations"], found["turns"]) == (47, 40)
    assert found["unread"] == {
        "new reply: error, no reply": 1,
        "new reply: neither refuses nor answers": 1,
    }
    assert found["rates"][0]["newly_refused"]["compared"] == 38
    assert "{not json" not in done.stderr


def test_turns_and_users(replay: Replay, tmp_path: Path) -> None:
    some = talks(30, users=6)
    done = replay(some, refusing({1}), "--turn", "each", "--format", "json")
    found = json.loads(done.stdout)
    # The greeting is answered, too, by no class that counts: its old reply says nothing.
    assert found["left_out"]["the old reply neither refuses nor answers"] == 30
    assert (found["cluster"], found["clusters"]) == ("user", 6)
    by_talk = replay(some, refusing({1}), "--cluster", "conversation", "--format", "json")
    one, other = (json.loads(each.stdout)["rates"][0]["newly_refused"] for each in (done, by_talk))
    assert one["value"] == other["value"] == 1 / 30
    assert one["effective_size"] <= other["effective_size"] == 30
    first = replay(some, refusing({1}), "--turn", "1", code=2)
    refused(first, "no conversation can be asked again")


# --- a sample -----------------------------------------------------------------------------------


def test_a_sample_is_drawn_where_changes_are_likely(replay: Replay, tmp_path: Path) -> None:
    done = replay(talks(300), refusing(NEW_REFUSED), "--sample", "60", "--format", "json")
    found = json.loads(done.stdout)
    assert len(done.requests) == found["asked"] == 60
    assert found["turns"] == 300
    with (tmp_path / "logs/replay.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert sum(row["drawn"] == "True" or row["drawn"] == "true" for row in rows) == 60
    assert sum(float(row["probability"]) for row in rows) == pytest.approx(60)
    # Old refusals are all drawn, so what is newly answered is known as if all had been asked.
    chance = {int(row["line"]) - 1: float(row["probability"]) for row in rows}
    assert {chance[k] for k in OLD_REFUSED} == {1.0}
    answered = found["rates"][0]["newly_answered"]
    assert answered["events"] == 2
    # By hand: each of the two weighs what the mean chance is to its own.
    assert answered["value"] == pytest.approx(2 * (60 / 300) / 1.0 / 60)
    assert answered["value"] == pytest.approx(2 / 300)
    again = replay(talks(300), refusing(NEW_REFUSED), "--sample", "60", "--format", "json")
    assert again.requests == []
    assert json.loads(again.stdout) == found


# --- going on -----------------------------------------------------------------------------------


def test_a_replay_goes_on_where_it_was_stopped(replay: Replay) -> None:
    broken = {str(k) for k in range(10)}

    def flaky(request: dict[str, Any]) -> Any:
        number = request["messages"][-1]["content"].split("fence ")[1].split(" ")[0]
        return 400 if number in broken else refusing(NEW_REFUSED)(request)

    first = replay(talks(), flaky, "--format", "json", code=1)
    assert "not all was judged" in first.stderr
    assert "casewise replay talks.jsonl" in first.stderr
    broken.clear()
    second = replay(talks(), flaky, "--format", "json")
    assert len(second.requests) <= 20
    assert json.loads(second.stdout)["rates"][0]["newly_refused"]["events"] == 3
