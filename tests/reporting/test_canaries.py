"""No view holds a text of a case or of an answer by default."""

import json
from pathlib import Path

from conftest import Cli
from support.reported import Parsed
from support.tables import judgement, table

import casewise as cw

CANARY = "xanthic-canary"


def judged(p: float, run: str) -> list[dict[str, object]]:
    """Twelve queries in both contexts, every fifth answer unread; the canary in all texts."""
    rows = []
    for n in range(12):
        for side in ("safe", "unsafe"):
            read = n % 5 > 0
            row = judgement(f"q{n}", side, p if read else None, model="m", run_id=run)
            status = {} if read else {"status": "unparsed"}
            rows.append(row | dict.fromkeys(("answer", "explanation", "error"), CANARY) | status)
    return rows


def test_no_view_holds_a_text_by_default(cli_inside: Cli, tmp_path: Path) -> None:
    cases = [
        {
            "id": row["case_id"],
            "query_id": row["query_id"],
            "query": f"{CANARY} {row['query_id']}",
            "context": {"sender": {"name": f"{CANARY} {row['intended']}"}},
            "intended": row["intended"],
        }
        for row in judged(0.9, "before")
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    for name, p in (("before", 0.9), ("after", 0.1)):
        table(*judged(p, name)).write_parquet(tmp_path / f"{name}.parquet")
    both = ("before.parquet", "after.parquet")
    commands = [
        *(("score", "after.parquet", "--all", "--format", form) for form in FORMS),
        *(("compare", *both, "--format", form) for form in FORMS[:3]),
        ("gate", "after.parquet", "--baseline", "before.parquet", "--json"),
        ("gate", "after.parquet", "--markdown", "gate.md", "--junit", "gate.xml"),
        ("report", "after.parquet", "--cases", "cases.jsonl", "--out", "one"),
        ("report", *both, "--compare", "--cases", "cases.jsonl", "--out", "two"),
    ]
    for command in commands:
        done = cli_inside(*command)
        assert done.returncode in (0, 1, 3), done.stderr
        assert CANARY not in done.stdout, command
    written = [tmp_path / name for name in ("gate.md", "gate.xml", *PAGES)]
    for path in written:
        text = path.read_text("utf-8")
        packed = Parsed(text).packed("case-data") if path.suffix == ".html" else {}
        assert CANARY not in f"{text}{packed}", path
    scores = cw.score(tmp_path / "after.parquet")
    compared = cw.compare(*(tmp_path / name for name in both))
    assert f"the first answer that is unparsed has {len(CANARY)} characters" in str(scores)
    for result in (scores, scores[0], compared, cw.gate(tmp_path / "after.parquet")):
        assert CANARY not in f"{result!r}{result._repr_html_()}{result.records()}"


FORMS = ("table", "markdown", "json", "csv")
PAGES = ("one/report.html", "one/card.md", "two/report.html", "two/card.md")
