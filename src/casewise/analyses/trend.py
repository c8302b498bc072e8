"""Runs in time."""

from casewise.results import Analysis, Line, Scores, analysis, dated_runs


@analysis
def trend(scores: Scores) -> Analysis:
    """Figures of every run with unchanged contexts, by the time at which it ended."""
    runs = dated_runs(scores)
    states = [(run.name, run.score.state) for run in runs]
    return Analysis(
        "trend",
        "Over time",
        "How did the figures move from run to run?",
        [Line(run.score.condition, run.name, run.score.n, run.score.measures) for run in runs],
        "Each run stands at the time at which its log says that it ended.",
        shown=(
            *("follows", "false_changes", "safe_recall", "unsafe_recall"),
            *("over_refusal", "under_refusal"),
        ),
        notes=[f"{name}: {state.sentence}." for name, state in states if state and state.sentence],
    )
