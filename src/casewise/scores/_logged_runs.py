"""Records of logged runs by the headers of their logs, and the command that resumes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from casewise.logs import (
    REDACTED,
    SHARDS,
    TARGETS,
    LogFolder,
    LoggedRun,
    recorded_line,
    resume_line,
)
from casewise.scores._run_record import (
    RunRecord,
    clean_arguments,
    clean_settings,
    last_part,
    run_commands,
    without_paths,
)

_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_MADE_WITH = ("dtype", "device", "torch", "transformers")
_FILES = ("cases", "prompt", "deployment", "evidence")
_NAMES = ("protocol", "delivery", "ablate", "swap", "vary", "sampling", "grader")
_NUMBERS = ("seed", "samples", "limit", "max_tokens")


def run_record(run: LoggedRun) -> RunRecord:
    """Record of a run from its logs, without keys, paths and addresses."""
    first = run.first.log
    spec = first.eval
    parts = [one.log for one in run.logs]
    started = [one.stats.started_at or one.eval.created for one in parts]
    completed = [one.stats.completed_at for one in parts]
    ended = run.alone or run.complete
    said = spec.metadata or {}
    target = _target(spec.model, spec.model_args)
    shown, hidden = clean_arguments({} if target else spec.model_args)
    given = said.get("generate")
    settings_shown, settings_hidden = clean_settings(given if isinstance(given, Mapping) else {})
    config = first.plan.config
    settings = {name: getattr(config, name) for name in _SETTINGS}
    return RunRecord(
        run_id=run.run_id,
        model=without_paths(spec.model),
        status=first.status if run.alone else "success" if ended else "started",
        model_args=shown,
        hidden_args=hidden,
        generate=settings_shown,
        hidden_generate=settings_hidden,
        redacted=said.get(REDACTED) is True,
        own_address=spec.model_base_url is not None,
        casewise=_text(said.get("casewise")),
        inspect=_text(spec.packages.get("inspect_ai")),
        made_with=_made_with(said.get("made_with")),
        task=f"{spec.task} {spec.task_version}",
        data=_text(said.get("dataset")),
        data_hash=_text(said.get("dataset_hash")),
        data_size=_whole(said.get("dataset_size")),
        variation_version=_text(said.get("variation_version")),
        grader=_text(said.get("grader")),
        grader_version=_text(said.get("grader_version")),
        asked=_asked(spec.task_args, said) | ({"target": last_part(target)} if target else {}),
        settings={name: value for name, value in settings.items() if value is not None},
        samples=_whole(said.get("samples")),
        epochs=max((one.part.epoch for one in run.logs if one.part), default=None)
        or spec.config.epochs,
        cut=spec.config.limit is not None or spec.config.sample_id is not None,
        started=min((one for one in started if one), default=None),
        completed=max((one for one in completed if one), default=None) if ended else None,
        done=_sum(one.results.completed_samples if one.results else None for one in parts),
        total=_sum(
            one.results.total_samples if one.results else one.eval.dataset.samples for one in parts
        ),
    )


def _target(model: str, given: Mapping[str, Any]) -> str | None:
    """Name of the target that a run asked: its file, or MODULE:FUNCTION."""
    return _text(given.get("target")) if model.startswith(f"{TARGETS}/") else None


def _made_with(said: object) -> dict[str, str]:
    given = said if isinstance(said, Mapping) else {}
    return {name: value for name in _MADE_WITH if (value := _text(given.get(name))) is not None}


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if known else None


def _asked(given: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, str | int]:
    asked: dict[str, str | int] = {}
    for name in (*_FILES, *_NAMES):
        value = given.get(name)
        # Inspect's command line turns a,b into a list.
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else _text(value)
        if text is not None:
            asked[name] = last_part(text) if name in _FILES else without_paths(text)
    numbers = {name: _whole(given.get(name)) for name in _NUMBERS}
    # The task respond has no argument of this name.
    protocol = {"protocol": str(said["protocol"])} if "protocol" in said else {}
    return asked | {name: value for name, value in numbers.items() if value is not None} | protocol


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def command_to_resume(runs: Sequence[LoggedRun]) -> str:
    """Command that resumes runs (one at least), those in the folder of the first.

    It is the command that started them, where the folder holds it; else it is made from the logs.
    """
    log_dir = _folder(runs[0])
    records = [_record(one) for one in runs if _folder(one) == log_dir]
    return recorded_line([log for run in runs for log in run.logs], log_dir) or " && ".join(
        resume_line(one, log_dir) for one in run_commands(records)
    )


def recorded_command(path: Path) -> str | None:
    """Command that goes on in a log folder, or in that of a log; None where none is recorded."""
    folder = path if path.is_dir() else _folder_of(path)
    return recorded_line(LogFolder.at(folder).headers(), folder)


def _folder(run: LoggedRun) -> Path:
    return _folder_of(run.first.path)


def _folder_of(path: Path) -> Path:
    """Log folder that a log's run was given; a cluster's shards have folders of their own in it."""
    return path.parents[2] if path.parent.parent.name == SHARDS else path.parent


def _record(run: LoggedRun) -> RunRecord:
    """Record of a run for a command: with the whole paths of its files."""
    record = run_record(run)
    spec = run.first.log.eval
    files = {name: str(spec.task_args[name]) for name in _FILES if name in record.asked}
    files |= {"target": target} if (target := _target(spec.model, spec.model_args)) else {}
    return replace(record, asked={**record.asked, **files})
