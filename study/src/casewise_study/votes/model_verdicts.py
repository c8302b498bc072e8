"""Verdicts of models on a study's cases, from runs that its screening names."""

from collections import defaultdict

import numpy as np

from casewise.errors import InputError
from casewise.statistics import FloatArray
from casewise_study.study.schema import Study


def model_verdicts(study: Study) -> dict[str, FloatArray]:
    """Verdicts by model and protocol, shape ``(cells,)``: 1 safe, 0 unsafe, NaN none.

    Raises:
        InputError: A run can't be read, or none of them judges a case of the study.
    """
    # Imported late: polars takes longer to load than most commands take to run.
    from casewise.judgements import read_paths

    folder, places = study.folder, study.places
    runs = [folder / run for run in study.screening.models or ()]
    found = defaultdict[str, FloatArray](lambda: np.full(len(places), np.nan))
    columns = ("model", "protocol", "ablation", "case_id", "verdict")
    for model, protocol, ablation, case_id, verdict in read_paths(runs).table[columns].iter_rows():
        if case_id in places and verdict in ("safe", "unsafe"):
            name = " ".join(filter(None, (model, protocol, ablation)))
            found[name][places[case_id]] = verdict == "safe"
    if not found:
        raise InputError("no verdict on a case of the study", file=runs[0], field="case_id")
    return found
