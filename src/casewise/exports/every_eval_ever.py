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
from casewise.exports.redaction import column_rules, known_parameters, redact_columns
from casewise.exports.request import Exported, ExportRequest, write_texts
from casewise.judgements import RunRecord, read_paths, run_records
from casewise.measures import Scoring, find
from casewise.protocols import RunCondition
from casewise.results import Score, score_table
from casewise.statistics import Estimate

_COMMON = ("accuracy", "brier", "mae")
"""Measures whose ids are everybody's."""

_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens")
_CASEBENCH = "https://github.com/BriansIDP/CASEBench"


def write_every_eval_ever(request: ExportRequest) -> Exported:
    """Write a record for each run."""
    judgements = read_paths(request.paths)
    found = score_table(judgements.table, Scoring(labels=request.labels))
    scores = [*found, *found.ranked]
    logged = {one.run_id: one for one in run_records(request.paths)}
    rules = column_rules(known_parameters(score.condition for score in scores))
    texts = {}
    for score in scores:
        condition = RunCondition.of_row(redact_columns(score.condition, rules))
        record = _record(score, condition, logged.get(score.condition.run_id or ""), request)
        place = record["evaluation_id"].partition("/")[2]
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        texts[f"data/casewise/{place}.json"] = text + "\n"
    write_texts(request.out, texts)
    return Exported(f"{len(scores)} runs in {len(texts)} files", judgements.notes)


def _name(text: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unknown"


def _record(
    score: Score, shown: RunCondition, logged: RunRecord | None, request: ExportRequest
) -> dict[str, Any]:
    """A run as a record of Every Eval Ever.

    Args:
        score: Its figures.
        shown: Its condition, by names that may be shown.
        logged: Its log; None where none is at hand.
        request: Names of the data and of the evaluator.
    """
    # Of a longer name the last two parts: the developer's and the model's.
    model = "/".join(map(_name, shown.model.split("/")[-2:]))
    identity = (shown.model, shown.text, shown.dataset_hash, shown.run_id, score.labels)
    own = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(map(str, identity)))
    settings = logged.settings if logged is not None else {}
    arguments = {name: settings[name] for name in _SETTINGS if name in settings}
    ended = (logged.completed or logged.started) if logged is not None else None
    facts: dict[str, Any] = {
        **{"condition": shown.text, "labels": score.labels, "n": score.n},
        **{
            "queries": score.queries,
            "coverage": score.coverage,
            "unparsed": score.scoring.unparsed,
        },
        **({"graded by": "rules, unchecked"} if score.is_provisional else {}),
    }
    details = {name: str(value) for name, value in facts.items()}
    common = {
        "source_data": _source_data(shown, logged),
        "generation_config": {
            "additional_details": {"condition": shown.text},
            **({"generation_args": arguments} if arguments else {}),
        },
    }
    of = f"casewise.{_name(shown.text)}"
    return {
        "schema_version": "0.2.2",
        "evaluation_id": f"casewise.{shown.protocol}/{model}/{own}",
        **({"evaluation_timestamp": ended} if ended else {}),
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "casewise",
            "source_type": "evaluation_run",
            "source_organization_name": request.evaluator or "unknown",
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
                **common,
                "metric_config": _metric(name),
                "score_details": _score_details(estimate, score.n, details),
            }
            for name, estimate in score.measures.items()
            if math.isfinite(estimate.value)
        ],
    }


def _source_data(shown: RunCondition, logged: RunRecord | None) -> dict[str, Any]:
    """The cases, by address or hash: a file's name is its owner's."""
    details = {"additional_details": {"hash": str(shown.dataset_hash)}}
    name = logged.data if logged is not None else None
    if name == CASEBENCH:
        return {"dataset_name": "CASE-Bench", "source_type": "url", "url": [_CASEBENCH]} | details
    known = STARTER if name == STARTER else "cases"
    return {"dataset_name": known, "source_type": "other"} | details


def _metric(name: str) -> dict[str, Any]:
    measure = find(name)
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
