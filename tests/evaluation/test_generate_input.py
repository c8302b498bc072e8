"""What ``casewise contexts generate`` refuses, and what it foresees."""

from pathlib import Path

from conftest import Cli
from support.fake_openai import FakeServer
from support.written import QUERIES, Writer, write_queries

import casewise as cw

MODEL = ("-m", "openai-api/fake/input")


def refused(cli: Cli, *arguments: str | Path, queries: str = "q.csv") -> str:
    done = cli("contexts", "generate", queries, *MODEL, *arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return " ".join(done.stderr.split())


def test_files_and_options_that_are_refused(cli: Cli, tmp_path: Path) -> None:
    for name, text, part in (
        ("q.txt", "How so?\nWhy?\n", "column 'query'"),
        ("q.csv", "query,category\na,b\n ,b\n", "record 2"),
        ("q.csv", "query,query_id\na,1\nb,1\n", "case 2 has the query of another"),
        ("q.jsonl", '{"query": "a", "context": {}}\n', "case 1 has a context"),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        assert part in refused(cli, "--out", "c.jsonl", queries=name)
    write_queries(tmp_path / "q.csv", 1)
    for option, value, part in (
        ("--matched", "haste", "no parameter 'haste'; choose from platform_type"),
        ("--matched", "recipient,recipient.type", "recipient.type stands twice"),
        ("--matched", "sender,recipient,transmission_principle", "share nothing"),
        ("--candidates", "0", "--candidates 0: give at least 1"),
        ("--out", "c.yaml", "casewise cases convert"),
    ):
        assert part in refused(cli, "--out", "c.jsonl", option, value)
    assert not (tmp_path / "c.making").exists()


def test_fields_of_the_file(cli: Cli, tmp_path: Path) -> None:
    """What the file says goes before what the options say."""
    text = f"query,category,language\n{QUERIES[0]},craft,\n{QUERIES[1]},,de\n"
    (tmp_path / "q.csv").write_text(text, "utf-8")
    with FakeServer(Writer()) as server:
        done = cli(
            *("contexts", "generate", "q.csv", "-o", "c.jsonl", "-m", "openai-api/fake/fields"),
            *("--language", "en", "--licence", "CC0-1.0", "--price-in", "1", "--price-out", "10"),
            env=server.env,
        )
        assert done.returncode == 0, done.stderr
        assert any('BCP 47 tag "de"' in prompt for prompt in server.prompts)
    found = [
        (one.category, one.language, one.licence)
        for one in cw.load_cases(tmp_path / "c.jsonl").cases[::2]
    ]
    assert found == [("craft", "en", "CC0-1.0"), (None, "de", "CC0-1.0")]
    # 8 answers of 100 tokens in and 5 out: (800 x 1 + 40 x 10) / a million dollars.
    assert "~800 tokens in, ~40 out, $0.00" in done.stderr
    assert '"cost_usd": 0.0006' in (tmp_path / "c.record.jsonl").read_text("utf-8")


def test_a_dry_run(cli: Cli, tmp_path: Path) -> None:
    write_queries(tmp_path / "q.csv", 10)
    done = cli(
        *("contexts", "generate", "q.csv", "-o", "c.jsonl", *MODEL, "--dry-run"),
        *("--candidates", "2", "--price-in", "1", "--price-out", "2"),
        env={"COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    # 10 queries x 2 sides x 2 candidates, and a review a side. At most: twice 2 repairs a side,
    # and two reviews of each of the 2 + 4 contexts of a side, less the one that is counted.
    assert "60 requests, and 300 more at most; nothing was sent." in done.stdout
    assert "at most." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not list(tmp_path.glob("c.*"))


def test_what_is_there_stays(cli: Cli, tmp_path: Path) -> None:
    write_queries(tmp_path / "q.csv", 1)
    out = tmp_path / "c.jsonl"
    out.write_text("mine", "utf-8")
    said = refused(cli, "--out", "c.jsonl")
    assert "exists and was not made by this command" in said
    assert "another --out" in said
    assert out.read_text("utf-8") == "mine"
    out.unlink()
    with FakeServer(Writer()) as server:
        env = server.env
        command = ("contexts", "generate", "q.csv", "--out", "c.jsonl", *MODEL)
        assert cli(*command, env=env).returncode == 0
        # Its own result, with the same settings: gone through again.
        assert cli(*command, env=env).returncode == 0
        done = cli(*command, "--candidates", "2", env=env)
        assert done.returncode == 2
        assert "(candidates: 1 then, 2 now)" in " ".join(done.stderr.split())
        out.write_text(out.read_text("utf-8") + "\n", "utf-8")
        done = cli(*command, env=env)
        assert done.returncode == 2
        assert "changed since" in " ".join(done.stderr.split())
        assert len(server.requests) == 4
