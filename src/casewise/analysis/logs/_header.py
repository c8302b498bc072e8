"""What logs say of themselves, and which of them count."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log, read_eval_log_sample_summaries

from casewise.cases import address_of
from casewise.errors import InputError
from casewise.logs import ORDER, SHARDS, Part

_FROM_TASK = (
    *("protocol", "delivery", "ablation", "variant", "prompt_version"),
    *("dataset_hash", "dataset_version"),
)


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What a log says of itself, or the logs of one run that count together."""

    path: Path
    log: EvalLog
    """Without samples; of several logs, the first that was made."""
    part: Part | None = None
    """None of a log that is whole by itself."""
    parts: tuple["LogHeader", ...] = ()
    """Of a run in several logs, all of them, in the order in which they were made."""

    @property
    def ended(self) -> bool:
        """Whether it ended well."""
        return self.log.status == "success"

    @property
    def complete(self) -> bool:
        """Whether the run ended well; of one in parts, whether every place was reached."""
        if not self.parts:
            return self.ended
        wanted = max(one.part.of for one in self.parts if one.part is not None)
        return len(set().union(*(_reached(one) for one in self.parts))) >= wanted

    @property
    def planned(self) -> int | None:
        """Samples that the run was to judge, over all epochs; of one in parts, of the whole.

        None where the log doesn't say.
        """
        if self.parts:
            return max((one.part.of if one.part else one.planned or 0) for one in self.parts)
        spec = self.log.eval
        return len(spec.dataset.sample_ids or []) * (spec.config.epochs or 1) or None

    @property
    def task_key(self) -> tuple[str, str]:
        """The same for all attempts at one task by one model, and for all parts of a run."""
        spec = self.log.eval
        return self.part.run if self.part is not None else spec.task_id, spec.model

    @property
    def run_id(self) -> str:
        """One execution of one task; Inspect's own run id is shared by all tasks of a run."""
        together = self.part is not None or self.parts
        return self.task_key[0] if together else self.log.eval.eval_id

    @property
    def condition(self) -> dict[str, Any]:
        """The columns of the judgement table that the log says of every row."""
        said = self.log.eval.metadata or {}
        own = {"run_id": self.run_id, "model": self.log.eval.model}
        return {name: said.get(name) for name in _FROM_TASK} | own

    @property
    def places(self) -> dict[str, int]:
        """Of the samples by their ids, in the whole."""
        ids = [str(one) for one in self.log.eval.dataset.sample_ids or []]
        return dict(zip(ids, self.part.places if self.part else range(len(ids)), strict=False))


def _reached(one: LogHeader) -> set[tuple[int, int]]:
    """Places and epochs of the cases of a log that need not be asked again."""
    places = one.places
    if one.ended:
        epochs = [one.part.epoch] if one.part else range(1, (one.log.eval.config.epochs or 1) + 1)
        return {(place, epoch) for place in places.values() for epoch in epochs}
    judged = (
        (places.get(str(sample.id)), one.part.epoch if one.part else sample.epoch)
        for sample in read_eval_log_sample_summaries(address_of(one.path))
        if sample.error is None and sample.scores
    )
    return {(place, epoch) for place, epoch in judged if place is not None}


def list_logs(folder: Path) -> list[Path]:
    """The logs of a folder that is elsewhere (``s3://...``), and of those in it.

    Raises:
        InputError: It can't be reached, or holds none.
    """
    address = address_of(folder)
    try:
        found = list_eval_logs(address, formats=["eval"])
    except Exception as error:  # whatever its file system raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"can't be read: {reason}", file=address) from None
    if not found:
        raise InputError("no Inspect log here", file=address, expected="a log folder")
    return sorted(Path(one.name) for one in found)


def read_header(path: Path) -> LogHeader:
    """Read a log's header.

    Raises:
        InputError: The file is no log, is cut short, or belongs to another task.
    """
    try:
        log = read_eval_log(address_of(path), header_only=True)
    except Exception as error:  # Inspect raises whatever the broken part raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not a readable Inspect log: {reason}", file=path) from None
    # Scores over the epochs, sample by sample: nobody reads them, and they take megabytes.
    log.reductions = None
    if "casewise" not in (log.eval.metadata or {}):
        raise InputError(
            "a log of another task",
            file=path,
            found=log.eval.task,
            expected="a log of casewise run or of inspect eval casewise/judge",
        )
    return LogHeader(path, log, Part.of_metadata(log.eval.metadata))


def choose_logs(headers: Iterable[LogHeader]) -> tuple[list[LogHeader], list[str]]:
    """Keep one log a task and model: the complete one, else the latest attempt, with a note.

    A run that was stopped and taken up again leaves the log of each attempt in its folder; the
    later ones hold the judgements of the earlier. The logs of a run in shards are kept together.
    """
    groups: dict[tuple[str, str], list[LogHeader]] = {}
    for header in headers:
        groups.setdefault(header.task_key, []).append(header)
    kept, notes = [], []
    for attempts in groups.values():
        best = _together(attempts) if any(one.part for one in attempts) else _best(attempts)
        kept.append(best)
        if not best.complete:
            status = "its logs don't hold every case" if best.parts else best.log.status
            where = address_of(_folder_of(best) if best.parts else best.path)
            notes.append(f"{where}: the run did not end ({status}); what it has counts")
    return sorted(kept, key=_order), notes


def _folder_of(run: LogHeader) -> Path:
    """Where the logs of a run in parts stand."""
    folder = run.path.parent
    return folder.parent.parent if folder.parent.name == SHARDS else folder


def _best(attempts: Sequence[LogHeader]) -> LogHeader:
    complete = [one for one in attempts if one.complete]
    return max(complete or attempts, key=lambda one: one.log.eval.created)


def _together(parts: Sequence[LogHeader]) -> LogHeader:
    made = sorted(parts, key=lambda one: (one.log.eval.created, one.log.eval.eval_id))
    return replace(made[0], parts=tuple(made))


def _order(header: LogHeader) -> int:
    """Its place in its run; logs that don't say come first, as they stand."""
    order = (header.log.eval.metadata or {}).get(ORDER)
    return order if isinstance(order, int) else -1
