"""Everything that an evaluation card says besides the scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.analysis._score import Scoring
from casewise.analysis._sources import Judgements, find_logs
from casewise.analysis.card._clean import plain_notes
from casewise.analysis.card._commands import hidden_arguments, run_commands
from casewise.analysis.card._left_out import LeftOut, left_out
from casewise.analysis.card._limits import Limit, find_limits
from casewise.analysis.card._record import RunRecord
from casewise.analysis.card._runs import (
    DataFacts,
    RunFacts,
    Voters,
    data_facts,
    run_facts,
    voters,
)
from casewise.analysis.overview import Overview
from casewise.errors import InputError


@dataclass(frozen=True, slots=True)
class EvaluationFacts:
    """What was run, on what, how to run it again, and what it can't say."""

    sources: tuple[str, ...]
    """The last parts of the paths that were read."""
    runs: tuple[RunFacts, ...]
    """In the order of the scores."""
    data: tuple[DataFacts, ...]
    voters: Voters
    limits: tuple[Limit, ...]
    commands: tuple[tuple[str, ...], ...]
    """Arguments of ``casewise`` that make the runs again; empty where no log is at hand."""
    hidden: tuple[str, ...]
    """Arguments of models that the commands lack, since their values may be private."""
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    """On what was read and what was left out, without a path of this machine."""
    scoring: Scoring
    seed: int
    """Of simulated ceilings."""


def evaluation_facts(
    paths: Sequence[Path],
    judgements: Judgements,
    overview: Overview,
    scoring: Scoring,
    *,
    seed: int = 0,
) -> EvaluationFacts:
    """Gather what a card says besides the scores.

    Args:
        paths: Where the judgements were read from; logs are looked at again for their headers.
        judgements: What was read.
        overview: What was made from it.
        scoring: As the overview was made.
        seed: As the overview was made.
    """
    records = _records(paths)
    runs = run_facts(judgements.table, {record.run_id: record for record in records})
    used = [record for run in runs for record in run.records]
    data = data_facts(judgements.table, used)
    return EvaluationFacts(
        sources=tuple(path.resolve().name for path in paths),
        runs=tuple(runs),
        data=tuple(data),
        voters=voters(judgements.table),
        limits=find_limits(runs, data, overview),
        commands=tuple(run_commands(used)),
        hidden=hidden_arguments(used),
        left_out=left_out(runs, overview.scores),
        notes=plain_notes(overview.notes, paths),
        scoring=scoring,
        seed=seed,
    )


def _records(paths: Sequence[Path]) -> list[RunRecord]:
    """What the logs say of their runs; none where there is no log."""
    try:
        headers, _ = find_logs(paths)
    except InputError:  # the judgements came from tables or published outputs alone
        return []
    # Inspect takes seconds to import; tables and published outputs are described without it.
    from casewise.analysis.logs import run_record

    return [run_record(header) for header in headers]
