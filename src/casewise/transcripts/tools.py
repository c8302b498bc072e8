"""Form of a file of conversations, told by its content; logs of Inspect."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from casewise.errors import InputError, UsageError
from casewise.files import address_of, open_table
from casewise.logs import provider_refused, read_samples
from casewise.transcripts.conversations import (
    FIELDS,
    BadLine,
    Conversation,
    conversation_of,
    ending_of,
    field_of,
    number_of,
    read_each,
    turns_of,
)


def read_conversations(path: Path, columns: Mapping[str, str]) -> Iterator[Conversation | BadLine]:
    """The conversations of a file, in its order.

    JSON Lines, CSV, Parquet and logs are read in streams; a JSON document and a workbook whole.

    Args:
        path: A table of any form with a conversation a row: ``messages`` with roles in the chat
            format, ``conversations`` with ``from`` and ``value`` as in ShareGPT's, or a query and
            its reply; a log of Inspect, or a folder of them.
        columns: Columns of the file by the fields (of ``FIELDS``) that they hold, where they have
            other names than those.

    Raises:
        InputError: The file can't be read, or is none of these.
    """
    if path.is_dir() or path.suffix.lower() == ".eval":
        logs = sorted(path.rglob("*.eval")) if path.is_dir() else [path]
        if not logs:
            raise InputError("no Inspect log in the folder", file=path)
        return _read_logs(logs)
    try:
        table = open_table(path)
    except InputError as error:
        # Without what was found: it may be a text.
        raise InputError(error.problem, path, error.record, expected=error.expected) from None
    # JSON Lines have none before they are read.
    if table.columns:
        _check_columns(path, table.columns, columns)
    return read_each(_renamed(table.rows, columns), conversation_of)


def read_columns(text: str | None) -> dict[str, str]:
    """Columns by field, as a person names them: ``reply=Antwort,query=Frage``.

    Raises:
        UsageError: A part is no field with a name.
    """
    pairs = [part.partition("=") for part in text.split(",")] if text else []
    columns = {field.strip(): name.strip() for field, _, name in pairs}
    if not all(columns.values()) or columns.keys() - FIELDS.keys():
        fields = ", ".join(FIELDS)
        raise UsageError(f"--columns {text}: expected FIELD=NAME,... with fields of {fields}")
    return columns


def _renamed(
    records: Iterable[tuple[str, Any]], columns: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Records with the fields that ``columns`` names under their usual names."""
    for place, record in records:
        if isinstance(record, Mapping):
            named = {FIELDS[field][0]: record.get(name) for field, name in columns.items()}
            record = {**record, **named}
        yield place, record


def _check_columns(path: Path, names: tuple[str, ...], columns: Mapping[str, str]) -> None:
    """Refuse a table without a column of messages or of replies.

    Raises:
        InputError: It has none, or lacks one that was named.
    """
    for name in columns.values():
        if name not in names:
            raise InputError("no such column", path, found=name, expected=", ".join(names))
    wanted = (*FIELDS["messages"], *FIELDS["reply"])
    known = {name.strip().lower() for name in names} & {*wanted}
    if not known and not {"messages", "reply"} & columns.keys():
        raise InputError(
            "no column of messages or of replies",
            file=path,
            found=", ".join(names),
            expected=f"one of {', '.join(wanted)}; or name the columns: --columns reply=NAME",
        )


# --- Inspect ----------------------------------------------------------------------------------


def _read_logs(paths: Sequence[Path]) -> Iterator[Conversation | BadLine]:
    """The conversations of logs of whatever task, a sample each, one in memory at a time.

    Args:
        paths: Logs; samples are numbered over all of them.

    Raises:
        InputError: A log can't be read.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    samples = (sample for path in paths for sample in _samples(path))
    numbered = ((f"sample {number}", sample) for number, sample in enumerate(samples, start=1))
    return read_each(numbered, _sample_conversation)


def _samples(path: Path) -> Iterator[tuple[Any, Any]]:
    # Loaded late: Inspect takes seconds to import.
    from inspect_ai.log import read_eval_log

    address = address_of(path)
    try:
        log = read_eval_log(address, header_only=True)
        for sample in read_samples(address):
            yield log, sample
    except Exception as error:  # Inspect raises whatever the broken part raises
        problem = f"not a readable Inspect log: {type(error).__name__}"
        raise InputError(problem, file=address) from None


def _sample_conversation(pair: tuple[Any, Any], place: str) -> Conversation:
    log, sample = pair
    output = sample.output
    if not sample.messages or (sample.error and not output.choices):
        reason = "an error" if sample.error else "none"
        raise InputError(f"no messages (found {reason}; expected a conversation)")
    fields = sample.metadata or {}
    category, case = fields.get("category"), field_of(fields, "case")[1]
    return Conversation(
        id=f"{log.eval.eval_id} {sample.id} {sample.epoch}",
        turns=turns_of(list(map(_message, sample.messages))),
        line=number_of(place),
        category=category if isinstance(category, str) else None,
        model=log.eval.model,
        case=None if case is None else str(case),
        sample=str(sample.id),
        declined=provider_refused(output),
        cut=ending_of({"stop_reason": output.stop_reason if output.choices else None})[1],
    )


def _message(message: Any) -> dict[str, Any]:
    """One of Inspect's messages as the chat format has it; reasoning is no part of what is said."""
    plain = {"role": message.role, "content": message.text}
    if message.role == "assistant" and message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "name": call.function, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        plain |= {"tool_call_id": message.tool_call_id, "name": message.function}
    return plain
