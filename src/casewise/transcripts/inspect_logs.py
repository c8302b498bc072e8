"""Conversations in logs of Inspect, of whatever task."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from casewise.errors import InputError
from casewise.files import address_of
from casewise.logs import provider_refused, read_samples
from casewise.transcripts.conversation import (
    BadLine,
    Conversation,
    UnreadableError,
    case_of,
    ending_of,
    read_each,
    text_or_none,
)
from casewise.transcripts.tools import turns_of_messages


def read_logs(paths: Sequence[Path]) -> Iterator[Conversation | BadLine]:
    """The conversations of logs, a sample each, one in memory at a time.

    Args:
        paths: Logs; samples are numbered over all of them.

    Raises:
        InputError: A log can't be read.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    samples = (found for path in paths for found in _samples(path))
    return read_each(enumerate(samples, start=1), _conversation, "sample")


def _samples(path: Path) -> Iterator[tuple[EvalLog, EvalSample]]:
    address = address_of(path)
    try:
        log = read_eval_log(address, header_only=True)
        for sample in read_samples(address, log):
            yield log, sample
    except Exception as error:  # Inspect raises whatever the broken part raises
        problem = f"not a readable Inspect log: {type(error).__name__}"
        raise InputError(problem, file=address) from None


def _conversation(found: tuple[EvalLog, EvalSample], number: int, _unit: str) -> Conversation:
    log, sample = found
    output = sample.output
    if not sample.messages or (sample.error and not output.choices):
        reason = "an error" if sample.error else "none"
        raise UnreadableError(f"no messages (found {reason}; expected a conversation)")
    said = sample.metadata or {}
    return Conversation(
        id=f"{log.eval.eval_id} {sample.id} {sample.epoch}",
        turns=turns_of_messages(sample.messages),
        line=number,
        category=text_or_none(said.get("category")),
        model=log.eval.model,
        case=case_of(said),
        sample=str(sample.id),
        query=text_or_none(said.get("query")),
        declined=provider_refused(output),
        cut=ending_of({"stop_reason": output.stop_reason if output.choices else None})[1],
    )
