"""Export a study: the published folder, and the cases with their votes."""

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

from casewise.cases import SEQUENTIAL_VOTES, Case, Vote, write_cases
from casewise.sheets import to_json
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import CheckRecord, Collected, VoteRecord
from casewise_study.votes.collected_csv import (
    CHECKS,
    PEOPLE,
    PERSON_FIGURES,
    VOTE_FIGURES,
    VOTES,
    names_of,
    person_names,
)
from casewise_study.votes.data_card import data_card
from casewise_study.votes.result_files import EXPORT, check_free, new_folder, row_of, to_csv
from casewise_study.votes.results import Results
from casewise_study.votes.screening import PersonScreen

_ARMS = (Arm.SAFE, Arm.UNSAFE, Arm.NONE)


def voted_cases(
    study: Study, collected: Collected, without: Iterable[str] = ()
) -> tuple[Case, ...]:
    """The cases of the study with its counted votes, those of one query together.

    Votes and published shares that the cases had before are left out: they are other people's, and
    a published share would be taken before the votes wherever labels are made. Under the arm
    ``none`` a case has no context. Under sequential collection each has the tag that says so.

    Args:
        study: Whose cases they are; read from the file that it names.
        collected: The votes.
        without: People whose votes are left out.

    Raises:
        InputError: The cases are gone or changed.
    """
    left_out = frozenset(without)
    cases = study_cases(study)
    votes = defaultdict[str, list[Vote]](list)
    for vote in collected.votes:
        case = cases[study.places[vote.case_id]]
        if vote.counted and vote.rater not in left_out:
            time = None if vote.time is None else vote.time.isoformat()
            votes[case.id].append(Vote(verdict=vote.verdict, rater=vote.rater, time=time))
    mark = (SEQUENTIAL_VOTES,) if study.collection.is_sequential else ()
    by_query = defaultdict[str, list[tuple[int, Case]]](list)
    for cell, case in zip(study.design.cells, cases, strict=True):
        fields = {
            "votes": tuple(votes[case.id]) or None,
            "published_safe_rate": None,
            "tags": (*(tag for tag in case.tags if tag != SEQUENTIAL_VOTES), *mark),
        }
        by_query[case.query_id].append((_ARMS.index(cell.arm), case.model_copy(update=fields)))
    return tuple(case for arms in by_query.values() for _, case in sorted(arms, key=itemgetter(0)))


def export_study(
    results: Results,
    out: Path,
    *,
    with_reasons: bool = False,
    with_demographics: bool = False,
    force: bool = False,
) -> str:
    """Write the folder; it appears whole or not at all.

    ``people.csv``, ``votes.csv`` and ``checks.csv`` are plain CSV with figures added, so that
    ``read_collected`` reads the folder back.

    Args:
        results: Of the study.
        out: The folder.
        with_reasons: Include free text, which may identify whoever wrote it.
        with_demographics: Include answers about oneself; so may a combination of these.
        force: Replace an earlier export.

    Returns:
        What ``summary.json`` holds.

    Raises:
        InputError: The study's cases are gone or changed.
        UsageError: Something stands at ``out`` that may not be replaced.
    """
    check_free(out, EXPORT, force=force)
    collected = results.collected
    cases = voted_cases(results.study, collected, results.left_out)
    left_out = set[str]()
    if not with_reasons:
        left_out |= {"reason", "remark"}
    if not with_demographics:
        left_out.add("demographics")

    def csv(names: list[str], rows: Iterable[dict[str, Any]]) -> str:
        return to_csv([name for name in names if name not in left_out], rows)

    *first, counted = names_of(VoteRecord)
    figures = {person.rater: _figures(person) for person in results.screened.people}
    votes = (
        row_of(vote) | {"flags": figures.get(vote.rater, {}).get("flags")}
        for vote in collected.votes
    )
    people = (row_of(person) | figures.get(person.rater, {}) for person in collected.people)
    summary = to_json(results.record())
    texts = {
        VOTES: csv([*first, *VOTE_FIGURES, counted], votes),
        PEOPLE: csv([*person_names(collected), *PERSON_FIGURES], people),
        CHECKS: to_csv(names_of(CheckRecord), map(row_of, collected.checks)),
        "data-card.md": data_card(
            results, {"with_reasons": with_reasons, "with_demographics": with_demographics}
        ),
        "summary.json": summary,
    }
    with new_folder(out, EXPORT, force=force) as new:
        for name, text in texts.items():
            (new / name).write_bytes(text.encode())
        write_cases(cases, new / "cases.jsonl")
    return summary


def _figures(person: PersonScreen) -> dict[str, Any]:
    figures = row_of(person) | {"flags": ";".join(flag.rule for flag in person.flags)}
    figures["why_flagged"] = "; ".join(flag.reason for flag in person.flags)
    return {name: figures[name] for name in PERSON_FIGURES}
