"""Parameters and values that a set covers, and those that only one side has."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from casewise.contexts import words_of
from casewise.dataset._findings import Finding, Material, counted
from casewise.sheets import plural

USUAL_PARAMETERS = (
    "sender.platform_type",
    "sender.nature_of_the_interaction",
    "recipient.type",
    "recipient.background",
    "transmission_principle.urgency",
    "transmission_principle.sender_purpose",
    "transmission_principle.confidentiality",
    "transmission_principle.source_accountability",
)
"""The parameters of the paper's contexts."""

MOST_VALUES = 12
"""Values of a parameter that are listed."""

ONE_SIDED = 10
"""Cases, all of one side, from which on a value is one-sided: by chance twice in a thousand."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a parameter, folded (case, spaces and punctuation don't count)."""

    text: str
    cases: int
    safe: int
    unsafe: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """Use of one parameter in a set."""

    name: str
    present: int
    """Contexts that have it."""
    safe: int
    """Contexts with it that are intended safe."""
    unsafe: int
    distinct: int
    """Different values."""
    repeated: tuple[Value, ...]
    """Values of two cases or more, the commonest first, ``MOST_VALUES`` at most."""
    pairs: int
    """Pairs that have it on both sides."""
    differs: int
    """Pairs in which it differs."""
    one_sided: tuple[Value, ...]
    """Values of ``ONE_SIDED`` cases or more that stand on one side alone."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The parameters of a set."""

    parameters: tuple[Parameter, ...]
    """Parameters in order of appearance."""
    unused: tuple[str, ...]
    """Usual parameters that no context has."""
    complete: int
    """Contexts that have all the parameters that most contexts have."""


def coverage(material: Material) -> tuple[Coverage, list[Finding]]:
    """Count parameters and their values."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, parameters in enumerate(material.parameters):
        for name in parameters:
            places[name].append(place)
    common = [name for name, there in places.items() if 2 * len(there) > material.with_context]
    lacking = [
        place
        for place, (case, there) in enumerate(zip(material.cases, material.parameters, strict=True))
        if case.context is not None and not there.keys() >= set(common)
    ]
    covered = Coverage(
        tuple(_parameter(material, name, there) for name, there in places.items()),
        tuple(name for name in USUAL_PARAMETERS if places and name not in places),
        material.with_context - len(lacking),
    )
    return covered, [*_findings(material, covered, lacking, common), *_unused(covered)]


def _parameter(material: Material, name: str, there: list[int]) -> Parameter:
    values: dict[str, list[int]] = defaultdict(list)
    for place in there:
        values[_folded(material.parameters[place][name])].append(place)
    sides = [_value(material, text, group) for text, group in values.items()]
    sides.sort(key=lambda side: -side.cases)
    both = [
        (material.parameters[safe][name], material.parameters[unsafe][name])
        for safe, unsafe in material.pairs
        if name in material.parameters[safe] and name in material.parameters[unsafe]
    ]
    whole = _value(material, name, there)
    return Parameter(
        name,
        whole.cases,
        whole.safe,
        whole.unsafe,
        len(values),
        tuple(value for value in sides if value.cases > 1)[:MOST_VALUES],
        len(both),
        sum(words_of(safe) != words_of(other) for safe, other in both),
        tuple(
            value
            for value in sides
            if value.text
            and max(value.safe, value.unsafe) >= ONE_SIDED
            and not min(value.safe, value.unsafe)
        ),
    )


def _folded(text: str) -> str:
    return " ".join(words_of(text))


def _value(material: Material, text: str, places: list[int]) -> Value:
    sides = Counter(material.cases[place].intended for place in places)
    return Value(text, len(places), sides["safe"], sides["unsafe"])


def _findings(
    material: Material, covered: Coverage, lacking: list[int], common: list[str]
) -> Iterator[Finding]:
    sides = Counter(case.intended for case in material.cases if case.context is not None)
    rare = [
        f"{parameter.name}: {sides['safe'] - parameter.safe} intended safe, "
        f"{sides['unsafe'] - parameter.unsafe} unsafe"
        for parameter in covered.parameters
        if parameter.name in common and parameter.present < material.with_context
    ]
    yield from counted(
        "missing-parameter",
        f"{plural(len(lacking), 'context')} without a parameter that most have ({'; '.join(rare)})."
        " Its absence, too, can tell contexts apart.",
        material.ids(lacking),
        material.with_context,
    )
    values = [
        (parameter.name, value) for parameter in covered.parameters for value in parameter.one_sided
    ]
    wanted = {(name, value.text) for name, value in values}
    named = Counter(name for name, _ in values)
    yield from counted(
        "one-sided-value",
        f"{plural(len(values), 'value')} that {ONE_SIDED} or more cases of one side have, and none "
        f"of the other ({', '.join(f'{name}: {n}' for name, n in named.items())}). Such a value "
        "gives the side away: use it on both.",
        [
            case.id
            for case, parameters in zip(material.cases, material.parameters, strict=True)
            if any((name, _folded(text)) in wanted for name, text in parameters.items())
        ],
        None,
        n=len(values),
        shown=[
            f"{name}: {value.text} ({value.safe} safe, {value.unsafe} unsafe)"
            for name, value in values
        ],
    )


def _unused(covered: Coverage) -> list[Finding]:
    """A finding that names the usual parameters that no context has."""
    names = covered.unused
    text = f"No context has {', '.join(names)}: nothing can be said about what it does."
    return counted("unused-parameter", text, (), len(USUAL_PARAMETERS), n=len(names))
