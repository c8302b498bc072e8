"""The runs of the golden set, and a server whose answers depend on the request alone."""

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl
from support.fake_openai import Answer

import casewise as cw

FOLDER = Path(__file__).resolve().parent.parent / "golden"
"""Cases, and what was made of them."""

INPUTS = ("cases.yaml", "card.yaml", "script.yaml", "sweep.yaml")
"""What the runs read."""

CLOCK = ("run_id", "latency_s")
"""Columns that no two runs share."""

_PLAIN = ("-m", "openai-api/fake/plain", "--cases", "cases.yaml")
_UNPRICED = ("-m", "openai-api/fake/unpriced", "--cases", "cases.yaml")
_PRICES = ("--price-in", "2.5", "--price-out", "10")

RUNS: dict[str, tuple[str, ...]] = {
    "judging": (
        *_PLAIN,
        *("--protocol", "binary,score,probability,guard"),
        *("--delivery", "judge,none,system,claimed"),
        *_PRICES,
    ),
    "changed": (
        *_UNPRICED,
        *("--protocol", "binary,probability", "--delivery", "judge,none"),
        *("--ablate", "recipient", "--ablate", "urgency,sender"),
    ),
    "swapped": (*_UNPRICED, "--protocol", "probability,respond", "--swap", "sender,recipient"),
    "acting": (
        *_PLAIN,
        *("--protocol", "respond", "--delivery", "system,claimed,history,none"),
        *("--vary", "escalation,urgency", "--seed", "3", *_PRICES),
    ),
    "filled": (
        *_UNPRICED,
        *("--protocol", "respond", "--delivery", "claimed,history"),
        *("--vary", "filler-200,persona", "--seed", "4"),
    ),
    "graded": (
        *_PLAIN,
        *("--protocol", "respond", "--delivery", "claimed,none"),
        *("--grader", "openai-api/fake/grader", *_PRICES),
    ),
    "card": (*_UNPRICED[:2], "--protocol", "respond", "--deployment", "card.yaml"),
    "epochs": (
        *("-m", "openai-api/fake/varied", "--cases", "cases.yaml", "--protocol", "binary,respond"),
        # Of one case at a time, so that the second answer to a prompt is that of its second time.
        *("--epochs", "2", "--max-connections", "1", *_PRICES),
    ),
    "faults": (
        *("-m", "openai-api/fake/faulty", "--cases", "starter", "--protocol", "binary"),
        *("--max-tokens", "300", *_PRICES),
    ),
    "sweep": ("sweep.yaml",),
}
"""Options of ``casewise run`` by name, in a folder that holds the files of the golden set."""

STOPPED: tuple[str, ...] = (
    *("-m", "openai-api/fake/plain", "--cases", "starter", "--limit", "12"),
    *("--protocol", "binary,score", "--max-connections", "2", *_PRICES),
)
"""The run that was killed, made in shards, and made whole. Its cases have no path:
that would be a part of its identity."""

ENVIRONMENT = {"FAKE_API_KEY": "golden"}


def table_of(folder: Path) -> pl.DataFrame:
    """The table of a folder of logs in a certain order, without the columns of the clock."""
    table = cw.judgements(folder).drop(*CLOCK)
    return table.sort([name for name in table.columns if name in _KEYS], nulls_last=True)


def keep_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table small, and always the same bytes of the same rows."""
    path.write_bytes(gzip.compress(table.write_ndjson().encode(), 9, mtime=0))


def kept_table(name: str, like: pl.DataFrame) -> pl.DataFrame:
    """The table that is kept of a run, with the types of another."""
    text = gzip.decompress((FOLDER / f"{name}.jsonl.gz").read_bytes())
    return pl.read_ndjson(text, schema=like.schema)


_KEYS = (
    *("model", "protocol", "delivery", "ablation", "variant", "prompt_version", "case_id"),
    "epoch",
)


def answers() -> Callable[[dict[str, Any]], Answer]:
    """A server's answers, by a hash of the request; the model ``varied`` also counts them."""
    times: Counter[bytes] = Counter()
    lock = Lock()

    def answer(request: dict[str, Any]) -> Answer:
        model = request["model"]
        said = [model, request["messages"], request.get("seed")]
        key = blake2b(json.dumps(said).encode(), digest_size=8).digest()
        with lock:
            time = times[key]
            times[key] += 1
        if model == "varied" and time:
            key = blake2b(key, digest_size=8, salt=bytes([time])).digest()
        return _answer(request, int.from_bytes(key, "big"))

    return answer


def _answer(request: dict[str, Any], number: int) -> Answer:
    prompt = str(request["messages"][-1]["content"])
    kind, which = number % 16, number // 16
    if request["model"] == "faulty" and which % 28 == 0:
        return 400
    if request["model"].startswith("grader"):
        return _whole(_grade(prompt, kind), number)
    if kind == 0:
        return _whole("", number, refusal="I won't say anything on this.")
    if kind == 1:
        return _whole("", number, finish_reason="content_filter")
    if request.get("logprobs"):
        return _first_token(kind, number)
    spanish = "Consulta:" in prompt
    if '"judgement": ' in prompt:
        scored = '"judgement": <' in prompt
        words = ("seguro", "inseguro", "ni hablar") if spanish else ("safe", "unsafe", "unsafe")
        said = str(which % 10 + 1) if scored else f'"{words[which % 3]}"'
        return _whole(_JUDGED[kind % 4].replace("{it}", said) + _tail(kind), number)
    if request.get("max_tokens") == GUARD_TOKENS:
        return _whole(("safe", "unsafe\nS2", "unsafe", "Safe, I think.")[kind % 4], number)
    reply = _REPLIES[kind % len(_REPLIES)]
    reason = "length" if kind == 13 else "stop"
    return _whole(f"{reply} ({which % 1000})", number, finish_reason=reason)


GUARD_TOKENS = 64
_JUDGED = (
    '{"explanation": "The user\'s background and the urgency matter.", "judgement": {it}}',
    '{"explanation": "Nothing of note.", "judgement": {it}}',
    'The platform is no place for this.\n{"judgement": {it}}',
    '```json\n{"explanation": "By the terms, it is fine.", "judgement": {it}}\n```',
)
_REPLIES = (
    "Certainly. There are three things to know: the first is the date, the second the place, and "
    "the third is whom to ask. Each of them stands on the sheet by the door.",
    "I'm sorry, but I can't help with that.",
    "I can't tell you how that is done. What I can say in general is that the law asks for a note "
    "in writing, which the office keeps for two years.",
    "Here you go:\n\n1. Look at the list.\n2. Take the second key.\n3. Sign for it.",
    "Perhaps.",
    "I won't answer this. Please talk to the manager of the house instead.",
)


def _tail(kind: int) -> str:
    """What makes some answers unreadable."""
    return "\nBut then again, I am not sure at all." * 60 if kind == 2 else ""


def _grade(prompt: str, kind: int) -> str:
    found = re.findall(r'\{"id": "([0-9a-f]{8})"', prompt)
    if kind == 2:
        return "I'm sorry, but I can't help with grading this."
    if kind == 3:
        return "It is hard to tell what this is."
    name = ("compliance", "partial", "refusal", "undetermined")[kind % 4]
    return f'It does what it does.\n{{"id": "{found[-1]}", "class": "{name}"}}'


def _first_token(kind: int, number: int) -> Answer:
    first, second = ("safe", "unsafe") if kind % 2 else ("Unsafe", " safe")
    mass = (number >> 20) % 1000 / 1000
    odds = {first: 0.5 + mass / 2.1, second: 0.49 - mass / 2.1, "Well": 0.01}
    if kind in (2, 3):
        odds = {"Well": 0.9, first: 0.05, second: 0.01}
    tops = [
        {"token": one, "logprob": _log(odd), "bytes": list(one.encode())}
        for one, odd in odds.items()
    ]
    word = max(odds, key=lambda odd: odds[odd])
    best = next(top for top in tops if top["token"] == word)
    logprobs = {"content": [best | {"top_logprobs": tops}]}
    return _whole(word, number, logprobs=logprobs)


def _log(odd: float) -> float:
    """In steps of a thousandth, the same on every machine."""
    return round(math.log(max(odd, 1e-6)), 3)


def _whole(text: str, number: int, refusal: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    if refusal is not None:
        message["content"] = None
    return {"message": message, "usage": _usage(number)} | more


def _usage(number: int) -> dict[str, Any]:
    given, made, cached = 100 + number % 997, 5 + number % 61, number % 90
    usage: dict[str, Any] = {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
    }
    if number % 3 == 0:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if number % 5 == 0:
        usage["completion_tokens_details"] = {"reasoning_tokens": made // 2}
    return usage
