"""What ``casewise score --format json`` prints, the models apart from the baselines."""

import json
from typing import Any


def model_rows(stdout: str) -> list[dict[str, Any]]:
    return [row for row in json.loads(stdout) if not row["model"].startswith("baseline:")]


def analysed(rows: list[dict[str, Any]], name: str) -> list[dict[tuple[str, str], dict[str, Any]]]:
    """Records of an analysis by part and measure, of each run that it has lines of."""
    found = [
        {
            (analysis["part"], analysis["measure"]): analysis
            for analysis in row.get("analyses", ())
            if analysis["analysis"] == name
        }
        for row in rows
    ]
    return [one for one in found if one]
