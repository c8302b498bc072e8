"""Redaction by lists of what is kept: whatever they don't name, no table and no log passes on.

What a log of a later version of Inspect, or of another person's solver, holds besides is dropped.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import polars as pl

from casewise.cases import CASEBENCH, STARTER
from casewise.contexts import PARAMETERS
from casewise.errors import InputError
from casewise.files import address_of
from casewise.judgements import OF_CASE, TWIN, length_of, stand_in
from casewise.logs import (
    ANSWERED_BY,
    CANCELLED,
    CUT,
    CUT_TURNS,
    GRADER,
    OF_RUN,
    ORDER,
    REDACTED,
    SCORERS,
    SHARD,
    TURN_DOUBTS,
    TURNS_BY,
    LogHeader,
    header_fields,
    message_text,
    read_samples,
)
from casewise.protocols import RunCondition

Rule = Any
"""What is kept of a value: a function makes what is shown of it; a mapping keeps the fields that
it names; a list, all entries by its rule; a pair, all fields by the rules of name and value."""


def keep(value: Any, rule: Rule) -> Any:
    """What a rule keeps of a value; None of nothing."""
    if value is None:
        return None
    if isinstance(rule, list):
        return [keep(entry, rule[0]) for entry in value]
    if callable(rule):
        return rule(value)
    fields = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
    if isinstance(rule, tuple):
        record = {rule[0](str(name)): keep(inner, rule[1]) for name, inner in fields.items()}
    else:
        record = {name: keep(fields.get(name), inner) for name, inner in rule.items()}
    return {name: inner for name, inner in record.items() if inner is not None}


# --- names and numbers ------------------------------------------------------------------------


def hashed(text: str, kind: str) -> str:
    """A name in place of one that is not shown, the same wherever the same text stands."""
    if re.fullmatch(rf"{kind}-[0-9a-f]{{16}}", text):
        return text
    return f"{kind}-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _like(pattern: str, kind: str, parts: str = "") -> Callable[[Any], str]:
    """Rule that shows a text, or each of its parts, if it is of a form, and else a hash."""
    form = re.compile(pattern)

    def show(value: Any) -> str:
        pieces = str(value).split(parts) if parts else [str(value)]
        return parts.join(
            piece if form.fullmatch(piece) else hashed(piece, kind) for piece in pieces
        )

    return show


_NAME = r"[\w.:@+-][\w.:@+ -]{0,63}"
_PERSONAL = re.compile(r"(^|[/\\])(home|Users|root|~[^/\\]*|\.\.?)([/\\]|$)|^[A-Za-z]:\\|\\|//|^/")

show_id = _like(r"[A-Za-z0-9][A-Za-z0-9._:+@-]{0,63}", "id")
"""An id or a version of at most 64 letters, digits and marks, without spaces and slashes."""

show_words = _like(r"[a-z0-9_.-]{1,20}( [a-z0-9_.-]{1,20})*|", "word")
"""Words of a fixed vocabulary (a status, a verdict, the classes of replies), or numbers."""

show_options = _like(r"[\w.=,:@+ -]{1,80}", "option", ";")
"""Options on the command line: parts joined by semicolons."""

show_prompt = _like(rf"({_NAME}/)?{_NAME}", "prompt", " + ")
"""Versions of prompts: where each is from, a slash, its name and hash."""

_show_reason = _like(r"[A-Za-z0-9 ,:()'-]{1,100}", "reason")
"""Reason why a run did not end: a sentence of ours, without a line's end or a quote."""

_show_key = _like(r"[a-z][a-z0-9_]{0,31}", "number")
_show_task = _like("casewise/(judge|respond)", "task")

CATEGORY_LENGTH = 80
"""Characters of the longest category that is taken for a name."""


def show_category(text: str) -> str:
    """A category of one line and at most ``CATEGORY_LENGTH`` characters."""
    return text if text.isprintable() and len(text) <= CATEGORY_LENGTH else hashed(text, "category")


def show_model(text: str) -> str:
    """A model's name; of a path on somebody's machine, the provider and the last part."""
    parts = text.split("/")
    if (
        not _PERSONAL.search(text)
        and len(parts) <= 5
        and all(re.fullmatch(_NAME, p) for p in parts)
    ):
        return text
    ends = [end for end in (parts[0], re.split(r"[/\\]", text)[-1]) if re.fullmatch(_NAME, end)]
    return "/".join([*dict.fromkeys(ends), hashed(text, "path")])


def _show_grader(text: Any) -> str:
    """A grader's name or version; of ``rules,MODEL`` each part by itself."""
    return ",".join(map(show_model, str(text).split(",")))


def _number(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else None


def _numbers_as_json(text: str) -> str:
    return json.dumps(keep(json.loads(text), (_show_key, _number)))


def _show_parameters(text: str, known: frozenset[str]) -> str:
    """Paths of parameters joined by spaces; parts that are not known are replaced."""
    names = (path.split(".") for path in text.split())
    return " ".join(
        ".".join(name if name in known else hashed(name, "p") for name in path) for path in names
    )


def column_rules(conditions: Iterable[Mapping[str, Any]]) -> dict[str, Rule]:
    """Rules of the columns of the judgement table that are names; numbers stand as they are.

    Of the parameters the paper's names are shown, and those that somebody removed or swapped by
    name: the keys of a context are its author's text, the names of conditions are typed by whoever
    runs them, and scores are kept by them.

    Args:
        conditions: Each with its ``ablation`` and its ``variant``.
    """
    of_rows = map(RunCondition.of_row, conditions)
    named = [name for row in of_rows for name in (*row.ablation, row.swap or "")]
    shown = [name for name in named if show_options(name) == name]
    known = frozenset(re.split(r"[\s.,]+", " ".join([*PARAMETERS, *shown])))
    ids = ("run_id", "dataset_hash", "dataset_version", "case_id", "query_id", "twin_id")
    words = ("protocol", "delivery", "intended", "twin_intended", "expected")
    of_answer = ("status", "verdict", "response_class", "turn_classes")
    return {
        **dict.fromkeys(ids, show_id),
        **dict.fromkeys((*words, *of_answer), show_words),
        **dict.fromkeys(("ablation", "variant"), show_options),
        **dict.fromkeys(("mentions", "parameters"), partial(_show_parameters, known=known)),
        "model": show_model,
        "graded_by": show_model,
        "stopped": _show_reason,
        "prompt_version": show_prompt,
        "category": show_category,
        "numbers": _numbers_as_json,
    }


def redact_columns(columns: Mapping[str, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Columns of a row as they are shown; None where there is no rule for a text."""
    return {name: keep(value, rules.get(name, _number)) for name, value in columns.items()}


def redact_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table that scores like the one given, and holds no text.

    ``answer``, ``explanation`` and ``error`` make place for ``answer_length``,
    ``explanation_length`` and ``error_length`` (characters); names that don't look like names are
    replaced.
    """
    named = table.select("ablation", "variant").unique().iter_rows(named=True)
    rules = column_rules(named)
    columns = []
    for values in table:
        if values.name in ("answer", "explanation", "error"):
            lengths = [length_of(text) for text in values]
            values = pl.Series(f"{values.name}_length", lengths, pl.Int64)
        elif values.dtype == pl.String:
            distinct = values.unique()
            shown = [keep(value, rules.get(values.name, _number)) for value in distinct]
            values = values.replace_strict(distinct, shown, return_dtype=pl.String)
        columns.append(values)
    return pl.DataFrame(columns)


# --- logs -------------------------------------------------------------------------------------


def _numbers(*names: str) -> dict[str, Rule]:
    return dict.fromkeys(names, _number)


def _error(error: Any) -> dict[str, str]:
    """How it ended, without the words."""
    kind = f"{CANCELLED} " if error.message.startswith(CANCELLED) else ""
    text = f"{kind}{stand_in(error.message)}"
    return {"message": text, "traceback": "", "traceback_ansi": ""}


def _message(message: Any) -> dict[str, str]:
    return {"role": message.role, "content": stand_in(message_text(message))}


_USAGE = _numbers(
    *("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "total_cost"),
    *("input_tokens_cache_write", "input_tokens_cache_read"),
)
_MODEL_USAGE = (show_model, _USAGE)


def _log_rules(columns: Mapping[str, Rule]) -> dict[str, Rule]:
    """Rules of a log, its samples apart."""
    ids = ("eval_set_id", "eval_id", "run_id", "task_id", "task_version", "created")
    spec = {
        **dict.fromkeys(ids, show_id),
        "task": _show_task,
        "dataset": {"samples": _number, "sample_ids": [show_id]},
        "model": show_model,
        "config": _numbers("limit", "epochs"),
        "metadata": {
            **{name: columns.get(name, _number) for name in OF_RUN},
            **dict.fromkeys(("grader", "grader_version"), _show_grader),
            "casewise": show_id,
            "variation_version": show_prompt,
            **_numbers("samples", "dataset_size", ORDER),
            SHARD: {"run": show_id, "places": [_number]} | _numbers("epoch", "of"),
        },
    }
    settings = _numbers("temperature", "top_p", "top_k", "seed", "max_tokens")
    times = dict.fromkeys(("started_at", "completed_at"), show_id)
    return {
        "version": _number,
        "status": show_words,
        "eval": spec,
        "plan": {"config": settings},
        "results": _numbers("total_samples", "completed_samples"),
        "stats": {**times, "model_usage": _MODEL_USAGE},
        "error": _error,
    }


def _sample_rules(columns: Mapping[str, Rule]) -> dict[str, Rule]:
    """Rules of a sample: ids, votes, verdicts, numbers, who spoke, and how long each text is."""
    of_score = ("status", "verdict", "response_class", "graded_by", "doubt")
    by_column = (*of_score, "mentions", "parameters")
    score = {
        "value": (_show_key, _number),
        "answer": stand_in,
        "explanation": stand_in,
        "metadata": {
            **{name: columns.get(name, _number) for name in by_column},
            "turns": show_words,
            # Whose answer it is decides whether it counts; the name is a server's text.
            ANSWERED_BY: lambda name: "another" if name else None,
            CUT: bool,
            CUT_TURNS: show_words,
            TURNS_BY: (show_model, show_words),
            TURN_DOUBTS: show_words,
        },
    }
    return {
        "id": show_id,
        "input": lambda _: "(withheld)",
        "target": lambda _: "",
        "messages": [_message],
        "scores": dict.fromkeys(SCORERS, score),
        "metadata": {
            **{name: columns.get(name, _number) for name in OF_CASE},
            "twin": {name: columns.get(name, _number) for name in TWIN},
            "expectations": show_words,
            "grade_all": lambda value: value is True or None,
        },
        "model_usage": _MODEL_USAGE,
        "role_usage": {GRADER: _USAGE},
        **_numbers("epoch", "total_time", "working_time"),
        "error": _error,
    }


def write_redacted(headers: Sequence[LogHeader], folder: Path) -> int:
    """Write logs without texts in Inspect's own form (.eval); the number of their samples.

    They score like those that they are made from. Messages, replies, explanations, errors, tokens,
    events, attachments, stores, tags, model arguments, addresses, paths and revisions are left out.

    Args:
        headers: The logs.
        folder: Folder to write them into.

    Raises:
        InputError: A log can't be read whole.
    """
    # Inspect takes seconds to import; no other export needs it.
    from inspect_ai.log import EvalLog, write_eval_log

    columns = column_rules(header.metadata for header in headers)
    samples = 0
    for number, header in enumerate(headers):
        try:
            log = EvalLog.model_validate(header_fields(header.path))
            record = keep(log, _log_rules(columns))
            # Of a file, its hash: the name is its owner's.
            name = header.metadata.get("dataset")
            if name not in (STARTER, CASEBENCH):
                name = f"cases-{show_id(header.metadata.get('dataset_hash'))}"
            record["eval"]["dataset"]["name"] = name
            record["eval"]["metadata"] |= {"dataset": name, REDACTED: True}
            rules = _sample_rules(columns)
            record["samples"] = [
                keep(sample, rules) for sample in read_samples(address_of(header.path))
            ]
            log = EvalLog.model_validate(record)
        except (ValueError, KeyError, OSError, BadZipFile) as error:
            problem = f"can't be read whole: {type(error).__name__}"
            raise InputError(problem, file=header.path) from None
        samples += len(record["samples"])
        # As Inspect names its logs; the name that the file had may say anything.
        time = re.sub(r"[^0-9T+Z-]", "-", log.eval.created)
        task = log.eval.task.rpartition("/")[2]
        write_eval_log(log, str(folder / f"{time}_{task}_{log.eval.task_id}-{number}.eval"), "eval")
    return samples
