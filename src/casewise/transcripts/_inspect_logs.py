"""Conversations in logs of Inspect, of whatever task."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from casewise.errors import InputError
from casewise.files import address_of
from casewise.logs import read_samples
from casewise.transcripts._conversation import (
    CASE_FIELDS,
    LIMITS,
    BadLine,
    Conversation,
    UnreadableError,
    given,
    read_time,
)
from casewise.transcripts._other_tools import turns_of_messages

UNIT = "sample"


def read_logs(paths: Sequence[Path]) -> Iterator[Conversation | BadLine]:
    """The conversations of logs, a sample each, one in memory at a time.

    Args:
        paths: Logs; samples are numbered over all of them.

    Raises:
        InputError: A log can't be read.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    samples = (found for path in paths for found in _samples(path))
    for number, (log, sample) in enumerate(samples, start=1):
        try:
            yield _conversation(sample, log, number)
        except UnreadableError as error:
            yield BadLine(number, str(error), UNIT)


def _samples(path: Path) -> Iterator[tuple[EvalLog, EvalSample]]:
    address = address_of(path)
    try:
        log = read_eval_log(address, header_only=True)
        for sample in read_samples(address, log):
            yield log, sample
    except Exception as error:  # Inspect raises whatever the broken part raises
        problem = f"not a readable Inspect log: {type(error).__name__}"
        raise InputError(problem, file=address) from None


def _conversation(sample: EvalSample, log: EvalLog, number: int) -> Conversation:
    if not sample.messages:
        found = "an error" if sample.error else "none"
        raise UnreadableError(f"no messages (found {found}; expected a conversation)")
    said = sample.metadata or {}
    case = given(said, CASE_FIELDS)[1]
    query = said.get("query")
    return Conversation(
        id=f"{log.eval.eval_id} {sample.id} {sample.epoch}",
        turns=turns_of_messages(sample.messages),
        line=number,
        time=read_time(sample.started_at) if sample.started_at else None,
        category=said["category"] if isinstance(said.get("category"), str) else None,
        model=log.eval.model,
        case=None if case is None else str(case),
        sample=str(sample.id),
        query=query if isinstance(query, str) else None,
        metadata=said,
        declined=bool(sample.output.choices) and sample.output.stop_reason == "content_filter",
        cut=bool(sample.output.choices) and sample.output.stop_reason in LIMITS,
    )
