"""Comparisons of runs: state of each run, a sentence, the table of changes, cases newly wrong."""

from collections.abc import Iterator

from casewise.choices import Family
from casewise.files import quoted
from casewise.measures import family_of, find_measure
from casewise.replies import correction_notes
from casewise.reporting.scores import CASES, cases_table
from casewise.results import (
    Comparison,
    Comparisons,
    Difference,
    Figure,
    Verdict,
    rules_remark,
    run_warnings,
)
from casewise.sheets import (
    Column,
    Kind,
    Part,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    figures,
    interval,
    page,
    plural,
    sheet_of,
)


@sheet_of.register
def comparison_sheet(result: Comparisons, *, whole: bool = False) -> Sheet:
    """A block for each two runs: states, what got worse and better, the table, new failures.

    Args:
        result: Comparisons of runs.
        whole: Show every measure, not only how often contexts are followed and both mistakes.
    """
    pairs = zip(result, result.verdicts, strict=True)
    parts = [part for pair in pairs for part in _block(*pair, whole=whole)]
    return page(parts, result.record)


def _block(comparison: Comparison, verdict: Verdict, *, whole: bool) -> Iterator[Part]:
    tones = {figure.tone for figure in verdict.figures if figure.tone and figure.is_real}
    state, sentence = verdict.statements
    yield from (f"Before: {comparison.before}", f"After: {comparison.after}", state)
    yield from (Word(sentence, min(tones)) if tones else sentence, "")
    title = f"{plural(comparison.n, 'judgement')} in common (labels: {comparison.labels})"
    if verdict.figures and not whole:
        yield _summary_table(verdict.figures, title)
    else:
        yield _measures_table(comparison.differences, title)
    if comparison.failures:
        yield cases_table(comparison.failures[:CASES], "Newly wrong")
    yield from filter(None, _lines(comparison))
    if comparison.changed:
        yield f"Their texts: {_page_command(comparison)}"
    yield ""


def _page_command(comparison: Comparison) -> str:
    """The command that writes the page of two runs, with the texts of cases."""
    before, after = (score.condition for score in comparison.scores)
    paths = " ".join(map(quoted, dict.fromkeys(comparison.places)))
    force = "" if before.has_data_of(after) else " --force"
    return f"casewise report {paths} --compare{force} --reveal --out what-changed.html"


def _summary_table(run_figures: tuple[Figure, ...], title: str) -> Table:
    """The four figures before and after, their changes, and the direction of each."""
    columns = [Column(name) for name in ("", "before", "after", "change", "")]
    note = (
        "Points of 100, 95 % intervals; a change whose interval holds 0 may be chance. All: --all."
    )
    rows = [
        Row([figure.title, figure.before_text, figure.text, figure.change_text, _direction(figure)])
        for figure in run_figures
    ]
    return Table(columns, rows, title, note)


def _direction(figure: Figure) -> Word | str:
    """Arrow of a change; of one that is more than chance, whether it is worse or better."""
    if figure.change is None or figure.tone is None:
        return ""
    arrow = "▲" if figure.change.value > 0 else "▼"
    words = {Tone.BAD: "worse", Tone.GOOD: "better"}
    return Word(f"{arrow} {words[figure.tone]}", figure.tone) if figure.is_real else arrow


def _measures_table(differences: tuple[Difference, ...], title: str) -> Table:
    """Every measure; why some have no interval stands below."""
    columns = [
        *(Column(""), *figures(Kind.NUMBER, "before", "after"), Column("change", Kind.CHANGE)),
        *(Column("95 %", Kind.INTERVAL), *figures(Kind.P_VALUE, "p", "Holm")),
        Column("detectable", Kind.NUMBER),
    ]
    rows = []
    withheld: dict[str, list[str]] = {}
    for difference in differences:
        change, name = difference.difference, find_measure(difference.metric).label
        if change.value == change.value:
            ends = interval(change.interval, with_signs=True)
            values = (difference.before.value, difference.after.value, change.value)
            rows.append(
                Row([name, *values, ends, change.p, difference.p_holm, difference.detectable])
            )
        if change.reason:
            withheld.setdefault(change.reason, []).append(name)
    why = [f"No interval of {', '.join(names)}: {why}." for why, names in withheld.items()]
    return Table(columns, rows, title, " ".join(["Change: after minus before.", *why]))


def _lines(comparison: Comparison) -> Iterator[str]:
    """Notes on data, grades and answers, and the number of verdicts that changed."""
    before, after = (score.condition for score in comparison.scores)
    if not before.has_data_of(after):
        yield (
            f"Before is over {before.data_text}, after over {after.data_text}: cases that both "
            "have, and whose texts or votes may differ."
        )
    yield rules_remark(comparison.scores)
    yield from correction_notes(filter(None, (score.correction for score in comparison.scores)))
    yield from run_warnings(comparison.scores)
    if any(comparison.unmatched):
        before_n, after_n = comparison.unmatched
        yield (
            f"Without an answered, labelled counterpart: {plural(before_n, 'judgement')} before, "
            f"{after_n} after."
        )
    # Those that rank contexts have no verdicts that could be right.
    if family_of(before.protocol) is not Family.PAIRS:
        yield comparison.counts
