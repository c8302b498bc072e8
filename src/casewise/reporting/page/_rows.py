"""Measures as the rows of a section hold them: flat, and None where undefined."""

from casewise.analysis import CategoryScore, Estimate, Score


def known(number: float | None) -> float | None:
    """A number, or None where it is undefined or infinite."""
    return number if number is not None and abs(number) < float("inf") else None


def spread(name: str, estimate: Estimate) -> dict[str, float | None]:
    """A measure with the ends of its interval, as a row holds them."""
    low, high = estimate.interval
    return {name: known(estimate.value), f"{name}_low": known(low), f"{name}_high": known(high)}


def _complement(name: str, estimate: Estimate) -> dict[str, float | None]:
    """One minus a share: what a recall leaves."""
    low, high = estimate.interval
    ends = {f"{name}_low": known(1 - high), f"{name}_high": known(1 - low)}
    return {name: known(1 - estimate.value)} | ends


def mistakes(score: Score | CategoryScore) -> dict[str, float | None]:
    """Over- and under-refusal with intervals; of a judge, what its recalls leave."""
    found = score.measures
    if score.acts:
        return spread("over_refusal", found["over_refusal"]) | spread(
            "under_refusal", found["under_refusal"]
        )
    return _complement("over_refusal", found["safe_recall"]) | _complement(
        "under_refusal", found["unsafe_recall"]
    )
