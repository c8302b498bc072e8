"""CASE-Bench's own output files: one JSON file a model, protocol and ablation, in its layout."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from casewise.cases import Case, VoteCounts, digest
from casewise.contexts import ablate
from casewise.errors import UsageError
from casewise.exports.redaction import show_model
from casewise.exports.request import (
    CONTENT_WARNING,
    Exported,
    ExportRequest,
    fill,
    whole_cases,
    write_texts,
)
from casewise.judgements import conditions, read_paths
from casewise.protocols import RunCondition, protocols
from casewise.sheets import plural

_MODES = {protocol.name: protocol.mode for protocol in protocols() if protocol.mode}
"""Upstream's names of the protocols."""

_MOST_VOTES = 20
"""Votes of annotators in a record of upstream's; the 21st is the author's."""

_OTHER_RUN = (
    "upstream's format has one answer a case, by binary, score or logits, with the context in the "
    "prompt and nothing else changed, and names that can stand in a file's name"
)
_SECOND_RUN = "upstream's format has one run of each model and ablation: export it by itself"
_OTHER_CASE = (
    "upstream's format has one case a query and intended side, with a context, no earlier turns, "
    f"at most {_MOST_VOTES} votes, and no query id of its own"
)
_UNKNOWN_CASE = "their whole text is not among the paths (give --cases FILE)"


def write_casebench(request: ExportRequest) -> Exported:
    """Write upstream's layout: ``safety_MODEL/output_MODE[_REMOVED].json``.

    Raises:
        UsageError: The paths hold no cases, or no judgement has a place in the format.
    """
    judgements = read_paths(request.paths, texts=True)
    if request.cases is None:
        cases = whole_cases(judgements)
    else:
        cases = {case.id: case for case in request.cases}
    files: dict[str, list[dict[str, Any]]] = {}
    notes = list(judgements.notes)
    left_out = Counter[str]()
    for condition, rows in conditions(judgements.table):
        path = _path(condition)
        if path in files or not _fits(condition, rows):
            reason = _SECOND_RUN if _fits(condition, rows) else _OTHER_RUN
            notes.append(f"left out {condition.title}: {reason}")
        elif records := list(_records(condition, rows, cases, left_out)):
            files[path] = records
    notes += [f"left out {plural(n, 'case')}: {reason}" for reason, n in left_out.items()]
    if not files:
        reasons = "\n".join(notes)
        raise UsageError(f"nothing here has a place in CASE-Bench's format\n{reasons}")
    texts = {
        path: json.dumps(records, indent=4, ensure_ascii=False) + "\n"
        for path, records in files.items()
    }
    texts["README.md"] = fill("casebench.md", warning=CONTENT_WARNING)
    write_texts(request.out, texts)
    return Exported(
        f"{plural(sum(map(len, files.values())), 'judgement')} in {plural(len(files), 'file')}",
        (*notes,),
    )


def _path(condition: RunCondition) -> str:
    folder = "safety_" + re.sub(r"[^\w.-]+", "-", show_model(condition.model)).strip("-")
    removed = f"_{condition['ablation']}" if condition["ablation"] else ""
    return f"{folder}/output_{_MODES.get(condition.protocol)}{removed}.json"


def _fits(condition: RunCondition, rows: pl.DataFrame) -> bool:
    """Tell whether upstream's format can hold a run."""
    return (
        rows["epoch"].n_unique() == 1
        and condition.protocol in _MODES
        and condition.delivery in (None, "judge")
        and not condition.parts("swap", "variation", "card", "evidence")
        and re.fullmatch(r"[\w., -]{0,150}", condition["ablation"] or "") is not None
    )


def _case_fits(case: Case) -> bool:
    """Tell whether upstream's format can hold a case."""
    votes = (case.votes_safe or 0) + (case.votes_unsafe or 0)
    is_whole = case.intended is not None and not case.history
    return is_whole and votes <= _MOST_VOTES and case.query_id == digest(case.query)


def _records(
    condition: RunCondition,
    rows: pl.DataFrame,
    cases: Mapping[str, Case],
    left_out: Counter[str],
) -> Iterator[dict[str, Any]]:
    """A record for each judgement whose case has a place; the others are counted by reason."""
    seen = set[tuple[str, str | None]]()
    removed = condition["ablation"]
    for row in rows.iter_rows(named=True):
        case = cases.get(row["case_id"])
        if case is None:
            left_out[_UNKNOWN_CASE] += 1
            continue
        is_second = (case.query, case.intended) in seen
        if case.context is None or is_second or not _case_fits(case):
            left_out[_OTHER_CASE] += 1
            continue
        seen.add((case.query, case.intended))
        context = ablate(case.context, removed).root if removed else case.context.root
        yield {
            "scores": _scores(case),
            "query": case.query,
            "context": context,
            "context_intended_to_be_safe": case.intended == "safe",
            "safe_rate": case.published_safe_rate,
            "category": case.category,
            show_model(condition.model): _answer(row),
        }


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
