"""Label Studio: write its configuration and tasks, read its exports.

The format is that of Label Studio's guide, "Label Studio JSON format of annotated tasks"
(labelstud.io/guide/task_format), and of its JSON-MIN export.
"""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from casewise.annotation.exchange.platform_files import (
    check_mark,
    find_page,
    read_answer,
    read_time,
    sitting_of,
)
from casewise.annotation.exchange.sittings import (
    ShownPage,
    TakenIn,
    TaskAnswer,
    Tasks,
    as_html,
    settle,
    tell,
    visible,
)
from casewise.annotation.study.language import paragraphs
from casewise.annotation.study.reading_times import QUESTION
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import study_language
from casewise.annotation.votes.result_files import ValuePlace
from casewise.errors import InputError
from casewise.files import parse_json, read_text

_KIND = "an export of Label Studio (JSON or JSON-MIN)"
_STYLE = ".htx-text { white-space: pre-wrap; unicode-bidi: plaintext; }"


def label_studio_files(tasks: Tasks) -> dict[str, bytes]:
    """The labelling configuration, the instructions, and a file of tasks for each block.

    What would sway a person (the arm, that a page is a check) is in a task's ``meta``, which the
    list of tasks doesn't show. No text of others is in the configuration: it is in the data.
    """
    width = len(str(len(tasks.blocks) - 1))
    files = {
        "labeling-config.xml": _config(tasks.study),
        "instructions.html": _instructions(tasks.study),
    }
    for number, block in enumerate(tasks.blocks):
        made = [_task(page, tasks.mark) for page in block]
        text = json.dumps(made, ensure_ascii=False, indent=1)
        files[f"tasks/block-{number:0{width}}.json"] = f"{text}\n".encode()
    return files


def _config(study: Study) -> bytes:
    say = study_language(study).say
    view = ET.Element("View")
    ET.SubElement(view, "Style").text = _STYLE
    for name, heading in (("query", say("Query")), ("context", say("Context"))):
        ET.SubElement(view, "Header", value=heading, size="4")
        ET.SubElement(view, "Text", name=name, value=f"${name}", selectionEnabled="false")
    ET.SubElement(view, "Header", value=say(QUESTION), size="4")
    choices = ET.SubElement(
        view,
        "Choices",
        name="verdict",
        toName="query",
        choice="single-radio",
        required="true",
        requiredMessage=say("Please choose safe or unsafe."),
        showInline="true",
    )
    # An alias is what stands in the export, whatever the language.
    ET.SubElement(choices, "Choice", value=say("Safe"), alias="safe", hotkey="s")
    ET.SubElement(choices, "Choice", value=say("Unsafe"), alias="unsafe", hotkey="u")
    if study.ask.confidence:
        sure = say("How sure are you, from 1 (guessing) to 5 (certain)?")
        ET.SubElement(view, "Header", value=sure, size="5")
        ET.SubElement(view, "Rating", name="confidence", toName="query", maxRating="5")
    if study.ask.reason:
        ET.SubElement(view, "Header", value=f"{say('Why?')} ({say('optional')})", size="5")
        ET.SubElement(
            view,
            "TextArea",
            name="reason",
            toName="query",
            rows="3",
            editable="true",
            maxSubmissions="1",
        )
    ET.indent(view)
    return f"{ET.tostring(view, encoding='unicode')}\n".encode()


def _instructions(study: Study) -> bytes:
    texts = (study.consent.warning, study.consent.text, study.instructions)
    parts = [study.title, *(paragraph for text in texts for paragraph in paragraphs(text))]
    parts += [f"{study_language(study).say('Questions:')} {study.consent.contact}"]
    return "".join(f"<p>{as_html(part)}</p>\n" for part in parts).encode()


def _task(page: ShownPage, mark: str) -> dict[str, Any]:
    meta = {"case_id": page.case_id, "query_id": page.query_id, "arm": page.arm}
    return {
        "data": {
            "study": mark,
            "block": page.block,
            "position": page.position,
            "query": visible(page.query),
            "context": visible(page.context),
        },
        "meta": {"check": page.check.id} if page.check else meta,
    }


def read_label_studio(
    files: Sequence[Path], tasks: Tasks, *, name: Callable[[str], str], panel: str
) -> TakenIn:
    """Read exports of one project, or of several on one server.

    Skipped annotations, drafts and predictions are no votes. Of two annotations by one person on
    a task the first counts.

    Args:
        files: JSON or JSON-MIN.
        tasks: The study's.
        name: Makes the pseudonym of an account.
        panel: Where the people were recruited.

    Raises:
        InputError: A file that isn't such an export, or not this study's.
    """
    answered: dict[tuple[str, int], dict[int, TaskAnswer]] = {}
    seen: dict[object, tuple[str, int, TaskAnswer]] = {}
    again: list[str] = []
    skipped = 0
    for path in files:
        for place, data, annotation in _annotations(path):
            check_mark(data.get("study"), tasks, place, "study")
            block, position = find_page(data.get("block"), data.get("position"), tasks, place)
            answer = _answer(annotation, position, place)
            if answer is None:
                skipped += 1
                continue
            rater = name(_account(annotation.get("completed_by"), place))
            key, given = annotation.get("id"), (rater, block, answer)
            if key is not None and seen.setdefault(key, given) != given:
                raise place.refuse(
                    "two annotations have this id; are the files of two servers?", "id", key
                )
            answers = answered.setdefault((rater, block), {})
            kept = answers.setdefault(position, answer)
            if kept != answer:
                again.append(place.record or "")
                answers[position] = min(kept, answer, key=_when)
    sittings = [sitting_of(*who, answers.values(), tasks) for who, answers in answered.items()]
    taken = settle(tasks, sittings, panel=panel)
    notes = list(taken.notes)
    if again:
        what = "annotated twice by one person: the first verdict counts"
        notes.insert(0, tell(again, "was", "were", what))
    if skipped:
        notes.insert(0, f"{skipped} annotations were skipped or empty: no votes")
    return TakenIn(taken.collected, tuple(notes))


def _when(answer: TaskAnswer) -> tuple[bool, str]:
    return (answer.time is None, answer.time.isoformat() if answer.time else "")


def _annotations(path: Path) -> Iterator[tuple[ValuePlace, dict[str, Any], dict[str, Any]]]:
    """Each annotation, after its place and its task's data."""
    for index, task in enumerate(_load(path), 1):
        place = ValuePlace(path, f"task {index}")
        if not isinstance(task, dict):
            raise place.refuse("not a task", expected=_KIND)
        if "annotations" in task:
            data, annotations = task.get("data"), task["annotations"]
            if not isinstance(data, dict) or not isinstance(annotations, list):
                raise place.refuse("not a task", expected=_KIND)
            for one in annotations:
                if not isinstance(one, dict) or not isinstance(one.get("result"), list):
                    raise place.refuse("an annotation without result", expected=_KIND)
                yield place, data, one
        elif "annotator" in task:
            yield place, task, _from_min(task)
        else:
            raise place.refuse("no annotations", expected=_KIND)


def _load(path: Path) -> list[Any]:
    text = read_text(path)
    if text.lstrip()[:1] not in ("[", "{"):
        raise InputError("not JSON", file=path, expected=_KIND)
    loaded = parse_json(text, file=path)
    if not isinstance(loaded, list) or not loaded:
        raise InputError("not a list of tasks", file=path, expected=_KIND)
    return loaded


def _from_min(task: dict[str, Any]) -> dict[str, Any]:
    """A flat record as an annotation. A rating stands in it as ``[{"rating": 4}]``."""
    result = []
    for name, key in (("verdict", "choices"), ("reason", "text"), ("confidence", "rating")):
        value = task.get(name)
        if value is None:
            continue
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0].get(key)
        if isinstance(value, dict):
            value = value.get(key)
        if key != "rating" and isinstance(value, str):
            value = [value]
        result.append({"from_name": name, "value": {key: value}})
    return {
        "id": task.get("annotation_id"),
        "completed_by": task["annotator"],
        "created_at": task.get("created_at"),
        "lead_time": task.get("lead_time"),
        "result": result,
    }


def _answer(annotation: dict[str, Any], position: int, place: ValuePlace) -> TaskAnswer | None:
    if annotation.get("was_cancelled") or not annotation["result"]:
        return None
    values: dict[str, Any] = {}
    for region in annotation["result"]:
        if not isinstance(region, dict) or not isinstance(region.get("value"), dict):
            raise place.refuse("not a result", "result")
        values[str(region.get("from_name"))] = region["value"]
    choices = values.get("verdict", {}).get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        raise place.refuse("not one verdict", "verdict", choices, "one choice")
    texts = values.get("reason", {}).get("text") or []
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(line, str) for line in texts):
        raise place.refuse("not a text", "reason")
    given = {
        "verdict": choices[0],
        "seconds": annotation.get("lead_time"),
        "confidence": values.get("confidence", {}).get("rating") or None,
        "reason": "\n".join(texts),
    }
    time = read_time(annotation.get("created_at"), place, "created_at")
    return read_answer(position, given, place, time)


def _account(completed_by: object, place: ValuePlace) -> str:
    """The account's number, or its e-mail address where there is no number."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("id", completed_by.get("email"))
    is_named = isinstance(completed_by, int | str) and not isinstance(completed_by, bool)
    account = str(completed_by).strip()
    if not is_named or not account:
        raise place.refuse("nobody's annotation", "completed_by")
    return account
