"""The suite that resamples published runs, and the page that it writes."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, Cli
from support.gated import replies_table
from support.scripts import load_script
from support.tables import judgement, random_table, table

from casewise.cases import load_cases
from casewise.dataset import as_description_record, describe_cases
from casewise.measures import compared, scored
from casewise.protocols import PREFERS
from casewise.protocols.rank import SAYS_FIRST
from casewise.reporting import replay_sheet
from casewise.scores import as_report_records, report_scores
from casewise.scores._condition_scores import Scoring


@pytest.fixture(scope="module")
def hostile() -> ModuleType:
    return load_script(ROOT / "benchmarks/hostile.py")


@pytest.fixture(scope="module")
def populations(hostile: ModuleType, casebench: Path) -> dict[str, Any]:
    data = casebench.parent
    for needed in ("reproductions/moralexceptqa/all_predictions.csv", "sets/privaci/HIPAA"):
        if not (data / needed).exists():
            pytest.skip(f"{needed} is not at {data}")
    found: dict[str, Any] = hostile.by_name(data)
    return found


def test_each_query_once_is_the_population(
    hostile: ModuleType, populations: dict[str, Any]
) -> None:
    """Drawing every query once gives the published figures, whatever the form of the answers."""
    for name in ("three epochs", "ranked", "replies"):
        population = populations[name]
        drawn = np.arange(population.after.clusters.count)[::-1]
        study = hostile.replace(
            population,
            before=hostile.study_of(population.before, drawn),
            after=hostile.study_of(population.after, drawn),
        )
        whole, again = (hostile.figures(one) for one in (population, study))
        assert whole.keys() == again.keys()
        for figure, one in whole.items():
            assert again[figure].value == pytest.approx(one.value, nan_ok=True), (name, figure)
            assert again[figure].reason == one.reason


def test_published_figures(hostile: ModuleType, populations: dict[str, Any]) -> None:
    """CASE-Bench's published accuracies of gpt-4o and llama370B under binary: .770 and .866."""
    population = populations["gpt-4o binary to llama binary"]
    found = hostile.figures(population)
    assert found["accuracy"].value == pytest.approx(0.866, abs=5e-4)
    assert found["change of accuracy"].value == pytest.approx(0.866 - 0.770, abs=1e-3)


def test_changes_are_few(hostile: ModuleType, populations: dict[str, Any]) -> None:
    """5 % of 900 answers are 45; in one arm they are all of cases meant unsafe."""
    for name, arms in (("5% of answers changed", 2), ("5% changed, in one arm", 1)):
        one = populations[name]
        moved = one.before.verdict != one.after.verdict
        assert moved.sum() == 45
        assert len(np.unique(one.after.intended[moved])) == arms


def test_a_cell_by_hand(hostile: ModuleType) -> None:
    """10 intervals of 20 studies, 9 of which hold the truth: .9, printed in half."""
    cell = hostile.Cell(20, 10, 9, 1) + hostile.Cell(20, 10, 9, 1)
    assert (cell.share_given, cell.coverage) == (0.5, 0.9)
    # Two errors of 20 intervals at .95 are .097.
    assert cell.is_usual
    assert not cell.is_low
    assert hostile.Cell(1000, 1000, 900).is_low
    assert not hostile.Cell(1000, 400, 300).is_low


def test_the_page_has_each_analysis(hostile: ModuleType) -> None:
    text = hostile.DOCS.read_text("utf-8")
    written = text[text.index(hostile.ANALYSES_BEGIN) : text.index(hostile.ANALYSES_END)]
    rows = re.findall(r"^\| (\w+) \| \d+ \|", written, re.M)
    assert set(rows) == {one.name for one in hostile.ANALYSES}


def test_each_query_once_is_the_population_of_other_commands(
    hostile: ModuleType, populations: dict[str, Any]
) -> None:
    for name in ("votes", "votes until clear", "votes, few contexts", "replay, 1% changed"):
        population = populations[name]
        study = population.study(np.arange(population.queries)[::-1])
        whole, again = population.figures(), study.figures()
        assert whole.keys() == again.keys()
        for figure, one in whole.items():
            assert again[figure].value == pytest.approx(one.value, nan_ok=True), (name, figure)


def test_figures_are_found_in_the_results_themselves(hostile: ModuleType) -> None:
    names = hostile.of_command("describe", {"new": {"share": hostile.Shown(0.5)}, "n": 3})
    assert list(names) == ["describe: new.share"]


INTERVAL = re.compile(r"(^|_)ci$|^interval$|^bounds$")
"""Keys of intervals in the JSON of any command."""


def intervals_in(record: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every interval of a record that isn't null, with the keys and measures that lead to it."""
    if isinstance(record, dict):
        named = [record[key] for key in ("measure", "metric") if isinstance(record.get(key), str)]
        for key, value in record.items():
            here = (*path, *named, key)
            inside = any(INTERVAL.search(one) for one in here)
            if inside and isinstance(value, list) and len(value) == 2:
                yield here, tuple(value)
            else:
                yield from intervals_in(value, here)
    elif isinstance(record, list):
        for one in record:
            yield from intervals_in(one, path)


def test_describe_and_replay_print_intervals_that_the_suite_knows(
    hostile: ModuleType, populations: dict[str, Any], casebench: Path
) -> None:
    """Held by their ends: an interval that no row of the suite has is a figure it lacks."""
    seen = set()
    for name in ("votes", "votes, few contexts"):
        whole = describe_cases(load_cases(casebench / "CASEBench_data.json"))
        found = replace(whole, **vars_of(hostile.vote_figures(populations[name].people)))
        known = {one.interval for one in populations[name].figures().values()}
        for path, ends in intervals_in(as_description_record(found)):
            assert ends in known, path
            seen.add(path[0])
    assert seen == {"agreement", "context_effect"}
    replayed = populations["replay, another model"]
    record = replay_sheet(replayed.report(), {}).record()
    known = {one.interval for one in replayed.figures().values()}
    found_ends = list(intervals_in(record))
    assert found_ends
    assert {ends for _, ends in found_ends} <= known


def vars_of(found: Any) -> dict[str, Any]:
    return {field.name: getattr(found, field.name) for field in fields(found)}


def test_score_compare_and_gate_print_intervals_of_measures(
    hostile: ModuleType, cli_inside: Cli, tmp_path: Path
) -> None:
    """Models that rank are scored too. The suite counts each row of the table of measures."""
    known = {row.name for row in scored()} | {one.name for one in hostile.ANALYSES}
    rng = np.random.default_rng(1)
    for run, skill in (("one", 0.6), ("two", 0.4)):
        judges = random_table(60, 1, skill=skill, model="m", run_id=run)
        replies = replies_table((rng.random((60, 2)) < 0.6).astype(float), "system", run_id=run)
        parts = [judges, replies]
        contexts = [
            judgement(f"k{n}", None, float(rng.random()), votes=(safe, 20 - safe))
            | {"case_id": f"k{n}-{place}", "model": "k", "dataset_hash": "k", "run_id": run}
            for n in range(60)
            for place, safe in enumerate(rng.integers(0, 21, 3).tolist())
        ]
        parts += [table(*contexts), ranked(rng, run)]
        pl.concat(parts).write_parquet(tmp_path / f"{run}.parquet")
    rule = "rules: [{measure: pcc, at_least: .1}, {measure: accuracy, worse_by_at_most: .2}]"
    (tmp_path / "gate.yaml").write_text(rule)
    both = ("one.parquet", "two.parquet")
    commands = [
        ("score", *both, "--format", "json"),
        ("compare", *both, "--format", "json"),
        ("gate", both[1], "--baseline", both[0], "--config", "gate.yaml", "--json"),
    ]
    for arguments in commands:
        done = cli_inside(*arguments)
        assert done.stdout, done.stderr
        found = list(intervals_in(json.loads(done.stdout)))
        assert found, arguments
        for path, _ in found:
            assert names_in(path) & known, (arguments[0], path)
        if arguments[0] == "score":
            ranks = [path[-1] for path, _ in found if names_in(path) & RANKS]
            assert sorted(ranks) == sorted(f"{name}_ci" for name in RANKS for _ in both)


RANKS = {"ranked_as_labels", "named_first", "same_in_both_orders"}


def names_in(path: tuple[str, ...]) -> set[str]:
    return {re.sub(r"_ci$", "", key) for key in path}


def ranked(rng: np.random.Generator, run: str) -> pl.DataFrame:
    """Sixty pairs of contexts in both orders: each choice by chance."""
    rows = []
    for n in range(60):
        first, second = rng.integers(0, 2, 2).tolist()
        numbers = {PREFERS: (first + 1 - second) / 2, SAYS_FIRST: (first + second) / 2}
        pair = judgement(f"q{n:05}", None, None, votes=(15, 5), protocol="rank", run_id=run)
        pair |= {"case_id": f"{n}-0-{n}-1", "twin_id": f"{n}-1", "status": "ok", "model": "r"}
        pair |= {"twin_votes_safe": 4, "twin_votes_unsafe": 16, "numbers": json.dumps(numbers)}
        rows.append(pair)
    return table(*rows)


def test_a_comparison_of_ranks_tells_of_no_verdicts(cli_inside: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for run in ("one", "two"):
        ranked(rng, run).write_parquet(tmp_path / f"{run}.parquet")
    text = cli_inside("compare", "one.parquet", "two.parquet").stdout
    assert "ranked as labels do" in text
    assert "McNemar" not in text
    assert "verdict" not in text


def test_analyses_print_intervals_that_the_suite_knows(
    hostile: ModuleType, populations: dict[str, Any]
) -> None:
    """Held by their ends, in the JSON of ``casewise score`` on a study of each analysis."""
    measures = {row.name for row in scored()}
    analyses = {one.name for one in hostile.ANALYSES}
    rng, seen = np.random.default_rng(3), set()
    for name in sorted(analyses):
        population = populations[f"{name}, published runs"]
        study = population.study(rng.integers(population.queries, size=160))
        report = report_scores(study.table, Scoring(), calibrate=True)
        known = {one.interval for one in study.figures().values()}
        for path, ends in intervals_in(as_report_records(report)):
            if name in path:
                assert ends in known, path
                seen.add(name)
            else:
                assert names_in(path) & measures or analyses & {*path}, path
    assert seen == analyses


def test_the_page_is_the_suites(hostile: ModuleType) -> None:
    text = hostile.DOCS.read_text("utf-8")
    written = text[text.index(hostile.BEGIN) : text.index(hostile.END)]
    rows = dict(re.findall(r"^\| ([a-z][^|]+) \| \d+ \| (.+) \|$", written, re.M))
    kinds = {hostile.kind_of(row.name) for row in scored()}
    changes = {hostile.kind_of(f"change of {name}") for name in compared()}
    assert kinds | changes <= rows.keys()
    assert "or the other way round, in 0." in written
    listed = written[written.index("**Below .93**") :]
    drawn = re.search(r"size, (\d+) studies each", written)
    assert drawn is not None
    # A figure near the bound has ten times as many studies, and at least half of them print it.
    given = int(drawn[1]) * (1 + sum(times for _, times in hostile.STEPS)) * hostile.USUAL
    slack = 2 * (0.95 * 0.05 / given) ** 0.5
    cells = [cell.partition(" ") for row in rows.values() for cell in row.split(" | ")]
    for held, _, name in (cell for cell in cells if cell[0] != "not"):
        assert float(held) >= hostile.LEAST - slack or name in listed, name


def test_kinds_by_hand(hostile: ModuleType) -> None:
    """Of two shares the worse, where it is printed; of a correlation that hardly is, nothing."""
    cells = {
        "accuracy": hostile.Cell(100, 100, 95),
        "follows": hostile.Cell(100, 100, 94),
        "pcc": hostile.Cell(100, 20, 1),
    }
    assert hostile.kind_table({("runs", 28): cells})[2:] == [
        "| share | 2 | .940 `follows` |",
        "| correlation | 1 | not printed |",
    ]
