"""``casewise trend``."""

from __future__ import annotations

from casewise.cli._console import Format, FormatOption, print_as, working
from casewise.cli._main import judgement_files, reporting, results
from casewise.cli._options import Labels, Paths, Truth, grouped, read_judgements
from casewise.errors import InputError


@grouped
def trend(
    paths: Paths,
    labels: Labels = None,
    *,
    truth: Truth,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show what changed since the first run, and each run's figures over time.

    Runs are dated by their logs. First the verdict on the latest run, compared with the first
    run like it over the same data; then the figures of each run. casewise report --trend draws
    them, and lists the newly wrong cases.

    [bold]Examples[/]

    casewise trend nightly/

    casewise trend nightly/ --format json
    """
    judgements = read_judgements(paths)
    scoring = truth.scoring(labels)
    with working("scoring"):
        checks = truth.checks([judgements.table])
        logs = judgement_files.run_records(paths)
        overview = results.make_overview(
            {"": judgements}, scoring, checks=checks, records=logs, trend=True
        )
        found = results.Trend.of(overview)
    if not found:
        raise InputError(results.NO_TREND)
    print_as(format, reporting.sheet_of(found))
