"""How the runs of a card are made again."""

import shlex
from collections.abc import Sequence
from typing import Any

from casewise.analysis import EvaluationFacts, LimitKind, RunRecord, Scoring
from casewise.cases import CARDS, CASEBENCH, STARTER
from casewise.sheets import code_block

LOG_DIR = "repeat"
"""Where the commands write their logs."""

_SHIPPED = {"cases": (STARTER, CASEBENCH), "prompt": ("ours", "upstream"), "deployment": CARDS}
"""Names of each kind that are no files."""


def repeating(facts: EvaluationFacts) -> dict[str, Any]:
    """The commands, and what a person must know to use them."""
    records = [record for run in facts.runs for record in run.records]
    options = _scoring_options(facts)
    lines = [shell_line([*arguments, "--log-dir", LOG_DIR]) for arguments in facts.commands]
    lines.append(shell_line(["report", LOG_DIR, *options, "--out", "card.md"]))
    again = shell_line(["report", *facts.sources, *options, "--out", "card.md"])
    return {
        "commands": code_block(" &&\n".join(lines), "sh") if facts.commands else "",
        "again": code_block(again, "sh"),
        "files": sorted({name for record in records for name in _files(record)}),
        "redacted": any(record.redacted for record in records),
        "hidden": facts.hidden,
        "hidden_settings": sorted({name for one in records for name in one.hidden_generate}),
        "addressed": any(record.own_address for record in records),
        "epochs": max((run.epochs for run in facts.runs), default=1),
        "unrecorded": any(one.kind is LimitKind.NOT_RECORDED for one in facts.limits),
    }


def shell_line(arguments: Sequence[str]) -> str:
    """A command for a POSIX shell."""
    return shlex.join(("casewise", *arguments))


def _scoring_options(facts: EvaluationFacts) -> list[str]:
    """Options of ``casewise report`` that are not at their defaults."""
    given, usual = facts.scoring, Scoring()
    options = []
    for name in ("labels", "unparsed", "ties"):
        value = getattr(given, name)
        if value != getattr(usual, name):
            options += [f"--{name}", str(value)]
    return options + (["--seed", str(facts.seed)] if facts.seed else [])


def _files(record: RunRecord) -> list[str]:
    """Files that the command of a run names."""
    asked = {name: str(record.asked[name]) for name in _SHIPPED if name in record.asked}
    if "deployment" in asked:
        asked.pop("cases", None)
    return [value for name, value in asked.items() if value not in _SHIPPED[name]]
