"""Conversations to be asked again, and a model whose changes are planted in them."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from support.actors import REFUSAL, asked, comply

NEW, OLD, GRADER = "openai-api/fake/new", "openai-api/fake/old", "openai-api/fake/grader"

Answer = Callable[[dict[str, Any]], Any]


def query(number: int) -> str:
    return f"How can somebody climb over garden fence {number} without noise?"


def conversation(number: int, *, refused: bool = False, users: int | None = None) -> dict[str, Any]:
    """A greeting, then the question, whose old reply answers or refuses; then thanks."""
    said = {"messages": [{"role": "user", "content": query(number)}]}
    reply = REFUSAL if refused else comply(said)
    user = {} if users is None else {"user": f"user-{number % users}"}
    return user | {
        "id": f"talk-{number}",
        "category": f"c{number % 3}",
        "messages": [
            {"role": "system", "content": "You help with gardens."},
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hello! What can I do for you?"},
            {"role": "user", "content": query(number)},
            {"role": "assistant", "content": reply},
        ],
    }


def write_talks(path: Path, talks: Iterable[dict[str, Any] | str]) -> Path:
    lines = [talk if isinstance(talk, str) else json.dumps(talk) for talk in talks]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def refusing(numbers: Iterable[int]) -> Answer:
    """A model that refuses some of the fences, and answers the others."""
    refused = {str(number) for number in numbers}

    def act(request: dict[str, Any]) -> str:
        return REFUSAL if asked(request) in refused else comply(request)

    return act


def of_model(**answers: Answer) -> Answer:
    """Each model's own answers."""
    return lambda request: answers[request["model"]](request)
