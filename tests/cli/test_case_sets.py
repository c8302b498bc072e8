"""``casewise cases`` split, sample, merge and diff, as a person runs them."""

import json
from pathlib import Path
from typing import Any

from conftest import Cli
from support.refusals import refused

from casewise import load_cases

CASE: dict[str, Any] = {"query": "May I repaint a rented flat?", "category": "law"}


def write(path: Path, *cases: dict[str, Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    return path


def test_split_and_merge_again(cli_inside: Cli, tmp_path: Path) -> None:
    done = cli_inside.ok(
        "cases", "split", "starter", "--into", "train=.8,test=.2", "--out-dir", "p"
    )
    # 28 queries: 22.4 and 5.6.
    assert "p/train.jsonl: 44 cases of 22 queries (hash " in done.stderr
    assert "p/test.jsonl: 12 cases of 6 queries (hash " in done.stderr
    parts = [tmp_path / "p/train.jsonl", tmp_path / "p/test.jsonl"]
    assert [len(load_cases(path).cases) for path in parts] == [44, 12]
    done = cli_inside.ok("cases", "merge", *parts, parts[0], "--out", "all.jsonl")
    assert "and left out: 44" in done.stderr
    done = cli_inside("cases", "diff", "starter", "all.jsonl", "--format", "json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["unchanged"], record["reordered"]) == (1, 56, True)
    assert not any(record[kind] for kind in ("added", "removed", "changed", "reworded"))
    assert load_cases(tmp_path / "all.jsonl").hash == record["new"]["hash"]


def test_a_sample_is_the_same_each_time(cli_inside: Cli, tmp_path: Path) -> None:
    texts = []
    for seed in ("3", "3", "4"):
        done = cli_inside.ok(
            "cases", "sample", "starter", "-n", "5", "--seed", seed, "--out", "s.csv"
        )
        assert "s.csv: 10 cases of 5 queries" in done.stderr
        texts.append((tmp_path / "s.csv").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_a_contradiction_is_named(cli_inside: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a/x.jsonl", CASE | {"id": "1"})
    write(tmp_path / "b/x.jsonl", CASE | {"id": "1", "category": "tax"})
    files = ["a/x.jsonl", "b/x.jsonl"]
    refused(
        cli_inside("cases", "merge", *files, "--out", "all.jsonl"),
        "b/x.jsonl, case 1, field 'category': differs from an earlier file "
        "(expected one of the two: leave the case out of the other file)",
    )
    assert not (tmp_path / "all.jsonl").exists()


def test_a_version_that_is_left_out_is_noted(cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"version": "1.0.0", "cases": [CASE]}), "utf-8")
    for command in (
        ("convert", "v.json", "v.jsonl"),
        ("sample", "v.json", "-n", "1", "--out", "s.jsonl"),
        ("merge", "v.json", "--out", "m.jsonl"),
        ("split", "v.json", "--into", "a=1", "--out-dir", "."),
    ):
        done = cli_inside.ok("cases", *command)
        assert "v.json: version 1.0.0 is left out of what is written" in done.stderr


def versions(folder: Path) -> tuple[Path, Path]:
    old = {"query": "secret one", "id": "1", "category": "law", "votes": {"safe": 2, "unsafe": 1}}
    hashed = {"query": "twofold", "context": {"sender": {"a": "quiet"}}, "intended": "safe"}
    return (
        write(folder / "old.jsonl", old, hashed, {"query": "gone", "id": "3"}),
        write(
            folder / "new.jsonl",
            old | {"query": "secret two!", "votes": {"safe": 3, "unsafe": 1}, "query_id": "q"},
            hashed | {"context": {"sender": {"a": "whisper"}}},
            {"query": "fresh", "id": "4"},
        ),
    )


def test_a_difference_without_texts(cli_inside: Cli, tmp_path: Path) -> None:
    old, new = versions(tmp_path)
    done = cli_inside("cases", "diff", old.name, new.name)
    assert done.returncode == 1, done.stderr
    assert f"old: old.jsonl, 3 cases, hash {load_cases(old).hash}" in done.stdout
    assert "1 added, 1 removed, 1 changed, 1 reworded, 0 unchanged." in done.stdout
    for line in (
        "query: 10 characters -> 11 characters",
        "votes: 2 safe, 1 unsafe (counts) -> 3 safe, 1 unsafe (counts)",
        "context.sender.a: 5 characters -> 7 characters",
        " is now ",
    ):
        assert line in done.stdout
    for format in ("table", "json", "markdown"):
        bare = cli_inside("cases", "diff", old.name, new.name, "--format", format)
        shown = cli_inside("cases", "diff", old.name, new.name, "--format", format, "--reveal")
        assert bare.returncode == shown.returncode == 1
        for text in ("secret", "whisper"):
            assert text not in bare.stdout
            assert text in shown.stdout


def test_an_edit_of_a_text_that_people_voted_on_is_named(cli_inside: Cli, tmp_path: Path) -> None:
    one, other = (CASE | {"id": id, "votes": votes} for id, votes in (("1", [1, 2]), ("2", None)))
    write(tmp_path / "old.jsonl", one, other)
    wall = {"query": "And a wall?"}
    for new, moved in (
        ([one | wall, other], ["1"]),
        # The other case has no votes, and a case whose votes were taken out has none either.
        ([one, other | wall], []),
        ([one | wall | {"votes": None}, other], []),
    ):
        write(tmp_path / "new.jsonl", *new)
        done = cli_inside("cases", "diff", "old.jsonl", "new.jsonl", "--format", "json")
        changed = json.loads(done.stdout)["changed"]
        assert [case["id"] for case in changed if case["moves_votes"]] == moved
        shown = cli_inside("cases", "diff", "old.jsonl", "new.jsonl").stdout
        assert ("people voted on this text" in shown) == bool(moved)


def test_what_is_there_is_overwritten_but_for_the_source(cli_inside: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "s.jsonl", CASE, CASE | {"query": "And a wall?"})
    before = source.read_bytes()
    refused(cli_inside("cases", "sample", "s.jsonl", "-n", "1", "--out", "s.jsonl"), "overwrite")
    options = ["--into", "s=.5,t=.5", "--out-dir", "."]
    refused(cli_inside("cases", "split", "s.jsonl", *options), "s.jsonl: would overwrite the file")
    assert source.read_bytes() == before
    for _ in range(2):
        cli_inside.ok("cases", "sample", source, "-n", "1", "--out", "o.jsonl")
    assert len(load_cases(tmp_path / "o.jsonl").cases) == 1
