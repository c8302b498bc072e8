"""Forms of answers: what can be read is read, what can't is named, and no answer ends a run."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions

import casewise as cw

STRANGERS = ROOT.parent / "shared/data/strangers"
HALF = "\ud83d"
JUDGED = '{"judgement": "unsafe", "explanation": "x"}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
Responder = Callable[[int], Answer]
"""Answer to a request by its number, from 0."""


def sent(content: Any = JUDGED, **changes: Any) -> dict[str, Any]:
    """The body of a chat completion, with changes to it, and to its message under ``message``."""
    message = {"role": "assistant", "content": content} | changes.pop("message", {})
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice], "usage": USAGE, **changes}


def raw(body: Any, status: int = 200, kind: str = "application/json") -> Raw:
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    data = text.encode() if isinstance(text, str) else text
    return Raw(status, data, {"Content-Type": kind})


def run(
    cli: Cli, folder: Path, answers: Responder, cases: int, *more: str, protocol: str = "binary"
) -> tuple[int, str, int]:
    """Exit status, standard error, and number of requests of a run over some cases."""
    asked = iter(range(10_000))
    path = write_questions(folder / "cases.jsonl", cases)
    with FakeServer(lambda _: answers(next(asked))) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", path, "--protocol", protocol),
            *("--max-connections", "1", "--log-dir", "logs", *more),
            env=server.env,
        )
        return done.returncode, " ".join(done.stderr.split()), len(server.requests)


def table(folder: Path) -> pl.DataFrame:
    return cw.judgements(folder / "logs")


def stranger(name: str) -> Raw:
    """The body that a stranger's file sends."""
    path = STRANGERS / name
    if not path.is_file():
        pytest.skip(f"the strangers' inputs are not at {STRANGERS}")
    ((answer,),) = json.loads(path.read_text("utf-8")).values()
    return raw(answer["body"])


HALVES: Mapping[str, Any] = {
    "content": sent(JUDGED + HALF),
    "within the answer's JSON": sent(JUDGED.replace("x", "\\ud83d")),
    "model": sent(model=f"m-latest{HALF}"),
    "a part": sent([{"type": "thinking", "thinking": HALF}, {"type": "text", "text": JUDGED}]),
}


def test_half_a_character_ends_no_run(cli: Cli, tmp_path: Path) -> None:
    bodies = list(HALVES.values())
    code, said, _ = run(cli, tmp_path, lambda n: raw(bodies[n]), len(bodies))
    assert code == 0, said
    assert set(table(tmp_path)["verdict"]) == {"unsafe"}
    assert len(table(tmp_path)) == len(bodies)


KNOWN = [100, 50]
COUNTS: Mapping[str, tuple[Any, Sequence[int | None]]] = {
    "beyond a column": (USAGE | {"prompt_tokens": 9_300_000_000_000_000_000}, [None, None]),
    "of 400 digits": (USAGE | {"completion_tokens": 10**400}, [None, None]),
    "negative": (USAGE | {"completion_tokens": -3}, [None, None]),
    "no number": (USAGE | {"prompt_tokens": float("nan")}, [None, None]),
    "a fraction": (USAGE | {"prompt_tokens": 99.5}, [None, None]),
    "true": (USAGE | {"prompt_tokens": True}, [None, None]),
    "cached": (USAGE | {"prompt_tokens_details": {"cached_tokens": -(10**30)}}, KNOWN),
    "reasoning": (USAGE | {"completion_tokens_details": {"reasoning_tokens": "n"}}, KNOWN),
    "total": (USAGE | {"total_tokens": 10**40}, KNOWN),
    "sound": (USAGE, KNOWN),
}


def test_absurd_counts_are_unknown(cli: Cli, tmp_path: Path) -> None:
    usages = list(COUNTS.values())
    code, said, requests = run(
        *(cli, tmp_path, lambda n: raw(sent(usage=usages[n][0])), len(usages)),
    )
    assert (code, requests) == (0, len(usages)), said
    found = table(tmp_path)
    assert set(found["status"]) == {"ok"}
    expected = sorted((known for _, known in usages), key=str)
    rows = found.select("input_tokens", "output_tokens").rows()
    assert sorted(map(list, rows), key=str) == expected


TEXT = {"type": "text", "text": JUDGED}
THOUGHT = '{"judgement": "safe"}'
FORMS: Mapping[str, Any] = {
    "parts": sent([TEXT]),
    "texts": sent([JUDGED[:9], JUDGED[9:]]),
    "a part": sent(TEXT),
    "output_text": sent([{"type": "output_text", "text": JUDGED}]),
    "thinking apart": sent([{"type": "thinking", "thinking": THOUGHT}, TEXT]),
    "thinking in parts": sent(
        [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, TEXT]
    ),
    "reasoning apart": sent([{"type": "reasoning", "text": THOUGHT}, TEXT]),
    "reasoning of another type": sent(message={"reasoning": {"text": THOUGHT}}),
    "a completion's text": sent(choices=[{"text": JUDGED, "finish_reason": "stop"}]),
    "no id, no index, no end": {"choices": [{"message": {"content": JUDGED}}], "usage": USAGE},
    "UTF-16": json.dumps(sent()).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(sent()).encode(),
}


def test_forms_that_are_read(cli: Cli, tmp_path: Path) -> None:
    bodies = [*FORMS.values(), json.loads(stranger("server_content_list.json").body)]
    code, said, requests = run(
        cli, tmp_path, lambda n: raw(bodies[n], kind="text/plain"), len(bodies)
    )
    assert (code, requests) == (0, len(bodies)), said
    found = table(tmp_path)
    assert set(found["verdict"]) == {"unsafe"}
    assert len(found) == len(bodies)


SHAPES: Mapping[str, tuple[Answer, str]] = {
    "a login page": (raw("<!DOCTYPE html><form>", kind="text/html"), "a web page"),
    "half of it": (raw(json.dumps(sent())[:90]), "no JSON"),
    "another form": (raw({"text": JUDGED}), "JSON without choices"),
    "an error": (raw({"error": "no"}), "an error without a status in place of an answer"),
    "a stream": (raw('data: {"choices": []}\n\ndata: [DONE]\n\n'), "no JSON"),
    "no choices": (raw(sent(choices=None)), "an empty list of choices"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_server_whose_answers_can_t_be_read_is_left(
    cli: Cli, tmp_path: Path, shape: str, soon_again: None
) -> None:
    """After ten answers, each of which may be paid, and what is under way by then."""
    answer, name = SHAPES[shape]
    code, said, requests = run(cli, tmp_path, lambda _: answer, 60, "--max-connections", "8")
    assert code in (1, 2), said
    assert 10 <= requests < 20
    assert f"10 answers, and none could be read: {name}" in said


def test_an_empty_list_of_choices_is_an_empty_answer(
    cli: Cli, tmp_path: Path, soon_again: None
) -> None:
    """Final after one repetition: a later start does not ask again."""
    empty = stranger("server_choices_empty.json")
    code, said, requests = run(cli, tmp_path, lambda _: empty, 1)
    assert (code, requests) == (0, 2), said
    assert list(table(tmp_path)["status"]) == ["unparsed"]
    assert run(cli, tmp_path, lambda _: raw(sent()), 1)[2] == 0


def test_no_alternatives_to_the_first_token(cli: Cli, tmp_path: Path) -> None:
    """Any word would have all of the probability: P(safe) would be 1 or 0 in every row."""
    code, said, requests = run(
        cli, tmp_path, lambda _: stranger("server_lp_top_empty.json"), 5, protocol="probability"
    )
    assert code == 2, said
    assert requests < 5
    assert "gives no alternatives to its first token (top_logprobs)" in said


def test_no_alternatives_after_some(cli: Cli, tmp_path: Path) -> None:
    """Answers that lack them are unparsed: the model has shown that it gives them."""
    top = [{"token": "unsafe", "logprob": -0.1}, {"token": "safe", "logprob": -3.0}]
    alternatives = [top, [], top[:1], None]
    logprobs = [{"content": [top[0] | {"top_logprobs": listed}]} for listed in alternatives]
    answers = [
        raw(sent(choices=[{"message": {"content": "unsafe"}, "logprobs": each}]))
        for each in (*logprobs, None)
    ]
    code, said, requests = run(cli, tmp_path, lambda n: answers[n], 5, protocol="probability")
    assert (code, requests) == (0, 5), said
    assert sorted(table(tmp_path)["status"]) == ["ok", *["unparsed"] * 4]


def test_a_token_without_a_log_probability(cli: Cli, tmp_path: Path) -> None:
    """Null is minus infinity: of e^-1 and 0 on the two words, the first has all."""
    top = [{"token": "unsafe", "logprob": -1.0}, {"token": "safe", "logprob": None}]
    token = {"token": "unsafe", "logprob": -1.0, "top_logprobs": top}
    choice = {"message": {"content": "unsafe"}, "logprobs": {"content": [token]}}
    answers = [raw(sent(choices=[choice])), stranger("server_lp_null_lp.json")]
    code, said, _ = run(cli, tmp_path, lambda n: answers[n], 2, protocol="probability")
    assert code == 0, said
    assert sorted(table(tmp_path)["p_safe"]) == [0.0, 1.0]
