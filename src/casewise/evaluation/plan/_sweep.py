"""Cells of a sweep's file: its grid, less what its rules leave out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from casewise.cases import CARDS, CASEBENCH, STARTER
from casewise.choices import PROTOCOL, Sampling
from casewise.errors import InputError, UsageError
from casewise.evaluation.models import Prices
from casewise.evaluation.plan._plan import (
    NONE,
    Cell,
    Combination,
    PlannedCondition,
    RunRequest,
    combinations,
    draw_seed_of,
    lone_ablations,
    plan_cell,
    plan_shown,
    unasked_notes,
)
from casewise.evaluation.plan._sampling import check_settings, setting_parts
from casewise.evaluation.plan._sweep_file import GridLine, ModelEntry, Rule, SweepFile, load_sweep
from casewise.protocols import LADDER, UPSTREAM, find_protocol, is_ours

AXES = (
    *("model", "cases", "protocol", "delivery", "ablate", "swap", "vary"),
    *("deployment", "prompt", "sampling", "seed"),
)
"""Axes that a rule may choose by."""


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One model under one condition, with the names that the file gives."""

    cell: Cell
    model: str
    condition: str

    @property
    def title(self) -> str:
        """The condition, with the model's settings that its name doesn't say."""
        settings = setting_parts(self.cell.draw.settings)
        return ", ".join(
            [self.condition, *(setting for setting in settings if setting not in self.condition)]
        )


@dataclass(frozen=True, slots=True)
class Sweep:
    """A checked sweep."""

    name: str
    entries: tuple[SweepCell, ...]
    """Each model under each condition once; neighbours share a model, then a protocol."""
    notes: tuple[str, ...]
    """Notes to read before it starts."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells that are run."""
        return tuple(entry.cell for entry in self.entries)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A combination of the grid, not checked yet."""

    entry: ModelEntry
    request: RunRequest
    combination: Combination
    values: Mapping[str, str]
    line: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A combination that the rules keep, checked."""

    wanted: _Wanted
    planned: PlannedCondition
    request: RunRequest
    key: str
    """Identity of the condition, the same on every line of the grid."""
    own_key: str
    """Identity of the condition with the model's own settings."""


def plan_sweep(path: Path) -> Sweep:
    """Read a sweep's file, and check and count all that it asks for; nothing is sent.

    Raises:
        InputError: The file can't be used, with the place and what was expected.
        ModelError: A model that can't do what a protocol needs.
    """
    file = load_sweep(path)
    wanted = [
        combination
        for number, line in enumerate(file.lines, start=1)
        for combination in _combinations(file, line, number, path)
    ]
    kept, notes = _keep(wanted, file, path)
    if not kept:
        raise InputError("nothing is left to run: the rules leave out all of it", file=path)
    once = _each_once(_settle(kept, path, notes))
    titles = _titles(once, file)
    order = {entry.label: place for place, entry in enumerate(file.model)}
    entries, unasked = _cells(once, titles, path)
    entries.sort(key=lambda entry: order[entry.model])
    _check_told_apart(entries, path)
    about = [line for cell in once for line in cell.planned.condition.notes]
    about += [line for entry in entries for line in entry.cell.notes]
    if lone := lone_ablations(entry.cell for entry in entries):
        about.append(f"only contexts without {' or '.join(lone)}: {NO_WHOLE}: add none to ablate")
    return Sweep(file.name or path.stem, tuple(entries), (*notes, *unasked, *dict.fromkeys(about)))


NO_WHOLE = "no run over whole contexts is beside it to say what that changes"


def _check_told_apart(entries: Sequence[SweepCell], path: Path) -> None:
    """Refuse two entries of a model that a line of the grid makes the same."""
    seen: dict[str, SweepCell] = {}
    for entry in entries:
        first = seen.setdefault(entry.cell.identity, entry)
        if first is not entry:
            raise InputError(
                f"{first.model!r} and {entry.model!r} are one model, asked the same",
                file=path,
                record=f"condition {entry.condition!r}",
                expected="what the grid does not override: other model_arg, max_tokens or generate",
            )


def _combinations(file: SweepFile, line: GridLine, number: int, path: Path) -> Iterator[_Wanted]:
    entries = [model for model in file.model if line.model is None or model.label in line.model]
    if line.swap not in (None, [NONE]) and line.ablate not in (None, [NONE]):
        raise _fault(path, number, "ablate and swap both change the contexts: one a line")
    drawn = line.vary not in (None, [NONE])
    options: dict[str, Sequence[str | None]] = {
        "cases": line.cases or [STARTER],
        "deployment": line.deployment or [None],
        "prompt": line.prompt or [None],
        "sampling": line.sampling or [Sampling.GREEDY],
    }
    for values in product(*options.values()):
        axes = dict(zip(options, values, strict=True))
        seeds: Sequence[int | None] = line.seed or [None]
        for seed in seeds if drawn or axes["sampling"] is not Sampling.GREEDY else seeds[:1]:
            request = _request(file, line, path.parent, axes, seed)
            try:
                combined = combinations(request)
            except UsageError as error:
                raise _fault(path, number, str(error)) from None
            for combination, entry in product(combined, entries):
                place = _place(request, combination, axes | {"model": entry.label})
                yield _Wanted(entry, request, combination, place, number)


def _settle(kept: Sequence[_Wanted], path: Path, notes: list[str]) -> Iterator[_Found]:
    """Check each condition, once for all models; rungs that no case has are added to the notes."""
    made: dict[tuple[int, Combination], PlannedCondition | None] = {}
    for wanted in kept:
        key = (id(wanted.request), wanted.combination)
        if key not in made:
            try:
                made[key] = plan_shown(wanted.request, wanted.combination, notes)
            except UsageError as error:
                raise _fault(path, wanted.line, str(error)) from None
        planned = made[key]
        if planned is None:
            continue
        options = _for_entry(wanted.request, wanted.entry)
        given = _for_model(planned, wanted.entry)
        yield _Found(
            wanted, given, options, key=_key(planned, wanted.request), own_key=_key(given, options)
        )


def _fault(path: Path, number: int, problem: str) -> InputError:
    return InputError(problem, file=path, record=f"grid, record {number}")


def _request(
    file: SweepFile, line: GridLine, folder: Path, axes: Mapping[str, str | None], seed: int | None
) -> RunRequest:
    """Request of a line, with all its protocols, deliveries and changes of the contexts."""

    def beside(name: str | None, known: bool) -> str | None:
        """Path of a file that is named relative to the sweep's own."""
        return name if name is None or known else str(folder / name)

    cases, deployment, prompt = axes["cases"], axes["deployment"], axes["prompt"]
    grader = line.grader
    return RunRequest.of(
        {name: value for name, value in (*file, *line) if value is not None},
        model=(),
        cases=beside(cases, cases in (STARTER, CASEBENCH)),
        protocol=tuple(line.protocol or [PROTOCOL]),
        delivery=tuple(line.delivery or ()),
        ablate=_changes(line.ablate),
        swap=_changes(line.swap),
        vary=_changes(line.vary),
        evidence=beside(line.evidence, line.evidence == LADDER),
        deployment=beside(deployment, deployment in CARDS),
        prompt=beside(prompt, prompt == UPSTREAM or is_ours(prompt or "")),
        sampling=axes["sampling"],
        generate=check_settings("generate:", line.generate or {}),
        seed=seed or 0,
        draw_seed=seed,
        # A grader at the top of the file is for those lines that have replies.
        grader=grader.model if grader and _acts(line) else None,
        grader_prices=Prices(grader.price_in, grader.price_out) if grader else Prices(),
    )


def _acts(line: GridLine) -> bool:
    return any(find_protocol(name).acts for name in line.protocol or ())


def _changes(given: list[str] | None) -> tuple[str | None, ...]:
    plain = [",".join(part.strip() for part in names.split(",")) for names in given or [NONE]]
    return tuple(dict.fromkeys(None if names == NONE else names for names in plain))


def _key(planned: PlannedCondition, request: RunRequest) -> str:
    """Identity of a condition: all arguments and settings, in a fixed order."""
    given = dict(planned.arguments)
    if names := given.get("ablate"):
        given["ablate"] = ",".join(sorted(names.split(",")))
    settings = sorted(request.generate.items())
    asked = (planned.condition.protocol, str(request.sampling), sorted(given.items()), settings)
    return repr(asked)


def _for_model(planned: PlannedCondition, entry: ModelEntry) -> PlannedCondition:
    if entry.max_tokens is None:
        return planned
    return replace(planned, arguments=planned.arguments | {"max_tokens": entry.max_tokens})


def _for_entry(request: RunRequest, entry: ModelEntry) -> RunRequest:
    """A request of one model, as its entry says."""
    return replace(
        request,
        model=(entry.asked,),
        model_base_url=entry.model_base_url,
        model_arg=entry.model_arg,
        prices=Prices(entry.price_in, entry.price_out),
        max_connections=entry.max_connections,
        batch=request.batch if entry.batch is None else entry.batch,
        max_tokens=entry.max_tokens or request.max_tokens,
        generate=request.generate | check_settings("generate:", entry.generate),
    )


def _place(
    request: RunRequest, combination: Combination, axes: Mapping[str, str | None]
) -> dict[str, str]:
    """The place of a combination on every axis, as rules name it."""
    varied = combination.variation is not None
    seeded = varied or draw_seed_of(request, combination.protocol) is not None
    place = {
        **axes,
        **asdict(combination),
        "ablate": combination.ablation,
        "vary": combination.variation,
        "seed": request.draw_seed if seeded else None,
    }
    if not find_protocol(combination.protocol).acts:
        place["deployment"] = None
    return {axis: NONE if place[axis] is None else str(place[axis]) for axis in AXES}


def _keep(asked: list[_Wanted], file: SweepFile, path: Path) -> tuple[list[_Wanted], list[str]]:
    """Combinations that the rules keep, and notes on rules without effect."""
    known = {axis: list(dict.fromkeys(wanted.values[axis] for wanted in asked)) for axis in AXES}
    rules = {
        kind: [_read_rule(rule, known, kind, n, path) for n, rule in enumerate(given, start=1)]
        for kind, given in (("only", file.only), ("exclude", file.exclude))
    }
    notes = [
        f"{kind}, record {number}: no combination of the grid is like this"
        for kind, given in rules.items()
        for number, rule in enumerate(given, start=1)
        if not any(_matches(wanted, rule) for wanted in asked)
    ]
    only, exclude = rules["only"], rules["exclude"]
    kept = [
        wanted
        for wanted in asked
        if (not only or any(_matches(wanted, rule) for rule in only))
        and not any(_matches(wanted, rule) for rule in exclude)
    ]
    return kept, notes


def _read_rule(
    rule: Rule, known: Mapping[str, list[str]], kind: str, number: int, path: Path
) -> dict[str, list[str]]:
    wrong = partial(InputError, file=path, record=f"{kind}, record {number}")
    read = {}
    for axis, values in rule.items():
        if axis not in AXES:
            raise wrong("unknown field", field=axis, expected=f"one of {', '.join(AXES)}")
        read[axis] = [NONE if value is None else str(value).replace(", ", ",") for value in values]
        for value in read[axis]:
            if value not in known[axis]:
                expected = f"one of {', '.join(known[axis])}"
                raise wrong(
                    "the grid has no such value", field=axis, found=value, expected=expected
                )
    if not read:
        raise wrong("an empty rule", expected=", ".join(AXES))
    return read


def _matches(wanted: _Wanted, rule: Mapping[str, list[str]]) -> bool:
    return all(wanted.values[axis] in values for axis, values in rule.items())


def _each_once(cells: Iterable[_Found]) -> list[_Found]:
    """Each model under each condition once, with the most epochs that any line asks for."""
    once: dict[tuple[str, str], _Found] = {}
    for cell in cells:
        key = (cell.wanted.entry.label, cell.own_key)
        first = once.setdefault(key, cell)
        if cell.request.epochs > first.request.epochs:
            once[key] = replace(first, request=replace(first.request, epochs=cell.request.epochs))
    return list(once.values())


def _cells(
    found: Sequence[_Found], titles: Mapping[str, str], path: Path
) -> tuple[list[SweepCell], list[str]]:
    """Cells, and notes on rungs of a ladder that a model can't be asked, as in a run."""
    cells: list[SweepCell] = []
    refused: dict[str, dict[str, list[str]]] = {}
    for one in found:
        entry = one.wanted.entry
        try:
            cell = plan_cell(one.planned, entry.asked, one.request)
        except UsageError as error:
            rung = one.wanted.combination.rung
            others = (other for other in found if other.wanted.entry is entry and other is not one)
            if rung is None or not any(other.wanted.combination.rung for other in others):
                raise _fault(path, one.wanted.line, str(error)) from None
            refused.setdefault(entry.label, {}).setdefault(str(error), []).append(rung)
        else:
            cells.append(SweepCell(cell, entry.label, titles[one.key]))
    notes = [note for label, why in refused.items() for note in unasked_notes(label, why)]
    if not cells:
        raise InputError("no model can be asked any rung: " + notes[0], file=path)
    return cells, notes


def _titles(cells: Sequence[_Found], file: SweepFile) -> dict[str, str]:
    """A name for every condition, no two alike."""
    names = [line.name for line in file.lines]
    conditions = {cell.key: cell.wanted for cell in reversed(cells)}
    alone = Counter(condition.line for condition in conditions.values())
    varied = {axis for axis in AXES if len({cell.wanted.values[axis] for cell in cells}) > 1}
    titles: dict[str, str] = {}
    for key, wanted in reversed(conditions.items()):
        name, title = names[wanted.line - 1], _title(wanted, varied)
        if name is not None:
            title = name if alone[wanted.line] == 1 else f"{name}: {title}"
        # Lines may differ in what is no axis, such as a limit.
        while title in titles.values():
            title = f"{title} (line {wanted.line})"
        titles[key] = title
    return titles


def _title(wanted: _Wanted, varied: set[str]) -> str:
    values = wanted.values
    parts = [values["protocol"]]
    if values["delivery"] != find_protocol(values["protocol"]).deliveries[0]:
        parts.append(values["delivery"])
    for axis, how in (("ablate", "without"), ("swap", "swapped"), ("vary", "under")):
        if values[axis] != NONE:
            parts.append(f"{how} {values[axis].replace(',', ', ')}")
    if wanted.combination.rung is not None:
        parts.append(f"rung {wanted.combination.rung}")
    shown = [axis for axis in ("deployment", "cases", "prompt", "sampling") if axis in varied]
    parts += [values[axis].split("/")[-1] for axis in shown if values[axis] != NONE]
    if "seed" in varied and values["seed"] != NONE:
        parts.append(f"seed {values['seed']}")
    parts += setting_parts(wanted.request.generate)
    return ", ".join(parts)
