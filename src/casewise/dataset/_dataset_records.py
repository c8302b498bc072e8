"""Descriptions and audits as JSON values; what is undefined is null."""

from dataclasses import asdict
from typing import Any

from casewise.dataset._audit_cases import Audit
from casewise.dataset._context_effect import ContextEffect, ContextVotes, LabelFlips
from casewise.dataset._description import Ceiling, Description
from casewise.dataset._findings import CHECKS
from casewise.dataset._leakage import Guess, Leakage, TellingWord
from casewise.dataset._pair_checks import Copies, TwinDifference
from casewise.dataset._parameters import Parameter, Value
from casewise.dataset._provenance_checks import Provenance
from casewise.dataset._vote_checks import ARMS
from casewise.sheets import json_fields, json_interval, json_number
from casewise.statistics import COEFFICIENTS, Agreement, GroupTest


def as_description_record(description: Description) -> dict[str, Any]:
    """Everything that was computed, by the names that stay."""
    ceilings, whole = description.ceilings, description.ceilings["all"]
    present = ["all", *(arm for arm in ARMS if arm != "none" or description.arms["none"])]
    return {
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
            "kruskal_wallis": {
                **_group_tests(description.tests.by_category, present[1:]),
                "context_type": json_number(description.tests.by_arm.statistic),
                "context_type_p": json_number(description.tests.by_arm.p),
            },
        },
        "agreement": {part: _agreement(description.agreement[part]) for part in present},
        "ceiling": {
            **{part: _reliability(ceilings[part]) for part in present},
            "one_person": {
                **_person(whole),
                "over": "columns" if description.by_rater else "votes",
                **{part: _person(ceilings[part]) for part in present[1:]},
            },
            "panel": {
                **_panel(whole),
                **{part: _panel(ceilings[part]) for part in present[1:]},
            },
            "oracle": {
                **_oracle(whole),
                **{part: _oracle(ceilings[part]) for part in present[1:]},
            },
        },
        "provenance": _provenance(description.provenance),
        "findings": [finding.description_record() for finding in description.provenance.findings],
        "remarks": list(description.remarks),
    }


def _context_votes(found: ContextVotes) -> dict[str, Any]:
    """Figures that these cases have."""
    record = {}
    for name in ("contexts", "seen"):
        one: LabelFlips | None = getattr(found, name)
        if one is not None:
            record[name] = {
                **json_fields(one, "queries", "pairs"),
                "people_flips": json_number(one.flips.value),
                "people_flips_ci": json_interval(one.flips.interval),
            }
    if found.contexts is not None:
        record["contexts"] |= {
            "vote_share": json_number(found.vote_share.value),
            "vote_share_ci": json_interval(found.vote_share.interval),
        }
    return record


def _effect(effect: ContextEffect) -> dict[str, Any]:
    tests = effect.z_tests
    # Votes an arm; where arms have unequal numbers, there is no such thing.
    votes = effect.votes[0] if effect.votes[0] == effect.votes[1] else None
    figures = ("difference", "difference_ci", "mean_difference", "clustered_se", "clustered_z", "p")
    return {
        **json_fields(effect, "arms"),
        "safe_votes": list(effect.safe_votes) if any(effect.votes) else None,
        "votes": votes or None,
        "votes_by_arm": list(effect.votes) if any(effect.votes) else None,
        **json_fields(effect, *figures, "cohen_h", "mantel_haenszel_or"),
        "z_tests": {"n": tests.n}
        | {name: getattr(tests, name) if tests.n else None for name in ("raw", "holm", "bh")},
    }


def _group_tests(tests: dict[str, GroupTest], arms: list[str]) -> dict[str, Any]:
    return (
        {arm: json_number(tests[arm].statistic) for arm in arms}
        | {f"{arm}_p": json_number(tests[arm].p) for arm in arms}
        | {f"{arm}_categories": tests[arm].groups for arm in arms}
    )


def _agreement(agreement: Agreement) -> dict[str, Any]:
    coefficients = {name: getattr(agreement, name) for name in COEFFICIENTS}
    return (
        {name: json_number(coefficient.value) for name, coefficient in coefficients.items()}
        | {
            f"{name}_ci": json_interval(coefficient.interval)
            for name, coefficient in coefficients.items()
        }
        | {"cases": agreement.cases, "votes": agreement.votes}
    )


def _reliability(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **json_fields(ceiling.reliability, "icc", "pcc", "cases"),
        "split_half": json_number(ceiling.split_half),
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
        "accuracy_ci": json_interval(ceiling.oracle.accuracy_interval),
        "pcc": json_number(ceiling.reliability.pcc),
    }


def _provenance(provenance: Provenance) -> dict[str, Any]:
    columns = provenance.columns
    return {
        "published_rate": {
            "cases": provenance.rate.cases,
            "share_of_votes": int(provenance.rate.as_voted.sum()),
            "one_vote_more": int(provenance.rate.one_more.sum()),
            "neither": int(provenance.rate.unlike.sum()),
            "extra_vote_known": provenance.rate.extra_known,
            "extra_vote_is_intended": provenance.rate.extra_is_intended,
            "flipped": provenance.rate.flipped,
        },
        "author_vote": {"n": provenance.author.n, "is_intended": provenance.author.is_intended},
        "ties": {
            "n": len(provenance.ties.places),
            "safe": provenance.ties.safe,
            "unsafe": provenance.ties.unsafe,
            "as_intended": provenance.ties.intended,
        },
        "raters_like_intention": list(provenance.raters_like_intention),
        "columns": None
        if columns is None
        else {
            "n": columns.columns,
            "share_lowest": json_number(columns.lowest),
            "share_highest": json_number(columns.highest),
            "cochran_q": json_number(columns.overall_q),
            "p": json_number(columns.overall_p),
            **json_fields(columns, "within_q", "within_df", "within_p", "shifting_p", "blocks"),
        },
        "contexts": {
            "shared_texts": len(provenance.contexts.shared),
            "cases": sum(map(len, provenance.contexts.shared)),
            "both_sides": len(provenance.contexts.both_sides),
            "across_categories": len(provenance.contexts.across_categories),
        },
        "pairs": {
            "missing_twin": len(provenance.pairs.missing_twin),
            "same_context": len(provenance.pairs.same_context),
            "repeated_side": len(provenance.pairs.repeated_side),
        },
        "near_duplicates": {
            "n": provenance.queries.n,
            "pairs": [
                {"query_ids": list(pair.queries), "similarity": pair.similarity}
                for pair in provenance.queries.pairs
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
            **json_fields(audit, "cases", "queries", "pairs", "categories"),
        },
        "findings": [finding.audit_record(reveal=reveal) for finding in audit.findings],
        "figures": {code: json_number(audit.figure(code)) for code in CHECKS},
        "leakage": _leakage(audit.leakage),
        "twins": {"words": _twins(audit.twins.words), "lix": _twins(audit.twins.lix)},
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
        "context": _guess(leakage.context) | {"words": _words(leakage.words)},
        "query": _guess(leakage.query),
        "lengths": _guess(leakage.lengths),
        "parameters": {
            parameter.parameter: _guess(parameter.guess)
            | {"present": parameter.present, "words": _words(parameter.words)}
            for parameter in leakage.parameters
        },
    }


def _guess(guess: Guess) -> dict[str, Any]:
    return {
        "accuracy": json_number(guess.accuracy.value),
        "accuracy_ci": json_interval(guess.accuracy.interval),
        "chance": json_number(guess.chance),
        "cases": guess.n,
    }


def _words(words: tuple[TellingWord, ...]) -> list[dict[str, Any]]:
    return [asdict(word) for word in words]


def _twins(twins: TwinDifference) -> dict[str, Any]:
    return {
        **json_fields(twins, "safe", "unsafe", "pairs"),
        "difference": json_number(twins.difference.value),
        "difference_ci": json_interval(twins.difference.interval),
        "cohen_d": json_number(twins.effect),
    }


def _copies(copies: Copies) -> dict[str, Any]:
    return {
        "texts": copies.texts,
        "shared_texts": len(copies.contexts.shared),
        "shared_by": sum(map(len, copies.contexts.shared)),
        "across_categories": len(copies.contexts.across_categories),
        "both_sides": len(copies.contexts.both_sides),
        "near_contexts": [asdict(pair) for pair in copies.near],
        "near_queries": copies.queries.n,
        "misplaced": [asdict(context) for context in copies.misplaced],
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
