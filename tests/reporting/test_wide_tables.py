"""Columns that only wide terminals show: as many as fit, the first ones first."""

import io

from rich.console import Console
from support.tables import random_table

from casewise.choices import View
from casewise.measures import in_view
from casewise.reporting import score_sheet
from casewise.reporting._scores import WIDE
from casewise.results import Scores
from casewise.scores import Scoring, report_scores


def shown(width: int) -> str:
    """The table of scores on a terminal."""
    file = io.StringIO()
    report = report_scores(random_table(20, 1), Scoring())
    sheet = score_sheet(Scores.of(report), width=width)
    Console(file=file, width=width).print(sheet.terminal())
    return file.getvalue().split("Against")[1].split("What a safe")[0]


def test_wide_columns_stand_where_there_is_room() -> None:
    heads = shown(200).split("─")[0].split()
    words = [word for row in in_view(View.SCORES) if row.wide for word in row.heading.split()]
    assert all(heads.count(word) >= words.count(word) for word in words)
    assert "F1" not in shown(WIDE - 1)


def test_a_table_of_scores_is_never_in_blocks_for_its_wide_columns() -> None:
    for width in (WIDE, WIDE + 8, WIDE + 16, WIDE + 24):
        assert shown(width).count("accu-") == 1
        assert shown(width).count("─\n") == 1
