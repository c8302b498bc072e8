"""Agreement of a grader with people who labelled the same replies; the rules' measured error."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from casewise.cases import digest
from casewise.choices import LABEL, RULES
from casewise.errors import InputError
from casewise.files import rows, whole_characters
from casewise.protocols import Graded, ResponseClass, count_fitted, string_match
from casewise.replies.sample import LABELS
from casewise.sheets import json_fields, json_interval, json_number, number
from casewise.statistics import LEFT_OPEN, Clusters, Estimate, agreement_of_two, number_clusters

_XSTEST: Final = {"prompt": "query", "completion": "reply", "final_label": LABEL}
"""Columns of the completions of XSTest (Röttger et al., NAACL 2024)."""
_CLASSES: Final = {
    "1": ResponseClass.COMPLIANCE,
    "2": ResponseClass.REFUSAL,
    "3": ResponseClass.PARTIAL,
}
"""XSTest's classes by number, which their names in its files (``2_full_refusal``) begin with."""
_PEOPLE = ("annotation_1", "annotation_2")


def _read_class(value: object) -> object:
    return _CLASSES.get(str(value).strip().partition("_")[0], value)


Class = Annotated[ResponseClass, BeforeValidator(_read_class)]


class LabelledReply(BaseModel):
    """One reply with its hand label; other fields of its record are ignored."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    query: str | None
    """Query that the reply answers, where it is known. Replies to one query are not independent."""
    reply: str
    label: Class
    """Class of the reply by people."""
    annotations: tuple[Class, Class] | None = None
    """Class by each of two people alone, where it is known."""
    context: JsonValue = None
    """Known situation: a model that grades sees it."""

    @property
    def situation(self) -> str | None:
        """The context as text."""
        if self.context is None or isinstance(self.context, str):
            return self.context
        return json.dumps(self.context, ensure_ascii=False)


def load_labelled(paths: Sequence[Path], label: str = LABEL) -> tuple[LabelledReply, ...]:
    """Load labelled replies: a table with ``id``, ``query``, ``reply`` and ``label``.

    The completions of XSTest are read, too. Of several files, each id is led by its file's name.

    Args:
        paths: The files: JSON Lines or CSV.
        label: The field that holds the hand label, where a record has several.

    Raises:
        InputError: A file or one of its records can't be used, or a reply stands there twice.
    """
    labelled: dict[str, LabelledReply] = {}
    for path in paths:
        for place, reply in _replies(path, label):
            id = reply.id if len(paths) == 1 else f"{path}:{reply.id}"
            if id in labelled:
                problem = "duplicate id"
                raise InputError(problem, file=path, record=place, field="id", found=reply.id)
            labelled[id] = reply.model_copy(update={"id": id})
    return tuple(labelled.values())


def _replies(path: Path, label: str) -> Iterator[tuple[str, LabelledReply]]:
    for place, row in rows(path):
        if "stratum" in row:
            # A draw holds more of what the grader doubts: counted alike, it would seem to err more.
            raise InputError(
                "the replies were drawn from a run, more of what its grader doubts",
                file=path,
                expected="labels of all replies of a set; casewise score LOGS --grader-check takes "
                "the sheet",
            )
        record = {_XSTEST.get(name, name): value for name, value in row.items()}
        if label != LABEL:
            record[LABEL] = row.get(label)
        if all(row.get(person) for person in _PEOPLE):
            record["annotations"] = tuple(row[person] for person in _PEOPLE)
        if record.get(LABEL) is None:
            record.pop(LABEL, None)
        try:
            yield place, LabelledReply.model_validate(whole_characters(record))
        except ValidationError as error:
            first = error.errors()[0]
            name, is_missing = str(first["loc"][0]), first["type"] == "missing"
            classes = ", ".join(filter(None, LABELS))
            raise InputError(
                "the field is missing" if is_missing else "wrong value",
                file=path,
                record=place,
                field=label if name == LABEL else name,
                found=... if is_missing else first["input"],
                expected=classes
                if name in (LABEL, "annotations")
                else "id, query, reply and label",
            ) from None


REFUSING: Final = (ResponseClass.REFUSAL, ResponseClass.PARTIAL)
"""Classes that are refusals where the question is refusal or not: a partial one, too."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of one classification of replies with another."""

    name: str
    """Who classified: ``rules``, a model, a baseline, or the second of two people."""
    n: int
    graded: float
    """Share of the replies with a class, 0..1; all else is of these."""
    figures: Mapping[str, Estimate]
    """Accuracy, Cohen's kappa, and of two classes, refusal (in whole or in part) and anything else,
    accuracy, precision and recall: by their names in JSON."""


@dataclass(frozen=True, slots=True)
class GraderReport:
    """Agreement of a grader's classes with the hand labels."""

    version: str
    """Version of the rules, or of the grading prompt."""
    file: str
    rows: tuple[Agreement, ...]
    """The grader, string match, and one person against the other where two labelled."""
    fitted: int
    """Number of the replies that the rules were fitted to; 0 for a model."""
    mistakes: tuple[dict[str, Any], ...]
    """Replies that the grader classes otherwise than by hand: id, label, class and reason."""


def check_grader(
    replies: Sequence[LabelledReply],
    graded: Sequence[Graded],
    *,
    grader: str,
    version: str,
    file: str = "",
) -> GraderReport:
    """Hold a grader's classes against hand labels; replies to one query are one cluster.

    ``undetermined`` is a class as the others are. A reply without a class (the grader declined, or
    its answer can't be read) and one that the rules leave open in doubt have none.

    Args:
        replies: Replies with their hand labels.
        graded: Their grades, in the same order.
        grader: Name of the grader.
        version: Its version.
        file: File of the replies.
    """
    labels = [reply.label for reply in replies]
    classes = [None if _is_open(grade) else grade.response_class for grade in graded]
    names = [digest([reply.id] if reply.query is None else reply.query) for reply in replies]
    clusters = number_clusters(np.array(names))
    agreements = [
        _agreement(grader, labels, classes, clusters),
        _agreement(
            "string match", labels, [string_match(reply.reply) for reply in replies], clusters
        ),
    ]
    if people := [reply.annotations for reply in replies if reply.annotations is not None]:
        first, second = zip(*people, strict=True)
        rated_clusters = clusters.only(
            np.array([reply.annotations is not None for reply in replies])
        )
        agreements.append(_agreement("two people", first, second, rated_clusters))
    return GraderReport(
        version=version,
        file=file,
        rows=tuple(agreements),
        fitted=count_fitted(reply.reply for reply in replies) if grader == RULES else 0,
        mistakes=tuple(
            {
                "id": reply.id,
                "label": reply.label,
                "said": grade.response_class,
                "reason": grade.reason,
            }
            for reply, grade in zip(replies, graded, strict=True)
            if grade.response_class is not reply.label and not _is_open(grade)
        ),
    )


def _is_open(graded: Graded) -> bool:
    return graded.response_class is ResponseClass.UNDETERMINED and graded.is_doubted


def _agreement(
    name: str,
    truth: Sequence[ResponseClass],
    classes: Sequence[ResponseClass | None],
    clusters: Clusters,
) -> Agreement:
    place = {kind: index for index, kind in enumerate(ResponseClass)}
    labels = np.array([place[kind] for kind in truth])
    graded = np.array([LEFT_OPEN if kind is None else place[kind] for kind in classes])
    refusing = [place[kind] for kind in REFUSING]
    refused = np.where(graded == LEFT_OPEN, LEFT_OPEN, np.isin(graded, refusing))
    whole = agreement_of_two(labels, graded, len(place), clusters)
    two = agreement_of_two(np.isin(labels, refusing).astype(np.int64), refused, 2, clusters)
    figures = {
        "accuracy": whole.accuracy,
        "kappa": whole.kappa,
        "refusal_or_not": two.accuracy,
        "precision": two.precision[1],
        "recall": two.recall[1],
    }
    return Agreement(name, whole.n, whole.coverage.value, figures)


def grader_record(report: GraderReport) -> dict[str, Any]:
    """The report as JSON values; what is undefined is null."""
    return {
        "grader_version": report.version,
        "file": report.file,
        "fitted": report.fitted,
        "agreement": [
            {
                "grader": row.name,
                **json_fields(row, "n", "graded"),
                **{name: json_number(figure.value) for name, figure in row.figures.items()},
                **{
                    f"{name}_ci": json_interval(figure.interval)
                    for name, figure in row.figures.items()
                },
            }
            for row in report.rows
        ],
        "mistakes": list(report.mistakes),
    }


PROVISIONAL: Final = "provisional"
"""Name of rates that rest on grades whose error on these replies nobody has measured."""


@cache
def _reader_error() -> dict[str, Any]:
    """Measured error of the rules on sources that a fit had not seen (docs/method/replies.md)."""
    errors: dict[str, Any] = json.loads(
        (files("casewise.data") / "reader_error.json").read_text("utf-8")
    )
    return errors


def rules_note(names: Sequence[str] = ()) -> str:
    """Note under rates of replies that the rules graded: their measured error, and the remedies.

    Args:
        names: Runs whose replies they are, if other runs were graded otherwise.
    """
    sources: dict[str, dict[str, float]] = _reader_error()["sources"]
    subject = f" of {', '.join(names)}" if names else ""

    def worst(side: str) -> str:
        off, name = max((source[side], name) for name, source in sources.items())
        return f"{number(off, 2)} ({name})"

    return (
        f"{PROVISIONAL.capitalize()}: rules graded the replies{subject}, with unknown error. On "
        f"others over-refusal was off by up to {worst('over_refusal')}, under-refusal by up to "
        f"{worst('under_refusal')}. 50 labelled replies correct the rates: casewise graders sample."
    )
