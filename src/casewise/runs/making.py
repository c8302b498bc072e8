"""Contexts made by a model: written, checked by rules, repaired once, and reviewed by a critic.

A pair is written to its file as soon as it is finished; another start asks for the rest. Pairs
that stay at fault are kept aside, with the reasons.
"""

import asyncio
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, ModelOutput

from casewise.cases import Case, Side, load_cases, to_fields
from casewise.contexts import (
    MAKE_VERSION,
    PARAMETERS,
    Fault,
    Pair,
    Shingles,
    check_pair,
    leaf_parameters,
    make_context,
    parse_matched,
    read_pair,
    read_review,
    render_making,
    render_repair,
    render_review,
    review_nonce,
    shingles,
)
from casewise.errors import InputError, ModelError, UsageError
from casewise.files import Journal, hold, journal_lines, whole_characters, write_atomically
from casewise.logs import input_tokens, provider_refused
from casewise.models.client import PatientModel, Prices, Watch
from casewise.models.faults import FailedRequestError, first_within
from casewise.models.open import ATTEMPT_TIMEOUT_S, check_all, in_own_loop, known_prices, open_model
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
    matched: str | None = None
    """Parameters in which alone twins may differ."""
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
class MakingPlan:
    """Checked options, and what an earlier start has left."""

    options: MakingOptions
    queries: tuple[Case, ...]
    """Cases without a context, one a query."""
    matched: tuple[str, ...]
    critic: str | None
    """Model of the critic; None where rules alone decide."""
    tags: tuple[str, ...]
    """Tags of each case: who wrote and reviewed it, by which prompts."""
    made: Mapping[str, tuple[bytes, ...]]
    """Lines of finished pairs, by query."""
    rejected: Mapping[str, tuple[bytes, ...]]
    """Lines of pairs kept aside, by query."""

    @property
    def aside(self) -> Path:
        """File of what is kept aside."""
        return _aside(self.options)

    @property
    def left(self) -> tuple[Case, ...]:
        """Queries without a finished pair."""
        there = {*self.made, *self.rejected}
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
    matched = parse_matched(options.matched) if options.matched is not None else ()
    critic = options.model if options.critic is None else options.critic
    tags = [f"made by {options.model}", f"reviewed by {critic}", f"prompts {MAKE_VERSION}"]
    tags += [f"matched {','.join(matched)}"] if matched else []
    queries = tuple(_queries(options))
    judge = None if critic == NO_CRITIC else critic
    before = _left_before(options, tags)
    return MakingPlan(options, queries, matched, judge, tuple(tags), **before)


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


def _lines(path: Path, tags: Sequence[str], number: int) -> dict[str, tuple[bytes, ...]]:
    """Whole lines of a file of ours, by query; of an unfinished query, none.

    Args:
        path: The file; one that isn't there has none.
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
    return {query: tuple(lines) for query, lines in found.items() if len(lines) == number}


def _aside(options: MakingOptions) -> Path:
    return options.out.with_suffix(".aside.jsonl")


def _left_before(options: MakingOptions, tags: Sequence[str]) -> dict[str, Any]:
    """What earlier starts have left: lines of finished pairs, and of those kept aside."""
    return {
        "made": _lines(options.out, tags, number=2),
        "rejected": _lines(_aside(options), tags, number=1),
    }


def estimate_making(
    plan: MakingPlan,
) -> tuple[tuple[CostEstimate, ...], tuple[CostEstimate, ...]]:
    """Costs of writing what is left and of its reviews; and of repairs and theirs at most."""
    options, left, matched, critic = plan.options, plan.left, plan.matched, plan.critic
    asked = sum(prompt_tokens(render_making(one.query, one.language, matched)) for one in left)
    usual = make_context(dict.fromkeys(PARAMETERS, "x" * 6 * 25))
    sides: tuple[Side, Side] = ("safe", "unsafe")
    read = sum(
        prompt_tokens(render_review(one.query, side, usual, one.language))
        for one in left
        for side in sides
    )
    written, reviews = RequestCount(len(left), asked), RequestCount(2 * len(left), read)
    repairs = RequestCount(len(left), asked + PAIR_TOKENS * len(left))

    def estimates(*rows: tuple[str | None, str, RequestCount, int]) -> tuple[CostEstimate, ...]:
        return tuple(
            estimate(model, what, count, answer, known_prices(model, options.prices))
            for model, what, count, answer in rows
            if model
        )

    return (
        estimates(
            (options.model, "contexts", written, PAIR_TOKENS),
            (critic, "reviews", reviews, REVIEW_TOKENS),
        ),
        estimates(
            (options.model, "repairs", repairs, PAIR_TOKENS),
            (critic, "reviews again", reviews, REVIEW_TOKENS),
        ),
    )


@dataclass(frozen=True, slots=True)
class Made:
    """Result of a start."""

    cases: int
    """Cases in the file."""
    faults: Mapping[str, tuple[Fault, ...]]
    """Faults of each pair kept aside, by query id: those of earlier starts among them."""
    asked: int
    """Requests sent now."""
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


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
        plan = replace(plan, **_left_before(options, plan.tags))
        files = Files(plan)
        with files.sorted_at_end():
            shared = Watch(observers.fault, observers.outage)
            maker = Maker(plan, files, {name: _open(plan, name, shared) for name in plan.models})
            in_own_loop(maker.make_all(watch))
    rejected = {
        query: tuple(Fault(**fault) for fault in json.loads(lines[0])["faults"])
        for query, lines in files.rejected.items()
    }
    return Made(2 * len(files.made), rejected, *maker.spent())


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


class Files:
    """The two files of a plan while they grow: finished pairs, and those kept aside."""

    def __init__(self, plan: MakingPlan) -> None:
        self.plan = plan
        self.made, self.rejected = dict(plan.made), dict(plan.rejected)
        # What a kill cut short goes, so that lines can be added.
        self._write()

    def add(self, query: str, cases: Sequence[Case]) -> None:
        """Write the cases of a finished pair."""
        lines = tuple(json.dumps(to_fields(case), ensure_ascii=False).encode() for case in cases)
        self._append(self.plan.options.out, lines)
        self.made[query] = lines

    def reject(self, query: Case, cases: Sequence[Case], faults: Sequence[Fault]) -> None:
        """Write a pair that is kept aside, and why."""
        record = {
            "query_id": query.query_id,
            "query": query.query,
            "tags": self.plan.tags,
            "faults": [
                {name: getattr(fault, name) for name in Fault.__dataclass_fields__}
                for fault in faults
            ],
            "cases": [to_fields(case) for case in cases],
        }
        lines = (json.dumps(whole_characters(record), ensure_ascii=False).encode(),)
        self._append(self.plan.aside, lines)
        self.rejected[query.query_id] = lines

    @contextmanager
    def sorted_at_end(self) -> Iterator[None]:
        """Put the lines into the order of the queries, where the block ends well."""
        yield
        self._write()

    def _append(self, path: Path, lines: Sequence[bytes]) -> None:
        with closing(Journal(path)) as file:
            file.append(b"\n".join(lines))

    def _write(self) -> None:
        order = {query.query_id: place for place, query in enumerate(self.plan.queries)}
        for path, lines in ((self.plan.options.out, self.made), (self.plan.aside, self.rejected)):
            queries = sorted(lines, key=lambda query: order.get(query, len(order)))
            data = b"".join(line + b"\n" for query in queries for line in lines[query])
            if data:
                write_atomically(path, data)
            else:
                path.unlink(missing_ok=True)


class Maker:
    """Asker of the writer and the critic, query by query."""

    def __init__(self, plan: MakingPlan, files: Files, models: Mapping[str, PatientModel]) -> None:
        self.plan, self.files, self.models = plan, files, models
        self.usage: Counter[tuple[str, str]] = Counter()
        """Requests, and tokens in and out, by model."""
        self.failures = 0
        self.others: list[Shingles] = [
            shingles({place: str(text) for place, text in leaf_parameters(case.context).items()})
            for lines in files.made.values()
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
        asked_for = prompt = render_making(query.query, query.language, self.plan.matched)
        pair: Pair | None = None
        faults: tuple[Fault, ...] = ()
        try:
            for _ in ("draft", "repair"):
                output = await self.ask(self.plan.options.model, prompt)
                text = whole_characters(output.completion)
                pair = None if provider_refused(output) else read_pair(text, self.plan.matched)
                if pair is None:
                    faults = (_unread(output),)
                else:
                    faults = self.check(query, pair) or await self.review(query, pair)
                    # Pairs that were written at the same time are there by now.
                    faults = faults or self.check(query, pair)
                if not faults or faults[0].rule in _FINAL:
                    break
                prompt = render_repair(asked_for, text, faults)
        except FailedRequestError as error:
            self.failures += 1
            if self.failures >= GIVE_UP and not self.usage:
                raise ModelError(f"{self.plan.options.model}: {error.plain}") from None
            faults = (Fault(FAILED, error.message),)
        cases = [self.case(query, side, pair) for side in pair] if pair else []
        if faults:
            self.files.reject(query, cases, faults)
        elif pair:
            self.others += map(shingles, pair.values())
            self.files.add(query.query_id, cases)

    def check(self, query: Case, pair: Pair) -> tuple[Fault, ...]:
        """Faults that the rules find, beside the set as far as it is made."""
        return check_pair(pair, query.query, self.plan.matched, self.others)

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
        self.usage[name, "requests"] += 1
        if usage := output.usage:
            self.usage[name, "in"] += input_tokens(usage)
            self.usage[name, "out"] += usage.output_tokens
        return output

    def case(self, query: Case, side: Side, pair: Pair) -> Case:
        """Case of one side."""
        update = {
            "context": make_context(pair[side]),
            "intended": side,
            "tags": self.plan.tags,
        }
        fields = query.model_dump(exclude={"id", "tags"}) | update
        return Case.model_validate(fields)

    def spent(self) -> tuple[int, int, int, float | None]:
        """Requests, tokens in and out, and dollars, where the prices are known."""
        counts = [
            tuple(self.usage[name, what] for what in ("requests", "in", "out"))
            for name in self.plan.models
        ]
        costs = [
            known_prices(name, self.plan.options.prices).cost(sent, answered)
            for name, (_, sent, answered) in zip(self.plan.models, counts, strict=True)
        ]
        known = [cost for cost in costs if cost is not None]
        requests, sent, answered = (sum(column) for column in zip(*counts, strict=True))
        return requests, sent, answered, sum(known) if len(known) == len(costs) else None


def _unread(output: ModelOutput) -> Fault:
    text = output.completion
    if provider_refused(output) or read_reply(text, None).response_class is ResponseClass.REFUSAL:
        return Fault("refused", "the model declined to write it")
    end = "; it was cut at the limit of tokens" if output.stop_reason == "max_tokens" else ""
    return Fault("unread", f"the answer is no JSON object of two contexts{end}")
