"""Results as records of Every Eval Ever, which hold figures and names alone.

They follow version 0.2.2 of ``eval.schema.json`` (github.com/evaleval/every_eval_ever).
"""

import json
import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casewise
from casewise.cases import CASEBENCH, STARTER
from casewise.choices import Better, Measure
from casewise.errors import UsageError
from casewise.exports._export_form import (
    Exported,
    ExportRequest,
    known_parameters,
    new_folder,
    show_value,
    shown_by_column,
)
from casewise.judgements import Judgements, RunRecord
from casewise.measures import Scoring, find
from casewise.protocols import RunCondition
from casewise.scores import Estimate, Score, ScoreReport, is_provisional, report_scores, run_records

SCHEMA_VERSION = "0.2.2"
"""Version of Every Eval Ever's schema."""

_COMMON = ("accuracy", "brier", "mae")
"""Measures whose ids are everybody's."""

_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens")
_NAME = re.compile(r"[^\w.+-]+")
_CASEBENCH = "https://github.com/BriansIDP/CASEBench"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure of a run."""

    of: str
    """The evaluation, as a name with dots."""
    measure: Measure
    estimate: Estimate
    n: int
    """Judgements that it rests on."""

    @property
    def id(self) -> str:
        return f"{self.of}.{self.measure.name}"


@dataclass(frozen=True, slots=True)
class _Run:
    """A run, by names that may be shown, and its figures."""

    condition: RunCondition
    score: Score
    record: RunRecord | None
    """None where no log is at hand."""
    figures: tuple[_Figure, ...]

    @property
    def model(self) -> str:
        """``developer/name``: of a longer name its last two parts."""
        return "/".join(_path(part) for part in self.condition.model.split("/")[-2:])

    @property
    def ended(self) -> str | None:
        """Time at which it ended, or else began."""
        return (self.record.completed or self.record.started) if self.record else None

    @property
    def details(self) -> dict[str, str]:
        """Facts that the figures rest on."""
        score = self.score
        found: Mapping[str, Any] = {
            **{"condition": self.condition.text, "labels": score.labels, "n": score.n},
            **{"queries": score.queries, "coverage": score.coverage, "unparsed": score.unparsed},
            **({"graded by": "rules, unchecked"} if is_provisional(score) else {}),
        }
        return {name: str(value) for name, value in found.items()}


def _path(text: str) -> str:
    """A name that every file system takes."""
    return _NAME.sub("-", text).strip(".-") or "unknown"


def write_results(request: ExportRequest, judgements: Judgements) -> Exported:
    """Write a record for each run.

    Raises:
        UsageError: Texts are asked for, or the dataset has no name of the Hub.
    """
    if request.reveal:
        raise UsageError(f"--to {request.form} has nothing to reveal: it holds figures alone")
    name = request.dataset
    if name is not None and not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UsageError(f"--dataset {name}: expected OWNER/NAME")
    runs = list(_runs(request, judgements))
    files = {_place(run): _json(_every_eval(run, request)) for run in runs}
    with new_folder(request.out, request.form, reveal=False) as folder:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, "utf-8", newline="\n")
    return Exported(f"{len(runs)} runs in {len(files)} files", judgements.notes)


def _runs(request: ExportRequest, judgements: Judgements) -> Iterator[_Run]:
    report = report_scores(judgements.table, Scoring(labels=request.labels))
    scores = [*(row.score for row in report.rows), *report.ranked]
    records = {one.run_id: one for one in run_records(request.paths)}
    rules = shown_by_column(known_parameters(one.condition for one in scores))
    for score in scores:
        given = {name: show_value(name, value, rules) for name, value in score.condition.items()}
        condition = RunCondition.of_row(given)
        figures = [
            one for one in _figures(score, condition, report) if math.isfinite(one.estimate.value)
        ]
        record = records.get(score.condition.run_id or "")
        yield _Run(condition, score, record, tuple(figures))


def _figures(score: Score, shown: RunCondition, report: ScoreReport) -> Iterator[_Figure]:
    """Figures of a run; those of its whole ladder stand with the query alone."""
    of = f"casewise.{_NAME.sub('-', shown.text)}"
    for name, estimate in score.measures.items():
        yield _Figure(of, find(name), estimate, score.n)
    for ladder in report.ladders:
        if ladder.condition == score.condition:
            for name, estimate in ladder.measures.items():
                yield _Figure("casewise.ladder", find(name), estimate, ladder.n)
            for rung in ladder.rungs:
                for name, estimate in rung.moved.items():
                    of = f"casewise.ladder.rung-{rung.rung}"
                    yield _Figure(of, find(name), estimate, ladder.n)


def _json(record: Record) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _id(run: _Run) -> str:
    """The run's identity, the same whenever it is exported."""
    condition = run.condition
    parts = (condition.text, condition.dataset_hash, condition.run_id, str(run.score.labels))
    own = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(map(str, (condition.model, *parts))))
    return f"casewise.{condition.protocol}/{run.model}/{own}"


def _place(run: _Run) -> Path:
    return Path("data", "casewise", *_id(run).split("/")[1:]).with_suffix(".json")


def _every_eval(run: _Run, request: ExportRequest) -> Record:
    """A record of Every Eval Ever."""
    record = run.record
    settings = record.settings if record is not None else {}
    generation: Record = {"additional_details": {"condition": run.condition.text}}
    if given := {name: settings[name] for name in _SETTINGS if name in settings}:
        generation["generation_args"] = given
    common = {
        "source_data": _source_data(run, request.dataset),
        "generation_config": generation,
    }
    developer, _, _ = run.model.partition("/")
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": _id(run),
        **({"evaluation_timestamp": run.ended} if run.ended else {}),
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "casewise",
            "source_type": "evaluation_run",
            "source_organization_name": request.evaluator or "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "casewise", "version": casewise.__version__},
        "model_info": {
            "name": run.condition.model,
            "id": run.model,
            "developer": developer,
            "inference_platform": run.condition.model.partition("/")[0],
        },
        "evaluation_results": [
            {
                "evaluation_result_id": one.id,
                "evaluation_name": one.of,
                **common,
                "metric_config": _metric(one.measure),
                "score_details": _score_details(one, run),
            }
            for one in run.figures
        ],
    }


def _source_data(run: _Run, dataset: str | None) -> Record:
    """The cases: a dataset on the Hub where one is named, else by address or hash."""
    details = {"additional_details": {"hash": str(run.condition.dataset_hash)}}
    # A file's name is its owner's.
    name = run.record.data if run.record is not None else None
    if dataset is not None:
        return {"dataset_name": dataset, "source_type": "hf_dataset", "hf_repo": dataset} | details
    if name == CASEBENCH:
        return {"dataset_name": "CASE-Bench", "source_type": "url", "url": [_CASEBENCH]} | details
    known = STARTER if name == STARTER else "cases"
    return {"dataset_name": known, "source_type": "other"} | details


def _metric(measure: Measure) -> Record:
    found: Record = {
        "evaluation_description": f"{measure.says}: {measure.definition}",
        "metric_id": measure.name if measure.name in _COMMON else f"casewise.{measure.name}",
        "metric_name": measure.label,
        "metric_kind": str(measure.kind),
        "metric_unit": "proportion" if measure.high == 1 else "points",
        "lower_is_better": measure.better is Better.LOWER,
        "additional_details": {"better": str(measure.better)},
    }
    # A continuous score must have both ends; a loss has no upper one.
    if math.isfinite(measure.high):
        found |= {"score_type": "continuous", "min_score": measure.low, "max_score": measure.high}
    return found


def _score_details(one: _Figure, run: _Run) -> Record:
    estimate = one.estimate
    uncertainty: Record = {"num_samples": one.n}
    if math.isfinite(estimate.se) and not estimate.reason:
        uncertainty["standard_error"] = {"value": estimate.se, "method": "clustered by query"}
    low, high = estimate.interval
    if math.isfinite(low) and math.isfinite(high):
        uncertainty["confidence_interval"] = {
            **{"lower": low, "upper": high, "confidence_level": 0.95},
            "method": f"{estimate.interval_name}, clustered by query",
        }
    withheld = {"no interval": estimate.reason} if estimate.reason else {}
    details = run.details | withheld
    return {"score": estimate.value, "details": details, "uncertainty": uncertainty}
