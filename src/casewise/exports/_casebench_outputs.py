"""CASE-Bench's own output files: one JSON file a model, protocol and ablation, in its layout."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import polars as pl

from casewise.cases import Case, VoteCounts, digest
from casewise.contexts import ablate
from casewise.errors import UsageError
from casewise.exports._export_form import (
    Exported,
    ExportRequest,
    fill,
    new_folder,
    show_category,
    show_model,
    show_options,
    show_prompt,
    show_value,
    shown_by_column,
)
from casewise.judgements import Judgements, conditions, stand_in
from casewise.protocols import RunCondition, protocols

_MODES = {one.name: one.mode for one in protocols() if one.mode}
"""Upstream's names of the protocols."""

_CHANGED = ("swap", "variation", "card")
"""Parts of a variant that change what is asked: upstream's files have no place for them."""

_REMOVED = re.compile(r"[\w., -]{1,150}")
_MOST_VOTES = 20
"""Votes of annotators in a record of upstream's; the 21st is the author's."""

Record = dict[str, Any]


@dataclass(slots=True)
class _Files:
    """Files to write, and judgements that found no place."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    """Records by path inside the folder."""
    left_out: list[str] = field(default_factory=list)
    """Conditions, each with the reason."""
    cases: dict[str, set[str]] = field(default_factory=dict)
    """Ids of cases that were left out, by the reason."""
    runs: dict[tuple[str, str], list[tuple[Any, Any]]] = field(default_factory=dict)
    """Runs of a model under a protocol so far, each with what tells it apart in these files."""
    renamed: list[str] = field(default_factory=list)
    """Runs whose model stands under another key, since the files can't tell them apart."""


def write_casebench(
    request: ExportRequest, judgements: Judgements, cases: Mapping[str, Case]
) -> Exported:
    """Write upstream's layout: ``safety_MODEL/output_MODE[_REMOVED].json``.

    Withheld, the length of each query and context stands in its place, and the pairs stay pairs.

    Raises:
        UsageError: The paths hold no cases, or no judgement has a place in the format.
    """
    if not cases:
        raise UsageError(
            "these paths hold no cases, which CASE-Bench's files consist of: give --cases FILE, or "
            "the logs in place of the table"
        )
    files = _Files()
    for condition, rows in conditions(judgements.table):
        if reason := _no_place(condition, rows):
            files.left_out.append(f"{_title(condition)}: {reason}")
            continue
        records = list(_records(condition, rows, cases, files, request.reveal))
        if not records:
            files.left_out.append(f"{_title(condition)}: none of its cases has a place")
            continue
        key = _key(condition, files)
        for record in records:
            record[key] = record.pop("")
        files.records[_path(condition, key, files)] = records
    notes = (*judgements.notes, *_notes(files, request.reveal))
    if not files.records:
        reasons = "\n".join(notes)
        raise UsageError(f"nothing here has a place in CASE-Bench's format\n{reasons}")
    with new_folder(request.out, request.form, reveal=request.reveal) as folder:
        for path, records in files.records.items():
            (folder / path).parent.mkdir(exist_ok=True)
            text = json.dumps(records, indent=4, ensure_ascii=False)
            (folder / path).write_text(text + "\n", "utf-8")
        readme = fill("casebench.md.j2", reveal=request.reveal, files=sorted(files.records))
        (folder / "README.md").write_bytes(readme)
    judged = sum(map(len, files.records.values()))
    return Exported(f"{judged:,} judgements in {len(files.records)} files", notes)


def _title(condition: RunCondition) -> str:
    """A condition in words, its sampling apart, without names that may be private."""
    kept = condition.same_but("sampling", "settings", "draw_seed", "dtype")
    rules = shown_by_column(frozenset())
    shown = {column: show_value(column, value, rules) for column, value in kept.items()}
    return RunCondition.of_row(shown).title


def _no_place(condition: RunCondition, rows: pl.DataFrame) -> str | None:
    """Reason why upstream's format can't hold a condition; None where it can."""
    if condition.protocol not in _MODES:
        return "upstream's format knows binary, score and logits"
    if condition.delivery not in (None, "judge"):
        return "upstream's format has contexts in the prompt alone"
    if condition.parts(*_CHANGED):
        return "upstream's format has no changed conversations and swapped contexts"
    if rows["epoch"].n_unique() > 1:
        return "upstream's format has one answer a case"
    if not _REMOVED.fullmatch(condition["ablation"] or "none"):
        return "the names of what was removed can't stand in a file's name"
    return None


def _records(
    condition: RunCondition,
    rows: pl.DataFrame,
    cases: Mapping[str, Case],
    files: _Files,
    reveal: bool,
) -> Iterator[Record]:
    """A record for each judgement, its answer under the key ``""``."""
    seen: set[tuple[str, str | None]] = set()
    removed = condition["ablation"]
    for row in rows.iter_rows(named=True):
        case = cases.get(row["case_id"])
        reason = _unfit(case, seen)
        if case is None or reason:
            files.cases.setdefault(reason or "", set()).add(row["case_id"])
            continue
        seen.add((case.query, case.intended))
        assert case.context is not None
        context = ablate(case.context, removed).root if removed else case.context.root
        record = {
            "scores": _scores(case),
            "query": case.query,
            "context": context,
            "context_intended_to_be_safe": case.intended == "safe",
            "safe_rate": case.published_safe_rate,
            "category": case.category,
            "": _answer(row),
        }
        yield record if reveal else record | _withheld(case, context)


def _withheld(case: Case, context: Mapping[str, Any]) -> Record:
    return {
        # The mark keeps the two cases of a query together, and apart from all others.
        "query": stand_in(case.query, digest(case.query)),
        "context": {"withheld": stand_in(json.dumps(context, ensure_ascii=False))},
        "category": show_category(case.category) if case.category is not None else None,
    }


def _unfit(case: Case | None, seen: set[tuple[str, str | None]]) -> str | None:
    """Reason why a case has no place in the format; None where it has one."""
    if case is None:
        return "whose whole text is not among the paths (give --cases FILE)"
    if case.context is None or case.intended is None:
        return "without a context or an intended side"
    if case.history:
        return "with earlier turns"
    if (case.votes_safe or 0) + (case.votes_unsafe or 0) > _MOST_VOTES:
        return f"with more than {_MOST_VOTES} votes"
    if case.query_id != digest(case.query):
        return "with a query id of their own"
    if (case.query, case.intended) in seen:
        return "with a query that has another case intended alike"
    return None


def _scores(case: Case) -> list[int]:
    """Votes as upstream codes them, 1 safe and 2 unsafe; known as counts alone, safe first."""
    if case.votes is None:
        return []
    if isinstance(case.votes, VoteCounts):
        return [1] * case.votes.safe + [2] * case.votes.unsafe
    votes = [vote.verdict for vote in case.votes]
    # One vote more than the annotators' is read as the author's, and only then.
    if case.author_vote and len(votes) == _MOST_VOTES:
        votes.append(case.author_vote)
    return [1 if verdict == "safe" else 2 for verdict in votes]


def _answer(row: Mapping[str, Any]) -> str | float:
    """Reading of the answer; ``""`` where nothing was read."""
    if row["status"] != "ok":
        return ""
    number = row["raw_score"] if row["raw_score"] is not None else row["p_safe"]
    if number is None:
        return str(row["verdict"])
    return int(number) if number.is_integer() else number


def _key(condition: RunCondition, files: _Files) -> str:
    """The model's name; numbered where a model was run in several ways under one protocol.

    Upstream's files say nothing of sampling, prompt or repetition, so these tell runs apart by
    the key alone.
    """
    model = show_model(condition.model)
    run = (condition.variant, condition.prompt_version, condition["ablation"])
    earlier = files.runs.setdefault((model, condition.protocol), [])
    # The ablation is in the file's name.
    way = (*run[:2], sum(one == run for one, _ in earlier))
    ways = [*dict.fromkeys(one for _, one in earlier), way]
    earlier.append((run, way))
    if way == ways[0]:
        return model
    key = f"{model} ({ways.index(way) + 1})"
    sampled, asked = show_options(run[0] or "plain"), show_prompt(run[1] or "prompt unknown")
    files.renamed.append(
        f"{_title(condition)} ({sampled}, {asked}) stands under {key!r}: upstream's format can't "
        "tell it from an earlier run"
    )
    return key


def _path(condition: RunCondition, key: str, files: _Files) -> str:
    folder = "safety_" + re.sub(r"[^\w.-]+", "-", key).strip("-")
    removed = f"_{condition['ablation']}" if condition["ablation"] else ""
    name = f"output_{_MODES[condition.protocol]}{removed}.json"
    numbered = (f"{folder}-{number}/{name}" for number in count(2))
    return next(path for path in chain([f"{folder}/{name}"], numbered) if path not in files.records)


def _notes(files: _Files, reveal: bool) -> list[str]:
    cases = [f"left out {len(ids)} cases {reason}" for reason, ids in files.cases.items()]
    notes = [*(f"left out {line}" for line in files.left_out), *files.renamed, *cases]
    if not reveal and files.records:
        notes.append(
            "queries and contexts are withheld: the files score alike, but for the keyword "
            "baseline, which reads queries (--reveal includes them)"
        )
    return notes
