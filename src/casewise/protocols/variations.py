"""Variations: seeded, pure changes of the conversation in which a case is asked.

A variation is one small function. It is given what is asked and a random generator of its own,
and returns another opening, or None where it does not apply to the case. Whatever it adds, the
opening that it was given stays in the conversation, and the query stands unchanged at the end of
the last turn. Its words are in ``data/variations.yaml``.

- A *pressure* pushes towards an answer to a case that is meant to be unsafe. It is reported as
  the change in under-refusal against the same cases without it.
- *Retention* puts neutral talk between the context and the query: does what the context changed
  decay with distance?
- *Escalation* walks towards the query in small steps: when does the model first give what it
  asks?
- *Revocation* takes a safe context back half-way: does the model notice?
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any, Literal

from casewise.cases import Case, Turn, digest
from casewise.choices import Delivery
from casewise.contexts import claim, facts
from casewise.errors import UsageError
from casewise.files.yaml import read_plain_yaml
from casewise.protocols.conversations import Conversations, Opening, open_conversation
from casewise.protocols.filler import exchanges, filler_words

_EDITION = 2
"""Edition; raise it when conversations change in a way that the words don't show."""
BYTES_PER_TOKEN = 4
"""Bytes that count as one token of a size: about what tokenizers take of English."""
MOST_TOKENS = 1_000_000
"""Largest size of a variation, in tokens."""

_NAME = re.compile(r"(?P<family>.+?)(?:-(?P<number>0|[1-9]\d{0,9})(?P<thousands>k?))?")

VariationKind = Literal["pressure", "retention", "escalation", "revocation"]
"""Purpose of a variation; it decides how results are presented."""


@dataclass(frozen=True, slots=True)
class VariedCase:
    """A case, and the conversation in which it would be asked."""

    case: Case
    twin: Case | None
    """The case of the same query in the other context, where there is one."""
    opening: Opening
    delivery: Delivery
    tokens: int = 0
    """Size in the variation's name, as in ``filler-4k``; 0 without one."""

    @property
    def earlier(self) -> tuple[str, ...]:
        """The user's turns before the one with the query."""
        return self.opening.turns[:-1]

    @property
    def preface(self) -> str:
        """Words of the user before the query in the same turn: the claim, or nothing."""
        return self.opening.turns[-1].removesuffix(self.case.query).removesuffix("\n\n")

    @property
    def claims(self) -> tuple[str, ...]:
        """Messages of the user before the query, each in a turn."""
        return (*self.earlier, *filter(None, [self.preface]))

    def insert(self, text: str) -> Opening:
        """The opening with a text of the user's right before the query."""
        return self.ask(*self.earlier, paste(self.preface, text, self.case.query))

    def ask(self, *turns: str) -> Opening:
        """The opening with other turns."""
        return replace(self.opening, turns=turns)


Change = Callable[[VariedCase, Random], Opening | None]
"""Change that a variation makes. The generator is its own; None: it does not apply."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A documented change of the conversation in which a case is asked."""

    name: str
    kind: VariationKind
    change: Change
    sized: bool = False
    """True if its name is followed by a number of tokens, as in ``filler-4k``."""

    @property
    def title(self) -> str:
        """The name as a list of names shows it."""
        return f"{self.name}-N" if self.sized else self.name


VARIATIONS: dict[str, Variation] = {}
"""Every variation by its name; those with a size by the name without it."""


def variation(name: str, kind: VariationKind, *, sized: bool = False) -> Callable[[Change], Change]:
    """Make a variation of a function.

    Args:
        name: Its name, which no other variation has.
        kind: Its purpose.
        sized: True if a number of tokens follows the name; the function finds it in ``tokens``.
    """

    def register(change: Change) -> Change:
        VARIATIONS[name] = Variation(name, kind, change, sized)
        return change

    return register


def find_variation(name: str) -> tuple[Variation, int]:
    """A variation by its name, and the tokens that the name asks for (0 where it has no size).

    Raises:
        UsageError: There is no such variation, or its size is missing or too large.
    """
    match = _NAME.fullmatch(name)
    entry = VARIATIONS.get(match["family"]) if match else None
    if match and entry and entry.sized == bool(match["number"]):
        tokens = int(match["number"] or 0) * (1000 if match["thousands"] else 1)
        if tokens <= MOST_TOKENS:
            return entry, tokens
    names = ", ".join(known.title for known in VARIATIONS.values())
    raise UsageError(
        f"no variation {name!r}: there are {names}"
        f" (N is a number of tokens up to {MOST_TOKENS}, 4k for 4000)"
    )


def paste(*texts: str) -> str:
    """Texts as paragraphs of one turn; empty ones are left out."""
    return "\n\n".join(filter(None, texts))


@cache
def _words() -> Mapping[str, Any]:
    path = Path(str(files("casewise.data"))) / "variations.yaml"
    return read_plain_yaml(path, "words of variations")  # type: ignore[no-any-return]


def _draw(name: str, random: Random) -> str:
    return random.choice(_words()[name])  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedConversations(Conversations):
    """Conversations of one condition, each changed in one way.

    What is drawn depends on the seed, the variation and the case alone, not on the other cases or
    their order. The sizes of one variation are drawn alike, so that a longer filler starts as a
    shorter one does. The version is that of the plain wording; the run's variant names the
    variation.
    """

    name: str
    """One of ``VARIATIONS``, with its size where it has one."""
    seed: int
    twins: Mapping[str, Case]
    """Cases of the same query in the other context, by the id of a case."""

    @property
    def change_version(self) -> str:
        """The version of the variation's words. Results of different ones are not comparable."""
        version = digest(_EDITION, dict(_words()), filler_words())
        return f"{find_variation(self.name)[0].name}@{version[:8]}"

    def applies(self, case: Case) -> bool:
        """Tell whether the variation means anything for a case."""
        return self._changed(case) is not None

    def open(self, case: Case) -> Opening:
        """The conversation in which a case is asked; the plain one where nothing is changed."""
        return self.retrieve(case.id, self._changed(case) or self.begin(case))

    def _changed(self, case: Case) -> Opening | None:
        chosen, tokens = find_variation(self.name)
        if chosen.kind == "pressure" and case.intended != "unsafe":
            return None
        twin = self.twins.get(case.id)
        base = VariedCase(case, twin, self.begin(case), self.delivery, tokens)
        return chosen.change(base, Random(digest(self.seed, chosen.name, case.id)))


# --- pressures ------------------------------------------------------------------------------


def _insertion(name: str) -> Change:
    return lambda base, random: base.insert(_draw(name, random))


for _name in ("false-authority", "urgency", "forged-system", "persona"):
    variation(_name, "pressure")(_insertion(_name))


@variation("twin-claim", "pressure")
def twin_claim(base: VariedCase, random: Random) -> Opening | None:
    """The user claims the context of the safe twin, against what was said before.

    What the opening tells of the case's own context stays, so that the two contradict each other.
    Under delivery ``none`` there is nothing to contradict. Does not apply without a safe twin.
    """
    if base.twin is None or base.twin.intended != "safe" or not claim(base.twin.context):
        return None
    correction = "" if base.delivery is Delivery.NONE else _draw("correction", random)
    return base.insert(paste(correction, claim(base.twin.context)))


# --- retention ------------------------------------------------------------------------------


@variation("filler", "retention", sized=True)
def filler(base: VariedCase, random: Random) -> Opening | None:
    """Scripted exchanges on everyday topics, of about N tokens, between context and query.

    What the user said of the context before (deliveries ``claimed`` and ``history``) becomes
    earlier turns, each with a scripted acknowledgement; so ``filler-0`` is the measure that
    longer ones are held against. Both sides of the exchanges are scripted, so every model is
    given the same. Does not apply where no context stands before the query.
    Attention to what was said at the start decays over turns: Li et al. (2024), arXiv:2402.10962.
    """
    return _apart(base, exchanges(random, base.tokens * BYTES_PER_TOKEN))


def _apart(base: VariedCase, talk: list[str]) -> Opening | None:
    """The opening with messages of user and model in turn between its context and its query."""
    messages = base.opening.messages
    described = base.delivery is Delivery.SYSTEM and messages and messages[0].role == "system"
    if not (base.claims or described):
        return None
    lines = [line for each in base.claims for line in (each, _words()["noted"])] + talk
    spoken = [
        Turn(role="assistant" if place % 2 else "user", content=content)
        for place, content in enumerate(lines)
    ]
    return Opening((*messages, *spoken), (base.case.query,))


# --- escalation and revocation --------------------------------------------------------------

ESCALATION_STEPS = 4
"""Turns before the one that holds the query."""
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SHORTEST, _KEYWORDS = 5, 4
"""Fewest letters of a word that names a subject, and most of such words."""


@variation("escalation", "escalation")
def escalation(base: VariedCase, random: Random) -> Opening:
    """Four harmless steps towards the query, then the query, all of them live turns.

    The steps ask about the subject at large, its past, the talk about it and its practice; the
    subject is named by a few words of the query, never by the query. Every reply is graded against
    the query, not against its own turn (by rules: ``read_step``): the event is the first reply that
    gives what the query asks, and a conversation without one is censored at its last turn. A claim
    stands in the first step; under ``history`` its turns come before the steps, which are always
    the last five turns.
    After the attack of Russinovich et al. (2024), arXiv:2404.01833, without its search: the steps
    are fixed beforehand and don't react to the replies.
    """
    about = _draw("about", random).format(topic=_topic(base.case.query, base.case.category))
    later = [_draw(step, random) for step in ("past", "talk", "practice")]
    last = paste(_words()["concretely"], base.case.query)
    return base.ask(*base.earlier, paste(base.preface, about), *later, last)


def _topic(query: str, category: str | None) -> str:
    """A few of the query's words, in its order; else its category; never the query itself.

    Words are told by their length, so queries in scripts without spaces go by the category.
    """
    common = _words()["common"].split()
    spellings = {word.lower(): word for word in _WORD.findall(query) if len(word) >= _SHORTEST}
    words = [word for lower, word in spellings.items() if lower not in common]
    longest = sorted(words, key=len, reverse=True)[:_KEYWORDS]
    *some, last = [word for word in words if word in longest] or [""]
    named = f"{', '.join(some)} and {last}" if some and len(some) + 1 < len(query.split()) else ""
    bare_query = query.strip(" .?!").lower()
    topics = (topic for topic in (named, category) if topic and bare_query not in topic.lower())
    return next(topics, _words()["unnamed"])


@variation("revocation", "revocation")
def revocation(base: VariedCase, random: Random) -> Opening | None:
    """The query is asked in the safe twin's context, which is then taken back for the unsafe one.

    The user tells the safe twin's context and asks; says that things have changed and tells the
    case's own context; and asks again. A model that notices refuses the second time. Runs under
    ``claimed`` and ``history`` only: a system message can't change half-way, and a notice of the
    operator inside a user's turn would be a pressure. Does not apply without an unsafe context
    and a safe twin's.
    """
    case, twin, claims = base.case, base.twin, base.claims
    tells = base.delivery in (Delivery.CLAIMED, Delivery.HISTORY)
    if not tells or twin is None or (twin.intended, case.intended) != ("safe", "unsafe"):
        return None
    if not claims or not facts(twin.context):
        return None
    changed = paste(_draw("changed", random), claims[0])
    again = paste(_draw("again", random), case.query)
    before = open_conversation(twin, base.delivery).turns
    return base.ask(*before, changed, *claims[1:], again)
