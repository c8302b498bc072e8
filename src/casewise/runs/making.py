"""Contexts made by a model: written, checked by rules, repaired once, and reviewed by a critic.

A pair is written to its file as soon as it is finished; another start asks for the rest. Pairs
that stay at fault are kept aside, with the reasons.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from casewise.models.faults import FailedRequestError, first_within
from casewise.models.open import ATTEMPT_TIMEOUT_S, check_all, in_own_loop, known_prices, open_model
from casewise.models.patience import PatientModel, Prices, Watch
from casewise.protocols import ResponseClass, read_reply
from casewise.runs.cost import CostEstimate, RequestCount, estimate, prompt_tokens
from casewise.runs.folder import command_line
from casewise.runs.loop import Observers

PAIR_TOKENS, REVIEW_TOKENS = 800, 80
"""Usual tokens of an answer: two contexts of eight texts of about 25 words; a review."""

AT_ONCE = 20
"""Queries at once, where nobody sets the requests at once."""

GIVE_UP = 5
"""Failed requests, without an answer among them, after which no more is asked."""

NO_CRITIC = "none"

FAILED = "failed"
"""Rule of a pair whose request failed: the next start asks again."""

_FINAL = ("refused", "unchecked")
"""Rules that no rewriting satisfies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingOptions:
    """Options of ``casewise contexts generate``."""

    queries: Path
    """File of cases without contexts."""
    out: Path
    """File of the cases that are made, as JSON Lines."""
    model: str
    critic: str | None = None
    """A model, or ``none``; None is the model that writes."""
    seed: int = 0
    temperature: float = 0.8
    max_tokens: int = 4096
    max_connections: int | None = None
    model_base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    defaults: Mapping[str, str | None] = field(default_factory=dict)
    """Language, source and licence of queries that the file gives none."""


@dataclass(frozen=True, slots=True)
class Records:
    """A file of JSON Lines that grows query by query."""

    path: Path
    lines: dict[str, list[bytes]]
    """Lines of each finished query."""

    @classmethod
    def read(cls, path: Path, tags: Sequence[str], number: int) -> "Records":
        """Read what an earlier start has left; of an unfinished query, nothing.

        Args:
            path: The file; one that isn't there has no lines.
            tags: Tags that each line must have.
            number: Lines of a finished query.

        Raises:
            UsageError: A line was not made with these settings.
        """
        found = defaultdict[str, list[bytes]](list)
        for place, line in enumerate(journal_lines(path), start=1):
            try:
                record = json.loads(line)
                is_ours, query = record["tags"] == list(tags), record["query_id"]
            except (ValueError, TypeError, KeyError):
                is_ours, query = False, ""
            if not is_ours:
                raise UsageError(
                    f"{path}, line {place}: not made by this command with these settings "
                    f"({', '.join(tags)}): give another --out, or move the file away"
                )
            if all(fault["rule"] != FAILED for fault in record.get("faults", ())):
                found[query].append(line)
        return cls(path, {query: own for query, own in found.items() if len(own) == number})

    def add(self, query: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add the lines of a finished query."""
        text = [json.dumps(whole_characters(one), ensure_ascii=False) for one in records]
        self.lines[query] = [one.encode() for one in text]
        with self.path.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in self.lines[query]))

    def write(self, order: Mapping[str, int]) -> None:
        """Write the file anew, in an order of queries; without lines there is none."""
        queries = sorted(self.lines, key=lambda query: order.get(query, len(order)))
        if queries:
            lines = (line for query in queries for line in self.lines[query])
            write_atomically(self.path, b"".join(line + b"\n" for line in lines))
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class MakingPlan:
    """Checked options, and what an earlier start has left."""

    options: MakingOptions
    queries: tuple[Case, ...]
    """Cases without a context, one a query."""
    critic: str | None
    """Model of the critic; None where rules alone decide."""
    tags: tuple[str, ...]
    """Tags of each case: who wrote and reviewed it, by which prompts."""
    made: Records
    """Cases of finished pairs."""
    aside: Records
    """Pairs kept aside, and why."""

    @property
    def left(self) -> tuple[Case, ...]:
        """Queries without a finished pair."""
        there = {*self.made.lines, *self.aside.lines}
        return tuple(query for query in self.queries if query.query_id not in there)

    @property
    def models(self) -> tuple[str, ...]:
        """The writer, and the critic where it is another."""
        return tuple(dict.fromkeys(filter(None, (self.options.model, self.critic))))


def plan_making(options: MakingOptions) -> MakingPlan:
    """Check options, and read what an earlier start has left.

    Raises:
        UsageError: An option is wrong, or a file holds what these settings did not make.
        InputError: The queries can't be read.
        ModelError: A model can't be asked.
    """
    if options.out.suffix.lower() != ".jsonl":
        raise UsageError(
            f"--out {options.out}: end the name in .jsonl (casewise cases convert turns it into "
            "YAML or CSV)"
        )
    critic = options.model if options.critic is None else options.critic
    tags = [f"made by {options.model}", f"reviewed by {critic}", f"prompts {MAKE_VERSION}"]
    queries = tuple(_queries(options))
    judge = None if critic == NO_CRITIC else critic
    return MakingPlan(
        options,
        queries,
        judge,
        tuple(tags),
        Records.read(options.out, tags, number=2),
        Records.read(options.out.with_suffix(".aside.jsonl"), tags, number=1),
    )


def check_making(plan: MakingPlan) -> tuple[str, ...]:
    """What the models of a plan lack, such as a key, without a request; see ``check_all``."""
    options = plan.options
    return check_all((name, options.model_base_url, options.model_args) for name in plan.models)


def _queries(options: MakingOptions) -> Iterator[Case]:
    seen = set[str]()
    for number, case in enumerate(load_cases(options.queries), start=1):
        problem = "has the query of another" if case.query_id in seen else ""
        if case.context is not None or case.history:
            problem = "has a context or earlier turns"
        if problem:
            expected = "cases without a context, one a query"
            raise InputError(f"case {number} {problem}", options.queries, expected=expected)
        seen.add(case.query_id)
        given = {name: getattr(case, name) or text for name, text in options.defaults.items()}
        yield case.model_copy(update=given)


def estimate_making(plan: MakingPlan) -> tuple[CostEstimate, ...]:
    """Most that writing what is left costs: every pair repaired, and each draft reviewed."""
    left = plan.left
    asked = sum(prompt_tokens(render_making(q.query, q.language)) for q in left)
    usual = make_context(dict.fromkeys(PARAMETERS, "x" * 6 * 25))
    reviewed = sum(4 * prompt_tokens(render_review(q.query, "safe", usual, None)) for q in left)
    written = 2 * asked + PAIR_TOKENS * len(left)
    rows = (
        (plan.options.model, "contexts", RequestCount(2 * len(left), written), PAIR_TOKENS),
        (plan.critic, "reviews", RequestCount(4 * len(left), reviewed), REVIEW_TOKENS),
    )
    return tuple(
        estimate(model, f"{what}, at most", count, answer, known_prices(model, plan.options.prices))
        for model, what, count, answer in rows
        if model
    )


@dataclass(frozen=True, slots=True)
class Made:
    """Result of a start."""

    cases: int
    """Cases in the file."""
    faults: Mapping[str, tuple[Fault, ...]]
    """Faults of each pair kept aside, by query id: those of earlier starts among them."""


Watcher = Callable[[int, int], None]
"""Called with the number of queries that are through, and that of all."""


def make_contexts(plan: MakingPlan, watch: Watcher, observers: Observers | None = None) -> Made:
    """Make what is left of a plan.

    Raises:
        UsageError: Another process is at work on the file.
        ModelError: A model can't be opened, or gives nothing but errors.
        KeyboardInterrupt: Stopped; finished pairs are kept.
    """
    observers = observers or Observers()
    options, out = plan.options, plan.options.out
    if lacking := check_making(plan):
        raise ModelError("\n".join(lacking))
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    with hold(out.with_name(f".{out.name}.lock"), what=out, command=command_line()):
        # What another process added since the plan was made counts, too.
        plan = plan_making(options)
        order = {query.query_id: place for place, query in enumerate(plan.queries)}
        # What a kill cut short goes, so that lines can be added.
        for records in (plan.made, plan.aside):
            records.write(order)
        shared = Watch(observers.fault)
        models = {name: _open(plan, name, shared) for name in plan.models}
        in_own_loop(Maker(plan, models).make_all(watch))
        for records in (plan.made, plan.aside):
            records.write(order)
    faults = {
        query: tuple(Fault(**fault) for fault in json.loads(line)["faults"])
        for query, (line,) in plan.aside.lines.items()
    }
    return Made(2 * len(plan.made.lines), faults)


def _open(plan: MakingPlan, name: str, watch: Watch) -> PatientModel:
    options = plan.options
    return open_model(
        name,
        base_url=options.model_base_url,
        model_args=options.model_args,
        watch=watch,
        connections=options.max_connections,
        usual=GenerateConfig(attempt_timeout=ATTEMPT_TIMEOUT_S),
    )


class Maker:
    """Asker of the writer and the critic, query by query."""

    def __init__(self, plan: MakingPlan, models: Mapping[str, PatientModel]) -> None:
        self.plan, self.models = plan, models
        self.answers = self.failures = 0
        self.others: list[Shingles] = [
            shingles({place: str(text) for place, text in leaf_parameters(case.context).items()})
            for lines in plan.made.lines.values()
            for case in map(Case.model_validate_json, lines)
            if case.context is not None
        ]
        """Contexts of the set so far, by which copies are known."""

    async def make_all(self, watch: Watcher) -> None:
        """Make every pair that is left.

        Raises:
            ModelError: Nothing but errors has come.
        """
        left = self.plan.left
        open_queries = iter(left)
        through = 0
        watch(0, len(left))

        async def make_next() -> None:
            nonlocal through
            for query in open_queries:
                await self.make(query)
                through += 1
                watch(through, len(left))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.plan.options.max_connections or AT_ONCE):
                    group.create_task(make_next())
        except ExceptionGroup as errors:
            raise first_within(errors) from None
        finally:
            for model in self.models.values():
                await model.api.aclose()

    async def make(self, query: Case) -> None:
        """Write a pair, check it, repair it at most once, have it reviewed, and keep it."""
        asked_for = prompt = render_making(query.query, query.language)
        pair: Pair | None = None
        faults: tuple[Fault, ...] = ()

        def check(pair: Pair) -> tuple[Fault, ...]:
            return check_pair(pair, query.query, self.others)

        try:
            for _ in ("draft", "repair"):
                output = await self.ask(self.plan.options.model, prompt)
                text = whole_characters(output.completion)
                pair = None if provider_refused(output) else read_pair(text)
                if pair is None:
                    faults = (_unread(output),)
                else:
                    faults = check(pair) or await self.review(query, pair)
                    # Pairs that were written at the same time are there by now.
                    faults = faults or check(pair)
                if not faults or faults[0].rule in _FINAL:
                    break
                prompt = render_repair(asked_for, text, faults)
        except FailedRequestError as error:
            self.failures += 1
            if self.failures >= GIVE_UP and not self.answers:
                raise ModelError(f"{self.plan.options.model}: {error.fault.plain}") from None
            faults = (Fault(FAILED, error.message),)
        fields = query.model_dump(exclude={"id"}) | {"tags": self.plan.tags}
        cases = [
            to_fields(
                Case.model_validate(fields | {"context": make_context(values), "intended": side})
            )
            for side, values in (pair or {}).items()
        ]
        if faults:
            record = {
                "query_id": query.query_id,
                "query": query.query,
                "tags": self.plan.tags,
                "faults": [asdict(fault) for fault in faults],
                "cases": cases,
            }
            self.plan.aside.add(query.query_id, [record])
        elif pair:
            self.others += map(shingles, pair.values())
            self.plan.made.add(query.query_id, cases)

    async def review(self, query: Case, pair: Pair) -> tuple[Fault, ...]:
        """Faults that the critic finds in either context."""
        if self.plan.critic is None:
            return ()
        found = []
        for side, values in pair.items():
            context = make_context(values)
            prompt = render_review(query.query, side, context, query.language)
            output = await self.ask(self.plan.critic, prompt, temperature=0.0)
            nonce = review_nonce(query.query, side, context)
            found.append(read_review(whole_characters(output.completion), side, nonce))
        return tuple(filter(None, found))

    async def ask(self, name: str, prompt: str, temperature: float | None = None) -> ModelOutput:
        """Answer of a model.

        Raises:
            FailedRequestError: None came.
        """
        options, model = self.plan.options, self.models[name]
        config = GenerateConfig(
            seed=options.seed,
            temperature=options.temperature if temperature is None else temperature,
            max_tokens=options.max_tokens,
        )
        output = await model.generate(prompt, config=config.merge(model.config))
        self.answers += 1
        return output


def _unread(output: ModelOutput) -> Fault:
    text = output.completion
    if provider_refused(output) or read_reply(text, None).response_class is ResponseClass.REFUSAL:
        return Fault("refused", "the model declined to write it")
    end = "; it was cut at the limit of tokens" if output.stop_reason == "max_tokens" else ""
    return Fault("unread", f"the answer is no JSON object of two contexts{end}")
