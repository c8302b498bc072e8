"""An audit as JSON values; what is undefined is null."""

from dataclasses import asdict
from typing import Any

from casewise.analysis._records import finite, interval
from casewise.analysis.audit._audit import Audit
from casewise.analysis.audit._classifier import Guess, TellingWord
from casewise.analysis.audit._copies import Copies
from casewise.analysis.audit._finding import CHECKS, AuditFinding
from casewise.analysis.audit._leakage import Leakage
from casewise.analysis.audit._parameters import Parameter, Value
from casewise.analysis.audit._twins import TwinDifference


def as_audit_record(audit: Audit, *, reveal: bool = False) -> dict[str, Any]:
    """Everything that was computed, by the names that stay.

    Args:
        audit: The audit.
        reveal: Whether to give pieces of texts and values; personal data stays masked.
    """
    return {
        "data": {
            "name": audit.name,
            "dataset_hash": audit.hash,
            "cases": audit.cases,
            "queries": audit.queries,
            "pairs": audit.pairs,
            "categories": audit.categories,
        },
        "findings": [_finding(found, reveal=reveal) for found in audit.findings],
        "figures": {code: finite(audit.figure(code)) for code in CHECKS},
        "leakage": _leakage(audit.leakage),
        "twins": {"words": _twins(audit.twins.words), "lix": _twins(audit.twins.lix)},
        "languages": asdict(audit.languages),
        "copies": _copies(audit.copies),
        "parameters": {
            one.name: _parameter(one, reveal=reveal) for one in audit.coverage.parameters
        },
        "unused_parameters": list(audit.coverage.unused),
        "complete_contexts": audit.coverage.complete,
        "personal_data": [asdict(one) for one in audit.personal],
    }


def _finding(found: AuditFinding, *, reveal: bool) -> dict[str, Any]:
    record = {
        "code": found.code,
        "severity": str(found.severity),
        "unit": CHECKS[found.code].unit,
        "n": found.n,
        "of": found.of,
        "value": finite(found.value),
        "value_ci": interval(found.interval),
        "text": found.text,
        "cases": list(found.cases),
    }
    return record | ({"shown": list(found.shown)} if reveal else {})


def _leakage(found: Leakage) -> dict[str, Any]:
    return {
        "groups": found.groups,
        "context": _guess(found.context) | {"words": _words(found.words)},
        "query": _guess(found.query),
        "lengths": _guess(found.lengths),
        "parameters": {
            one.parameter: _guess(one.guess) | {"present": one.present, "words": _words(one.words)}
            for one in found.parameters
        },
    }


def _guess(one: Guess) -> dict[str, Any]:
    return {
        "accuracy": finite(one.accuracy.value),
        "accuracy_ci": interval(one.accuracy.interval),
        "chance": finite(one.chance),
        "cases": one.n,
    }


def _words(words: tuple[TellingWord, ...]) -> list[dict[str, Any]]:
    return [asdict(one) for one in words]


def _twins(one: TwinDifference) -> dict[str, Any]:
    return {
        "safe": finite(one.safe),
        "unsafe": finite(one.unsafe),
        "difference": finite(one.difference.value),
        "difference_ci": interval(one.difference.interval),
        "cohen_d": finite(one.effect),
        "pairs": one.pairs,
    }


def _copies(found: Copies) -> dict[str, Any]:
    return {
        "texts": found.texts,
        "shared_texts": len(found.contexts.shared),
        "shared_by": sum(map(len, found.contexts.shared)),
        "across_categories": len(found.contexts.across_categories),
        "both_sides": len(found.contexts.both_sides),
        "near_contexts": [asdict(one) for one in found.near],
        "near_queries": found.queries.n,
        "misplaced": [asdict(one) for one in found.misplaced],
    }


def _parameter(one: Parameter, *, reveal: bool) -> dict[str, Any]:
    return {
        "present": one.present,
        "safe": one.safe,
        "unsafe": one.unsafe,
        "distinct": one.distinct,
        "pairs": one.pairs,
        "differs": one.differs,
        "one_sided_values": len(one.one_sided),
        "repeated_values": [_value(value, reveal=reveal) for value in one.repeated],
    }


def _value(one: Value, *, reveal: bool) -> dict[str, Any]:
    record = {"cases": one.cases, "safe": one.safe, "unsafe": one.unsafe}
    return ({"value": one.text} if reveal else {"words": len(one.text.split())}) | record
