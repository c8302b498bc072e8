"""Descriptions and audits as JSON values; what is undefined is null."""

from dataclasses import asdict
from typing import Any

from casewise.dataset._audit_cases import Audit
from casewise.dataset._copies import Copies
from casewise.dataset._description import Ceiling, ContextEffect, Description
from casewise.dataset._findings import CHECKS
from casewise.dataset._leakage import Guess, Leakage, TellingWord
from casewise.dataset._pair_checks import TwinDifference
from casewise.dataset._parameters import Parameter, Value
from casewise.dataset._provenance_checks import Provenance
from casewise.dataset._vote_checks import ARMS
from casewise.sheets import json_interval, json_number
from casewise.statistics import COEFFICIENTS, Agreement, GroupTest


def as_description_record(description: Description) -> dict[str, Any]:
    """Everything that was computed, by the names that stay."""
    one = description
    present = ["all", *(arm for arm in ARMS if arm != "none" or one.arms["none"])]
    whole = one.ceilings["all"]
    return {
        "data": {
            "name": one.name,
            "dataset_hash": one.hash,
            "cases": one.cases,
            "queries": one.queries,
            "categories": one.categories,
            "arms": one.arms,
            "voted": one.voted,
            "votes": one.votes,
        },
        "context_effect": {
            **_effect(one.effect),
            "against_none": {arm: _effect(effect) for arm, effect in one.against_none.items()},
            "kruskal_wallis": {
                **_group_tests(one.tests.by_category, present[1:]),
                "context_type": json_number(one.tests.by_arm.statistic),
                "context_type_p": json_number(one.tests.by_arm.p),
            },
        },
        "agreement": {part: _agreement(one.agreement[part]) for part in present},
        "ceiling": {
            **{part: _reliability(one.ceilings[part]) for part in present},
            "one_person": {
                **_person(whole),
                "over": "columns" if one.by_rater else "votes",
                **{part: _person(one.ceilings[part]) for part in present[1:]},
            },
            "panel": {
                **_panel(whole),
                **{part: _panel(one.ceilings[part]) for part in present[1:]},
            },
            "oracle": {
                **_oracle(whole),
                **{part: _oracle(one.ceilings[part]) for part in present[1:]},
            },
        },
        "provenance": _provenance(one.provenance),
        "findings": [found.description_record() for found in one.provenance.findings],
        "remarks": list(one.remarks),
    }


def _effect(effect: ContextEffect) -> dict[str, Any]:
    tests = effect.z_tests
    return {
        "arms": list(effect.arms),
        "safe_votes": list(effect.safe_votes),
        # Votes an arm; where arms have unequal numbers, there is no such thing.
        "votes": effect.votes[0] if effect.votes[0] == effect.votes[1] else None,
        "votes_by_arm": list(effect.votes),
        "difference": json_number(effect.difference),
        "difference_ci": json_interval(effect.difference_ci),
        "mean_difference": json_number(effect.mean_difference),
        "clustered_se": json_number(effect.clustered_se),
        "clustered_z": json_number(effect.clustered_z),
        "p": json_number(effect.p),
        "cohen_h": json_number(effect.cohen_h),
        "z_tests": {"n": tests.n}
        | {name: getattr(tests, name) if tests.n else None for name in ("raw", "holm", "bh")},
        "mantel_haenszel_or": json_number(effect.mantel_haenszel_or),
    }


def _group_tests(tests: dict[str, GroupTest], arms: list[str]) -> dict[str, Any]:
    return (
        {arm: json_number(tests[arm].statistic) for arm in arms}
        | {f"{arm}_p": json_number(tests[arm].p) for arm in arms}
        | {f"{arm}_categories": tests[arm].groups for arm in arms}
    )


def _agreement(found: Agreement) -> dict[str, Any]:
    coefficients = {name: getattr(found, name) for name in COEFFICIENTS}
    return (
        {name: json_number(one.value) for name, one in coefficients.items()}
        | {f"{name}_ci": json_interval(one.interval) for name, one in coefficients.items()}
        | {"cases": found.cases, "votes": found.votes}
    )


def _reliability(ceiling: Ceiling) -> dict[str, Any]:
    found = ceiling.reliability
    return {
        "icc": json_number(found.icc),
        "pcc": json_number(found.pcc),
        "split_half": json_number(ceiling.split_half),
        "votes_a_case": json_number(found.votes),
        "cases": found.cases,
    }


def _person(ceiling: Ceiling) -> dict[str, Any]:
    return {
        "accuracy": json_number(ceiling.person.accuracy),
        "pcc": json_number(ceiling.person.pcc),
    }


def _panel(ceiling: Ceiling) -> dict[str, Any]:
    return {
        "k": json_number(ceiling.reliability.votes),
        "accuracy": json_number(ceiling.panel.accuracy),
        "pcc": json_number(ceiling.panel.pcc),
    }


def _oracle(ceiling: Ceiling) -> dict[str, Any]:
    found = ceiling.oracle
    return {
        "accuracy": json_number(found.accuracy),
        "accuracy_ci": json_interval(found.accuracy_interval),
        "pcc": json_number(ceiling.reliability.pcc),
        "bce": json_number(found.bce),
        "brier": json_number(found.brier),
    }


def _provenance(found: Provenance) -> dict[str, Any]:
    columns = found.columns
    return {
        "published_rate": {
            "cases": found.rate.cases,
            "share_of_votes": int(found.rate.as_voted.sum()),
            "one_vote_more": int(found.rate.one_more.sum()),
            "neither": int(found.rate.unlike.sum()),
            "extra_vote_known": found.rate.extra_known,
            "extra_vote_is_intended": found.rate.extra_is_intended,
            "flipped": found.rate.flipped,
        },
        "author_vote": {"n": found.author.n, "is_intended": found.author.is_intended},
        "ties": {
            "n": len(found.ties.places),
            "safe": found.ties.safe,
            "unsafe": found.ties.unsafe,
            "as_intended": found.ties.intended,
        },
        "raters_like_intention": list(found.raters_like_intention),
        "columns": None
        if columns is None
        else {
            "n": columns.columns,
            "share_lowest": json_number(columns.lowest),
            "share_highest": json_number(columns.highest),
            "cochran_q": json_number(columns.overall_q),
            "p": json_number(columns.overall_p),
            "within_q": json_number(columns.within_q),
            "within_df": columns.within_df,
            "within_p": json_number(columns.within_p),
            "shifting_p": json_number(columns.shifting_p),
            "blocks": columns.blocks,
        },
        "contexts": {
            "shared_texts": len(found.contexts.shared),
            "cases": sum(map(len, found.contexts.shared)),
            "both_sides": len(found.contexts.both_sides),
            "across_categories": len(found.contexts.across_categories),
        },
        "pairs": {
            "missing_twin": len(found.pairs.missing_twin),
            "same_context": len(found.pairs.same_context),
            "repeated_side": len(found.pairs.repeated_side),
        },
        "near_duplicates": {
            "n": found.queries.n,
            "pairs": [
                {"query_ids": list(pair.queries), "similarity": pair.similarity}
                for pair in found.queries.pairs
            ],
        },
    }


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
        "findings": [found.audit_record(reveal=reveal) for found in audit.findings],
        "figures": {code: json_number(audit.figure(code)) for code in CHECKS},
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
        "accuracy": json_number(one.accuracy.value),
        "accuracy_ci": json_interval(one.accuracy.interval),
        "chance": json_number(one.chance),
        "cases": one.n,
    }


def _words(words: tuple[TellingWord, ...]) -> list[dict[str, Any]]:
    return [asdict(one) for one in words]


def _twins(one: TwinDifference) -> dict[str, Any]:
    return {
        "safe": json_number(one.safe),
        "unsafe": json_number(one.unsafe),
        "difference": json_number(one.difference.value),
        "difference_ci": json_interval(one.difference.interval),
        "cohen_d": json_number(one.effect),
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
