"""The condition of a run: all that distinguishes two runs of one model, checked."""

import fnmatch
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from casewise.cases import (
    STARTER,
    Case,
    CaseSet,
    ToolDefinition,
    card_cases,
    digest,
    find_twins,
    load_card,
    open_cases,
    system_text,
)
from casewise.choices import Sampling, rules_first
from casewise.contexts import Ablation, ablate_cases, swap_cases
from casewise.errors import UsageError, did_you_mean
from casewise.options import ConditionOptions
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
    VariedConversations,
    find_protocol,
    find_variation,
    load_ladder,
    load_script,
    on_rung,
    other_words,
)
from casewise.runs.cost import DOUBTED, RequestCount, measure, measure_grading

TASK_VERSION = "1-A"
"""A number for the comparability of results, a letter for the interface."""


@dataclass(frozen=True)
class Condition:
    """Cases as they will be asked, with the prompts that ask them."""

    options: ConditionOptions
    """Options that ask for it."""
    protocol: Protocol
    delivery: Delivery
    ablation: Ablation | None
    prompts: Prompts | Conversations
    data: CaseSet
    """The whole data set, before any choice or ablation."""
    units: tuple[tuple[Case, ...], ...]
    """The cases of each judgement, in an order in which neighbours share long prefixes."""
    script: Script | None = None
    """A deployment's conversation of several turns."""
    case_set_name: str | None = None
    """Name of the cases, where no file holds them."""

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
    def tells_context(self) -> bool:
        """Tell whether the deployer tells the model the contexts, so that its requests may."""
        return self.protocol.acts and self.delivery is Delivery.SYSTEM

    def target_fields(self, unit: Sequence[Case]) -> dict[str, Any]:
        """What a target may be told of a case, beside its conversation."""
        case = unit[0]
        context = case.context.root if case.context is not None and self.tells_context else None
        return {"query": case.query, "category": case.category, "context": context}

    @property
    def undescribed(self) -> "Condition":
        """The condition for a model whose requests hold the context, instead of a description."""
        if not self.tells_context or self.options.deployment is not None:
            return self
        assert isinstance(self.prompts, Conversations)
        return replace(self, prompts=replace(self.prompts, deployer=""))

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
    def sample_ids(self) -> list[str]:
        """Ids of its samples, in their order."""
        return list(map(self.sample_id, range(self.size)))

    def sample_id(self, place: int) -> str:
        """Id of the sample at a place; the script is the last."""
        if place < len(self.units):
            return unit_id(self.units[place])
        assert self.script is not None
        return f"script:{self.script.name}"

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
        options = self.options
        seed = options.seed
        is_drawn = seed is not None and draws(options)
        return RunCondition(
            protocol=str(self.protocol),
            delivery=str(self.delivery),
            ablation=tuple(self.ablation.missing) if self.ablation else (),
            prompt_version=self.prompts.version,
            dataset_hash=self.data.hash,
            dataset_version=self.data.version,
            card=self.data.name if options.deployment is not None else None,
            swap=options.swap,
            variation=f"{vary},seed={seed}" if (vary := options.vary) and seed else vary,
            draw_seed=str(seed) if is_drawn else None,
            evidence=options.rung,
        )

    @property
    def version(self) -> str:
        """Version of the task, a part of its identity.

        It is another one for other cases, or another wording (of grading too), under the same name:
        a run does not take the answers to the old ones for its own.
        """
        made_of: list[str | None] = [self.data.hash, self.prompts.version]
        if self.protocol.acts:
            made_of += [self.variation_version]
            made_of += [GRADE_VERSION] if self.options.grader else []
        return f"{TASK_VERSION}+{digest(*made_of)}"

    @cached_property
    def requests(self) -> RequestCount:
        """Requests to any model, each case asked once."""
        return measure(self)

    @cached_property
    def gradings(self) -> RequestCount:
        """Requests to the model that grades its replies: all of them, or those that rules doubt."""
        count = measure_grading(self)
        return count.times(DOUBTED) if rules_first(self.options.grader) else count

    @property
    def notes(self) -> list[str]:
        """Notes to read before the run starts."""
        notes = []
        if isinstance(self.prompts, Prompts) and self.delivery is Delivery.NONE:
            template = self.prompts.without_context
            if "context" in template.fields and self.has_contexts:
                notes = [f"{template.version}: {{context}} is left empty under --delivery none"]
        if self.ablation is not None:
            total = len(self.ablation.cases)
            notes += [
                f"{name!r} stands in {total - count} of {total} contexts; the others stay as they "
                "are"
                for name, count in self.ablation.missing.items()
                if count
            ]
        return notes

    @property
    def has_contexts(self) -> bool:
        """Tell whether any case has a context."""
        return any(case.context is not None for case in self.data.cases)


def make_condition(options: ConditionOptions, case_set: CaseSet | None = None) -> Condition:
    """Check and settle a condition. Nothing is sent to a model here.

    Args:
        options: One value of each; ``delivery`` None is the protocol's default.
        case_set: The cases, where no file holds them.

    Raises:
        UsageError: An unknown protocol, delivery or parameter; options that don't fit together; or
            no cases left.
        InputError: The cases or the template can't be used.
        AssetError: CASE-Bench or its templates were not fetched.
    """
    protocol = find_protocol(options.protocol)
    place = Delivery(options.delivery or protocol.deliveries[0])
    data, prompts, script = _data_and_prompts(options, protocol, place, case_set)
    ablation = ablate_cases(data.cases, options.ablate) if options.ablate is not None else None
    cases = ablation.cases if ablation else data.cases
    if options.swap is not None:
        cases = swap_cases(data.cases, options.swap)
        if not cases:
            raise UsageError(f"no pair of these cases differs in {options.swap!r}")
    if options.vary is not None and isinstance(prompts, Conversations):
        prompts = varied = _vary(prompts, options.vary, options.seed or 0, cases)
        cases = tuple(case for case in cases if varied.applies(case))
        script = None
        if not cases:
            raise UsageError(f"the variation {options.vary!r} means nothing for any of these cases")
    if options.evidence is not None:
        rung = options.rung or BARE_RUNG
        ladder = load_ladder()
        proven = on_rung(ladder, rung, find_twins(cases))
        cases = tuple(case for case in cases if proven.applies(case))
        if not cases:
            raise UsageError(f"no case has what rung {rung!r} of the ladder shows")
        if isinstance(prompts, Prompts):
            prompts = replace(prompts, ladder=ladder.name)
            cases = tuple(map(proven.as_context, cases))
        else:
            prompts, place = proven, proven.delivery
    if options.only is not None:
        cases = _only(cases, options.only)
    units = protocol.units(cases[: options.limit], options.pairs)
    if not units:
        raise UsageError(f"protocol {protocol} asks of a {protocol.unit}; these cases have none")
    return Condition(
        options,
        protocol,
        place,
        ablation,
        prompts,
        data,
        _by_text(units, prompts),
        script,
        None if case_set is None else case_set.name,
    )


def unit_id(unit: Sequence[Case]) -> str:
    """Id of a unit's judgement: the id of its case, or those of several joined by ``+``."""
    return "+".join(case.id for case in unit)


BEGINNING = 200
"""Characters after the common beginning by which texts are put in order first."""


def _by_text(
    units: Sequence[tuple[Case, ...]], prompts: Prompts | Conversations
) -> tuple[tuple[Case, ...], ...]:
    """Units in the order of the beginnings of their texts.

    Only a part of each text is held in memory: 100,000 whole ones take more than the cases do.
    """
    shared = prompts.render(units[0][0])
    for case, *_ in units:
        text = prompts.render(case)
        while not text.startswith(shared):
            shared = shared[:-1]
    beginning = slice(len(shared), len(shared) + BEGINNING)
    return tuple(sorted(units, key=lambda unit: prompts.render(unit[0])[beginning]))


def _only(cases: Sequence[Case], pattern: str) -> tuple[Case, ...]:
    """The cases of which an id, the category or a tag fits the pattern.

    Raises:
        UsageError: It fits none.
    """
    named = [(case, [case.id, case.query_id, case.category or "", *case.tags]) for case in cases]
    chosen = tuple(case for case, names in named if fnmatch.filter(names, pattern))
    if not chosen:
        near = did_you_mean(pattern, {name for _, names in named for name in names})
        hint = near or "* is any text"
        raise UsageError(f"--only {pattern}: no case has this id, category or tag; {hint}")
    return chosen


def _vary(
    prompts: Conversations, name: str, seed: int, cases: tuple[Case, ...]
) -> VariedConversations:
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
    options: ConditionOptions, protocol: Protocol, delivery: Delivery, case_set: CaseSet | None
) -> tuple[CaseSet, Prompts | Conversations, Script | None]:
    if options.deployment is None:
        data = case_set if case_set is not None else open_case_set(options.cases)
        languages = {case.language for case in data.cases}
        return data, protocol.wording(delivery, options.prompt, languages), None
    if options.cases != STARTER:
        raise UsageError("a deployment has cases of its own: leave out --cases")
    card = load_card(options.deployment)
    data = CaseSet(card_cases(card), card.name)
    script = load_script(card.script_path) if card.script_path is not None else None
    retrieved = {case.id: card.retrieved_for(case) for case in card.cases} | {
        SCRIPTED: card.retrieved if script is not None else ()
    }
    retrieved_texts = {id: texts for id, texts in retrieved.items() if texts}
    return data, Conversations(delivery, system_text(card), card.tools, retrieved_texts), script


_open_sets: WeakValueDictionary[tuple[object, ...], CaseSet] = WeakValueDictionary()
"""Open case sets by name and by the state of their file, for as long as a condition needs them."""


def open_case_set(cases: str) -> CaseSet:
    """Open a case set; an unchanged file is not read again for each task of a run."""
    key: tuple[object, ...] = (cases,)
    with suppress(OSError, ValueError):
        stat = Path(cases).stat()
        key = cases, stat.st_mtime_ns, stat.st_size, stat.st_ino
    case_set = _open_sets.get(key)
    if case_set is None:
        case_set = _open_sets[key] = open_cases(cases)
    return case_set


def draws(options: ConditionOptions) -> bool:
    """Tell whether answers are drawn at random, as a probability and a guard's word are not."""
    return find_protocol(options.protocol).drawn and options.sampling != Sampling.GREEDY
