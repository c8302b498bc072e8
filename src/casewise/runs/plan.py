"""Plan of a run: every product of its options that means something, a cell for each model.

Everything that can be checked without a model is checked here, before anything is sent.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from casewise.cases import GROUPS, CaseSet
from casewise.choices import (
    RULES,
    TARGETS,
    check_name,
    grading_model,
    is_in_process,
    is_target,
    read_grader,
)
from casewise.contexts import differing_parameters, swap_cases
from casewise.errors import ModelError, UsageError, choose_from
from casewise.logs import run_identity
from casewise.models.keys import refuse_password, refuse_secret
from casewise.models.open import known_prices
from casewise.models.patience import BATCH_NOTE, Prices, check_batches
from casewise.models.target import load_target, open_again
from casewise.models.target_file import in_braces
from casewise.options import (
    ConditionOptions,
    Option,
    RunOptions,
    key,
    options_of,
    products,
    read,
)
from casewise.protocols import BARE_RUNG, Delivery, Protocol, Unit, find_protocol, load_ladder
from casewise.runs.condition import (
    Condition,
    draws,
    make_condition,
    open_case_set,
)
from casewise.runs.cost import (
    GRADE_TOKENS,
    CostEstimate,
    estimate,
)
from casewise.runs.sampling import (
    NO_LOGPROBS,
    WITHOUT_LOGPROBS,
    DrawSettings,
    check_settings,
    check_taken,
    make_draw,
    setting_parts,
)


class Need(NamedTuple):
    """Condition under which an option means something."""

    words: str
    met: Callable[[RunOptions], object]


def _protocol(run: RunOptions) -> Protocol:
    return find_protocol(run.protocol)


def _has_rungs(run: RunOptions) -> bool:
    protocol = _protocol(run)
    in_context = protocol.unit is Unit.CASE and Delivery.JUDGE in protocol.deliveries
    return protocol.acts or in_context


def _has_context(run: RunOptions) -> bool:
    return run.evidence is None and run.delivery != Delivery.NONE


def _has_plain_context(run: RunOptions) -> bool:
    return _has_context(run) and not (run.deployment or run.ablate or run.vary)


_ACTS = Need(
    "a protocol whose replies are graded (--protocol respond), and no --evidence",
    lambda run: _protocol(run).acts and run.evidence is None,
)
_CONTEXT = "contexts of the cases: no --delivery none, no --evidence"

NEEDS: Mapping[str, Need] = {
    "evidence": Need("a protocol that acts, or judges a case in its context", _has_rungs),
    "rung": Need("--evidence", lambda run: run.evidence is not None),
    "delivery": Need(
        "a protocol that has it, and no --evidence, whose rungs say where the context stands",
        lambda run: run.evidence is None and run.delivery in _protocol(run).deliveries,
    ),
    "ablate": Need(_CONTEXT, _has_context),
    "deployment": _ACTS,
    "vary": _ACTS,
    "swap": Need(
        f"{_CONTEXT}, no --deployment, and nothing else that changes them: --ablate, --vary",
        _has_plain_context,
    ),
    "prompt": Need(
        "a protocol that judges (binary, score, probability)", lambda run: not _protocol(run).acts
    ),
    "pairs": Need(
        "a protocol that asks of pairs: rank", lambda run: _protocol(run).unit is Unit.PAIR
    ),
    "grader": Need("replies to grade: --protocol respond", lambda run: _protocol(run).acts),
    "samples": Need(
        "a protocol that averages answers: score", lambda run: _protocol(run).samples > 1
    ),
    "seed": Need(
        "--vary, or answers that are drawn (--sampling reference)",
        lambda run: run.vary is not None or draws(run),
    ),
}
"""What options need; each may need only what stands above it."""

EACH = "each"
"""Word for every part by which any two twins differ."""


def runs_of(values: Mapping[str, Any], folder: Path | None = None) -> list[RunOptions]:
    """Every run that options ask for, each once.

    What means nothing in a product is left out of it, as an ablation where there is no context; a
    product with a delivery or a ladder that its protocol hasn't is left out.

    Args:
        values: Options as ``options.read`` gives them.
        folder: Folder that files of targets are relative to; None is the current one.

    Raises:
        UsageError: A value that can't be used, or that means nothing in any product.
        InputError: A target, a ladder or cases that can't be used.
    """
    fields = options_of(RunOptions)
    refuse_password(fields["model_base_url"].spelling, values.get("model_base_url"))
    choices = {name: _checked(fields[name], value) for name, value in values.items()}
    fates: dict[tuple[str, Any], str] = {}
    runs: list[RunOptions] = []
    for options in _by_target(choices, folder):
        for run in products(RunOptions, options):
            runs += (settled_run for settled_run in _settled(run, fates) if settled_run not in runs)
    if lost := next(filter(None, fates.values()), None):
        raise UsageError(lost)
    models = list(dict.fromkeys(run.model for run in runs))
    return sorted(runs, key=lambda run: models.index(run.model))


def _checked(option: Option, values: Any) -> Any:
    """Values of an option in their own form.

    Raises:
        UsageError: One can't be used, or holds a secret.
    """
    if option.name not in _READERS:
        return values
    return [value if value is None else _READERS[option.name](value) for value in values]


def _read_grader(text: str) -> str | None:
    grader = read_grader(text)
    if (model := grading_model(grader)) is not None:
        check_name(model)
    return None if grader == RULES else grader


def _read_arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in arguments:
        refuse_secret("--model-arg", name)
    return arguments


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "ablate": lambda names: ",".join(part.strip() for part in names.split(",")),
    "grader": _read_grader,
    "model_arg": _read_arguments,
    "generate": lambda settings: check_settings("--generate", settings),
}


def _by_target(values: Mapping[str, Any], folder: Path | None) -> Iterator[dict[str, Any]]:
    """The options of models, and of each target, whose address and arguments are its own."""
    model_names = values.get("model", [])
    targets = [load_target(name, folder) for name in model_names if is_target(name)]
    models = [name for name in model_names if not is_target(name)]
    for name in models:
        check_name(name)
    if models or not targets:
        yield {**values, "model": models} if models else dict(values)
    elif values.keys() & {"model_arg", "model_base_url"}:
        raise UsageError("--model-arg and --model-base-url: a target's stand in its file")
    names = [target.model for target in targets]
    for place, target in enumerate(targets):
        if target.model in names[:place]:
            raise UsageError(f"{target.reference}: another target is named {target.name!r} as well")
        yield {
            **values,
            "model": [target.model],
            "model_arg": [target.arguments],
            "model_base_url": None,
        }


def _settled(run: RunOptions, fates: dict[tuple[str, Any], str]) -> Iterator[RunOptions]:
    """Runs of a product: without what means nothing, by each rung, with each part to swap.

    Args:
        run: Product of the axes.
        fates: Reason why a value was left out of every product so far, by its option; empty of
            one that a product holds. It is added to.
    """
    protocol = _protocol(run)
    for name, need in NEEDS.items():
        value = getattr(run, name)
        if value is None or need.met(run):
            continue
        reason = f"{options_of(RunOptions)[name].spelling} {value} needs {need.words}"
        if name == "evidence" or (name == "delivery" and run.evidence is None):
            if name == "delivery":
                known = choose_from(value, protocol.deliveries)
                reason = f"protocol {protocol} has no delivery {value!r}: {known}"
            fates.setdefault(("protocol", run.protocol), reason)
            fates.setdefault((name, value), reason)
            return
        fates.setdefault((name, value), reason)
        nothing: dict[str, Any] = {name: None}
        run = replace(run, **nothing)
    fates |= {(name, getattr(run, name)): "" for name in ("protocol", *NEEDS)}
    yield from _run_variants(run, protocol)


def _run_variants(run: RunOptions, protocol: Protocol) -> Iterator[RunOptions]:
    """A run at every rung of its ladder, or with every part to swap."""
    if run.evidence is not None:
        ladder = load_ladder()
        for name in ladder.rungs if run.rung is None else [run.rung]:
            rung = ladder.find(name)
            place = rung.delivery if protocol.acts else Delivery.JUDGE
            yield replace(run, rung=name, delivery=str(place))
        return
    run = replace(run, delivery=run.delivery or str(protocol.deliveries[0]))
    if run.swap != EACH:
        yield run
        return
    cases = open_case_set(run.cases).cases
    for name in (*differing_parameters(cases), *GROUPS):
        if swap_cases(cases, name):
            yield replace(run, swap=name)


_OF_MODEL = ("model", "model_arg", "generate")
"""Axes that stand elsewhere in a log than among the arguments of its task."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One model under one condition: a task of a run."""

    condition: Condition
    request: RunOptions
    """Options that it is asked with, one value of each."""
    draw: DrawSettings
    prices: Mapping[str, Prices]
    """Known prices of the models that are asked: this one, and its grader."""
    estimate: CostEstimate
    grading: CostEstimate | None = None
    """Cost of the model that grades the replies; None where none does."""
    address: str = ""
    """Address of the server; empty of a model that is loaded."""

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.request.model

    @property
    def acts(self) -> bool:
        """Tell whether the model plays the chatbot, and not a judge."""
        return self.condition.protocol.acts

    @property
    def task(self) -> str:
        """The task's name in Inspect."""
        return f"casewise/{self.condition.protocol.task}"

    @property
    def judgements(self) -> int:
        """Number of judgements: samples, as often as each is asked."""
        return self.condition.size * self.request.epochs

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the task, as its log holds them: files by their whole paths."""
        every = {
            **key(self.request),
            "limit": self.request.limit,
            "sampling": str(self.draw.sampling),
        }
        options = options_of(RunOptions)
        arguments = {
            name: options[name].in_full(value)
            for name, value in every.items()
            if value is not None and name not in _OF_MODEL
        }
        case_set_name = self.condition.case_set_name
        return arguments if case_set_name is None else arguments | {"cases": case_set_name}

    @property
    def identity(self) -> str:
        """Identity of all runs of one model under one condition; see ``run_identity``."""
        parts = self.task, self.condition.version, self.model, self.arguments
        return run_identity(*parts, self.request.model_arg, self.draw.settings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read beforehand."""
        notes = [*self.condition.notes, *([BATCH_NOTE] if self.request.batch else [])]
        if self.is_target and self.condition.has_contexts and not self.condition.tells_context:
            target = open_again(self.request.model_arg)
            if parts := target.context_parts:
                notes.append(
                    f"{target.reference}: every request goes without {in_braces(parts)} under "
                    f"--delivery {self.condition.delivery}; --delivery system fills this"
                )
        return tuple(notes)

    @property
    def is_target(self) -> bool:
        """Tell whether the model is a bot of a person's own."""
        return self.model.startswith(f"{TARGETS}/")


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked run."""

    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    """Notes to read beforehand."""

    @property
    def estimates(self) -> tuple[CostEstimate, ...]:
        """Estimates of each model under each condition, then those of its graders."""
        gradings = (cell.grading for cell in self.cells)
        return (*(cell.estimate for cell in self.cells), *filter(None, gradings))

    @property
    def judgements(self) -> int:
        """Number of judgements over all models and conditions."""
        return sum(cell.judgements for cell in self.cells)


def make_plan(
    options: Mapping[str, Any],
    case_set: CaseSet | None = None,
    *,
    folder: Path | None = None,
    withhold: bool = False,
) -> Plan:
    """Check everything that can be checked without a model, and count what will be asked.

    Args:
        options: Options by name (``casewise.options.RunOptions``), of axes one value or several,
            whose every product is asked.
        case_set: The cases, where no file holds them.
        folder: Folder that paths of files are relative to; None is the current one.
        withhold: True if logs hold no text of cases and answers; a new start asks again what no log
            holds.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A model without its provider, one that nobody has registered, or one that gives
            no log-probabilities under ``probability``.
    """
    runs = runs_of(read(RunOptions, options, folder), folder)
    conditions: dict[str, Condition] = {}
    cells: dict[str, Cell] = {}
    notes = []
    for run in (replace(run_options, withhold=withhold) for run_options in runs):
        name = repr({name: getattr(run, name) for name in options_of(ConditionOptions)})
        try:
            if name not in conditions:
                conditions[name] = make_condition(run, case_set)
            cell = plan_cell(conditions[name], run)
        except UsageError as error:
            # Of a ladder, what can be asked is.
            if run.rung in (None, BARE_RUNG):
                raise
            notes.append(f"{run.model}: rung {run.rung} is left out: {error}")
        else:
            cells.setdefault(cell.identity, cell)
    if not cells:
        raise UsageError(notes[0])
    notes += [note for cell in cells.values() for note in cell.notes]
    return Plan(tuple(cells.values()), tuple(dict.fromkeys(notes)))


def plan_cell(condition: Condition, run: RunOptions) -> Cell:
    """Make the cell of a model under a condition, with the estimates of its cost.

    Raises:
        UsageError: A setting that can't be given, tools that the model can't take, or no interface
            of batches.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    protocol, model, grader = condition.protocol, run.model, run.grading_model
    if run.batch:
        check_batches(model, grader)
    if protocol.candidates and model.split("/")[0] in NO_LOGPROBS:
        raise ModelError(f"{model}: {WITHOUT_LOGPROBS}")
    draw = make_draw(run, model, run.generate)
    check_taken("--generate", model, draw.settings, run.model_arg)
    if is_in_process(model) and (tools := condition.tools):
        raise UsageError(
            f"{model} takes no tools, and the deployment has {len(tools)}: ask a model that is "
            "served (openai-api/SERVICE/NAME, vllm/NAME...)"
        )
    if model.startswith(f"{TARGETS}/"):
        condition, run = _fit_to_target(condition, draw, run)
    given_prices = {model: Prices(run.price_in, run.price_out)}
    if grader is not None:
        given_prices.setdefault(grader, Prices(run.grader_price_in, run.grader_price_out))
    prices = {
        name: known_prices(name, price, batch=run.batch) for name, price in given_prices.items()
    }
    title = replace(condition.identity, settings=setting_parts(draw.settings)).text
    count = condition.requests.times(draw.samples * run.epochs)
    usual = min(protocol.answer_tokens, draw.config.max_tokens or protocol.answer_tokens)
    estimated = estimate(model, title, count, usual, prices[model])
    grading = None
    if grader is not None:
        count, known = condition.gradings.times(run.epochs), prices[grader]
        grading = estimate(grader, title, count, GRADE_TOKENS, known, grades=model)
    return Cell(condition, run, draw, prices, estimated, grading)


def _fit_to_target(
    condition: Condition, draw: DrawSettings, run: RunOptions
) -> tuple[Condition, RunOptions]:
    """The condition and options as a target takes them, its timeout among them.

    Raises:
        UsageError: Something would reach it only in part.
    """
    target = open_again(run.model_arg)
    if target.context_parts:
        condition = condition.undescribed
    system = ["system"] if draw.system else []
    contexts = (case.context.root for case in condition.data.cases if case.context is not None)
    target.check(
        (
            [*system, *(message.role for message in opening.first_messages)]
            for opening in condition.openings
        ),
        draw.settings,
        bool(condition.tools),
        map(condition.target_fields, condition.units),
        contexts,
        of_card=condition.options.deployment is not None,
    )
    return condition, replace(run, attempt_timeout=run.attempt_timeout or target.timeout)
