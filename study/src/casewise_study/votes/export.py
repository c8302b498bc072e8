"""Export a study: the published folder, and the cases with their votes."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from operator import itemgetter
from pathlib import Path
from typing import Any

from casewise.cases import (
    Case,
    Vote,
    sequential_tags,
    without_sequential_tags,
    write_cases,
)
from casewise.errors import InputError
from casewise.sheets import to_json
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import (
    CHECK_COLUMNS,
    CHECKS,
    PEOPLE,
    PERSON_FIGURES,
    VOTE_COLUMNS,
    VOTES,
    names_of,
    person_names,
)
from casewise_study.votes.data_card import ExportChoices, data_card
from casewise_study.votes.quality import PersonQuality
from casewise_study.votes.result_files import (
    EXPORT,
    check_free,
    new_folder,
    row_of,
    to_csv,
    to_utc,
)
from casewise_study.votes.results import Results, as_results_record
from casewise_study.votes.screening import PersonScreen

_ARMS = (Arm.SAFE, Arm.UNSAFE, Arm.NONE)


def voted_cases(
    study: Study, collected: Collected, without: Iterable[str] = ()
) -> tuple[Case, ...]:
    """The cases of the study with its counted votes, those of one query together.

    Votes and published shares that the cases had before are left out: they are other people's, and
    a published share would be taken before the votes wherever labels are made. Under the arm
    ``none`` a case has no context. Under sequential collection each has the tags that say so, and
    name the rule.

    Args:
        study: Whose cases they are; read from the file that it names.
        collected: The votes.
        without: People whose votes are left out.

    Raises:
        InputError: The cases are gone or changed, or a vote names another query than the case's.
    """
    left_out = frozenset(without)
    cases = study_cases(study)
    votes = defaultdict[str, list[Vote]](list)
    for vote in collected.votes:
        case = cases[study.places[vote.case_id]]
        if vote.query_id != case.query_id:
            raise InputError(
                "a vote names another query than its case's",
                record=f"a vote on the case {case.id}",
                field="query_id",
                found=vote.query_id,
                expected=case.query_id,
            )
        if vote.counted and vote.rater not in left_out:
            time = None if vote.time is None else to_utc(vote.time).isoformat()
            votes[case.id].append(Vote(verdict=vote.verdict, rater=vote.rater, time=time))
    rule = study.collection
    mark = sequential_tags(rule.posterior, rule.least) if rule.is_sequential else ()
    by_query = defaultdict[str, list[tuple[int, Case]]](list)
    for cell, case in zip(study.design.cells, cases, strict=True):
        made = {
            "votes": tuple(votes[case.id]) or None,
            "published_safe_rate": None,
            "tags": (*without_sequential_tags(case.tags), *mark),
        }
        by_query[case.query_id].append((_ARMS.index(cell.arm), case.model_copy(update=made)))
    return tuple(case for arms in by_query.values() for _, case in sorted(arms, key=itemgetter(0)))


def export_study(results: Results, out: Path, choices: ExportChoices) -> str:
    """Write the folder; it appears whole or not at all.

    ``people.csv``, ``votes.csv`` and ``checks.csv`` are plain CSV with figures added, so that
    ``read_collected`` reads the folder back.

    Returns:
        What ``summary.json`` holds.

    Raises:
        InputError: The study's cases are gone or changed.
        UsageError: Something stands at ``out`` that may not be replaced.
    """
    check_free(out, EXPORT, force=choices.force)
    cases = voted_cases(results.study, results.collected, results.left_out)
    votes = vote_rows(results)
    names = names_of(VOTE_COLUMNS)
    place = names.index("arm")
    columns = [*names[:place], "panel", "block", *names[place:-1], "long", "flags", names[-1]]
    *first, last = person_names(results.collected)
    people_columns = [*first, *PERSON_FIGURES, last]
    if not choices.with_reasons:
        columns.remove("reason")
        people_columns.remove("remark")
    if not choices.with_demographics:
        people_columns.remove("demographics")
    summary = to_json(as_results_record(results))
    texts = {
        VOTES: to_csv(columns, votes),
        PEOPLE: to_csv(people_columns, person_rows(results)),
        CHECKS: to_csv(names_of(CHECK_COLUMNS), map(row_of, results.collected.checks)),
        "data-card.md": data_card(results, choices),
        "summary.json": summary,
    }
    with new_folder(out, EXPORT, force=choices.force) as new:
        for name, text in texts.items():
            (new / name).write_bytes(text.encode())
        _write_parquet(new / "votes.parquet", columns, votes)
        write_cases(cases, new / "cases.jsonl")
    return summary


def vote_rows(results: Results) -> list[dict[str, Any]]:
    """Rows of ``votes.csv``, with what is known of the person."""
    flags = {person.rater: _flags(person) for person in results.screened.people}
    people = {person.rater: person for person in results.collected.people}
    most = results.study.timing.most_seconds
    rows = []
    for vote in results.collected.votes:
        person = people[vote.rater]
        row = row_of(vote) | {"panel": person.panel, "block": person.block}
        row["long"] = None if vote.seconds is None else vote.seconds >= most
        row["flags"] = flags.get(vote.rater, "")
        rows.append(row)
    return rows


def person_rows(results: Results) -> list[dict[str, Any]]:
    """Rows of ``people.csv``; people without counted votes have no figures."""
    figures = {person.rater: _figures(person) for person in results.people}
    return [row_of(person) | figures.get(person.rater, {}) for person in results.collected.people]


def _figures(person: PersonQuality) -> dict[str, Any]:
    figures = row_of(person) | {"flags": _flags(person)}
    figures["why_flagged"] = "; ".join(flag.reason for flag in person.flags)
    return {name: figures[name] for name in PERSON_FIGURES}


def _flags(person: PersonScreen) -> str:
    return ";".join(flag.rule.value for flag in person.flags)


def _write_parquet(path: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    # Imported late: polars takes longer to load than most commands take to run.
    import polars

    kinds: dict[str, Any] = {
        **dict.fromkeys(("position", "block", "confidence"), polars.Int64),
        **dict.fromkeys(("long", "counted"), polars.Boolean),
        "time": polars.Datetime("us", "UTC"),
        "seconds": polars.Float64,
    }
    data = {name: [_value(row[name]) for row in rows] for name in columns}
    schema = {name: kinds.get(name, polars.String) for name in columns}
    polars.DataFrame(data, schema=schema).write_parquet(path)


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_utc(value)
    return value.value if isinstance(value, Enum) else value
