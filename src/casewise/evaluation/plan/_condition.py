"""The condition of a run: all that distinguishes two runs of one model, checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from casewise.cases import (
    STARTER,
    Case,
    CaseSet,
    Form,
    ToolDefinition,
    card_cases,
    digest,
    find_twins,
    load_card,
    open_cases,
    system_text,
)
from casewise.contexts import Ablation, ablate_cases, swap_cases
from casewise.errors import UsageError, choose_from
from casewise.protocols import (
    BARE_RUNG,
    GRADE_VERSION,
    SCRIPTED,
    Conversations,
    Delivery,
    Opening,
    Prompts,
    Protocol,
    RunCondition,
    Script,
    SeededVariation,
    Unit,
    VariedConversations,
    acting,
    find_protocol,
    find_variation,
    load_ladder,
    load_script,
    on_rung,
    other_words,
)

Chosen = TypeVar("Chosen", bound=StrEnum)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Condition:
    """Cases as they will be asked, with the prompts that ask them."""

    protocol: Protocol
    delivery: Delivery
    ablation: Ablation | None
    prompts: Prompts | Conversations
    data: CaseSet
    """The whole data set, before any limit or ablation."""
    units: tuple[tuple[Case, ...], ...]
    """The cases of each judgement, in an order in which neighbours share long prefixes."""
    script: Script | None = None
    """A deployment's conversation of several turns."""
    changes: RunCondition = field(default_factory=RunCondition)
    """Other fields that tell this run from others: card, swap, variation, seed."""

    def answered_in(self, case: Case) -> str | None:
        """The language in which a judge's answer is read beside English; None for English alone."""
        if not isinstance(self.prompts, Prompts):
            return None
        language = self.prompts.answered_in(case)
        return language if other_words(language) else None

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        """Tools of a deployment's model."""
        return () if isinstance(self.prompts, Prompts) else self.prompts.tools

    @property
    def script_opening(self) -> Opening | None:
        """The conversation in which the script is held; None without one."""
        if self.script is None or not isinstance(self.prompts, Conversations):
            return None
        return self.prompts.open_script(self.script)

    @property
    def variation_version(self) -> str | None:
        """Version of the variation's wording; None without one."""
        if isinstance(self.prompts, VariedConversations):
            return self.prompts.change_version
        return None

    @property
    def escalates(self) -> bool:
        """Tell whether its conversations escalate to the query, so that every reply is graded."""
        varied = self.prompts if isinstance(self.prompts, VariedConversations) else None
        return varied is not None and find_variation(varied.name)[0].kind == "escalation"

    @property
    def size(self) -> int:
        """Number of samples: the units, and the script if there is one."""
        return len(self.units) + (self.script is not None)

    @property
    def openings(self) -> Iterator[Opening]:
        """Every conversation as it will be held; made one at a time, as many are large."""
        for unit in self.units:
            yield from self.protocol.open(unit, self.prompts)
        if (scripted := self.script_opening) is not None:
            yield scripted

    @property
    def identity(self) -> RunCondition:
        """Fields of the condition in the judgement table, without the model and its sampling."""
        return replace(
            self.changes,
            protocol=str(self.protocol),
            delivery=str(self.delivery),
            ablation=self.ablation.names if self.ablation else (),
            prompt_version=self.prompts.version,
            dataset_hash=self.data.hash,
            dataset_version=self.data.version,
        )

    @property
    def notes(self) -> list[str]:
        """Notes to read before the run starts."""
        if self.ablation is None:
            return []
        total = len(self.ablation.cases)
        return [
            f"{name!r} stands in {total - count} of {total} contexts; the others stay as they are"
            for name, count in self.ablation.missing.items()
            if count
        ]


class RungNotShownError(UsageError):
    """Cases that lack what a rung of an evidence ladder shows, such as another context."""


def make_condition(
    cases: str | CaseSet,
    *,
    protocol: str,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    prompt: str | None = None,
    limit: int | None = None,
    pairs: int | None = None,
    deployment: str | None = None,
    vary: str | None = None,
    seed: int = 0,
    swap: str | None = None,
    draw_seed: int | None = None,
    evidence: str | None = None,
    rung: str | None = None,
) -> Condition:
    """Check and settle a condition. Nothing is sent to a model here.

    Args:
        cases: ``starter``, ``casebench``, a file of cases, or the cases.
        protocol: Name of the protocol.
        delivery: Place of the context; None is the protocol's default.
        ablate: Groups or parameters to remove from every context, joined by commas.
        prompt: A judge's template.
        limit: Only the first cases.
        pairs: The most pairs of one query, drawn; None is every one.
        deployment: A card, whose cases take the place of ``cases``.
        vary: Change of every conversation; cases that it means nothing for are left out.
        seed: Seed of the variation.
        swap: A parameter or group that every case takes from its twin; cases in which that
            changes nothing are left out.
        draw_seed: Seed of the answers, where they are drawn at random.
        evidence: A ladder, by name or file; cases that lack what the rung shows are left out.
        rung: The ladder's rung; None is the first.

    Raises:
        UsageError: An unknown protocol, delivery or parameter; options that don't fit together; or
            no cases left.
        InputError: The cases or the template can't be used.
        AssetError: CASE-Bench or its templates were not fetched.
    """
    chosen = find_protocol(protocol)
    known = chosen.deliveries
    place = choose(Delivery, delivery or known[0], "delivery")
    if place not in known:
        raise UsageError(
            f"protocol {chosen} has no delivery {str(place)!r}: {choose_from(place, known)}"
        )
    data, prompts, script = _data_and_prompts(cases, chosen, place, prompt, deployment)
    # Inspect's command line turns a,b into a list.
    names = ablate if isinstance(ablate, str | None) else ",".join(ablate)
    if names is not None and place is Delivery.NONE:
        raise UsageError("--ablate removes parts of a context; with --delivery none there is none")
    if names is not None and swap:
        raise UsageError("--ablate and --swap both change the contexts: give one of them")
    if swap and (place is Delivery.NONE or deployment):
        raise UsageError("--swap changes contexts; here there are none, or a deployment's own")
    ablation = ablate_cases(data.cases, names) if names is not None else None
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit}: give at least 1")
    chosen_cases = ablation.cases if ablation else data.cases
    changes = RunCondition(
        card=data.name if deployment is not None else None,
        swap=swap or None,
        variation=SeededVariation(vary, seed) if vary is not None else None,
        draw_seed=draw_seed,
        evidence=(rung or BARE_RUNG) if evidence is not None else None,
    )
    if swap:
        chosen_cases = swap_cases(data.cases, swap)
        if not chosen_cases:
            raise UsageError(f"no pair of these cases differs in {swap!r}")
    if vary is not None:
        prompts = varied = _vary(prompts, vary, seed, chosen_cases)
        chosen_cases = tuple(case for case in chosen_cases if varied.applies(case))
        script = None
        if not chosen_cases:
            raise UsageError(f"the variation {vary!r} means nothing for any of these cases")
    if changes.evidence is not None:
        ladder = load_ladder(str(evidence))
        proven = on_rung(ladder, changes.evidence, find_twins(chosen_cases))
        chosen_cases = tuple(case for case in chosen_cases if proven.applies(case))
        if not chosen_cases:
            raise RungNotShownError(
                f"no case has what rung {changes.evidence!r} of the ladder shows"
            )
        if isinstance(prompts, Prompts):
            prompts = replace(prompts, ladder=ladder.name)
            chosen_cases = tuple(map(proven.as_context, chosen_cases))
        else:
            prompts, place = proven, proven.delivery
    if pairs is not None and chosen.unit is not Unit.PAIR:
        raise UsageError(f"--pairs is for protocols that ask of pairs; {chosen} asks of a case")
    units = chosen.units(chosen_cases[:limit], pairs)
    if not units:
        raise UsageError(f"protocol {chosen} asks of a {chosen.unit}; these cases have none")
    ordered = tuple(by_text(units, lambda unit: prompts.render(unit[0])))
    return Condition(chosen, place, ablation, prompts, data, ordered, script, changes)


def unit_id(unit: Sequence[Case]) -> str:
    """Id of a unit's judgement: the id of its case, or those of several joined by ``+``."""
    return "+".join(case.id for case in unit)


BEGINNING = 200
"""Characters after the common beginning by which texts are put in order first."""


def by_text(units: Sequence[Item], render: Callable[[Item], str]) -> Iterator[Item]:
    """Units in the order of their texts.

    Only a part of each text is held in memory: 100,000 whole ones take more than the cases do.
    """
    shared = render(units[0]) if units else ""
    for unit in units:
        text = render(unit)
        while not text.startswith(shared):
            shared = shared[:-1]
    start = len(shared)
    keys = [render(unit)[start : start + BEGINNING] for unit in units]
    places = sorted(range(len(units)), key=keys.__getitem__)
    for _, alike in groupby(places, key=keys.__getitem__):
        group = [units[place] for place in alike]
        yield from sorted(group, key=render) if len(group) > 1 else group


def _vary(
    prompts: Prompts | Conversations, name: str, seed: int, cases: tuple[Case, ...]
) -> VariedConversations:
    if isinstance(prompts, Prompts):
        names = " or ".join(acting())
        raise UsageError(f"variations change a conversation: give them with --protocol {names}")
    find_variation(name)
    return VariedConversations(
        delivery=prompts.delivery,
        deployer=prompts.deployer,
        tools=prompts.tools,
        retrieved=prompts.retrieved,
        name=name,
        seed=seed,
        twins=find_twins(cases),
    )


def _data_and_prompts(
    cases: str | CaseSet,
    protocol: Protocol,
    delivery: Delivery,
    prompt: str | None,
    deployment: str | None,
) -> tuple[CaseSet, Prompts | Conversations, Script | None]:
    if deployment is not None and not protocol.acts:
        names = " or ".join(acting())
        raise UsageError(f"a deployment is acted in: give it with --protocol {names}")
    if deployment is None:
        data = _opened(cases)
        languages = {case.language for case in data.cases}
        return data, protocol.wording(delivery, prompt, languages), None
    protocol.wording(delivery, prompt, ())
    if cases != STARTER:
        raise UsageError("a deployment has cases of its own: leave out --cases")
    card = load_card(deployment)
    data = CaseSet(card_cases(card), card.name, Form.YAML, ())
    script = load_script(card.script_path) if card.script_path is not None else None
    retrieved = {case.id: card.retrieved_for(case) for case in card.cases} | {
        SCRIPTED: card.retrieved if script is not None else ()
    }
    given = {id: texts for id, texts in retrieved.items() if texts}
    return data, Conversations(delivery, system_text(card), card.tools, given), script


_open_sets: WeakValueDictionary[tuple[object, ...], CaseSet] = WeakValueDictionary()
"""Open case sets by name and by the state of their file, for as long as a condition needs them."""


def _opened(cases: str | CaseSet) -> CaseSet:
    """Open a case set; an unchanged file is not read again for each task of a run."""
    if isinstance(cases, CaseSet):
        return cases
    path = Path(cases)
    key = (cases, _stamp(path))
    found = _open_sets.get(key)
    if found is None:
        found = _open_sets[key] = open_cases(cases)
    return found


def _stamp(path: Path) -> object:
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def choose(kind: type[Chosen], name: str, what: str) -> Chosen:
    """Find the member of an enumeration by its name.

    Raises:
        UsageError: No member has the name; the message lists those that do.
    """
    try:
        return kind(name)
    except ValueError:
        raise UsageError(f"unknown {what} {name!r}: {choose_from(name, kind)}") from None


TASK_VERSION = "1-A"
"""A number for the comparability of results, a letter for the interface."""


def task_version(condition: Condition, grader: str | None = None) -> str:
    """The task's version, a part of its identity.

    It is another one for other cases, or another wording (of grading too),
    under the same name: a run does not take the answers to the old ones for its own.
    """
    made_of: list[str | None] = [condition.data.hash, condition.prompts.version]
    if condition.protocol.acts:
        made_of += [condition.variation_version, *([GRADE_VERSION] if grader else [])]
    return f"{TASK_VERSION}+{digest(*made_of)}"
