"""``import casewise as cw``: quick to import, true to its page, and equal to the commands."""

import ast
import asyncio
import contextlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli, clean_env, forget_models
from support.fake_openai import Answer, FakeServer
from support.tables import random_table

import casewise as cw
from casewise.errors import AssetError, InputError, UsageError

pytestmark = [
    # Python shows no user what is deprecated in the code of others.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    # So do the figures of a run that was stopped.
    pytest.mark.filterwarnings("ignore:.*the run ended early"),
]

PAGE = (ROOT / "docs/reference/python.md").read_text("utf-8")
NOTEBOOK = ROOT / "examples/cases_to_page.ipynb"
MODEL = "openai-api/local/model"


def answer(request: dict[str, Any]) -> Answer:
    """A verdict that depends on the prompt alone: the same in every run."""
    text = str(request["messages"][-1]["content"])
    number = zlib.crc32(text.encode())
    if request.get("logprobs"):
        return {("safe", "unsafe")[number % 2]: -0.1, ("safe", "unsafe")[1 - number % 2]: -2.4}
    if "from 1 to 10" in text:
        return json.dumps({"explanation": "x", "score": number % 10 + 1})
    return json.dumps({"explanation": "x", "judgement": ("safe", "unsafe")[number % 2]})


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[FakeServer]:
    """A model on loopback, and a folder and cache of one's own."""
    with pytest.MonkeyPatch.context() as patch, FakeServer(answer) as server:
        patch.chdir(folder)
        patch.setenv("CASEWISE_CACHE", str(folder / "cache"))
        patch.setenv("LOCAL_API_KEY", "none")
        patch.setenv("LOCAL_BASE_URL", server.url)
        yield server
        forget_models()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeServer]:
    with serving(tmp_path) as one:
        yield one


def voted(path: Path) -> Path:
    """The starter cases with votes of ten people, most of whom agree with the author."""
    lines = []
    for place, case in enumerate(cw.load_cases("starter").to_dicts()):
        safe = 9 - place % 3 if case["intended"] == "safe" else 1 + place % 4
        lines.append(json.dumps(case | {"votes": {"safe": safe, "unsafe": 10 - safe}}))
    path.write_text("\n".join(lines), "utf-8")
    return path


# The import.


def in_fresh_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean_env(), capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_imports_nothing_of_others() -> None:
    code = "import sys; before = set(sys.modules); import casewise; print(*set(sys.modules)-before)"
    loaded = {name.split(".")[0] for name in in_fresh_process(code).split()}
    assert loaded - set(sys.stdlib_module_names) == {"casewise"}


def test_cases_are_loaded_without_models_and_frames() -> None:
    code = "import sys, casewise as cw; cw.load_cases('starter'); print(*sys.modules)"
    loaded = set(in_fresh_process(code).split())
    assert not loaded & {"polars", "scipy", "inspect_ai", "casewise.models", "casewise.runs"}


def test_a_wrong_name_of_a_model_is_refused_without_the_import_of_inspect() -> None:
    code = (
        "import runpy, sys; sys.argv = ['casewise', 'run', '-m', 'locl/x']\n"
        "try: runpy.run_module('casewise', None, '__main__')\n"
        "except SystemExit: print(*sys.modules)"
    )
    loaded = in_fresh_process(code).split()
    assert "casewise.cli._run" in loaded
    assert "inspect_ai" not in loaded


# The names.


def test_the_page_names_what_there_is() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    named |= set(re.findall(r"\(gives (?:an? )?`(\w+)`\)", PAGE))
    assert named == set(cw.__all__)
    assert cw.__all__ == sorted(cw.__all__)


def test_no_room_hides_a_function() -> None:
    """Python puts an imported room into its package, under a name that a function may have."""
    setattr(cw, "gate", ModuleType("casewise.gate"))  # noqa: B010 - as Python does
    assert inspect.isfunction(cw.gate)


# The page and the notebook.


def blocks() -> list[str]:
    found = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == PAGE.count("```python") >= 6
    return found


def as_here(code: str) -> str:
    """Code of the page or notebook with the model and cases of this test."""
    for other in ("openai/gpt-4o", "casewise/smollm2"):
        code = code.replace(f'"{other}"', f'"{MODEL}"')
    return code.replace('"casebench"', '"voted.jsonl"')


GATE = "rules:\n- {measure: coverage, at_least: .5}\n- {measure: accuracy, worse_by_at_most: .9}\n"


@pytest.mark.filterwarnings("default::UserWarning")
def test_every_block_of_the_page(server: FakeServer, tmp_path: Path) -> None:
    cases = cw.load_cases(voted(tmp_path / "voted.jsonl"))
    plan = cw.plan(cases, model=MODEL, protocol="binary", ablate=[None, "recipient"])
    for name in ("before", "after"):
        cw.run(plan, f"logs/{name}")
    (tmp_path / "gate.yaml").write_text(GATE)
    names: dict[str, Any] = {}
    for block in blocks():
        exec(compile(as_here(block), "docs/reference/python.md", "exec"), names)

    assert (names["cases"].hash, len(names["cases"])) == (cases.hash, 56)
    assert names["cases"][0] == cases.cases[0]
    assert names["again"].hash == names["mine"].hash == cw.load_cases(names["data"]).hash
    assert [estimate.requests for estimate in names["plan"].estimates] == [56, 56]
    assert names["table"].height == 112
    assert names["scores"][0].labels == "votes"
    assert 0 < names["scores"][0].accuracy.value < 1
    assert names["moved"]["accuracy"] == 0
    assert names["run"].complete
    assert "Checkpoint 7" in (tmp_path / "report.html").read_text("utf-8")


def cells() -> list[str]:
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    return ["".join(cell["source"]) for cell in code]


async def shown_by(cell: str, names: dict[str, Any]) -> object:
    """Run a cell as a notebook does, inside a running event loop; its last value, if it has one."""
    tree = ast.parse(as_here(cell))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if (coming := eval(compile(tree, "cell", "exec", flags), names)) is not None:
        await coming
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval", flags), names)
    return await value if inspect.iscoroutine(value) else value


def test_the_notebook(server: FakeServer, tmp_path: Path) -> None:
    async def all_cells() -> dict[str, Any]:
        names: dict[str, Any] = {}
        for cell in cells():
            value = await shown_by(cell, names)
            if isinstance(value, cw.Plan | cw.Run | cw.Scores | cw.Comparisons):
                assert "<table>" in value._repr_html_()
        return names

    before = asyncio.run
    names = asyncio.run(all_cells())
    assert asyncio.run is before, "the loop is left as it is"
    assert len(server.requests) == 112
    assert names["table"].height == 56
    assert (len(names["change"]), names["change"][0].n) == (1, 56)
    assert "without recipient" in names["change"][0].after
    assert names["accuracy"].value == pytest.approx((1 + 1 + 1 + 0.5 + 1 + 0) / 6)
    assert "Without the recipient" in (tmp_path / "report.html").read_text("utf-8")


# Equal to the commands.


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    with serving(folder) as server:
        voted(folder / "voted.jsonl")
        plan = cw.plan("voted.jsonl", model=MODEL, protocol="binary", ablate=[None, "recipient"])
        cw.run(plan, "after")
        always = [{"content": "always the same"}]
        server.answer = lambda request: answer(request | {"messages": always})
        cw.run(plan, "before")
    return folder


@pytest.fixture
def two_runs(made_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of two runs, ``before`` and ``after``, over ``voted.jsonl``."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_numbers_are_the_commands(two_runs: Path, cli: Cli) -> None:
    def printed(*arguments: str) -> Any:
        return json.loads(cli(*arguments).stdout)

    scores = cw.score("after", labels="votes")
    as_json = printed("score", "after", "--labels", "votes", "--format", "json")
    assert scores.records() == as_json
    names = list(dict.fromkeys(name for row in as_json for name in row))
    assert scores.to_polars().columns == names
    assert scores.to_polars()["accuracy"].to_list() == [row["accuracy"] for row in as_json]
    assert cw.score(cw.judgements("after"), "votes").records() == as_json
    by = printed("score", "after", "--by", "intended", "--format", "json")
    assert cw.score("after", by="intended").records() == by

    change = cw.compare("before", "after")
    as_json = printed("compare", "before", "after", "--format", "json")
    assert change.records() == as_json["pairs"]
    assert change[0].differences[0].metric == "accuracy"

    gate = cw.gate("after", baseline="before")
    as_json = printed("gate", "after", "--baseline", "before", "--json")
    assert (gate.records(), str(gate.verdict)) == (as_json["rules"], as_json["verdict"])
    assert gate.passed == (as_json["exit_status"] == 0)

    audit = printed("cases", "audit", "voted.jsonl", "--format", "json")
    assert cw.audit("voted.jsonl").records() == audit["findings"]
    described = cw.describe("voted.jsonl").to_polars()
    as_json = printed("describe", "voted.jsonl", "--format", "json")
    assert described["votes"][0] == as_json["votes"]
    assert described["agreement.all.gwet_ac1"][0] == as_json["agreement"]["all"]["gwet_ac1"]
    given: dict[str, Any] = {"effect": 0.03, "discordance": 0.1, "rho": 0.2, "power": 0.8}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    answers = printed("power", "--test", "pairs", *options, "--format", "json")["answers"]
    (row,) = cw.power("pairs", **given).records()
    assert answers == [{name: row[name] for name in row if not name.startswith("given_")}]


def test_markdown_is_the_commands(two_runs: Path, cli: Cli) -> None:
    for result, arguments in (
        (cw.score("after"), ["score", "after"]),
        (cw.compare("before", "after"), ["compare", "before", "after"]),
        (cw.describe("voted.jsonl"), ["describe", "voted.jsonl"]),
        (cw.audit("voted.jsonl"), ["cases", "audit", "voted.jsonl"]),
    ):
        assert result.to_markdown() == cli(*arguments, "--format", "markdown").stdout
        assert repr(result) == result.to_markdown().rstrip()


def test_the_card_and_what_changed(two_runs: Path) -> None:
    assert cw.report("after", "new/card.md") == Path("new/card.md")
    assert MODEL in Path("new/card.md").read_text("utf-8")
    cw.report(["after"], "page.html", before="before", title="<b>Both</b>")
    page = Path("page.html").read_text("utf-8")
    assert "&lt;b&gt;Both" in page
    assert "<b>Both" not in page
    assert "<polyline" not in page
    cw.report(["before", "after"], "page.html", trend=True)
    assert "<polyline" in Path("page.html").read_text("utf-8")
    with pytest.raises(UsageError, match=r"end the name in \.html"):
        cw.report("after", "page.pdf")


def test_tables_in_memory_are_taken(two_runs: Path) -> None:
    """By every function that takes judgements, lazy or not, whole or in parts."""
    table, before = cw.judgements("after"), cw.judgements("before")
    wanted = cw.score("after").records()
    for frame in (table.lazy(), [table.slice(0, 20), table.slice(20)]):
        assert cw.score(frame).records() == wanted
    assert cw.gate(table).records() == cw.gate("after").records()
    changed = cw.compare("before", "after")
    assert [record["difference"] for record in cw.compare(before, table).records()] == [
        record["difference"] for record in changed.records()
    ]
    for out in ("page.html", "card.md"):
        cw.report(table, out, before=before, cases="voted.jsonl")
        assert MODEL in Path(out).read_text("utf-8")
    with pytest.raises(UsageError, match="from a int: give a table of polars"):
        cw.report(5, "page.html")


# What a result shows.


NASTY = '<img src=x onerror="alert(1)">|`*[a](javascript:b)'


def test_html_shows_names_as_texts(two_runs: Path) -> None:
    table = cw.judgements("after").with_columns(pl.lit(NASTY).alias("model"))
    other = cw.judgements("before").with_columns(pl.lit(NASTY).alias("model"))
    cases = [case.model_copy(update={"category": NASTY}) for case in cw.load_cases("voted.jsonl")]
    for result in (
        cw.score(table),
        cw.compare(other, table),
        cw.gate(table, baseline=other),
        cw.describe(cases),
        cw.audit(cases),
        cw.power("proportions", p1=0.1, p2=0.6, power=0.95),
    ):
        html = result._repr_html_()
        assert "<p>" in html
        assert not re.search(r"<(img|script)\b", html)
        assert "<a " not in html
    assert "&lt;img src=x onerror=" in cw.score(table)._repr_html_()


def test_undefined_is_null_and_intervals_are_lists(two_runs: Path) -> None:
    frame = cw.score("after", labels="votes").to_polars()
    assert frame["pcc"][0] is None
    assert frame["accuracy_ci"].dtype == pl.List(pl.Float64)
    assert json.loads(frame["statuses"][0]) == {"ok": 56}
    with pytest.raises(AttributeError, match="no 'acuracy'"):
        cw.score("after")[0].acuracy  # noqa: B018


# Cases.


def test_cases_are_a_sequence(tmp_path: Path) -> None:
    cases = cw.load_cases("starter")
    assert cases.version == "1.0.0"
    assert [case.id for case in cases] == [case.id for case in cases.cases]
    assert cases[3] in cases
    part = cases[:4]
    assert (len(part), part.version, part.source) == (4, None, None)
    assert part.hash != cases.hash
    assert cases[0].query not in repr(cases)


def test_chosen_cases_have_a_file_that_logs_can_name(server: FakeServer, tmp_path: Path) -> None:
    chosen = [case for case in cw.load_cases("starter") if case.intended == "unsafe"]
    for cases in (chosen, tuple(chosen), cw.load_cases("starter")[:4]):
        plan = cw.plan(cases, model=MODEL, protocol="binary")
        assert plan.judgements == len(cases)
    kept = sorted((tmp_path / "cache/cases").iterdir())
    assert len(kept) == 2
    assert {cw.load_cases(path).hash for path in kept} == {path.stem for path in kept}
    assert cw.run(plan, "logs").complete
    assert set(cw.judgements("logs")["case_id"]) == {case.id for case in cases}
    first = len(server.requests)
    assert cw.run(cw.plan(list(cases), model=MODEL, protocol="binary"), "logs").complete
    assert len(server.requests) == first, "the same cases are the same run"


def test_a_file_that_changed_is_refused(server: FakeServer, tmp_path: Path) -> None:
    cases = cw.load_cases(voted(tmp_path / "voted.jsonl"))
    lines = (tmp_path / "voted.jsonl").read_text("utf-8").splitlines()
    (tmp_path / "voted.jsonl").write_text("\n".join(lines[:-1]), "utf-8")
    with pytest.raises(InputError, match=r"voted\.jsonl: was changed since .*: load them again"):
        cw.plan(cases, model=MODEL, protocol="binary")


# Running.


def test_a_run_stands_for_its_folder(server: FakeServer) -> None:
    run = cw.run(cw.plan("starter", model=MODEL, protocol="binary", limit=6), "logs/a")
    assert (run.complete, run.capped, run.failures) == (True, False, ())
    assert run.to_polars().row(0, named=True) == {
        "model": MODEL,
        "condition": "binary",
        "judged": 6,
        "total": 6,
        "errors": 0,
    }
    assert cw.score(run).records() == cw.score("logs/a").records()


@contextlib.contextmanager
def stopped_at(server: FakeServer, at: int, stop: Callable[[], object]) -> Iterator[None]:
    """Stop when so many requests were sent; those and later ones wait for the block's end."""
    stopped, over = threading.Event(), threading.Event()

    def late(request: dict[str, Any]) -> Answer:
        if len(server.requests) >= at:
            if not stopped.is_set():
                stopped.set()
                stop()
            over.wait()
        return answer(request)

    server.answer = late
    try:
        yield
    finally:
        over.set()


def held_after(log_dir: str) -> int:
    return cw.judgements(log_dir).filter(pl.col("status") == "ok").height


PLAN: dict[str, Any] = {"model": MODEL, "protocol": "binary", "max_connections": 2}


def test_a_cancelled_run_keeps_what_was_judged(server: FakeServer) -> None:
    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(cw.run_async(cw.plan("starter", **PLAN), "logs"))
        stop = partial(loop.call_soon_threadsafe, task.cancel)
        with stopped_at(server, 20, stop), contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(cancelled())
    assert 10 <= held_after("logs") < 40
    server.answer = answer
    assert cw.run(cw.plan("starter", **PLAN), "logs").complete
    assert held_after("logs") == 56


# Bad input.


def test_what_does_not_exist_is_said(two_runs: Path) -> None:
    frame = cw.judgements("after")
    for call, error, words in (
        (lambda: cw.score(frame, labels="vote"), UsageError, "labels='vote': choose from"),
        (lambda: cw.score(frame, unparsed="x"), UsageError, "choose from reference, honest|honest"),
        (lambda: cw.score(frame, by="model"), UsageError, "by='model': choose from category"),
        (lambda: cw.score(frame.drop("status")), InputError, "field 'status'"),
        (lambda: cw.score("nowhere"), InputError, "nowhere: no such file"),
        (lambda: cw.power("z"), UsageError, "test='z': choose from"),
        (lambda: cw.plan("starter", MODEL, "judge"), UsageError, "protocol"),
        (lambda: cw.load_cases("casebench"), AssetError, "fetch"),
    ):
        with pytest.raises(error, match=words):
            call()
    one = cw.score(cw.judgements("after").filter(pl.col("ablation").is_null()))
    assert len(one) == 1


def test_notes_are_warnings(two_runs: Path) -> None:
    (two_runs / "after/notes.txt").write_text("mine")
    with pytest.warns(UserWarning, match="passed over notes.txt") as seen:
        cw.judgements("after")
    assert seen[0].filename == __file__


def test_what_the_front_door_gives_prints_in_short() -> None:
    """Whatever the number of cases, whose influences stand in every figure."""
    before, after = (random_table(900, 1, skill=skill) for skill in (0.3, 0.7))
    found, changed = cw.score(before), cw.compare(before, after)
    for one in (found[0], found[:1], list(found), found[0].accuracy, changed[0], changed[:1]):
        assert len(str(one)) == len(repr(one)) < 500
    assert f"{found[0].accuracy.value:.4g}" in repr(found[0])
    for many in (found[0].measures, changed[0].differences, found.table, found):
        assert len(repr(many)) < 10_000
