"""Plan of a run: its options, every product of their lists, and a cell for each model under each.

Everything that can be checked without a model is checked here, before anything is sent.
"""

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from inspect_ai.model import ModelUsage

from casewise.cases import CARDS, CASEBENCH, STARTER, CaseSet
from casewise.choices import (
    MAX_SEED,
    PROTOCOL,
    RULES,
    Client,
    Sampling,
    grading_model,
    read_grader,
    rules_first,
    same_named,
)
from casewise.errors import ModelError, UsageError
from casewise.evaluation.models import Prices, check_grader, check_name, known_prices
from casewise.evaluation.models._batches import NOTE, check_batches
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.models._target import load_target, open_again
from casewise.evaluation.plan._condition import (
    Condition,
    RungNotShownError,
    choose,
    make_condition,
    task_version,
)
from casewise.evaluation.plan._costs import (
    DOUBTED,
    GRADE_TOKENS,
    CostEstimate,
    RequestCount,
    check_window,
    doubt_notes,
    estimate,
    measure,
    measure_grading,
)
from casewise.evaluation.plan._sampling import (
    NO_LOGPROBS,
    WITHOUT_LOGPROBS,
    DrawSettings,
    check_settings,
    check_taken,
    make_draw,
    resolve_sampling,
    setting_parts,
)
from casewise.logs import EMBEDDED, TARGETS, RunKey, without_keys
from casewise.protocols import (
    BARE_RUNG,
    LADDER,
    UPSTREAM,
    Delivery,
    Unit,
    acting,
    find_protocol,
    is_ours,
    load_ladder,
    paired,
)

ACTING = " or ".join(f"--protocol {name}" for name in acting())
"""Options under which a model plays the chatbot."""

NONE = "none"
"""Word for nothing removed, swapped or varied."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Options of ``casewise run``: every product of its lists is run."""

    model: tuple[str, ...] = (SMOLLM2,)
    cases: str | CaseSet = STARTER
    """``starter``, ``casebench``, a file of cases, or cases that no file holds."""
    protocol: tuple[str, ...] = (PROTOCOL,)
    delivery: tuple[str, ...] = ()
    """Empty is each protocol's default."""
    ablate: tuple[str | None, ...] = (None,)
    """Parts to remove from every context; None and ``none`` leave the contexts whole."""
    swap: tuple[str | None, ...] = (None,)
    """Parts that every case takes from its twin; None leaves the contexts as they are."""
    prompt: str | None = None
    sampling: str = Sampling.GREEDY
    samples: int | None = None
    deployment: str | None = None
    """A card's name or file; its cases take the place of ``cases``."""
    vary: tuple[str | None, ...] = (None,)
    """Changes of the conversations of ``respond``; None leaves them as they are."""
    evidence: str | None = None
    """A ladder, by name or file, whose every rung is run."""
    seed: int = 0
    """Seed of the variations."""
    draw_seed: int | None = None
    """Seed of the answers, where they are drawn at random; None leaves it to the provider."""
    epochs: int = 1
    """Number of times that each case is asked."""
    cache: bool = False
    """True if answers in this machine's cache are reused."""
    grader: str | None = None
    """A model that grades replies, or ``rules,MODEL``: the model grades those that the offline
    reader doubts. None, or ``rules``, is the reader alone."""
    grader_prices: Prices = field(default_factory=Prices)
    limit: int | None = None
    pairs: int | None = None
    """The most pairs of one query, where a protocol asks of pairs; None is every one."""
    max_tokens: int | None = None
    max_connections: int | None = None
    attempt_timeout: int | None = None
    """Seconds after which a request is given up and sent again; None is the usual."""
    withhold: bool = False
    """True if logs hold no text of cases and answers; a new start asks again what no log holds."""
    batch: bool = False
    """True if requests go through the providers' batch interfaces."""
    model_base_url: str | None = None
    client: str = Client.AUTO
    """Client that sends the requests: ``auto`` or ``inspect``."""
    model_arg: dict[str, Any] = field(default_factory=dict)
    generate: dict[str, Any] = field(default_factory=dict)
    """Inspect's settings of the models' generation that casewise leaves open, by name."""
    prices: Prices = field(default_factory=Prices)
    target: tuple[str, ...] = ()
    """Files of targets, or functions of Python (MODULE:FUNCTION), beside the models."""

    def __post_init__(self) -> None:
        if self.grader is not None:
            grader = read_grader(self.grader)
            object.__setattr__(self, "grader", None if grader == RULES else grader)

    @property
    def grading_model(self) -> str | None:
        """Model that grades replies, all or some; None where none does."""
        return grading_model(self.grader)

    @property
    def acts(self) -> bool:
        """Tell whether the model plays the chatbot under any of the protocols."""
        return any(find_protocol(name).acts for name in self.protocol)

    @classmethod
    def of(cls, options: Mapping[str, Any], **others: Any) -> "RunRequest":
        """Make a request from options by name, paths as text; those of no field are left out.

        Args:
            options: Options of the command or the front door, or keys of a sweep's line.
            others: Fields whose name or form differs from the option's.
        """
        own = same_named(cls, options)
        paths = {name: str(one) for name, one in own.items() if isinstance(one, os.PathLike)}
        return cls(**own | paths | others)


@dataclass(frozen=True, slots=True)
class Combination:
    """One product of a request's lists."""

    protocol: str
    delivery: str
    ablation: str | None
    variation: str | None
    swap: str | None
    rung: str | None = None
    """Rung of the request's ladder; None without one."""


def combinations(request: RunRequest) -> tuple[Combination, ...]:
    """Every product of a request's lists that means something.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
    """
    if request.swap != (None,) and _unique_ablations(request) != (None,):
        raise UsageError("--ablate and --swap both change the contexts: give one of them")
    choose(Sampling, request.sampling, "sampling")
    choose(Client, request.client, "client")
    _check_numbers(request)
    if request.pairs is not None and not set(request.protocol) & set(paired()):
        raise UsageError(f"--pairs is for protocols that ask of pairs: {', '.join(paired())}")
    _check_grader(request)
    if request.evidence is not None:
        return tuple(_rungs(request))
    return tuple(
        Combination(protocol, delivery, ablation, variation, swap)
        for protocol in request.protocol
        for delivery in _deliveries(request, protocol)
        for ablation in _ablations(request, delivery)
        for variation in (request.vary if find_protocol(protocol).acts else (None,))
        for swap in _swaps(request, delivery, ablation, variation)
    )


def _rungs(request: RunRequest) -> Iterator[Combination]:
    """Every rung of a request's ladder, for each protocol; a judge's context is what it says."""
    others = {
        "--delivery": request.delivery,
        "--ablate": _unique_ablations(request) != (None,),
        "--swap": request.swap != (None,),
        "--vary": any(request.vary),
        "--deployment": request.deployment,
    }
    if given := next((name for name, value in others.items() if value), None):
        raise UsageError(f"--evidence says where the context stands: leave out {given}")
    for name in request.protocol:
        one = find_protocol(name)
        if not one.acts and (one.unit is not Unit.CASE or Delivery.JUDGE not in one.deliveries):
            raise UsageError(
                "--evidence is of models that act, or judge a case in its context: protocol "
                f"{name} does neither"
            )
    for rung, said in load_ladder(request.evidence or LADDER).rungs.items():
        for protocol in request.protocol:
            place = said.delivery if find_protocol(protocol).acts else Delivery.JUDGE
            yield Combination(protocol, place, None, None, None, rung)


def _check_grader(request: RunRequest) -> None:
    if request.grading_model is None:
        return
    check_grader(request.grading_model)
    if not request.acts:
        raise UsageError(
            f"--grader {request.grader}: {', '.join(request.protocol)} asks for verdicts, and has "
            f"no replies to grade: leave --grader out, or add {ACTING}"
        )


def draw_seed_of(request: RunRequest, protocol: str) -> int | None:
    """Seed of the answers; None where they are not drawn at random.

    Greedy answers are not, nor are a probability and a moderation model's word.
    """
    greedy = request.sampling == Sampling.GREEDY
    return None if greedy or not find_protocol(protocol).drawn else request.draw_seed


def _check_numbers(request: RunRequest) -> None:
    for name in (
        "limit",
        "pairs",
        "samples",
        "max_tokens",
        "max_connections",
        "attempt_timeout",
        "epochs",
    ):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: give at least 1")
    if not 0 <= request.seed <= MAX_SEED:
        raise UsageError(f"--seed {request.seed}: give a whole number from 0 to {MAX_SEED}")
    own, grader = request.prices, request.grader_prices
    for name, price in (
        *(("price-in", own.input), ("price-out", own.output)),
        *(("grader-price-in", grader.input), ("grader-price-out", grader.output)),
    ):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise UsageError(f"--{name} {price}: give dollars, 0 or more")


def _deliveries(request: RunRequest, protocol: str) -> tuple[str, ...]:
    """Deliveries asked for that a protocol knows, else its default; unknown ones are refused."""
    known = find_protocol(protocol).deliveries
    for delivery in request.delivery:
        choose(Delivery, delivery, "delivery")
    if not request.delivery:
        return (known[0],)
    fitting = tuple(delivery for delivery in request.delivery if delivery in known)
    every = {one for name in request.protocol for one in find_protocol(name).deliveries}
    stray = [delivery for delivery in request.delivery if delivery not in every]
    if stray or not fitting:
        raise UsageError(
            f"protocol {protocol} has no delivery {(stray or request.delivery)[0]!r}: "
            f"choose from {', '.join(known)}"
        )
    return fitting


def _ablations(request: RunRequest, delivery: str) -> tuple[str | None, ...]:
    """Ablations under a delivery; none without a context, where other deliveries are asked for."""
    if delivery == Delivery.NONE and len(request.delivery) > 1:
        return (None,)
    return _unique_ablations(request)


def _unique_ablations(request: RunRequest) -> tuple[str | None, ...]:
    """The ablations, each once; None is the run over whole contexts."""
    return tuple(dict.fromkeys(None if names == NONE else names for names in request.ablate))


def _swaps(
    request: RunRequest, delivery: str, ablation: str | None, variation: str | None
) -> tuple[str | None, ...]:
    """Swaps of a combination; none without a context, or where something else is changed."""
    changed = ablation is not None or variation is not None or delivery == Delivery.NONE
    return (None,) if changed else request.swap


@dataclass(frozen=True, slots=True)
class PlannedCondition:
    """One condition of a run, with the arguments of its task."""

    condition: Condition
    arguments: dict[str, Any]
    extent: RequestCount
    version: str
    """Version of the task, another one for other cases or another wording."""
    grading: RequestCount | None = None
    """Requests to the model that grades the replies; None where none does."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One model under one condition: a task of a run."""

    model: str
    planned: PlannedCondition
    request: RunRequest
    """The options that it is asked with."""
    draw: DrawSettings
    estimate: CostEstimate
    grading: CostEstimate | None = None
    """Cost of the model that grades the replies; None where none does."""
    addresses: tuple[str, ...] = ()
    """Address of the server, then those of earlier starts; empty of a model that is loaded."""

    @property
    def cost_usd(self) -> float | None:
        """Dollars that the model and its grader will probably take; None with an unknown price."""
        own, grader = self.estimate.cost_usd, self.grading.cost_usd if self.grading else 0.0
        return None if own is None or grader is None else own + grader

    @property
    def usual(self) -> dict[bool, ModelUsage]:
        """Estimated tokens of a request to the model, and under True to its grader."""
        return {
            one is self.grading: ModelUsage(
                input_tokens=round(one.input_tokens / one.requests),
                output_tokens=round(one.output_tokens / one.requests),
            )
            for one in (self.estimate, self.grading)
            if one is not None and one.requests
        }

    @property
    def acts(self) -> bool:
        """Tell whether the model plays the chatbot, and not a judge."""
        return self.planned.condition.protocol.acts

    @property
    def task(self) -> str:
        """The task's name in Inspect."""
        return f"casewise/{self.planned.condition.protocol.task}"

    @property
    def judgements(self) -> int:
        """Number of judgements: samples, as often as each is asked."""
        return self.planned.condition.size * self.request.epochs

    @property
    def sampling(self) -> Sampling:
        """Sampling of this model."""
        return resolve_sampling(Sampling(self.request.sampling), self.model)

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments of the task, a part of its identity in the log."""
        embedded = self.acts and self.model == SMOLLM2
        name = None if self.sampling is Sampling.GREEDY and not embedded else self.model
        settled: dict[str, Any] = {"sampling": str(self.sampling), "model_name": name}
        if self.acts and not self.model.startswith(EMBEDDED):
            # Named, as Inspect's own command leaves the default out.
            settled["max_tokens"] = self.draw.config.max_tokens
        return self.planned.arguments | settled

    @property
    def sent_seed(self) -> int | None:
        """The seed that the provider gets; None where it would make several answers one."""
        once = self.draw.samples == self.request.epochs == 1
        return draw_seed_of(self.request, self.planned.condition.protocol.name) if once else None

    @property
    def identity(self) -> str:
        """Identity of all runs of one model under one condition; see ``RunKey``."""
        return RunKey(
            self.task,
            self.planned.version,
            self.model,
            self.arguments,
            without_keys(self.request.model_arg),
            self.sent_seed,
            self.draw.settings,
        ).identity

    def patient(self, seconds: int | None) -> "Cell":
        """Copy with other seconds after which a request is sent again; None changes nothing."""
        if seconds is None:
            return self
        return replace(self, request=replace(self.request, attempt_timeout=seconds))

    @property
    def prices(self) -> dict[str, Prices]:
        """Known prices of the models that are asked: this one, and its grader."""
        return _prices(self.model, self.request, acts=self.acts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read beforehand."""
        condition = self.planned.condition
        return (
            *condition.notes,
            *((NOTE,) if self.request.batch else ()),
            *(doubt_notes(self.request.grader) if self.grading is not None else ()),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked run."""

    request: RunRequest
    cells: tuple[Cell, ...]
    unasked: tuple[str, ...] = ()
    """Notes on rungs of a ladder that a model can't be asked."""

    @property
    def estimates(self) -> tuple[CostEstimate, ...]:
        """Estimates of each model under each condition, then those of its graders."""
        gradings = (cell.grading for cell in self.cells)
        return (*(cell.estimate for cell in self.cells), *filter(None, gradings))

    @property
    def judgements(self) -> int:
        """Number of judgements over all models and conditions."""
        return sum(cell.judgements for cell in self.cells)


def lone_ablations(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Parts removed from contexts (``recipient,urgency``) with no run over whole ones beside."""
    found: dict[tuple[str, ...], list[str]] = {}
    whole: set[tuple[str, ...]] = set()
    for cell in cells:
        one = cell.planned.condition
        family = (cell.model, one.protocol.name, one.delivery, one.data.hash)
        if one.ablation is None:
            whole.add(family)
        else:
            found.setdefault(family, []).append(",".join(one.ablation.names))
    lone = (names for family, names in found.items() if family not in whole)
    return tuple(dict.fromkeys(name for names in lone for name in names))


def make_plan(request: RunRequest) -> Plan:
    """Check everything that can be checked without a model, and count what will be asked.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A model without its provider, or a provider that gives no log-probabilities
            under ``probability``.
    """
    asked = _asked_models(request)
    for given, what in ((request.deployment, "--deployment"), (any(request.vary), "--vary")):
        if given and not request.acts:
            raise UsageError(f"{what} is of models that act: give it with {ACTING}")
    conditions, unasked = plan_conditions(request)
    cells = list[Cell]()
    for model, options in asked:
        found, left_out = _plan_model(conditions, model, options)
        cells += found
        unasked += left_out
    return Plan(request, tuple(cells), tuple(unasked))


def _plan_model(
    conditions: Sequence[PlannedCondition], model: str, request: RunRequest
) -> tuple[list[Cell], list[str]]:
    """Cells of a model, and notes on rungs of a ladder that it can't be asked.

    Raises:
        UsageError: It can't be asked a condition that is no rung, or any rung.
    """
    cells = []
    refused: dict[str, list[str]] = {}
    for one in conditions:
        try:
            cells.append(plan_cell(one, model, request))
        except UsageError as error:
            if (rung := one.condition.changes.evidence) is None or len(conditions) == 1:
                raise
            refused.setdefault(str(error), []).append(rung)
    if not cells:
        raise UsageError(next(iter(refused)))
    return cells, unasked_notes(model, refused)


def unasked_notes(model: str, refused: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on rungs that a model can't be asked, by the reason."""
    return [
        f"{model} can't be asked rung {' or '.join(rungs)}: {reason}"
        for reason, rungs in refused.items()
    ]


def _asked_models(request: RunRequest) -> list[tuple[str, RunRequest]]:
    """Each model with its options; a target's address and arguments are its own."""
    if not request.model and (request.model_arg or request.model_base_url):
        raise UsageError("--model-arg and --model-base-url are for --model: a target has its file")
    asked = [(model, request) for model in request.model]
    for target in map(load_target, request.target):
        if target.model in (model for model, _ in asked):
            raise UsageError(f"{target.given}: another target is named {target.name!r} as well")
        own = replace(request, model_arg=target.arguments, model_base_url=None)
        asked.append((target.model, own))
    return asked


def plan_conditions(request: RunRequest) -> tuple[list[PlannedCondition], list[str]]:
    """Check and settle every condition that a request asks for; its models play no role.

    Returns:
        The conditions, and notes on rungs of a ladder that no case has.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
    """
    notes: list[str] = []
    found = [plan_shown(request, combination, notes) for combination in combinations(request)]
    return [one for one in found if one is not None], notes


def plan_shown(
    request: RunRequest, combination: Combination, notes: list[str]
) -> PlannedCondition | None:
    """Check and settle one combination; None of a rung that no case has, which the notes name."""
    try:
        return plan_condition(request, combination)
    except RungNotShownError as error:
        if combination.rung == BARE_RUNG:
            raise
        notes.append(f"{error}: it is left out")
        return None


def plan_condition(request: RunRequest, combination: Combination) -> PlannedCondition:
    """Check and settle one combination.

    Raises:
        UsageError: A change that means nothing for these cases.
        InputError: Cases or a template that can't be used.
    """
    acts = find_protocol(combination.protocol).acts
    condition = make_condition(
        request.cases,
        protocol=combination.protocol,
        delivery=combination.delivery,
        ablate=combination.ablation,
        prompt=request.prompt,
        limit=request.limit,
        pairs=request.pairs if combination.protocol in paired() else None,
        deployment=request.deployment if acts else None,
        vary=combination.variation,
        seed=request.seed,
        swap=combination.swap,
        draw_seed=draw_seed_of(request, combination.protocol),
        evidence=request.evidence,
        rung=combination.rung,
    )
    version = task_version(condition, request.grader)
    grading = None
    if acts and request.grading_model is not None:
        grading = measure_grading(condition)
        grading = grading.times(DOUBTED) if rules_first(request.grader) else grading
    return PlannedCondition(
        condition, _arguments(request, combination), measure(condition), version, grading
    )


def plan_cell(planned: PlannedCondition, model: str, request: RunRequest) -> Cell:
    """Make the cell of a model under a condition, with the estimates of its cost.

    Raises:
        UsageError: A setting that can't be given, a conversation larger than the model's window,
            tools that the model can't take, or no batch interface.
        ModelError: A model without its provider, or a provider that gives no log-probabilities
            under ``probability``.
    """
    protocol = planned.condition.protocol
    grader = request.grading_model if protocol.acts else None
    for name in (model, *([grader] if grader is not None else [])):
        check_name(name)
    if request.batch:
        check_batches(model, grader)
    if protocol.candidates and model.split("/")[0] in NO_LOGPROBS:
        raise ModelError(f"{model}: {WITHOUT_LOGPROBS}")
    draw = make_draw(
        protocol,
        resolve_sampling(Sampling(request.sampling), model),
        model=model,
        samples=request.samples,
        max_tokens=request.max_tokens,
    )
    if request.generate:
        settings = check_settings("--generate", request.generate)
        check_taken("--generate", model, settings, request.model_arg)
        draw = draw.with_settings(settings)
    if protocol.acts:
        check_window(planned.condition, draw, model)
    if model.startswith(f"{TARGETS}/"):
        request = _check_target(planned.condition, draw, request)
    prices = _prices(model, request, acts=protocol.acts)
    told = planned.condition.identity
    title = replace(told, settings=setting_parts(draw.settings)).text
    count = planned.extent.times(draw.samples * request.epochs)
    usual = min(protocol.answer_tokens, draw.config.max_tokens or protocol.answer_tokens)
    estimated = estimate(model, title, count, usual, prices[model])
    grading = None
    if planned.grading is not None and grader is not None:
        count, known = planned.grading.times(request.epochs), prices[grader]
        grading = estimate(grader, title, count, GRADE_TOKENS, known, grades=model)
    return Cell(model, planned, request, draw, estimated, grading)


def _check_target(condition: Condition, draw: DrawSettings, request: RunRequest) -> RunRequest:
    """Refuse what would reach a target only in part; return the options with its timeout."""
    target = open_again(request.model_arg)
    system = ["system"] if draw.system else []
    roles = ([*system, *(said.role for said in opening.begun)] for opening in condition.openings)
    target.check(roles, draw.settings, bool(condition.tools))
    return replace(request, attempt_timeout=request.attempt_timeout or target.timeout)


def _prices(model: str, request: RunRequest, *, acts: bool) -> dict[str, Prices]:
    """Known prices of a model, and of the grader of its replies if it acts."""
    given = {model: request.prices}
    if acts and request.grading_model is not None:
        given.setdefault(request.grading_model, request.grader_prices)
    return {name: known_prices(name, prices, batch=request.batch) for name, prices in given.items()}


def _arguments(request: RunRequest, combination: Combination) -> dict[str, Any]:
    """Arguments of the task that a request sets, a part of its identity in the log."""
    protocol = find_protocol(combination.protocol)
    acts = protocol.acts
    prompt, cases = request.prompt, request.cases
    given = {
        "protocol": None if protocol.name == protocol.task else protocol.name,
        "deployment": _in_full(request.deployment, CARDS) if acts else None,
        "evidence": _in_full(request.evidence, (LADDER,)),
        "rung": combination.rung,
        "vary": combination.variation,
        "seed": request.seed if combination.variation else None,
        "draw_seed": draw_seed_of(request, combination.protocol),
        "grader": request.grader if acts else None,
        "cases": cases.name
        if isinstance(cases, CaseSet)
        else _in_full(cases, (STARTER, CASEBENCH)),
        "delivery": str(combination.delivery),
        "ablate": combination.ablation,
        "swap": combination.swap,
        "prompt": prompt if is_ours(prompt or "") else _in_full(prompt, (UPSTREAM,)),
        "samples": None if acts else request.samples,
        "limit": request.limit,
        "pairs": request.pairs if combination.protocol in paired() else None,
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _in_full(name: str | None, known: Collection[str] = ()) -> str | None:
    """A known name as it is, any other as an absolute path."""
    return name if name is None or name in known else str(Path(name).resolve())
