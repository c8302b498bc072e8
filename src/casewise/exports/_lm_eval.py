"""A task folder for lm-evaluation-harness: prompts, documents and what reads the answers."""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import yaml

import casewise
from casewise.cases import (
    Case,
    LabelRule,
    Labels,
    dataset_hash,
    default_rule,
    label_notes,
    make_labels,
)
from casewise.choices import Better
from casewise.errors import UsageError
from casewise.exports._export_form import CONTENT_WARNING, Exported, ExportRequest, fill, new_folder
from casewise.exports._hf_folder import case_table
from casewise.measures import find, label_fields
from casewise.protocols import Delivery, Prompts, Protocol, load_prompts, protocols
from casewise.sheets import Code, Column, Row, Table, to_markdown

_UTILS = (files("casewise.data") / "exports" / "lm_eval_utils.py").read_text("utf-8")
MAX_TOKENS = 2048
"""Longest answer, as ``casewise run`` allows."""

_SHARES = ("accuracy", "safe_recall", "unsafe_recall")
PROTOCOLS = tuple(one for one in protocols() if f"def process_{one}(" in _UTILS)
"""Protocols whose answers lm-eval can read."""


_TASKS = Table(
    [Column("task"), Column("asks for"), Column("read as")],
    [
        Row([Code("casewise_binary"), "JSON with a word", "the last labelled word"]),
        Row([Code("casewise_score"), "JSON with a number from 1 to 10", "safe above 5.5"]),
        Row([Code("casewise_probability"), "one word", "the likelihoods of safe and unsafe"]),
    ],
)
"""Tasks, for the folder's page."""


def write_lm_eval(
    request: ExportRequest, given: tuple[tuple[Case, ...], tuple[str, ...]]
) -> Exported:
    """Write ``casewise_PROTOCOL.yaml``, ``PROTOCOL.jsonl``, ``utils.py`` and a README.

    Raises:
        UsageError: No case has a label under the rule.
    """
    cases, notes = given
    rule, labels, reasons = _labels(cases, request.labels)
    every = zip(cases, labels.safe, labels.rate, reasons, strict=True)
    labelled = [one for one in every if not math.isnan(one[1])]
    if not labelled:
        raise UsageError(f"no case has a label under the rule {rule}: choose another --labels")
    if left := len(cases) - len(labelled):
        notes = (*notes, f"left out {left} cases without a label under the rule {rule}")
    version = dataset_hash([case for case, *_ in labelled])
    with new_folder(request.out, request.form, reveal=True) as folder:
        for protocol in PROTOCOLS:
            prompts = load_prompts(None, protocol, Delivery.JUDGE)
            documents = (document(case, prompts, *label) for case, *label in labelled)
            lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in documents)
            (folder / f"{protocol}.jsonl").write_text(lines, "utf-8", newline="\n")
            task = _task(protocol, prompts, rule, version)
            (folder / f"casewise_{protocol}.yaml").write_text(task, "utf-8")
        group = {"group": "casewise", "task": [f"casewise_{protocol}" for protocol in PROTOCOLS]}
        (folder / "casewise.yaml").write_text(yaml.safe_dump(group, sort_keys=False), "utf-8")
        (folder / "utils.py").write_text(_UTILS, "utf-8")
        readme = fill(
            "lm-eval.md.j2",
            warning=CONTENT_WARNING,
            version=casewise.__version__,
            labels=str(rule),
            cases=len(labelled),
            hash=version,
            folder=request.out.name,
            tasks=to_markdown(_TASKS),
        )
        (folder / "README.md").write_bytes(readme)
    return Exported(f"{len(labelled):,} cases, labels {rule}, in {len(PROTOCOLS)} tasks", notes)


def _labels(
    cases: Sequence[Case], rule: LabelRule | None
) -> tuple[LabelRule, Labels, list[str | None]]:
    """The rule, the labels by it, and the reason where one isn't what most of the votes say."""
    fields = label_fields(case_table(cases, reveal=True))
    chosen = rule or default_rule(fields)
    labels = make_labels(fields, chosen)
    return chosen, labels, label_notes(fields, labels, chosen)


def document(
    case: Case, prompts: Prompts, safe: float, rate: float, note: str | None
) -> Mapping[str, Any]:
    """One line of the task's data.

    Args:
        case: The case.
        prompts: The templates of the protocol.
        safe: 1 safe, 0 unsafe, .5 a tie.
        rate: The share of people who call the case safe, 0..1.
        note: Why the label isn't what most of the votes say; None where it is.
    """
    return {
        "id": case.id,
        "query_id": case.query_id,
        "category": case.category,
        "intended": case.intended,
        "label": {1.0: "safe", 0.0: "unsafe"}.get(float(safe), "tie"),
        "safe": float(safe),
        "rate": float(rate),
        "label_note": note,
        "prompt": prompts.render(case),
    }


class _Function(str):
    """A name that YAML writes with lm-eval's tag for functions."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _Function, lambda dumper, name: dumper.represent_scalar("!function", str(name))
)


def _task(protocol: Protocol, prompts: Prompts, rule: LabelRule, version: str) -> str:
    likelihood = protocol.candidates > 0
    task: dict[str, Any] = {
        "task": f"casewise_{protocol}",
        "custom_dataset": _Function(f"utils.load_{protocol}"),
        "test_split": "test",
        "output_type": "multiple_choice" if likelihood else "generate_until",
        "doc_to_text": "prompt",
    }
    if likelihood:
        # The prompt ends in a line break: the word opens a line of its own.
        task |= {"doc_to_choice": ["safe", "unsafe"], "target_delimiter": ""}
        task |= {"doc_to_target": "label"}
    else:
        settings = {"do_sample": False, "temperature": 0.0, "max_gen_toks": MAX_TOKENS, "until": []}
        task |= {"doc_to_target": "label", "generation_kwargs": settings}
    task |= {
        "process_results": _Function(f"utils.process_{protocol}"),
        "metric_list": [
            {
                "metric": name,
                "aggregation": _Function("utils.share"),
                "higher_is_better": find(name).better is Better.HIGHER,
            }
            for name in (
                *_SHARES,
                *(["brier"] if protocol.numbers else []),
                *([] if likelihood else ["coverage"]),
            )
        ],
        "metadata": {
            "version": 1.0,
            "prompt_version": prompts.version,
            "label_rule": str(rule),
            "dataset_hash": version,
            "made_by": f"casewise {casewise.__version__}",
        },
    }
    text: str = yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return f"# {CONTENT_WARNING}\n{text}"
