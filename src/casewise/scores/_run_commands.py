"""The commands that would make runs again, or go on with one that was stopped."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from casewise.cases import CASEBENCH, STARTER
from casewise.choices import RULES
from casewise.files import address_of
from casewise.protocols import Protocol
from casewise.scores._run_record import RunRecord

_LISTS = ("variation", "swap", "ablate", "delivery", "protocol", "model")
"""Options that take several values, in the order in which requests are joined by them."""


@dataclass(frozen=True, slots=True)
class _Request:
    """What one ``casewise run`` is asked; every product of its lists is run."""

    same: tuple[str, ...]
    """The options that are no lists, the cases first."""
    seed: str
    """Of the variations; empty without one."""
    lists: tuple[tuple[str, ...], ...]
    """Values of each of ``_LISTS``; none where the option is not given."""

    def values(self, name: str) -> tuple[str, ...]:
        """The values of one option."""
        return self.lists[_LISTS.index(name)]

    def having(self, name: str, values: tuple[str, ...]) -> "_Request":
        """The same request with other values of one option."""
        place = _LISTS.index(name)
        return replace(self, lists=(*self.lists[:place], values, *self.lists[place + 1 :]))

    @property
    def changed(self) -> bool:
        """Whether the plain runs of the same kind come with it."""
        return bool(self.values("variation") or self.values("swap"))


def run_commands(records: Iterable[RunRecord]) -> list[tuple[str, ...]]:
    """Arguments of ``casewise`` that make runs again, as few commands as hold them all.

    Runs are joined where the command line makes the product of their options. Variations and
    swaps bring the plain run with them, whether it stood there or not.
    """
    requests = list(dict.fromkeys(_request(record) for record in records))
    changed = _joined(one for one in requests if one.changed)
    plain = [one for one in requests if not one.changed]
    left = [one for one in plain if not any(_brings(other, one) for other in changed)]
    return [_arguments(one) for one in (*_joined(left), *changed)]


def _request(record: RunRecord) -> _Request:
    asked = record.asked
    given = {name: str(asked[name]) for name in _LISTS if name in asked}
    given |= {} if "target" in asked else {"model": record.model}
    acts = given.get("protocol") == Protocol.RESPOND
    options = {
        "cases": None if "deployment" in asked else _cases(record),
        "deployment": asked.get("deployment"),
        "target": asked.get("target"),
        "grader": _grader(record) if acts else None,
        "prompt": asked.get("prompt"),
        "verdict-words": asked.get("verdict_words"),
        "sampling": asked.get("sampling"),
        "samples": asked.get("samples"),
        "limit": asked.get("limit"),
        "max-tokens": asked.get("max_tokens"),
    }
    same = [text for name, value in options.items() for text in _option(f"--{name}", value)]
    same += [text for pair in record.model_args for text in ("-M", pair)]
    same += [text for pair in record.generate for text in ("--generate", pair)]
    return _Request(
        same=tuple(same),
        seed=str(asked.get("seed", 0)) if "variation" in given else "",
        lists=tuple((given[name],) if name in given else () for name in _LISTS),
    )


def _cases(record: RunRecord) -> str:
    """What the cases were asked for by; a log without texts says only what data set it was."""
    if "cases" in record.asked:
        return str(record.asked["cases"])
    return str(record.data) if record.data in (STARTER, CASEBENCH) else "CASES"


def _grader(record: RunRecord) -> str | None:
    return None if record.grader in (None, RULES) else record.grader


def _option(name: str, value: object) -> tuple[str, ...]:
    return () if value is None else (name, str(value))


def _joined(requests: Iterable[_Request]) -> list[_Request]:
    """Requests joined that differ in one list only, list by list."""
    found = list(requests)
    for name in _LISTS:
        groups: dict[tuple[_Request, bool], list[str]] = {}
        for one in found:
            values = one.values(name)
            # To give an option where there was none would change the run.
            groups.setdefault((one.having(name, ()), bool(values)), []).extend(values)
        found = [
            one.having(name, tuple(dict.fromkeys(found_))) for (one, _), found_ in groups.items()
        ]
    return found


def _brings(changed: _Request, plain: _Request) -> bool:
    """Whether a request with variations or swaps makes a plain run too."""
    same = (changed.same, changed.values("ablate")) == (plain.same, plain.values("ablate"))
    return same and all(
        set(plain.values(name)) <= set(changed.values(name))
        for name in ("model", "protocol", "delivery")
    )


def _arguments(request: _Request) -> tuple[str, ...]:
    parts = [text for model in request.values("model") for text in ("-m", model)]
    parts += request.same[:2]
    for name in ("protocol", "delivery"):
        parts += _option(f"--{name}", ",".join(request.values(name)) or None)
    # One ablation may remove several parts, joined by commas; the others are one name each.
    parts += [text for names in request.values("ablate") for text in ("--ablate", names)]
    for option, name in (("--vary", "variation"), ("--swap", "swap")):
        parts += _option(option, ",".join(request.values(name)) or None)
    return ("run", *parts, *_option("--seed", request.seed or None), *request.same[2:])


def hidden_arguments(records: Iterable[RunRecord]) -> tuple[str, ...]:
    """Names of arguments that a person must add to the commands, sorted."""
    return tuple(sorted({name for record in records for name in record.hidden_args}))


def resume_line(arguments: Sequence[str], log_dir: Path | None) -> str:
    """The command line of ``casewise`` that goes on in a folder.

    Args:
        arguments: Those that the run was started with, without the program's name.
        log_dir: The folder of its logs, which may not have been named; None where it has none.
    """
    command = ["casewise", *without_option("--log-dir", arguments)]
    return shlex.join([*command, *([] if log_dir is None else ["--log-dir", address_of(log_dir)])])


def without_option(option: str, arguments: Sequence[str]) -> list[str]:
    """Arguments without an option and its value."""
    kept = list(arguments)
    while option in kept:
        at = kept.index(option)
        del kept[at : at + 2]
    return [one for one in kept if not one.startswith(f"{option}=")]
