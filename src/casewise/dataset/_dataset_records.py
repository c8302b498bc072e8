"""Descriptions and audits as JSON values; what is undefined is null."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from casewise.cases import Shape
from casewise.dataset._audit_cases import Audit
from casewise.dataset._context_effect import CategoryTests, ContextEffect, ContextVotes
from casewise.dataset._description import Ceiling, Description
from casewise.dataset._findings import CHECKS
from casewise.dataset._leakage import Guess, Leakage
from casewise.dataset._pair_checks import Copies, TwinDifference
from casewise.dataset._parameters import Parameter, Value
from casewise.dataset._people import ARMS
from casewise.dataset._provenance_checks import Provenance
from casewise.sheets import json_fields, json_interval, json_number
from casewise.statistics import COEFFICIENTS, Agreement, Estimate


def as_description_record(description: Description) -> dict[str, Any]:
    """All that a description holds, under JSON keys that stay from version to version."""
    arms = [arm for arm in ARMS if arm != "none" or description.arms["none"]]
    ceilings = description.ceilings
    whole = ceilings["all"]

    def by_arm(record: Callable[[Ceiling], dict[str, Any]]) -> dict[str, Any]:
        return {arm: record(ceilings[arm]) for arm in arms}

    return {
        "shape": _shape(description.shape),
        "data": {
            "name": description.name,
            "dataset_hash": description.hash,
            **json_fields(description, "cases", "queries", "categories", "arms", "voted", "votes"),
            "sequential_votes": description.sequential,
        },
        "context_effect": {
            **_effect(description.effect),
            "against_none": {
                arm: _effect(effect) for arm, effect in description.against_none.items()
            },
            **_context_votes(description.contexts),
            "kruskal_wallis": _group_tests(description.tests, arms),
        },
        "agreement": {part: _agreement(description.agreement[part]) for part in ("all", *arms)},
        "ceiling": {
            "all": _reliability(whole),
            **by_arm(_reliability),
            "one_person": _person(whole)
            | {"over": "columns" if description.by_rater else "votes"}
            | by_arm(_person),
            "panel": _panel(whole) | by_arm(_panel),
            "oracle": _oracle(whole) | by_arm(_oracle),
        },
        "provenance": _provenance(description.provenance),
        "findings": [finding.description_record() for finding in description.provenance.findings],
        "remarks": list(description.remarks),
    }


def _shape(shape: Shape) -> dict[str, Any]:
    return {
        "label_changes": {
            "rule": shape.rule.value,
            "queries": shape.compared,
            "changed": shape.changed,
        },
        "queries_by_contexts": {str(n): queries for n, queries in shape.contexts.items()},
        "queries_with_and_without": shape.with_and_without,
        "labels": shape.labels,
        "several_labels": shape.several,
    }


def _figure(name: str, found: Estimate) -> dict[str, Any]:
    """An estimate under its name, and its interval under the name with ``_ci``."""
    return {name: json_number(found.value), f"{name}_ci": json_interval(found.interval)}


def _context_votes(found: ContextVotes) -> dict[str, Any]:
    """Changes of labels with the context, where these cases can show them."""
    record = {
        name: json_fields(one, "queries", "pairs")
        | {"effective_queries": json_number(one.flips.effective)}
        | _figure("people_flips", one.flips)
        for name, one in (("contexts", found.contexts), ("seen", found.seen))
        if one is not None
    }
    if found.contexts is not None:
        record["contexts"] |= _figure("vote_share", found.vote_share)
    return {"weigh_by": str(found.weigh_by)} | record


def _effect(effect: ContextEffect) -> dict[str, Any]:
    tests, votes = effect.z_tests, effect.votes
    figures = ("mean_difference", "clustered_se", "clustered_z", "p", "cohen_h")
    return {
        **json_fields(effect, "arms"),
        "safe_votes": list(effect.safe_votes) if any(votes) else None,
        # Null where the arms have unequal numbers.
        "votes": (votes[0] or None) if votes[0] == votes[1] else None,
        "votes_by_arm": list(votes) if any(votes) else None,
        **_figure("difference", effect.difference),
        **json_fields(effect, *figures, "mantel_haenszel_or"),
        "z_tests": {"n": tests.n}
        | {name: getattr(tests, name) if tests.n else None for name in ("raw", "holm", "bh")},
    }


def _group_tests(tests: CategoryTests, arms: list[str]) -> dict[str, Any]:
    found = tests.by_category
    return {
        **{arm: json_number(found[arm].statistic) for arm in arms},
        **{f"{arm}_p": json_number(found[arm].p) for arm in arms},
        **{f"{arm}_categories": found[arm].groups for arm in arms},
        "context_type": json_number(tests.by_arm.statistic),
        "context_type_p": json_number(tests.by_arm.p),
    }


def _agreement(agreement: Agreement) -> dict[str, Any]:
    coefficients: dict[str, Estimate] = {name: getattr(agreement, name) for name in COEFFICIENTS}
    return {
        **{name: json_number(one.value) for name, one in coefficients.items()},
        **{f"{name}_ci": json_interval(one.interval) for name, one in coefficients.items()},
        **json_fields(agreement, "cases", "votes"),
    }


def _reliability(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **json_fields(ceiling.reliability, "icc", "pcc", "cases"),
        **json_fields(ceiling, "split_half"),
        "votes_a_case": json_number(ceiling.reliability.votes),
    }


def _person(ceiling: Ceiling) -> dict[str, Any]:
    return json_fields(ceiling.person, "accuracy", "pcc")


def _panel(ceiling: Ceiling) -> dict[str, Any]:
    votes = json_number(ceiling.reliability.votes)
    return {"k": votes, **json_fields(ceiling.panel, "accuracy", "pcc")}


def _oracle(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **json_fields(ceiling.oracle, "accuracy", "bce", "brier"),
        "accuracy_range": json_interval(ceiling.oracle.accuracy_range),
        **json_fields(ceiling.reliability, "pcc"),
    }


def _provenance(provenance: Provenance) -> dict[str, Any]:
    rate, ties, contexts = provenance.rate, provenance.ties, provenance.contexts
    columns, pairs, queries = provenance.columns, provenance.pairs, provenance.queries
    tests = ("cochran_q", "p", "within_q", "within_df", "within_p", "shifting_p", "blocks")
    return {
        "published_rate": {
            "cases": rate.cases,
            "share_of_votes": int(rate.as_voted.sum()),
            "one_vote_more": int(rate.one_more.sum()),
            "neither": int(rate.unlike.sum()),
            **json_fields(rate, "extra_vote_known", "extra_vote_is_intended", "flipped"),
        },
        "author_vote": asdict(provenance.author),
        "ties": {"n": len(ties.places), **json_fields(ties, "safe", "unsafe", "as_intended")},
        **json_fields(provenance, "raters_like_intention"),
        "columns": columns and json_fields(columns, "n", "share_lowest", "share_highest", *tests),
        "contexts": {
            "shared_texts": len(contexts.shared),
            "cases": sum(map(len, contexts.shared)),
            "both_sides": len(contexts.both_sides),
            "across_categories": len(contexts.across_categories),
        },
        "pairs": {
            name: len(getattr(pairs, name))
            for name in ("missing_twin", "same_context", "repeated_side")
        },
        "near_duplicates": {
            "n": queries.n,
            "pairs": [
                {"query_ids": list(pair.queries), "similarity": pair.similarity}
                for pair in queries.pairs
            ],
        },
    }


def as_audit_record(audit: Audit, *, reveal: bool = False) -> dict[str, Any]:
    """All that an audit holds, under JSON keys that stay from version to version.

    Args:
        audit: The audit.
        reveal: Whether to give pieces of texts and values; personal data stays masked.
    """
    return {
        "data": {
            "name": audit.name,
            "dataset_hash": audit.hash,
            **json_fields(audit, "cases", "queries", "pairs", "categories"),
        },
        "findings": [finding.audit_record(reveal=reveal) for finding in audit.findings],
        "figures": {code: json_number(audit.figure(code)) for code in CHECKS},
        "leakage": _leakage(audit.leakage),
        "twins": {"words": _twins(audit.twins)},
        "languages": audit.languages and asdict(audit.languages),
        "copies": _copies(audit.copies),
        "parameters": {
            parameter.name: _parameter(parameter, reveal=reveal)
            for parameter in audit.coverage.parameters
        },
        "unused_parameters": list(audit.coverage.unused),
        "complete_contexts": audit.coverage.complete,
        "personal_data": [asdict(piece) for piece in audit.personal],
    }


def _leakage(leakage: Leakage) -> dict[str, Any]:
    return {
        "groups": leakage.groups,
        "context": _guess(leakage.context) | {"words": [asdict(word) for word in leakage.words]},
        "query": _guess(leakage.query),
        "lengths": _guess(leakage.lengths),
        "parameters": {
            one.parameter: _guess(one.guess)
            | {"present": one.present, "words": [asdict(word) for word in one.words]}
            for one in leakage.parameters
        },
    }


def _guess(guess: Guess) -> dict[str, Any]:
    chance = json_fields(guess, "chance")
    return _figure("accuracy", guess.accuracy) | chance | {"cases": guess.n}


def _twins(twins: TwinDifference) -> dict[str, Any]:
    return {
        **json_fields(twins, "safe", "unsafe", "pairs"),
        **_figure("difference", twins.difference),
        "cohen_d": json_number(twins.effect),
    }


def _copies(copies: Copies) -> dict[str, Any]:
    contexts = copies.contexts
    return {
        "texts": copies.texts,
        "shared_texts": len(contexts.shared),
        "shared_by": sum(map(len, contexts.shared)),
        "across_categories": len(contexts.across_categories),
        "both_sides": len(contexts.both_sides),
        "near_contexts": [asdict(pair) for pair in copies.near],
        "near_queries": copies.queries.n,
    }


def _parameter(parameter: Parameter, *, reveal: bool) -> dict[str, Any]:
    return {
        **json_fields(parameter, "present", "safe", "unsafe", "distinct", "pairs", "differs"),
        "one_sided_values": len(parameter.one_sided),
        "repeated_values": [_value(value, reveal=reveal) for value in parameter.repeated],
    }


def _value(value: Value, *, reveal: bool) -> dict[str, Any]:
    record = json_fields(value, "cases", "safe", "unsafe")
    return ({"value": value.text} if reveal else {"words": len(value.text.split())}) | record
