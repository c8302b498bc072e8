"""Contexts made by a model: written, checked by rules, repaired once, and reviewed by a critic.

A pair is written to its file as soon as it is finished; another start asks for the rest. Pairs
that stay at fault are kept aside, with the reasons.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, ModelOutput

from casewise.cases import Case, load_cases, to_fields
from casewise.contexts import (
    MAKE_VERSION,
    PARAMETERS,
    Fault,
    Pair,
    Shingles,
    check_pair,
    leaf_parameters,
    make_context,
    read_pair,
    read_review,
    render_making,
    render_repair,
    render_review,
    review_nonce,
    shingles,
)
from casewise.errors import InputError, ModelError, UsageError
from casewise.files import hold, journal_lines, whole_characters, write_atomically
from casewise.logs import provider_refused
from casewise.models.faults import FailedRequestError, FaultObserver, first_within
from casewise.models.open import ATTEMPT_TIMEOUT_S, check_all, in_own_loop, known_prices, open_model
from casewise.models.patience import PatientModel, Prices, Watch
from casewise.options import MakingOptions
from casewise.protocols import ResponseClass, read_reply
from casewise.runs.cost import CostEstimate, RequestCount, estimate, prompt_tokens
from casewise.runs.folder import command_line

PAIR_TOKENS, REVIEW_TOKENS = 800, 80
"""Usual tokens of an answer: two contexts of eight texts of about 25 words; a review."""

GIVE_UP = 5
"""Failed requests, without an answer among them, after which no more is asked."""

_OF_CRITIC = ("critic", "unchecked")
"""Rules of the critic, who sees no pair that breaks another."""

_FINAL = ("refused", "unchecked")
"""Rules that no rewriting satisfies."""


@dataclass(frozen=True, slots=True)
class MakingPlan:
    """Queries, the model that writes their contexts, and what an earlier start has left."""

    out: Path
    """File of the cases that are made, as JSON Lines."""
    options: MakingOptions
    server: Mapping[str, Any]
    """Address, client arguments and prices of the models, as a run's options name them."""
    queries: tuple[Case, ...]
    """Cases without a context, one a query."""

    @property
    def critic(self) -> str | None:
        """Model of the critic; None where rules alone decide."""
        return None if self.options.critic == "none" else self.options.critic or self.options.model

    @property
    def tags(self) -> list[str]:
        """Tags of each case: who wrote and reviewed it, by which prompts."""
        who = f"made by {self.options.model}", f"reviewed by {self.critic or 'none'}"
        return [*who, f"prompts {MAKE_VERSION}"]

    @property
    def models(self) -> tuple[str, ...]:
        """The writer, and the critic where it is another."""
        return tuple(dict.fromkeys(filter(None, (self.options.model, self.critic))))

    @property
    def faulty_path(self) -> Path:
        """File of the pairs that stay at fault."""
        return self.out.with_suffix(".aside.jsonl")

    def read_pairs(self) -> dict[str, list[bytes]]:
        """Lines of the pairs that earlier starts have made, by query; of half a pair, nothing.

        Raises:
            UsageError: A line was not made with these settings.
        """
        made = defaultdict[str, list[bytes]](list)
        for place, line in enumerate(journal_lines(self.out), start=1):
            try:
                record = json.loads(line)
                is_ours, query = record["tags"] == self.tags, record["query_id"]
            except (ValueError, TypeError, KeyError):
                is_ours, query = False, ""
            if not is_ours:
                raise UsageError(
                    f"{self.out}, line {place}: not made by this command with these settings "
                    f"({', '.join(self.tags)}): give another --out, or move the file away"
                )
            made[query].append(line)
        return {query: lines for query, lines in made.items() if len(lines) == 2}


def plan_making(
    queries: Path, out: Path, options: MakingOptions, server: Mapping[str, Any]
) -> MakingPlan:
    """Check options, queries and what an earlier start has left.

    Raises:
        UsageError: An option is wrong, or the file holds what these settings did not make.
        InputError: The queries can't be read.
    """
    if not options.model:
        raise UsageError("give --model PROVIDER/NAME, the model that writes")
    if out.suffix.lower() != ".jsonl":
        raise UsageError(
            f"--out {out}: end the name in .jsonl (casewise cases convert turns it into YAML or "
            "CSV)"
        )
    plan = MakingPlan(out, options, server, tuple(_queries(queries, options)))
    plan.read_pairs()
    return plan


def check_making(plan: MakingPlan) -> tuple[str, ...]:
    """What the models of a plan lack, such as a key, without a request; see ``check_all``."""
    server = plan.server.get("model_base_url"), plan.server.get("model_arg", {})
    return check_all((name, *server) for name in plan.models)


def _queries(path: Path, options: MakingOptions) -> Iterator[Case]:
    query_ids = set[str]()
    for number, case in enumerate(load_cases(path), start=1):
        problem = "has the query of another" if case.query_id in query_ids else ""
        if case.context is not None or case.history:
            problem = "has a context or earlier turns"
        if problem:
            expected = "cases without a context, one a query"
            raise InputError(f"case {number} {problem}", path, expected=expected)
        query_ids.add(case.query_id)
        names = ("language", "source", "licence")
        fields = {name: getattr(case, name) or getattr(options, name) for name in names}
        yield case.model_copy(update=fields)


def estimate_making(plan: MakingPlan) -> tuple[CostEstimate, ...]:
    """Most that writing what is left costs: every pair repaired, and each draft reviewed."""
    made = plan.read_pairs()
    open_queries = [query for query in plan.queries if query.query_id not in made]
    input_tokens = sum(prompt_tokens(render_making(q.query, q.language)) for q in open_queries)
    usual = make_context(dict.fromkeys(PARAMETERS, "x" * 6 * 25))
    reviewed = sum(
        4 * prompt_tokens(render_review(q.query, "safe", usual, None)) for q in open_queries
    )
    written = 2 * input_tokens + PAIR_TOKENS * len(open_queries)
    prices = Prices(plan.server.get("price_in"), plan.server.get("price_out"))
    rows = (
        (plan.options.model, "contexts", RequestCount(2 * len(open_queries), written), PAIR_TOKENS),
        (plan.critic, "reviews", RequestCount(4 * len(open_queries), reviewed), REVIEW_TOKENS),
    )
    return tuple(
        estimate(model, f"{what}, at most", requests, answer, known_prices(model, prices))
        for model, what, requests, answer in rows
        if model
    )


Watcher = Callable[[int, int], None]
"""Called with the number of queries that are through, and that of all."""


def make_contexts(plan: MakingPlan, watch: Watcher, fault: FaultObserver) -> list[Sequence[Fault]]:
    """Make what is left of a plan.

    Args:
        plan: What is to be made.
        watch: Called after each query.
        fault: Called when a model meets a kind of fault for the first time.

    Returns:
        Faults of each pair kept aside.

    Raises:
        UsageError: Another process is at work on the file.
        ModelError: A model can't be opened, or gives nothing but errors.
        KeyboardInterrupt: Stopped; finished pairs are kept.
    """
    if lacking := check_making(plan):
        raise ModelError("\n".join(lacking))
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    lock = plan.out.with_name(f".{plan.out.name}.lock")
    with hold(lock, what=plan.out, command=command_line()):
        shared = Watch(fault)
        models = {
            name: open_model(
                name,
                base_url=plan.server.get("model_base_url"),
                model_args=plan.server.get("model_arg"),
                watch=shared,
                connections=plan.options.max_connections,
                usual=GenerateConfig(attempt_timeout=ATTEMPT_TIMEOUT_S),
            )
            for name in plan.models
        }
        maker = Maker(plan, models)
        # What a kill cut short goes, so that lines can be added.
        maker.write_pairs()
        in_own_loop(maker.make_all(watch))
        maker.write_pairs()
        _write(plan.faulty_path, [_line(record) for _, record in maker.faulty_pairs])
    return [faults for faults, _ in maker.faulty_pairs]


class Maker:
    """Asker of the writer and the critic, query by query."""

    def __init__(self, plan: MakingPlan, models: Mapping[str, PatientModel]) -> None:
        self.plan, self.models = plan, models
        self.answers = self.failures = 0
        self.pairs = plan.read_pairs()
        self.faulty_pairs: list[tuple[Sequence[Fault], dict[str, Any]]] = []
        """Faults and the record of each pair that stays at fault."""
        self.others: list[Shingles] = [
            shingles({place: str(text) for place, text in leaf_parameters(case.context).items()})
            for case in map(Case.model_validate_json, chain.from_iterable(self.pairs.values()))
            if case.context is not None
        ]
        """Contexts of the set so far, by which copies are known."""

    def write_pairs(self) -> None:
        """Write the finished pairs anew, in the order of the queries."""
        order = {query.query_id: place for place, query in enumerate(self.plan.queries)}
        ordered = sorted(self.pairs, key=lambda query: order.get(query, len(order)))
        _write(self.plan.out, [line for query in ordered for line in self.pairs[query]])

    async def make_all(self, watch: Watcher) -> None:
        """Make every pair that is left.

        Raises:
            ModelError: Nothing but errors has come.
        """
        open_queries = [query for query in self.plan.queries if query.query_id not in self.pairs]
        through, still_open = count(1), iter(open_queries)
        watch(0, len(open_queries))

        async def make_next() -> None:
            for query in still_open:
                await self.make(query)
                watch(next(through), len(open_queries))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.plan.options.max_connections):
                    group.create_task(make_next())
        except ExceptionGroup as errors:
            raise first_within(errors) from None
        finally:
            for model in self.models.values():
                await model.api.aclose()

    async def make(self, query: Case) -> None:
        """Write a pair, check it, repair it at most once, have it reviewed, and keep it."""
        try:
            pair, faults = await self.write(query)
        except FailedRequestError as error:
            self.failures += 1
            if self.failures >= GIVE_UP and not self.answers:
                raise ModelError(f"{self.plan.options.model}: {error.fault.plain}") from None
            pair, faults = None, (Fault("failed", error.message),)
        tags = self.plan.tags
        if faults and faults[0].rule not in _OF_CRITIC:
            tags.remove(f"reviewed by {self.plan.critic or 'none'}")
        fields = query.model_dump(exclude={"id"}) | {"tags": tags}
        cases = [
            to_fields(
                Case.model_validate(fields | {"context": make_context(values), "intended": side})
            )
            for side, values in (pair or {}).items()
        ]
        if faults:
            record = {
                **{"query_id": query.query_id, "query": query.query, "tags": tags},
                **{"faults": [asdict(fault) for fault in faults], "cases": cases},
            }
            self.faulty_pairs.append((faults, record))
        elif pair:
            self.others += map(shingles, pair.values())
            self.pairs[query.query_id] = lines = list(map(_line, cases))
            with self.plan.out.open("ab") as file:
                file.write(b"".join(line + b"\n" for line in lines))

    async def write(self, query: Case) -> tuple[Pair | None, Sequence[Fault]]:
        """The last draft of a pair, and its faults."""
        asked_for = prompt = render_making(query.query, query.language)
        pair: Pair | None = None
        faults: Sequence[Fault] = ()
        for _ in ("draft", "repair"):
            output = await self.ask(self.plan.options.model, prompt, self.plan.options.temperature)
            text = whole_characters(output.completion)
            pair = None if provider_refused(output) else read_pair(text)
            if pair is None:
                faults = (_unread(output),)
            else:
                faults = check_pair(pair, query.query, self.others)
                if not faults:
                    faults = await self.review(query, pair)
                    # Pairs that were written at the same time are there by now.
                    faults = faults or check_pair(pair, query.query, self.others)
            if not faults or faults[0].rule in _FINAL:
                break
            prompt = render_repair(asked_for, text, faults)
        return pair, faults

    async def review(self, query: Case, pair: Pair) -> tuple[Fault, ...]:
        """Faults that the critic finds in either context."""
        if self.plan.critic is None:
            return ()
        faults = []
        for side, values in pair.items():
            context = make_context(values)
            prompt = render_review(query.query, side, context, query.language)
            output = await self.ask(self.plan.critic, prompt, 0.0)
            nonce = review_nonce(query.query, side, context)
            faults.append(read_review(whole_characters(output.completion), side, nonce))
        return tuple(filter(None, faults))

    async def ask(self, name: str, prompt: str, temperature: float) -> ModelOutput:
        """Answer of a model.

        Raises:
            FailedRequestError: None came.
        """
        options, model = self.plan.options, self.models[name]
        config = GenerateConfig(
            seed=options.seed, temperature=temperature, max_tokens=options.max_tokens
        )
        output = await model.generate(prompt, config=config.merge(model.config))
        self.answers += 1
        return output


def _write(path: Path, lines: Sequence[bytes]) -> None:
    """Write a file of lines; without lines there is none."""
    if lines:
        write_atomically(path, b"".join(line + b"\n" for line in lines))
    else:
        path.unlink(missing_ok=True)


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(whole_characters(record), ensure_ascii=False).encode()


def _unread(output: ModelOutput) -> Fault:
    text = output.completion
    if provider_refused(output) or read_reply(text, None).response_class is ResponseClass.REFUSAL:
        return Fault("refused", "the model declined to write it")
    end = "; it was cut at the limit of tokens" if output.stop_reason == "max_tokens" else ""
    return Fault("unread", f"the answer is no JSON object of two contexts{end}")
