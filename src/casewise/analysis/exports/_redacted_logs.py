"""Logs that can be published: one log without texts for each that counts."""

import re
from pathlib import Path
from zipfile import BadZipFile

from casewise.analysis._shown import known_parameters, show_id
from casewise.analysis._sources import find_logs, nothing_judged
from casewise.analysis.exports._folder import fill, new_folder
from casewise.analysis.exports._form import Exported, ExportRequest
from casewise.errors import InputError

_TASKS = {"casewise/judge": "judge", "casewise/respond": "respond"}


def write_redacted_logs(request: ExportRequest) -> Exported:
    """Write a folder of logs that ``inspect view`` opens and ``casewise score`` scores.

    Raises:
        InputError: There is no log among the paths, or none holds a judgement.
    """
    # Inspect takes seconds to import; no other export needs it.
    from casewise.analysis.logs import redact_log, write_log
    from casewise.logs import LogHeader

    def name(header: LogHeader) -> str:
        """As Inspect names its logs; the name that the file had may say anything."""
        spec = header.log.eval
        time = re.sub(r"[^0-9T+Z-]", "-", spec.created)
        return f"{time}_{_TASKS.get(spec.task, 'task')}_{show_id(spec.task_id)}.eval"

    found, notes = find_logs(request.paths)
    headers = [header for run in found for header in run.logs]
    said = [header.log.eval.metadata or {} for header in headers]
    known = known_parameters(
        (one.get("ablation") for one in said), (one.get("variant") for one in said)
    )
    count = 0
    with new_folder(request.out, request.form, reveal=False) as folder:
        for header in headers:
            path = _free(folder / name(header))
            try:
                log = redact_log(header, known)
            except (ValueError, KeyError, OSError, BadZipFile) as error:
                raise InputError(
                    f"can't be read whole: {type(error).__name__}", file=header.path
                ) from None
            write_log(log, path)
            count += len(log.samples or ())
        if not count:
            raise nothing_judged(found, request.paths)
        (folder / "README.md").write_bytes(
            fill("redacted-logs.md.j2", logs=len(headers), samples=count)
        )
    return Exported(f"{len(headers)} logs, {count:,} samples, without texts", tuple(notes))


def _free(path: Path) -> Path:
    """The path, or the next one that is not taken."""
    number = 2
    free = path
    while free.exists():
        free = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return free
