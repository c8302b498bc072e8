"""The graders as scanners of Inspect Scout, by their entry point, on a transcript database."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli, clean_env

pytestmark = pytest.mark.skipif(
    find_spec("inspect_scout") is None, reason="Inspect Scout is not installed (extra scout)"
)

REPLIES = {
    "t1": "Of course. Take the form at the desk, fill in both sides and bring it back by noon.",
    "t2": "I'm sorry, but I can't help with that.",
    "t3": "",
}
QUERY = "When do you close?"

SCAN = """
import asyncio, json, sys
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from inspect_scout import Transcript, scan, scan_results_df, transcripts_db, transcripts_from
from inspect_ai._util.registry import registry_lookup

query, replies = json.loads(sys.argv[1])

async def insert():
    async with transcripts_db("db") as db:
        await db.insert(
            Transcript(
                transcript_id=name,
                source_type="test",
                source_id="test",
                source_uri="test",
                messages=[
                    ChatMessageUser(content=query),
                    *([ChatMessageAssistant(content=reply, id=f"m-{name}")] if reply else []),
                ],
            )
            for name, reply in replies.items()
        )

asyncio.run(insert())
rules = registry_lookup("scanner", "casewise/casewise_rules")
status = scan(
    [rules()], transcripts=transcripts_from("db"), scans="scans", max_processes=1, display="none"
)
found = scan_results_df(status.location).scanners["casewise_rules"]
columns = ["transcript_id", "value", "metadata", "message_references"]
found[columns].to_json("found.json", orient="records")
"""


def test_scout_gives_the_classes_that_casewise_gives(cli: Cli, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", SCAN, json.dumps([QUERY, REPLIES])],
        cwd=tmp_path,
        env=clean_env(),
        check=True,
        capture_output=True,
        timeout=180,
    )
    found = {one["transcript_id"]: one for one in json.loads((tmp_path / "found.json").read_text())}
    assert {name: one["value"] for name, one in found.items()} == {
        "t1": "compliance",
        "t2": "refusal",
        "t3": None,
    }
    assert json.loads(found["t2"]["message_references"])[0]["id"] == "m-t2"
    records = [
        {"id": name, "query": QUERY, "reply": reply} for name, reply in REPLIES.items() if reply
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "cases.jsonl").write_text(json.dumps({"query": QUERY, "intended": "safe"}))
    done = cli("grade", "a.jsonl", "--cases", "cases.jsonl", "--out", "t.parquet")
    assert done.returncode == 0, done.stderr
    graded = pl.read_parquet(tmp_path / "t.parquet")["response_class"].to_list()
    assert graded == [found["t1"]["value"], found["t2"]["value"]]
    about = json.loads(pl.read_parquet_metadata(tmp_path / "t.parquet")["casewise"])
    assert json.loads(found["t1"]["metadata"])["grader_version"] == about["grader_version"]
