"""Runs that options ask for: every product of their axes that means something, each once."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from casewise.cases import GROUPS
from casewise.choices import RULES, grading_model, read_grader
from casewise.contexts import differing_parameters, swap_cases
from casewise.errors import UsageError, choose_from
from casewise.evaluation.models._target import is_target, load_target
from casewise.evaluation.models.keys import refuse_password, refuse_secret
from casewise.evaluation.models.open import check_grader
from casewise.evaluation.plan._condition import draws, opened
from casewise.evaluation.plan._sampling import check_settings
from casewise.options import Option, RunOptions, options_of, products
from casewise.protocols import Delivery, Protocol, Unit, find_protocol, load_ladder


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
    "samples": Need("a protocol that averages answers", lambda run: _protocol(run).repeats),
    "seed": Need(
        "--vary, or answers that are drawn (--sampling reference)",
        lambda run: run.vary is not None or draws(run),
    ),
}
"""What options need; each may need only what stands above it."""

EACH = "each"
"""Word for every part by which any two twins differ."""


def runs_of(given: Mapping[str, Any], folder: Path | None = None) -> list[RunOptions]:
    """Every run that options ask for, each once.

    What means nothing in a product is left out of it, as an ablation where there is no context; a
    product with a delivery or a ladder that its protocol hasn't is left out.

    Args:
        given: Options as ``options.read`` gives them.
        folder: Folder that files of targets are relative to; None is the current one.

    Raises:
        UsageError: A value that can't be used, or that means nothing in any product.
        InputError: A target, a ladder or cases that can't be used.
    """
    known = options_of(RunOptions)
    refuse_password(known["model_base_url"].spelling, given.get("model_base_url"))
    asked = {name: _checked(known[name], value) for name, value in given.items()}
    fates: dict[tuple[str, Any], str] = {}
    runs: list[RunOptions] = []
    for options in _by_target(asked, folder):
        for run in products(RunOptions, options):
            runs += (one for one in _settled(run, fates) if one not in runs)
    if lost := next(filter(None, fates.values()), None):
        raise UsageError(lost)
    models = list(dict.fromkeys(run.model for run in runs))
    return sorted(runs, key=lambda run: models.index(run.model))


def _checked(option: Option, given: Any) -> Any:
    """Values of an option in their own form.

    Raises:
        UsageError: One can't be used, or holds a secret.
    """
    if option.name not in _READERS:
        return given
    return [value if value is None else _READERS[option.name](value) for value in given]


def _read_grader(text: str) -> str | None:
    grader = read_grader(text)
    if (model := grading_model(grader)) is not None:
        check_grader(model)
    return None if grader == RULES else grader


def _read_arguments(given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in given:
        refuse_secret("--model-arg", name)
    return given


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "ablate": lambda names: ",".join(part.strip() for part in names.split(",")),
    "grader": _read_grader,
    "model_arg": _read_arguments,
    "generate": lambda settings: check_settings("--generate", settings),
}


def _by_target(asked: Mapping[str, Any], folder: Path | None) -> Iterator[dict[str, Any]]:
    """The options of models, and of each target, whose address and arguments are its own."""
    given = asked.get("model", [])
    targets = [load_target(name, folder) for name in given if is_target(name)]
    models = [name for name in given if not is_target(name)]
    if models or not targets:
        yield {**asked, "model": models} if models else dict(asked)
    elif asked.keys() & {"model_arg", "model_base_url"}:
        raise UsageError("--model-arg and --model-base-url: a target's stand in its file")
    names = [target.model for target in targets]
    for place, target in enumerate(targets):
        if target.model in names[:place]:
            raise UsageError(f"{target.given}: another target is named {target.name!r} as well")
        yield {
            **asked,
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
    yield from _opened_up(run, protocol)


def _opened_up(run: RunOptions, protocol: Protocol) -> Iterator[RunOptions]:
    """A run at every rung of its ladder, or with every part to swap."""
    if run.evidence is not None:
        ladder = load_ladder(run.evidence)
        for name in ladder.rungs if run.rung is None else [run.rung]:
            place = ladder.find(name).delivery if protocol.acts else Delivery.JUDGE
            yield replace(run, rung=name, delivery=str(place))
        return
    run = replace(run, delivery=run.delivery or str(protocol.deliveries[0]))
    if run.swap != EACH:
        yield run
        return
    cases = opened(run.cases).cases
    for name in (*differing_parameters(cases), *GROUPS):
        if swap_cases(cases, name):
            yield replace(run, swap=name)
