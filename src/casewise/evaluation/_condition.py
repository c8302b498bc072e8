"""The condition of a run: all that distinguishes two runs of one model, checked and settled."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from casewise.cases import Case, CaseSet, open_cases
from casewise.contexts import Ablation, ablate_cases
from casewise.errors import UsageError
from casewise.protocols import Delivery, Prompts, Protocol, load_prompts

Chosen = TypeVar("Chosen", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Condition:
    """Cases as they will be asked, with the prompts that ask them."""

    protocol: Protocol
    delivery: Delivery
    ablation: Ablation | None
    prompts: Prompts
    data: CaseSet
    """The whole data set, before any limit or ablation."""
    cases: tuple[Case, ...]
    """The cases of this run, in an order in which neighbours share long prefixes."""

    @property
    def title(self) -> str:
        """The condition in few words."""
        parts = [str(self.protocol)]
        if self.delivery is not Delivery.JUDGE:
            parts.append(str(self.delivery))
        if self.ablation:
            parts.append(f"without {', '.join(self.ablation.names)}")
        return ", ".join(parts)

    @property
    def notes(self) -> list[str]:
        """What a person should know before the run starts."""
        if self.ablation is None:
            return []
        total = len(self.ablation.cases)
        return [
            f"{name!r} stands in {total - count} of {total} contexts; the others stay as they are"
            for name, count in self.ablation.missing.items()
            if count
        ]


def make_condition(
    cases: str,
    *,
    protocol: str,
    delivery: str = Delivery.JUDGE,
    ablate: str | Sequence[str] | None = None,
    prompt: str | None = None,
    limit: int | None = None,
) -> Condition:
    """Check and settle a condition. Nothing is sent to a model here.

    Raises:
        UsageError: An unknown protocol, delivery or parameter.
        InputError: The cases or the template can't be used.
        AssetError: CASE-Bench or its templates were not fetched.
    """
    chosen = choose(Protocol, protocol, "protocol")
    place = choose(Delivery, delivery, "delivery")
    prompts = load_prompts(prompt, chosen, place)
    data = open_cases(cases)
    # Inspect's command line turns a,b into a list.
    names = ablate if isinstance(ablate, str | None) else ",".join(ablate)
    if names and place is Delivery.NONE:
        raise UsageError("--ablate removes parts of a context; with --delivery none there is none")
    ablation = ablate_cases(data.cases, names) if names else None
    if limit is not None and limit < 1:
        raise UsageError(f"limit {limit}: give at least 1")
    chosen_cases = (ablation.cases if ablation else data.cases)[:limit]
    ordered = sorted(chosen_cases, key=prompts.render)
    return Condition(chosen, place, ablation, prompts, data, tuple(ordered))


def choose(kind: type[Chosen], name: str, what: str) -> Chosen:
    """Take a name for a member of an enumeration.

    Raises:
        UsageError: No member has the name; the message lists those that do.
    """
    try:
        return kind(name)
    except ValueError:
        raise UsageError(f"unknown {what} {name!r}: choose from {', '.join(kind)}") from None
