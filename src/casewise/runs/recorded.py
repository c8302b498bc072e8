"""Grades of recorded replies by a model; a second start goes on where the first was stopped."""

import json
from collections.abc import Mapping
from pathlib import Path

from casewise.cases import digest
from casewise.files import Journal, journal_lines
from casewise.logs import OURS
from casewise.protocols import GRADE_VERSION, Conversation, Graded, ResponseClass, Status
from casewise.runs.asking import grade_replies
from casewise.runs.folder import locked

GRADES = "old-grades.jsonl"
"""Journal of grades: digests, statuses and classes, no text."""


def grade_recorded(
    grader: str,
    replies: Mapping[str, tuple[Conversation, str]],
    log_dir: Path,
    *,
    max_connections: int | None = None,
) -> dict[str, Graded]:
    """Have a model grade recorded replies; those without a grade stand at ``error``.

    Args:
        grader: The model, as Inspect names it.
        replies: The conversation before each reply, and the reply, by id.
        log_dir: Folder that keeps the grades, without texts and reasons.
        max_connections: Requests at once; None is Inspect's default.

    Raises:
        ModelError: The model can't be opened, or every request fails.
        UsageError: Another process runs in the folder.
        OSError: The folder can't be written.
    """
    keys = {
        id: digest(GRADE_VERSION, grader, [list(turn) for turn in said], reply)
        for id, (said, reply) in replies.items()
    }
    path = log_dir / OURS / GRADES
    with locked(path.parent, log_dir):
        known = _read(path)
        left = [id for id, key in keys.items() if key not in known]
        if left:
            journal = Journal(path)

            def keep(place: int, graded: Graded) -> None:
                if graded.status is Status.ERROR:
                    return
                known[keys[left[place]]] = graded
                line = [keys[left[place]], graded.status, graded.response_class]
                journal.append(json.dumps(line).encode())

            asked = [(*replies[id], None) for id in left]
            try:
                grade_replies(grader, asked, max_connections=max_connections, keep=keep)
            finally:
                journal.close()
    failed = Graded(Status.ERROR, None, "the grader gave no grade")
    return {id: known.get(key, failed) for id, key in keys.items()}


def _read(path: Path) -> dict[str, Graded]:
    found = {}
    for line in journal_lines(path):
        try:
            key, status, kind = json.loads(line.data)
        except ValueError:
            continue
        found[key] = Graded(Status(status), ResponseClass(kind) if kind is not None else None)
    return found
