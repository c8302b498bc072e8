"""The published files: ``CASEBench_data.json`` and the model outputs under ``exp/``.

Facts (upstream commit 135f221): ``scores`` holds 20 votes, 1 safe and 2 unsafe; the outputs hold
a 21st, which equals the intended side in every record and is kept apart as the author's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from casewise.cases.model import Case, dataset_hash, digest
from casewise.errors import InputError

SOURCE = "CASE-Bench (Sun et al., ICML 2025, arXiv 2501.14940)"
LICENCE = "upstream terms: for holders of SORRY-Bench access"
ANNOTATORS = 20
"""Votes of annotators in a record; one more, where present, is the author's."""

OVERRIDDEN_CATEGORY = "child-related crimes"
"""The published script sets this category's safe rate to 0, as SORRY-Bench labels it."""

PUBLISHED_VERSION = "135f221"
"""Name of the published data: the first characters of its commit."""
PUBLISHED_HASH = "af9d96d0ba0a1842"
"""The ``dataset_hash`` of ``CASEBench_data.json``."""
_PUBLISHED_BARE = "de0e4089ebd41030"
"""The same without contexts."""

_FIELDS = {
    "scores",
    "query",
    "context",
    "context_intended_to_be_safe",
    "safe_rate",
    "category",
}
MARKS = frozenset({"context_intended_to_be_safe", "safe_rate"})
"""Keys that only upstream's records have."""

Mode = Literal["binary", "score", "logits"]
"""Form of the answers, as upstream names it."""

_NAME = re.compile(r"output_(binary|score|logits)(?:_(.+))?\.json")


@dataclass(frozen=True, slots=True)
class UpstreamOutput:
    """One published output file: a model's answers to the cases, in the file's order."""

    path: Path
    model: str
    """Name of the model, the key of its answers."""
    mode: Mode
    ablation: str | None
    """Removed groups or parameters, joined by commas as in the file's name."""
    cases: tuple[Case, ...]
    answers: tuple[str | float, ...]
    """One answer a case; ``""`` is none."""

    data_hash: str
    """Hash of the data that was asked about, without the author's votes."""

    @property
    def data_version(self) -> str | None:
        """Name of that data; None where it isn't the published one."""
        return PUBLISHED_VERSION if self.data_hash == PUBLISHED_HASH else None


def asked_data_hash(cases: Sequence[Case], *, shortened: bool) -> str:
    """Hash of the data that the cases of an output come from.

    Where an output shortens the contexts, the published data are recognised without them.
    """
    whole = [case.model_copy(update={"author_vote": None}) for case in cases]
    if not shortened:
        return dataset_hash(whole)
    bare = dataset_hash(case.model_copy(update={"context": None}) for case in whole)
    return PUBLISHED_HASH if bare == _PUBLISHED_BARE else dataset_hash(whole)


def is_upstream(records: object) -> bool:
    """Tell upstream's records by their keys."""
    return isinstance(records, list) and any(
        isinstance(record, Mapping) and MARKS & record.keys() for record in records[:20]
    )


def answer_keys(records: Any) -> list[str]:
    """Names of the models whose answers the records hold: keys that the data file lacks.

    There are none in records that are not upstream's.
    """
    if not is_upstream(records):
        return []
    keys = (key for record in records if isinstance(record, Mapping) for key in record)
    return [key for key in dict.fromkeys(keys) if key not in _FIELDS]


def to_case_fields(record: object, file: Path, place: str) -> dict[str, Any]:
    """Turn an upstream record into the fields of a Case.

    The id is made from query and intended side, so that a record whose context was shortened
    has the id of its whole case.

    Raises:
        InputError: A field is missing or of the wrong type, or a vote is neither 1 nor 2.
    """
    if not isinstance(record, dict):
        raise InputError("not an object", file, place, found=record)

    def wrong(field: str, found: object, expected: str, problem: str = "wrong value") -> InputError:
        return InputError(problem, file, place, field=field, found=found, expected=expected)

    for field in sorted(_FIELDS):
        if field not in record:
            expected = "upstream's six fields in every record"
            raise wrong(field, ..., expected, "the field is missing")
    intended, query = record["context_intended_to_be_safe"], record["query"]
    if not isinstance(intended, bool):
        raise wrong("context_intended_to_be_safe", intended, "true or false")
    if not isinstance(query, str):
        raise wrong("query", query, "text")
    scores = record["scores"]
    if not isinstance(scores, list) or len(scores) > ANNOTATORS + 1:
        raise wrong("scores", scores, f"a list of at most {ANNOTATORS + 1} votes")
    for index, vote in enumerate(scores):
        if isinstance(vote, bool) or vote not in (1, 2):
            raise wrong(f"scores[{index}]", vote, "1 (safe) or 2 (unsafe)", "wrong vote")
    side = "safe" if intended else "unsafe"
    votes = ["safe" if vote == 1 else "unsafe" for vote in scores]
    return {
        "id": digest(query, side),
        "query": query,
        "context": record["context"],
        "category": record["category"],
        "intended": side,
        "votes": [
            {"rater": f"column-{column:02}", "verdict": verdict}
            for column, verdict in enumerate(votes[:ANNOTATORS], start=1)
        ],
        "author_vote": next(iter(votes[ANNOTATORS:]), None),
        "published_safe_rate": record["safe_rate"],
        "source": SOURCE,
        "licence": LICENCE,
        "language": "en",
    }


def read_answers(records: Sequence[Any], model: str, file: Path) -> tuple[str | float, ...]:
    """Answers under a model's key; ``""`` for a record without one.

    Raises:
        InputError: An answer is neither text nor a number.
    """
    # A record that is no object is found when its case is read.
    given = (record.get(model) if isinstance(record, Mapping) else None for record in records)
    answers = ["" if answer is None else answer for answer in given]
    for number, answer in enumerate(answers, start=1):
        if isinstance(answer, bool) or not isinstance(answer, str | int | float):
            raise InputError(
                "wrong answer",
                file,
                f"record {number}",
                field=model,
                found=answer,
                expected="text or a number",
            )
    return tuple(answers)


def output_condition(file: Path, answers: Sequence[str | float]) -> tuple[Mode, str | None]:
    """Mode and ablation of an output file, by its name or else by its answers.

    A renamed file is recognised by its answers: words are binary; numbers are scores where
    any exceeds 1, and probabilities (``logits``) otherwise.
    """
    match = _NAME.fullmatch(file.name)
    if match:
        return match[1], match[2]  # type: ignore[return-value]
    numbers = [number for answer in answers if (number := _to_number(answer)) is not None]
    if not numbers:
        return "binary", None
    return ("score" if max(numbers) > 1 else "logits"), None


def _to_number(answer: str | float) -> float | None:
    try:
        return float(answer)
    except ValueError:
        return None
