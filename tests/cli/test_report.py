"""``casewise report`` as a person uses it: pages, cards, what they withhold, and wrong use."""

import html
import json
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli, cli_in
from inspect_ai.log import list_eval_logs, read_eval_log, write_eval_log
from support.planted import CANARY, PlantedServer, write_planted_cases
from support.reported import Parsed
from support.tables import judgement, random_table, table


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a judge and of a chatbot whose every text holds the canary."""
    folder = tmp_path_factory.mktemp("planted")
    cases = write_planted_cases(folder / "cases.jsonl", 6)
    with PlantedServer() as server:
        command = ["run", "-m", "openai-api/fake/m"]
        command += ["--cases", str(cases), "--log-dir", "logs", "--protocol", "binary,respond"]
        done = cli_in(folder)(*command, env=server.env)
    assert done.returncode in (0, 1), done.stderr
    return folder / "logs"


def inside(html: str) -> str:
    """All that a page holds: its text, and what is packed in it."""
    parsed = Parsed(html)
    packed = [name for name in parsed.scripts if name.endswith("-data")]
    assert packed
    return html + "".join(json.dumps(parsed.packed(name)) for name in packed)


def test_texts_are_withheld(cli: Cli, planted: Path, tmp_path: Path) -> None:
    done = cli.ok("report", planted, "--out", "both")
    assert CANARY not in done.stdout + done.stderr
    page = inside((tmp_path / "both/report.html").read_text("utf-8"))
    card = (tmp_path / "both/card.md").read_text("utf-8")
    assert CANARY not in page
    assert CANARY not in card
    assert "One part of a safety evaluation, and no certificate." in page
    assert "One part of a safety evaluation, and no certificate." in card


def test_what_may_be_private_of_a_models_arguments_is_withheld(
    cli: Cli, planted: Path, tmp_path: Path
) -> None:
    (path, *_) = list_eval_logs(str(planted))
    log = read_eval_log(path)
    log.eval.model_args = {"tier": "flex", "beams": 4, "seat": "1", "org_key": "k", "n": ["x"]}
    write_eval_log(log, str(tmp_path / "with.eval"))
    cli.ok("report", "with.eval", "--out", "card.md")
    card = (tmp_path / "card.md").read_text("utf-8").replace("\\", "")
    assert '| model args | beams=4, n=["x"], seat="1", tier=flex |' in card


def test_texts_are_revealed_on_request(cli: Cli, planted: Path, tmp_path: Path) -> None:
    done = cli.ok("report", planted, "--out", "r.html", "--reveal")
    assert "content warning" in done.stderr
    assert CANARY not in done.stderr
    page = inside((tmp_path / "r.html").read_text("utf-8"))
    for words in (f"fence 0 of {CANARY}", f"a help desk of {CANARY}", f"recipient is a {CANARY}"):
        assert words in page


def test_where_texts_are_that_a_table_lacks(cli: Cli, planted: Path, tmp_path: Path) -> None:
    cli.ok("export", planted, "--out", "t.parquet", "--reveal")
    done = cli("report", "t.parquet", "--out", "r.html", "--reveal")
    assert "the texts of 12 cases are not in what was read; --cases" in done.stderr
    cases = planted.parent / "cases.jsonl"
    cli.ok("report", "t.parquet", "--out", "r.html", "--reveal", "--cases", cases)
    assert f"fence 0 of {CANARY}" in inside((tmp_path / "r.html").read_text("utf-8"))


@pytest.mark.parametrize("part", ["safety_gpt-4o", pytest.param("", marks=pytest.mark.slow)])
def test_published_outputs(cli: Cli, casebench: Path, tmp_path: Path, part: str) -> None:
    """Of one model, and of all."""
    published = casebench / "exp" / part
    options = ("--labels", "published", "--unparsed", "reference")
    cli.ok("report", published, "--out", "p.html", *options)
    html = (tmp_path / "p.html").read_text("utf-8")
    scores = json.loads(cli("score", published, "--format", "json", *options).stdout)
    assert json.loads(Parsed(html).scripts["scores"]) == scores
    # Table 2 of the published scores: gpt-4o, binary.
    assert (scores[0]["accuracy"], scores[0]["follows"]) == pytest.approx((0.77, 0.5439), abs=5e-5)
    assert "77\u00a0% (75\u00a0to\u00a079)" in html


ODD = {
    "unread": table(
        *(judgement(f"q{n}", side, None) for n in range(3) for side in ("safe", "unsafe"))
    ),
    "one": table(judgement()),
    "apart": table(judgement("a", run_id="1", model="x"), judgement("b", run_id="2", model="y")),
    "blank": table(judgement(votes=None, intended=None)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_runs(cli: Cli, tmp_path: Path, name: str) -> None:
    ODD[name].write_parquet(tmp_path / "t.parquet")
    done = cli.ok("report", "t.parquet", "--out", "both")
    assert "Traceback" not in done.stderr
    assert "nan" not in (tmp_path / "both/card.md").read_text("utf-8").lower().split()


def test_probabilities_that_mean_little_are_said_everywhere(
    cli_inside: Cli, tmp_path: Path
) -> None:
    """One sentence: in the scores, on the page, on the card and in the gate."""
    low = random_table(30, 1, mass=0.012)
    low.write_parquet(tmp_path / "low.parquet")
    low.with_columns(mass=pl.lit(0.5)).write_parquet(tmp_path / "fine.parquet")
    said = (
        "the first token puts only .012 of its probability on 'safe' or 'unsafe': these numbers "
        "mean little."
    )
    for name, there in (("low", True), ("fine", False)):
        run = f"{name}.parquet"
        assert (said in " ".join(cli_inside("score", run).stdout.split())) is there
        cli_inside.ok("report", run, "--out", "out")
        page = html.unescape((tmp_path / "out/report.html").read_text("utf-8"))
        assert (f"m (probability): {said}" in page) is there
        card = (tmp_path / "out/card.md").read_text("utf-8")
        assert (f"- m (probability): {said}" in card.replace("\\", "")) is there
        done = cli_inside("gate", run, "--junit", "gate.xml", "--markdown", "gate.md")
        texts = [done.stdout, *((tmp_path / one).read_text() for one in ("gate.xml", "gate.md"))]
        texts.append("\n".join(json.loads(cli_inside("gate", run, "--json").stdout)["notes"]))
        for text in texts:
            assert (f"m (probability): {said}" in " ".join(text.split())) is there
