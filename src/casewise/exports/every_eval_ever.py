"""Scores as records of Every Eval Ever, which hold figures and names alone.

They follow version 0.2.2 of ``eval.schema.json`` (github.com/evaleval/every_eval_ever).
"""

import json
import math
import re
import time
import uuid
from typing import Any

import casewise
from casewise.cases import CASEBENCH, STARTER
from casewise.choices import Better
from casewise.errors import UsageError
from casewise.exports.redaction import column_rules, redact_columns
from casewise.exports.request import Exported, ExportRequest, write_texts
from casewise.judgements import read_paths, run_records
from casewise.measures import Scoring, find_measure
from casewise.protocols import RunCondition
from casewise.results import Score, score_table
from casewise.sheets import plural
from casewise.statistics import Estimate

_COMMON = ("accuracy", "brier", "mae")
"""Measures whose ids are everybody's."""

_CASEBENCH = "https://github.com/BriansIDP/CASEBench"


def write_every_eval_ever(request: ExportRequest) -> Exported:
    """Write a record for each run.

    Raises:
        UsageError: No run has a figure.
    """
    judgements = read_paths(request.paths)
    table = score_table(judgements.table, Scoring(labels=request.labels))
    scores = [
        score
        for score in (*table, *table.ranked)
        if any(math.isfinite(measure.value) for measure in score.measures.values())
    ]
    if not scores:
        raise UsageError("no run here has a figure: choose other --labels")
    data = {run_record.run_id: run_record.data for run_record in run_records(request.paths)}
    rules = column_rules(score.condition for score in scores)
    texts = {}
    for score in scores:
        condition = RunCondition.of_row(redact_columns(score.condition, rules))
        name = data.get(score.condition.run_id or "")
        record = _record(score, condition, name, request.evaluator or "unknown")
        place = record["evaluation_id"].partition("/")[2]
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        texts[f"data/casewise/{place}.json"] = text + "\n"
    write_texts(request.out, texts)
    return Exported(
        f"{plural(len(scores), 'run')} in {plural(len(texts), 'file')}", judgements.notes
    )


def _name(text: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unknown"


def _record(score: Score, shown: RunCondition, data: str | None, evaluator: str) -> dict[str, Any]:
    """A run as a record of Every Eval Ever.

    Args:
        score: Its figures.
        shown: Its condition, by names that may be shown.
        data: Name of the cases, as its log has it; None where none is at hand.
        evaluator: Organization that made the results.
    """
    # Of a longer name the last two parts: the developer's and the model's.
    model = "/".join(map(_name, shown.model.split("/")[-2:]))
    identity = (shown.model, shown.text, shown.dataset_hash, shown.run_id, score.labels)
    own = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(map(str, identity)))
    facts = {
        "condition": shown.text,
        "labels": score.labels,
        "n": score.n,
        "queries": score.queries,
        "coverage": score.coverage,
        "unparsed": score.scoring.unparsed,
        **({"graded by": "rules, unchecked"} if score.is_provisional else {}),
    }
    details = {name: str(value) for name, value in facts.items()}
    # The name of a file is its owner's.
    source: dict[str, Any] = {
        "dataset_name": STARTER if data == STARTER else "cases",
        "source_type": "other",
    }
    if data == CASEBENCH:
        source = {"dataset_name": "CASE-Bench", "source_type": "url", "url": [_CASEBENCH]}
    source["additional_details"] = {"hash": str(shown.dataset_hash)}
    of = f"casewise.{_name(shown.text)}"
    return {
        "schema_version": "0.2.2",
        "evaluation_id": f"casewise.{shown.protocol}/{model}/{own}",
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "casewise",
            "source_type": "evaluation_run",
            "source_organization_name": evaluator,
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "casewise", "version": casewise.__version__},
        "model_info": {
            "name": shown.model,
            "id": model,
            "developer": model.partition("/")[0],
            "inference_platform": shown.model.partition("/")[0],
        },
        "evaluation_results": [
            {
                "evaluation_result_id": f"{of}.{name}",
                "evaluation_name": of,
                "source_data": source,
                "generation_config": {"additional_details": {"condition": shown.text}},
                "metric_config": _metric(name),
                "score_details": _score_details(estimate, score.n, details),
            }
            for name, estimate in score.measures.items()
            if math.isfinite(estimate.value)
        ],
    }


def _metric(name: str) -> dict[str, Any]:
    measure = find_measure(name)
    # A continuous score must have both ends; a loss has no upper one.
    ends = {"score_type": "continuous", "min_score": measure.low, "max_score": measure.high}
    return {
        "evaluation_description": f"{measure.says}: {measure.definition}",
        "metric_id": name if name in _COMMON else f"casewise.{name}",
        "metric_name": measure.label,
        "metric_kind": str(measure.kind),
        "metric_unit": "proportion" if measure.high == 1 else "points",
        "lower_is_better": measure.better is Better.LOWER,
        "additional_details": {"better": str(measure.better)},
        **(ends if math.isfinite(measure.high) else {}),
    }


def _score_details(estimate: Estimate, n: int, details: dict[str, str]) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": n}
    if math.isfinite(estimate.se) and not estimate.reason:
        uncertainty["standard_error"] = {"value": estimate.se, "method": "clustered by query"}
    low, high = estimate.interval
    if math.isfinite(low) and math.isfinite(high):
        uncertainty["confidence_interval"] = {
            **{"lower": low, "upper": high, "confidence_level": 0.95},
            "method": f"{estimate.kind}, clustered by query (docs/method/statistics.md)",
        }
    withheld = {"no interval": estimate.reason} if estimate.reason else {}
    return {"score": estimate.value, "details": details | withheld, "uncertainty": uncertainty}
