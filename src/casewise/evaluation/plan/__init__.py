"""Plan of a run: every model under every condition, checked before anything is sent."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from casewise.cases import CARDS, CASEBENCH, STARTER, CaseSet
from casewise.choices import Sampling
from casewise.errors import ModelError, UsageError
from casewise.evaluation.models import Prices, check_name, known_prices
from casewise.evaluation.models._batches import check_batches
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.models._target import load_target, open_again
from casewise.evaluation.plan._condition import Condition, make_condition, task_version
from casewise.evaluation.plan._costs import (
    GRADE_TOKENS,
    CostEstimate,
    RequestCount,
    batch_notes,
    check_window,
    estimate,
    measure,
    measure_grading,
)
from casewise.evaluation.plan._request import (
    ACTING,
    Combination,
    RunRequest,
    combinations,
    draw_seed_of,
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
from casewise.protocols import UPSTREAM, find_protocol, is_ours, paired


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

    @property
    def cost_usd(self) -> float | None:
        """Dollars that the model and its grader will probably take; None with an unknown price."""
        own, grader = self.estimate.cost_usd, self.grading.cost_usd if self.grading else 0.0
        return None if own is None or grader is None else own + grader

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
            # Named, since the default was another once.
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
        return self._key.identity

    @property
    def old_identity(self) -> str | None:
        """Identity under the old default limit on replies; None if equal, or if a limit is set."""
        if "max_tokens" in self.planned.arguments:
            return None
        old = self._key.old_limit.identity
        return None if old == self.identity else old

    @property
    def _key(self) -> RunKey:
        return RunKey(
            self.task,
            self.planned.version,
            self.model,
            self.arguments,
            without_keys(self.request.model_args),
            self.sent_seed,
            self.draw.settings,
        )

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
            *(batch_notes(condition, self.draw) if self.request.batch else ()),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked run."""

    request: RunRequest
    cells: tuple[Cell, ...]

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
    for given, what in ((request.deployment, "--deployment"), (any(request.variations), "--vary")):
        if given and not request.acts:
            raise UsageError(f"{what} is of models that act: give it with {ACTING}")
    conditions = plan_conditions(request)
    cells = [
        plan_cell(condition, model, options) for model, options in asked for condition in conditions
    ]
    return Plan(request, tuple(cells))


def _asked_models(request: RunRequest) -> list[tuple[str, RunRequest]]:
    """Each model with its options; a target's address and arguments are its own."""
    if not request.models and (request.model_args or request.model_base_url):
        raise UsageError("--model-arg and --model-base-url are for --model: a target has its file")
    asked = [(model, request) for model in request.models]
    for target in map(load_target, request.targets):
        if target.model in (model for model, _ in asked):
            raise UsageError(f"{target.given}: another target is named {target.name!r} as well")
        own = replace(request, model_args=target.arguments, model_base_url=None)
        asked.append((target.model, own))
    return asked


def plan_conditions(request: RunRequest) -> tuple[PlannedCondition, ...]:
    """Check and settle every condition that a request asks for; its models play no role.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
    """
    return tuple(plan_condition(request, combination) for combination in combinations(request))


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
        variation=combination.variation,
        seed=request.seed,
        swap=combination.swap,
        verdict_words=request.verdict_words,
        draw_seed=draw_seed_of(request, combination.protocol),
    )
    version = task_version(condition, request.grader)
    grading = measure_grading(condition) if acts and request.grader is not None else None
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
    graders = (request.grader,) if protocol.acts and request.grader else ()
    for name in (model, *graders):
        check_name(name)
    if request.batch:
        check_batches(model, request.grader if protocol.acts else None)
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
        check_taken("--generate", model, settings, request.model_args)
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
    if planned.grading is not None and request.grader is not None:
        count, known = planned.grading.times(request.epochs), prices[request.grader]
        grading = estimate(request.grader, title, count, GRADE_TOKENS, known, grades=model)
    return Cell(model, planned, request, draw, estimated, grading)


def _check_target(condition: Condition, draw: DrawSettings, request: RunRequest) -> RunRequest:
    """Refuse what would reach a target only in part; return the options with its timeout."""
    target = open_again(request.model_args)
    system = ["system"] if draw.system else []
    roles = (
        [*system, *(said.role for said in opening.messages), "user"]
        for opening in condition.openings
    )
    target.check(roles, draw.settings, bool(condition.tools))
    return replace(request, attempt_timeout=request.attempt_timeout or target.timeout)


def _prices(model: str, request: RunRequest, *, acts: bool) -> dict[str, Prices]:
    """Known prices of a model, and of the grader of its replies if it acts."""
    given = {model: request.prices}
    if acts and request.grader is not None:
        given.setdefault(request.grader, request.grader_prices)
    return {name: known_prices(name, prices, batch=request.batch) for name, prices in given.items()}


def _arguments(request: RunRequest, combination: Combination) -> dict[str, Any]:
    """Arguments of the task that a request sets, a part of its identity in the log."""
    protocol = find_protocol(combination.protocol)
    acts = protocol.acts
    prompt, cases = request.prompt, request.cases
    given = {
        "protocol": None if protocol.name == protocol.task else protocol.name,
        "deployment": _in_full(request.deployment, CARDS) if acts else None,
        "variation": combination.variation,
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
        "verdict_words": _in_full(request.verdict_words),
        "samples": None if acts else request.samples,
        "limit": request.limit,
        "pairs": request.pairs if combination.protocol in paired() else None,
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _in_full(name: str | None, known: Collection[str] = ()) -> str | None:
    """A known name as it is, any other as an absolute path."""
    return name if name is None or name in known else str(Path(name).resolve())
