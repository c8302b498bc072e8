"""``casewise gate``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from casewise.cli._console import Format, note, print_as, working
from casewise.cli._help import OUTPUT
from casewise.cli._main import gates, replies
from casewise.cli._options import (
    Force,
    GraderCheck,
    argument,
    flag,
    grouped,
    option,
    read_judgements,
)
from casewise.errors import CasewiseError, UsageError
from casewise.files import write_atomically

WORKFLOW = Path(".github/workflows/casewise-gate.yml")
"""Path at which GitHub looks for the workflow that ships."""


@dataclass(frozen=True)
class Outputs:
    """Files for a build, beside what is printed."""

    junit: Annotated[
        Path | None, option("Also write the verdicts as JUnit XML.", OUTPUT, "FILE")
    ] = None
    markdown: Annotated[
        Path | None, option("Also write the table for a build's summary.", OUTPUT, "FILE")
    ] = None
    page: Annotated[
        str, option("Address of the page to which cases in --markdown lead.", OUTPUT, "URL")
    ] = ""
    github: Annotated[
        bool,
        flag(
            "--github",
            "In a job of GitHub: print ::error lines, and add to the job's summary.",
            OUTPUT,
        ),
    ] = False

    def write(self, result: gates.Gate) -> None:
        """Write the verdicts."""
        junit = gates.junit(result)
        markdown = result.sheet(self.page).markdown()
        self._write(junit, markdown, gates.annotations(result), result.to_markdown())

    @contextmanager
    def with_refusals(self) -> Iterator[None]:
        """Write the reason where nothing could be judged, and let the error go on."""
        try:
            yield
        except (CasewiseError, OSError) as error:
            junit, markdown, annotations = gates.refusal(str(error))
            self._write(junit, markdown, annotations, markdown)
            raise

    def _write(self, junit: str, markdown: str, annotations: Iterable[str], summary: str) -> None:
        for to, text in ((self.junit, junit), (self.markdown, markdown)):
            if to is not None:
                write_atomically(to, text.encode())
        if not self.github:
            return
        for line in annotations:
            # Beside the result, which may be JSON; GitHub reads both streams.
            print(line, file=sys.stderr)
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{summary}\n")


@grouped
def gate(
    run: Annotated[
        Path | None,
        argument("RUN", "A log folder, .eval file, judgement table, or CASE-Bench output file."),
    ] = None,
    baseline: Annotated[
        Path | None,
        option(
            "What the run must not be worse than. A change is the run minus this baseline.",
            "Rules",
            "BEFORE",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        option(
            "The rules (YAML); small: rules that few cases can decide, such as the starter "
            "cases. Default: those that ship.",
            "Rules",
            "FILE",
        ),
    ] = None,
    grader_check: GraderCheck = (),
    *,
    outputs: Outputs,
    force: Force = False,
    as_json: Annotated[bool, flag("--json", "Print JSON instead of a table.", OUTPUT)] = False,
    init: Annotated[
        Path | None,
        option(
            "Write gate.yaml and a workflow for GitHub into a folder, and end.", "Rules", "FOLDER"
        ),
    ] = None,
) -> None:
    """Hold a run to rules, and fail the build if it breaks one.

    Rules are limits of a measure, and margins against a baseline. A limit
    passes where a one-sided bound (95 %, errors clustered by query) shows
    that it is kept, fails where the bound shows the contrary, and is
    undecided in between: [bold]casewise power[/] says how many cases decide. A
    margin passes where the change is shown to be no worse than it, and fails
    where the run is shown to be worse and not shown to be within it. A baseline
    over another version of the data is refused without --force. Of the rules
    that ship, margins hold with --baseline, and limits without.

    Nothing passes unless a measure of safety and one of over-caution were
    judged. Coverage is of all that the run was to judge, so one that was
    stopped, or lost cases of its baseline, doesn't pass unless a rule allows it.

    [bold]Exit status[/]: 0 all pass, 1 a rule fails, 2 bad input, 3 no rule fails,
    but the cases are too few to tell, or something was not judged. Files are
    written on all four.

    [bold]Examples[/]

    casewise gate logs/today --baseline logs/last-week

    casewise gate run.parquet --baseline base.parquet --config gate.yaml --junit gate.xml

    casewise gate --init . --config small
    """
    if init is not None:
        files = (run, baseline, outputs.junit, outputs.markdown)
        if any((*files, grader_check, outputs.github, as_json)):
            raise UsageError("--init writes two files and judges nothing: give it alone")
        _init(init, config)
        return
    with outputs.with_refusals():
        if run is None:
            raise UsageError("which run? casewise gate RUN, such as a log folder (or --init DIR)")
        rules = gates.gate_rules(config, has_baseline=baseline is not None)
        judgements = read_judgements([run])
        checks = replies.load_checks(grader_check, [judgements.table]) if grader_check else ()
        base = read_judgements([baseline]).table if baseline is not None else None
        with working("judging"):
            result = gates.run_gate(judgements, rules, base, checks=checks, across_versions=force)
    outputs.write(result)
    print_as(Format.JSON if as_json else Format.TABLE, result.sheet())
    if status := gates.EXIT_STATUS[result.verdict]:
        raise typer.Exit(status)


def _init(folder: Path, config: Path | None) -> None:
    name = None if config is None else str(config)
    if name not in gates.SHIPPED:
        raise UsageError("--init writes the rules that ship: give no --config, or --config small")
    targets = {
        folder / "gate.yaml": gates.gate_file(gates.SHIPPED[name]),
        folder / WORKFLOW: gates.gate_file("github-actions.yml"),
    }
    existing = [str(path) for path in targets if path.exists()]
    if existing:
        raise UsageError(f"{' and '.join(existing)}: there already; nothing was written")
    for path, shipped in targets.items():
        write_atomically(path, shipped.read_bytes())
        note(f"wrote {path}")
