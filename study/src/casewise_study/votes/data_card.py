"""The data card: how the votes came about, and what they say."""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Any

import casewise
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Table,
    escape,
    estimate,
    figures,
    money,
    number,
    plural,
    to_markdown,
)
from casewise_study.study.language import HEADING
from casewise_study.study.planning import forecast, pay_shortfall
from casewise_study.study.reading_times import IMPOSSIBLE, reading
from casewise_study.study.schema import Arm
from casewise_study.study.study_file import study_cases
from casewise_study.votes.result_files import row_of
from casewise_study.votes.results import NO_INTERVALS, Results
from casewise_study.votes.screening import rules_in_words

_MOST_TURNED = 5
"""Labels listed in the card that turn."""


def data_card(results: Results, choices: Mapping[str, bool]) -> str:
    """The card as Markdown. Queries and contexts are not in it.

    Args:
        results: Of the study.
        choices: Whether ``with_reasons`` and ``with_demographics``.
    """
    study = results.study
    path, cases, tables = study.path, study_cases(study), card_tables(results)
    return render_markdown(
        "data-card.md.j2",
        {
            **row_of(results),
            **choices,
            "study_hash": hashlib.sha256(path.read_bytes()).hexdigest() if path else None,
            "excluded": [person for person in results.collected.people if person.excluded],
            "tables": {"people": _people(results), **tables},
            "counted": results.counted,
            "completeness": results.completeness,
            "no_intervals": NO_INTERVALS,
            "rules": [*rules_in_words(study.screening)] or ["No rule was on."],
            "minutes": forecast(study).minutes,
            "impossible": IMPOSSIBLE * reading(study).speed,
            "underpaid": pay_shortfall(study, results.funnel.median_minutes),
            "cases_votes": results.votes_words,
            "released": sum(cell.votes for cell in results.cells),
            "turned": _changed_labels(results),
            "replaced": sum(
                case.votes is not None or case.published_safe_rate is not None for case in cases
            ),
            "sources": _named(case.source for case in cases),
            "licences": _named(case.licence for case in cases),
        },
    )


def render_markdown(name: str, values: Mapping[str, Any]) -> str:
    """A document that ships with casewise, filled in; nothing is escaped but by its filters."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= _FILTERS
    text = (files("casewise_study.data") / name).read_text("utf-8")
    return environment.from_string(text).render({"version": casewise.__version__, **values})


def _named(names: Iterable[str | None]) -> list[str]:
    """Each name once, as Markdown."""
    return [escape(name) for name in dict.fromkeys(names) if name]


def _changed_labels(results: Results) -> list[str]:
    """Labels that turn without flagged people, the first of them."""
    lines = [
        f"`{escape(label.case_id)}` ({_arm(label.arm)}): {label.everybody or 'no majority'} with "
        f"everybody, {label.unflagged or 'no majority'} without flagged"
        for label in results.turned[:_MOST_TURNED]
    ]
    more = len(results.turned) - len(lines)
    return [*lines, f"{more} more (`turned` in `summary.json`)"] if more else lines


def card_tables(results: Results) -> dict[str, Table]:
    """Tables of what people said, by name; the card has them, and the command prints them."""
    arms = [arm.arm for arm in results.arms]
    pairs = [f"{contrast.first} less {contrast.second}" for contrast in results.contrasts]
    counts = ("cells", "votes", "majority_safe", "majority_unsafe", "ties")
    return {
        "arms": Table(
            [
                Column("arm"),
                *figures(Kind.COUNT, *(name.replace("_", " ") for name in counts)),
                *figures(Kind.ESTIMATE, "mean share safe", "Krippendorff's alpha", "Gwet's AC1"),
            ],
            [
                Row(
                    [
                        *(arm.arm.value, *(getattr(arm, name) for name in counts)),
                        *(arm.share_safe, arm.alpha, arm.ac1),
                    ]
                )
                for arm in results.arms
            ],
        ),
        "contrasts": Table(
            [
                Column("arms"),
                Column("queries", Kind.COUNT),
                Column("difference of shares safe", Kind.ESTIMATE),
                Column("p", Kind.P_VALUE),
                Column("majorities that flip", Kind.COUNT),
            ],
            [
                Row(
                    [
                        pair,
                        contrast.queries,
                        contrast.difference,
                        contrast.difference.p,
                        contrast.majority_flips,
                    ]
                )
                for pair, contrast in zip(pairs, results.contrasts, strict=True)
            ]
            or [Row([None] * 5)],
        ),
        "sensitivity": Table(
            [
                Column(""),
                *figures(Kind.COUNT, "people", "votes"),
                *figures(Kind.SHARE, *(f"share safe, {_arm(arm)}" for arm in arms)),
                *figures(Kind.NUMBER, "alpha", "AC1"),
                *figures(Kind.CHANGE, *pairs),
                *figures(Kind.COUNT, "majorities flipped", "to or from a tie"),
            ],
            [
                Row(
                    [
                        *(row.name, row.people, row.votes),
                        *(row.share_safe[arm].value for arm in arms),
                        *(row.alpha, row.ac1),
                        *(
                            row.differences[pair].value if pair in row.differences else None
                            for pair in pairs
                        ),
                        *(row.flipped, row.ties),
                    ]
                )
                for row in results.sensitivity
            ],
        ),
    }


def _people(results: Results) -> Table:
    funnel = results.funnel
    lines = [
        ("came", funnel.came),
        *((_spaced(status), n) for status, n in funnel.by_status.items()),
        ("with counted votes", funnel.people),
        *((f"flagged: {_spaced(rule)}", n) for rule, n in funnel.flagged.items()),
        ("flagged at all", funnel.flagged_any),
    ]
    return Table([Column(""), Column("people", Kind.COUNT)], list(map(Row, lines)))


def quote(text: str) -> str:
    """Text as a quotation in Markdown, whose headings are bold."""
    return "\n".join(f"> {_quoted(line)}".rstrip() for line in text.splitlines())


def _quoted(line: str) -> str:
    heading = line.removeprefix(HEADING)
    return escape(line) if heading == line else f"**{escape(heading)}**"


def _arm(arm: Arm) -> str:
    return "no context" if arm is Arm.NONE else f"{arm.value} context"


def _spaced(name: StrEnum) -> str:
    return name.value.replace("_", " ")


_FILTERS = {
    "arm": _arm,
    "estimate": estimate,
    "line": escape,
    "money": money,
    "number": number,
    "plural": plural,
    "quote": quote,
    "table": to_markdown,
}
