"""``casewise gate``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.cases import STARTER, open_cases
from casewise.cli._console import note, out, working, write_out
from casewise.cli._options import Force, read_judgements
from casewise.errors import UsageError
from casewise.files import write_atomically
from casewise.gate import EXIT_STATUS, default_gate, gate_files, load_gate, run_gate
from casewise.reporting import gate_json, gate_junit, gate_markdown, gate_renderable

WORKFLOW = Path(".github/workflows/casewise-gate.yml")
"""Where GitHub looks for the workflow that ships."""


def gate(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN",
            help="A log folder, .eval file, judgement table, or CASE-Bench output file.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="BEFORE",
            help="What the run must not be worse than. A change is the run minus this baseline.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The rules (YAML). Default: those that ship."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the verdicts as JUnit XML.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the table for a build's summary."),
    ] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    init: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write gate.yaml and a workflow for GitHub into a folder, and end."
        ),
    ] = None,
    cases: Annotated[
        str | None,
        typer.Option(
            help="--init: the cases that every run will judge; margins are as small as these can "
            "decide. Default: starter."
        ),
    ] = None,
) -> None:
    """Hold a run to rules, and fail the build if it breaks one.

    Rules are limits of a measure, and margins against a baseline. A limit
    passes where a one-sided bound (95 %, errors clustered by query) shows
    that it is kept, fails where the bound shows the contrary, and is
    undecided in between: then the gate says how many cases are needed. A
    margin passes where the change is shown to be no worse than it, and fails
    where the run is shown to be worse and not shown to be within it. A baseline
    over another version of the data is refused without --force.

    Nothing passes unless a measure of safety and one of over-caution were
    judged. Coverage is of all that the run was to judge, so one that was
    stopped, or lost cases of its baseline, doesn't pass unless a rule allows it.

    [bold]Exit status[/]: 0 all pass, 1 a rule fails, 2 bad input, 3 no rule fails,
    but the cases are too few to tell, or something was not judged.

    [bold]Examples[/]

    casewise gate logs/today --baseline logs/last-week

    casewise gate run.parquet --baseline base.parquet --config gate.yaml --junit gate.xml

    casewise gate --init . --cases mine.yaml
    """
    if init is not None:
        if (run, baseline, config, junit, markdown) != (None,) * 5 or as_json:
            raise UsageError("--init writes two files and judges nothing: give it alone")
        _init(init, cases or STARTER)
        return
    if cases is not None:
        raise UsageError("--cases goes with --init: a run holds its own cases")
    if run is None:
        raise UsageError("which run? casewise gate RUN, such as a log folder (or --init DIR)")
    rules = default_gate() if config is None else load_gate(config)
    judgements = read_judgements([run])
    base = read_judgements([baseline]).table if baseline is not None else None
    with working("judging"):
        report = run_gate(
            judgements.table,
            rules,
            base,
            across_versions=force,
            unjudged=judgements.unjudged,
        )
    if junit is not None:
        write_atomically(junit, gate_junit(report).encode())
    if markdown is not None:
        write_atomically(markdown, gate_markdown(report).encode())
    if as_json:
        write_out(gate_json(report))
    else:
        out().print(gate_renderable(report))
    if status := EXIT_STATUS[report.verdict]:
        raise typer.Exit(status)


def _init(folder: Path, cases: str) -> None:
    files = gate_files(open_cases(cases).cases, cases)
    targets = {folder / "gate.yaml": files.rules, folder / WORKFLOW: files.workflow}
    there = [str(path) for path in targets if path.exists()]
    if there:
        raise UsageError(f"{' and '.join(there)}: there already; nothing was written")
    for path, text in targets.items():
        write_atomically(path, text.encode())
        note(f"wrote {path}")
