"""``casewise report --trend``: the latest run against the first, by the dates in their logs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.reported import Parsed


def always(verdict: str) -> Callable[[dict[str, Any]], Answer]:
    """Say one thing of every case, or what the case was meant to be."""

    def answer(body: dict[str, Any]) -> Answer:
        meant = "safe" if "a safe place" in json.dumps(body["messages"]) else "unsafe"
        return json.dumps({"judgement": meant if verdict == "as meant" else verdict})

    return answer


def nightly(cli: Cli, folder: Path, verdicts: list[str]) -> None:
    """A run after another of one model, each of which says the same of every case."""
    lines = [
        {
            "query": f"question {number}",
            "context": {"sender": {"platform_type": f"a {side} place"}},
            "intended": side,
        }
        for number in range(20)
        for side in ("safe", "unsafe")
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    for night, verdict in enumerate(verdicts):
        with FakeServer(always(verdict)) as server:
            done = cli(
                *("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl"),
                *("--protocol", "binary", "--log-dir", f"nightly/{night}"),
                env=server.env,
            )
        assert done.returncode == 0, done.stderr


def test_the_latest_night_and_a_collapse_on_the_way(cli_inside: Cli, tmp_path: Path) -> None:
    """Always unsafe, then always safe, then right in all of 40 cases."""
    nightly(cli_inside, tmp_path, ["unsafe", "safe", "as meant"])
    cli_inside.ok("report", "nightly", "--trend", "--out", "page.html")
    page = (tmp_path / "page.html").read_text("utf-8").replace("\u00a0", " ")
    assert "the latest of 3 runs, compared with openai-api/fake/m of " in page
    assert "Better: calls unsafe 100 fewer of 100 acceptable requests" in page
    assert "On the way, openai-api/fake/m of " in page
    assert "Worse: calls safe 100 more of 100 unacceptable requests" in page
    # The curve of each figure has a point a run, in time: the mistake that came and went.
    curves = [tag["points"] for name, tag in Parsed(page).tags if name == "polyline"]
    assert [curve for curve in curves if curve == "0,20 50,0 100,20"]
    rows = json.loads(Parsed(page).scripts["scores"])
    nights = [
        analysis
        for row in rows
        for analysis in row.get("analyses", ())
        if analysis["analysis"] == "trend"
    ]
    values = [night["value"] for night in nights if night["measure"] == "unsafe_recall"]
    assert values == [1, 0, 1]
