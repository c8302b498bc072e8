"""Make contexts for queries: written, reviewed, repaired, and kept aside where that fails."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from casewise.cases import Case, Side, to_fields
from casewise.contexts import CRITIC_VERSION, MAKE_VERSION, ContextFault, Fault, make_context
from casewise.errors import CasewiseError, InputError, ModelError, UsageError
from casewise.evaluation.generate._context_attempts import (
    ContextWork,
    by_query,
    open_works,
    sum_tokens,
)
from casewise.evaluation.generate._files import (
    Files,
    ReplyJournal,
    begin,
    files_beside,
    opened_journal,
    write_files,
)
from casewise.evaluation.generate._generation_plan import GeneratePlan
from casewise.evaluation.generate._rounds import Asker, Rounds, Watcher, open_askers
from casewise.evaluation.models import check_all
from casewise.evaluation.models._faults import counted, first_within
from casewise.evaluation.models._reachability import UNREACHABLE_S, reached_anew
from casewise.evaluation.models._seam import in_own_loop
from casewise.evaluation.runs.ending import Ending, reason_of
from casewise.evaluation.runs.folder import command_line, is_command
from casewise.evaluation.runs.work import Observers


@dataclass(frozen=True, slots=True)
class RejectedSide:
    """A side of a query that is kept aside, and why."""

    query: int
    """Place of the query in the list, from 1."""
    query_id: str
    side: Side
    faults: tuple[Fault, ...]
    case: Case | None
    """Case that was made; None where no context was."""

    @property
    def is_own(self) -> bool:
        """Tell whether it is kept aside for its own faults, and not for its twin's."""
        return any(fault.kind is not ContextFault.TWIN for fault in self.faults)


@dataclass(frozen=True, slots=True)
class Generated:
    """Cases that were made."""

    cases: tuple[Case, ...]
    aside: tuple[RejectedSide, ...]
    files: Files
    asked: int
    """Requests sent now."""
    before: int
    """Answers that were there at the start."""
    input_tokens: int
    """Tokens of all requests, those from before among them."""
    output_tokens: int
    cost_usd: float | None
    failures: tuple[str, ...]
    """Reason of each failed request; the next start sends them again."""
    failed: Path
    """File of providers' words on failed requests."""


def check_out(plan: GeneratePlan) -> Files:
    """Files of a plan.

    Raises:
        UsageError: They would overwrite what these settings did not make.
    """
    return files_beside(plan.request.out, plan.settings)


def check_generation(plan: GeneratePlan) -> tuple[str, ...]:
    """Check, without a request, what can be known of a plan's models; see ``check_all``."""
    request = plan.request
    return check_all((name, request.model_base_url, request.model_args) for name in plan.models)


def generate_contexts(
    plan: GeneratePlan,
    watch: Watcher,
    observers: Observers | None = None,
    unreachable_s: float = UNREACHABLE_S,
) -> Generated:
    """Make what is planned, and write it.

    The files are a function of the plan and of the models' answers, which are kept as they come:
    stopped or killed at any time, a second start asks only what is missing and writes the same.

    Args:
        plan: What to make.
        watch: Told how far each round is.
        observers: Told of faults and outages.
        unreachable_s: Seconds of nothing but failed connections, from a model's first request on,
            after which it is given up.

    Raises:
        UsageError: The files are another's.
        ModelError: A model can't be opened, or gives nothing but errors.
        KeyboardInterrupt: Stopped; the answers so far are kept.
    """
    files = check_out(plan)
    observers = observers or Observers()
    # Before there is a folder: it would hold these settings against those that are mended.
    if lacking := check_generation(plan):
        raise ModelError("\n".join(lacking))
    with (
        opened_journal(files.folder) as journal,
        counted(observers.fault),
        reached_anew(unreachable_s, observers.outage),
        _ending_told(observers, journal),
    ):
        begin(files, plan.settings)
        askers = open_askers(plan, journal)
        works = open_works(plan.queries, plan.matched)
        critic = askers[plan.critic] if plan.critic else None
        rounds = Rounds(plan, askers[plan.request.model], critic, watch)
        in_own_loop(_make(rounds, works, askers.values()))
        failing = [asker for asker in askers.values() if asker.failures]
        if failing and not any(work.current.contexts for work in works):
            raise failing[0].unusable()
        cases, aside = _made(plan, works)
        records = {
            files.cases: map(to_fields, cases),
            files.aside: map(_aside_record, aside),
            files.record: _records(plan, works, aside),
        }
        write_files(files, records)
    asked = sum(asker.asked for asker in askers.values())
    failures = tuple(reason for asker in failing for reason in asker.failures)
    spent = _spent(plan, works)
    return Generated(cases, aside, files, asked, journal.before, *spent, failures, journal.failed)


@contextmanager
def _ending_told(observers: Observers, journal: ReplyJournal) -> Iterator[None]:
    """Tell the end of a start that was stopped; the error of a model is told by itself."""
    try:
        yield
    except (UsageError, InputError, ModelError):
        raise
    except BaseException as error:
        kept = len(journal.known) - journal.before if journal.file.is_ours() else 0
        ending = Ending(
            *reason_of(error, observers.signal()),
            f"{kept:,} answers of this start",
            command_line() if is_command() else None,
        )
        if observers.ending is not None:
            observers.ending(ending)
        raise


async def _make(rounds: Rounds, works: Sequence[ContextWork], askers: Iterable[Asker]) -> None:
    try:
        await rounds.make(works)
    except ExceptionGroup as errors:
        raise first_within(errors.subgroup(CasewiseError) or errors) from None
    finally:
        for asker in askers:
            await asker.model.api.aclose()


def _made(
    plan: GeneratePlan, works: Sequence[ContextWork]
) -> tuple[tuple[Case, ...], tuple[RejectedSide, ...]]:
    """The cases, and what is kept aside."""
    cases: list[Case] = []
    aside: list[RejectedSide] = []
    for together in by_query(works):
        made = [
            RejectedSide(
                work.place + 1,
                work.query.query_id,
                side,
                tuple(fault for fault in work.current.faults if fault.side in (side, None)),
                _case(plan, work, side),
            )
            for work in together
            for side in work.sides
        ]
        whole = [one.case for one in made if one.case and not one.faults]
        if len(whole) == len(made):
            cases += whole
        else:
            aside += [one if one.faults else replace(one, faults=_WAITS) for one in made]
    return tuple(cases), tuple(aside)


_WAITS = (Fault(ContextFault.TWIN, "nothing is wrong with it, but its twin is kept aside"),)


def _case(plan: GeneratePlan, work: ContextWork, side: Side) -> Case | None:
    contexts = work.current.contexts
    if side not in contexts:
        return None
    query = work.query
    tags = [f"made by {plan.request.model}", f"prompt {MAKE_VERSION}"]
    tags += [f"matched {','.join(plan.matched)}"] if plan.matched else []
    return Case(
        query_id=query.query_id,
        query=query.query,
        context=make_context(contexts[side]),
        intended=side,
        category=query.category,
        source=query.source,
        licence=query.licence,
        language=query.language,
        tags=tuple(tags),
    )


def _aside_record(rejected: RejectedSide) -> dict[str, Any]:
    return {
        "query": rejected.query,
        "query_id": rejected.query_id,
        "side": rejected.side,
        "faults": [fault.record for fault in rejected.faults],
        "case": to_fields(rejected.case) if rejected.case else None,
    }


def _records(
    plan: GeneratePlan, works: Sequence[ContextWork], rejected: Sequence[RejectedSide]
) -> Iterator[dict[str, Any]]:
    aside = {side.query for side in rejected}
    for together in by_query(works):
        tokens_in, tokens_out, cost = _spent(plan, together)
        number = together[0].place + 1
        yield {
            "query": number,
            "query_id": together[0].query.query_id,
            "made": number not in aside,
            "model": plan.request.model,
            "prompt_version": MAKE_VERSION,
            "critic": plan.critic,
            "critic_version": CRITIC_VERSION if plan.critic else None,
            "seed": plan.request.seed,
            "matched": list(plan.matched),
            "pieces": [_piece(plan, work) for work in together],
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "cost_usd": cost,
        }


def _piece(plan: GeneratePlan, work: ContextWork) -> dict[str, Any]:
    return {
        "piece": work.piece,
        "chosen": work.current.number,
        "repairs": work.repairs,
        "set_repairs": work.set_repairs,
        "attempts": [
            {
                "number": attempt.number,
                "repair": attempt.number > plan.request.candidates,
                "faults": [fault.record for fault in attempt.faults],
                "reviews": {side: fault is None for side, fault in attempt.reviews.items()},
            }
            for attempt in work.attempts
        ],
    }


def _spent(plan: GeneratePlan, works: Sequence[ContextWork]) -> tuple[int, int, float | None]:
    """Tokens in, tokens out, and dollars, of everything that was answered."""
    attempts = [attempt for work in works for attempt in work.attempts]
    written = sum_tokens(attempt.tokens for attempt in attempts)
    reviewed = sum_tokens(attempt.review_tokens for attempt in attempts)
    return *sum_tokens((written, reviewed)), plan.cost(written, reviewed)
