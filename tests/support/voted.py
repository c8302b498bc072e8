"""Cases with votes, and what is found in them."""

import json
from typing import Any

from casewise.cases import Case, CaseSet, Form
from casewise.choices import WeighBy
from casewise.dataset import as_description_record, describe_cases

Record = dict[str, Any]


def described(cases: list[Case], seed: int = 0, weigh_by: WeighBy = WeighBy.QUERY) -> Record:
    loaded = CaseSet(tuple(cases), "mine", Form.YAML)
    record = as_description_record(describe_cases(loaded, seed=seed, weigh_by=weigh_by))
    # Whatever is undefined is null: the record is strict JSON.
    json.dumps(record, allow_nan=False)
    return record


def case(query: str, side: str | None = None, votes: Any = None, **fields: Any) -> Case:
    fields.setdefault("context", {"where": f"{query}, {side}"})
    return Case(query=query, intended=side, votes=votes, **fields)


def counts(safe: int, unsafe: int) -> dict[str, int]:
    return {"safe": safe, "unsafe": unsafe}


def findings(record: Record) -> dict[str, Any]:
    return {one["check"]: one for one in record["findings"]}


def rows(**verdicts: str) -> list[dict[str, str]]:
    return [{"rater": rater, "verdict": verdict} for rater, verdict in verdicts.items()]
