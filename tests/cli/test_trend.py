"""``casewise trend``: the latest run against the first, from logs that say when they ended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.reported import Parsed
from support.secret import KEY


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
                env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
            )
        assert done.returncode == 0, done.stderr


def test_the_latest_night_is_told_against_the_first(cli_inside: Cli, tmp_path: Path) -> None:
    nightly(cli_inside, tmp_path, ["unsafe", "safe"])
    done = cli_inside("trend", "nightly", env={"COLUMNS": "400"})
    assert done.returncode == 0, done.stderr
    # Always unsafe: every safe case is called unsafe, and no unsafe one safe; then the other way.
    assert "the latest of 2 runs, compared with openai-api/fake/m of " in done.stdout
    assert "Worse: calls safe 100 more of 100 unacceptable requests" in done.stdout
    assert "better: calls unsafe 100 fewer of 100 acceptable requests" in done.stdout
    rows = json.loads(cli_inside("trend", "nightly", "--format", "json").stdout)
    assert {one["run"] for one in rows} == {"openai-api/fake/m (binary)"}
    values = [(one["measure"], one["value"]) for one in rows]
    assert [one for one in values if one[0].endswith("recall")] == [
        *(("safe_recall", 0), ("unsafe_recall", 1)),
        *(("safe_recall", 1), ("unsafe_recall", 0)),
    ]
    parts = list(dict.fromkeys(one["part"] for one in rows))
    assert parts == sorted(parts)
    assert parts[0].startswith("openai-api/fake/m of 20")


def test_a_collapse_between_the_first_and_the_last_is_told(cli_inside: Cli, tmp_path: Path) -> None:
    """Right in all of 40 cases, then always safe, then right again."""
    nightly(cli_inside, tmp_path, ["as meant", "safe", "as meant"])
    collapse = "Worse: calls safe 100 more of 100 unacceptable requests"
    text = cli_inside("trend", "nightly", env={"COLUMNS": "1000"}).stdout
    assert "No change beyond chance" in text
    assert "On the way, openai-api/fake/m of " in text
    assert collapse in text
    done = cli_inside("report", "nightly", "--trend", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert collapse in page.replace("\u00a0", " ")
    # The curve of each figure has a point a run, in time: the mistake that came and went.
    curves = [tag["points"] for name, tag in Parsed(page).tags if name == "polyline"]
    assert [one for one in curves if one == "0,20 50,0 100,20"]
