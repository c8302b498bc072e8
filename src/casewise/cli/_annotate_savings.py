"""What sequential collection saves and costs, for ``annotate plan`` and ``annotate simulate``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from casewise.annotation.rehearsal.simulated_people import marginal_rate, true_rates
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_rules import (
    LEAST_VOTES,
    POSTERIOR,
    Collection,
    Savings,
    StoppingRule,
    expected_savings,
)
from casewise.errors import UsageError
from casewise.sheets import Column, Kind, Row, Table, number, percent


def chosen_collection(
    rule: StoppingRule, posterior: float | None, least: int | None, votes: int
) -> Collection:
    """Read the options of ``annotate plan``.

    Raises:
        UsageError: They don't go together.
    """
    asked = {"--posterior": posterior, "--least-votes": least}
    given = {name: value for name, value in asked.items() if value is not None}
    if given and rule is StoppingRule.FIXED:
        raise UsageError(f"{', '.join(given)}: of --collection sequential; add that, or drop it")
    if posterior is not None and not 0.5 < posterior < 1:
        raise UsageError(f"--posterior {posterior:g}: a probability above .5 and below 1")
    if rule is StoppingRule.SEQUENTIAL and (least or LEAST_VOTES) > votes:
        raise UsageError(
            f"--least-votes {least or LEAST_VOTES}: at most --votes, {votes}; lower either"
        )
    return Collection(rule=rule, posterior=posterior or POSTERIOR, least=least or LEAST_VOTES)


def simulated_savings(study: Study, seed: int) -> tuple[Savings, ...]:
    """Whole studies drawn from the shares that simulated people have; none of a fixed one."""
    if not study.collection.is_sequential:
        return ()
    rates = [marginal_rate(rate) for rate in true_rates(study, seed)]
    return expected_savings(study.collection, rates, study.votes, seed=seed)


def savings_range(study: Study, savings: Sequence[Savings]) -> str:
    """Say what the rule saves and costs, from the least to the most of simulated studies."""
    said = _ranges(savings)
    return (
        f"Sequential collection saves {said['saved']} of the votes in {len(savings)} simulated "
        f"studies. Beside all {study.votes} votes it changes {said['changed']} of "
        f"{said['labels']} labels, and a case's share of safe votes is less exact: off by "
        f"{said['share_error']} in the mean, and by more where a case stops early. When many "
        "judge at once, some votes come after a case was decided, and less is saved."
    )


def savings_record(
    study: Study, savings: Sequence[Savings], rehearsed: Savings | None = None
) -> dict[str, Any]:
    """The same for programs; nothing of a fixed study."""
    if not savings:
        return {}
    rule = study.collection.model_dump(mode="json")
    found = {"simulated": [_record(one) for one in savings]}
    return {"collection": rule | found | ({"rehearsed": _record(rehearsed)} if rehearsed else {})}


def savings_table(study: Study, savings: Sequence[Savings], rehearsed: Savings) -> Table:
    """The rehearsal's votes beside all ``study.votes``, and what simulated studies save."""
    ranges, own = _ranges(savings), _ranges([rehearsed])
    names = {
        "saved": "votes saved",
        "changed": "labels changed",
        "labels": f"labels with {study.votes} votes a case",
        "undecided": "cases left undecided",
        "share_error": "mean error of a case's share",
    }
    return Table(
        [Column(""), Column("rehearsed", Kind.NUMBER), Column("one at a time", Kind.NUMBER)],
        [Row([words, own[name], ranges[name]]) for name, words in names.items()],
        "What does sequential collection save and cost?",
    )


def _ranges(savings: Sequence[Savings]) -> dict[str, str]:
    """Each figure, from the least to the most."""
    figures = {
        "saved": [percent(one.saved, 0) for one in sorted(savings, key=lambda one: one.saved)],
        "changed": [str(n) for n in sorted(one.changed for one in savings)],
        "labels": [str(n) for n in sorted(one.labels for one in savings)],
        "undecided": [str(n) for n in sorted(one.undecided for one in savings)],
        "share_error": [number(error) for error in sorted(one.share_error for one in savings)],
    }
    return {
        name: said[0] if said[0] == said[-1] else f"{said[0]} to {said[-1]}"
        for name, said in figures.items()
    }


def _record(savings: Savings) -> dict[str, Any]:
    return asdict(savings) | {"saved": savings.saved}
