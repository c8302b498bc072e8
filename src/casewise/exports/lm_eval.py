"""A task folder for lm-evaluation-harness: prompts, documents and what reads the answers."""

import json
import math
from importlib.resources import files

from casewise.cases import Case, dataset_hash, default_rule, make_labels
from casewise.errors import UsageError
from casewise.exports.request import (
    CONTENT_WARNING,
    Exported,
    ExportRequest,
    fill,
    whole_cases,
    write_texts,
)
from casewise.judgements import case_columns, make_table, read_paths
from casewise.measures import label_fields
from casewise.protocols import Delivery, load_prompts, protocols
from casewise.sheets import plural


def write_lm_eval(request: ExportRequest) -> Exported:
    """Write ``casewise_PROTOCOL.yaml``, ``documents.jsonl``, ``utils.py`` and a README.

    Raises:
        UsageError: There are no cases, or none has a label under the rule.
    """
    cases, notes = _cases(request)
    fields = label_fields(make_table(map(case_columns, cases)))
    rule = request.labels or default_rule(fields)
    labels = make_labels(fields, rule)
    every = zip(cases, labels.safe.tolist(), labels.rate.tolist(), strict=True)
    labelled = [row for row in every if not math.isnan(row[1])]
    if not labelled:
        raise UsageError(f"no case has a label under the rule {rule}: choose another --labels")
    if count := len(cases) - len(labelled):
        notes = (*notes, f"left out {plural(count, 'case')} without a label under the rule {rule}")
    utils = (files("casewise.data") / "exports" / "lm_eval_utils.py").read_text("utf-8")
    version = dataset_hash([case for case, *_ in labelled])
    about = {"warning": CONTENT_WARNING, "labels": rule, "hash": version}
    prompts = {
        str(protocol): load_prompts(None, protocol, Delivery.JUDGE)
        for protocol in protocols()
        if f"def process_{protocol}(" in utils
    }
    documents = (
        {
            "id": case.id,
            "query_id": case.query_id,
            "category": case.category,
            "intended": case.intended,
            "label": {1.0: "safe", 0.0: "unsafe"}.get(safe, "tie"),
            "safe": safe,
            "rate": rate,
            **{f"prompt_{name}": prompt.render(case) for name, prompt in prompts.items()},
        }
        for case, safe, rate in labelled
    )
    lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in documents)
    texts = {"utils.py": utils, "documents.jsonl": "".join(lines)}
    for name, prompt in prompts.items():
        own = {"prompt": json.dumps(prompt.version)}
        texts[f"casewise_{name}.yaml"] = fill(f"lm-eval-{name}.yaml", **about, **own)
    names = "".join(f"- casewise_{protocol}\n" for protocol in prompts)
    texts["casewise.yaml"] = f"group: casewise\ntask:\n{names}"
    size = {"cases": len(labelled), "folder": request.out.name}
    texts["README.md"] = fill("lm-eval.md", **about, **size)
    write_texts(request.out, texts)
    return Exported(
        f"{plural(len(labelled), 'case')}, labels {rule}, in {len(prompts)} tasks", notes
    )


def _cases(request: ExportRequest) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Cases for a task, and notes on their reading."""
    if (request.cases is None) != bool(request.paths):
        raise UsageError("--to lm-eval makes a task of cases: give --cases FILE, or else logs")
    if request.cases is not None:
        return request.cases, ()
    judgements = read_paths(request.paths, texts=True)
    return tuple(whole_cases(judgements).values()), judgements.notes
