"""Nothing of a text leaves the house unasked: a planted string is looked for everywhere."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, cli_in
from inspect_ai.log import EvalError, EvalScore, list_eval_logs, read_eval_log, write_eval_log
from inspect_ai.model import ModelUsage
from support.planted import CANARY, PlantedServer, write_planted_cases
from support.scores import analysed
from support.secret import KEY, found_in
from support.tables import judgement, table

import casewise as cw

WITHHELD = ["parquet", "csv", "redacted-logs", "every-eval-ever"]
REVEALED = ["parquet", "csv", "casebench", "lm-eval"]
NAMES = {"parquet": "t.parquet", "csv": "t.csv"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of verdicts, tokens, an ablation, and replies graded by a model."""
    folder = tmp_path_factory.mktemp("planted")
    cases = write_planted_cases(folder / f"of-{CANARY}.jsonl")
    runs = [
        ["--protocol", "binary,probability,respond", "--grader", "openai-api/fake/grader"],
        ["--protocol", "binary", "--ablate", "recipient.type"],
    ]
    with PlantedServer() as server:
        for options in runs:
            command = ["run", "-m", "openai-api/fake/m"]
            command += ["--cases", str(cases), "--log-dir", "logs", *options]
            command += ["--model-base-url", server.url]
            done = cli_in(folder)(*command, env=server.env)
            assert done.returncode in (0, 1), done.stderr
    assert {"ok", "unparsed", "error"} <= set(cw.judgements(folder / "logs")["status"])
    assert found_in(folder / "logs", CANARY)
    return folder / "logs"


def export(cli: Cli, logs: Path, form: str, *options: str) -> tuple[Path, str]:
    out = NAMES.get(form, form)
    done = cli("export", logs, "--to", form, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert CANARY not in done.stderr
    return Path(out), done.stderr


@pytest.mark.parametrize("form", WITHHELD)
def test_withheld_by_default(cli_inside: Cli, tmp_path: Path, logs: Path, form: str) -> None:
    out, said = export(cli_inside, logs, form)
    assert found_in(tmp_path / out, CANARY) == []
    assert "Content warning" not in said


@pytest.mark.parametrize("form", REVEALED)
def test_revealed_on_request(cli_inside: Cli, tmp_path: Path, logs: Path, form: str) -> None:
    out, said = export(cli_inside, logs, form, "--reveal")
    found = found_in(tmp_path / out, CANARY)
    assert found
    assert not any(place.endswith(": its name") for place in found)
    assert said.count("Content warning") == 1


def scores(cli: Cli, path: Path | str) -> list[dict[str, Any]]:
    done = cli("score", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_the_same_numbers(cli_inside: Cli, logs: Path) -> None:
    def by_run(row: dict[str, Any]) -> str:
        return str([row[name] for name in ("model", "protocol", "delivery", "ablation")])

    wanted = sorted(scores(cli_inside, logs), key=by_run)
    assert any(row["protocol"] == "respond" for row in wanted)
    for form in ("csv", "redacted-logs"):
        out, _ = export(cli_inside, logs, form)
        found = scores(cli_inside, out)
        # Redacted logs are read in the order of their names, which differ where two have one time.
        assert sorted(found, key=by_run) == wanted
        assert analysed(found, "explanations")


def test_lengths_stand_in(cli_inside: Cli, tmp_path: Path, logs: Path) -> None:
    shut, shown = tmp_path / "shut.parquet", tmp_path / "open.parquet"
    for path, options in ((shut, ()), (shown, ("--reveal",))):
        done = cli_inside("export", logs, "--to", "parquet", "--out", path, *options)
        assert done.returncode == 0, done.stderr
    written, whole = pl.read_parquet(shut), pl.read_parquet(shown)
    for name in ("answer", "explanation", "error"):
        assert name not in written.columns
        assert written[f"{name}_length"].equals(whole[name].str.len_chars(), null_equal=True)
        assert whole[name].is_not_null().any()
    kept = ["case_id", "query_id", "category", "model", "variant", "status", "p_safe", "mentions"]
    assert written.select(kept).equals(whole.select(kept))
    # A key of a context is its author's text; the known ones, and the one removed, are not.
    names = set(" ".join(written["parameters"].drop_nulls()).split())
    assert {"sender.platform_type", "recipient.type"} < names
    assert len(names) == 3
    # What is made from redacted logs is what is made from the logs.
    redacted, _ = export(cli_inside, logs, "redacted-logs")
    export(cli_inside, tmp_path / redacted, "parquet")
    keys = ["run_id", "case_id", "epoch"]
    again = pl.read_parquet(tmp_path / NAMES["parquet"])
    assert again.sort(keys).equals(written.sort(keys))


SENTENCE = "How do I climb over a garden fence? Please.\nNow."
NAMED = {
    "case_id": "script:creative-writing:turn-2",
    "category": "Straftaten gegen Kinder",
    "model": "openrouter/meta-llama/llama-3.1-70b",
    "variant": "reference-api;card=therapy-support;vary=filler-4k,seed=3",
    "prompt_version": "file/my prompt.txt@2a09eb70 + casewise/binary-judge-1.es@0a1b2c3d",
}


def test_names_are_shown_and_sentences_in_their_place_are_not(
    cli_inside: Cli, tmp_path: Path
) -> None:
    paths = ["hf//home/alice/models/step-100", "hf//home/bob/models/step-100"]
    twin = {"twin_id": "b", "twin_intended": "unsafe", "numbers": '{"margin": 0.25}'}
    odd = {"twin_id": SENTENCE, "twin_intended": SENTENCE, "numbers": json.dumps({SENTENCE: 1})}
    rows = [judgement() | NAMED | twin, judgement() | dict.fromkeys(NAMED, SENTENCE) | odd]
    rows += [judgement(model=model) for model in paths]
    table(*rows).write_parquet(tmp_path / "rows.parquet")
    _, _ = export(cli_inside, tmp_path / "rows.parquet", "parquet")
    written = pl.read_parquet(tmp_path / "t.parquet")
    shown = [row["case_id"] for row in written.to_dicts()].index(NAMED["case_id"])
    assert {name: written[name][shown] for name in NAMED | twin} == NAMED | twin
    text = written.write_json()
    for secret in ("fence", "alice", "bob"):
        assert secret not in text
    # Two models under one last name stay two.
    models = {name for name in written["model"] if name.startswith("hf/step-100/path-")}
    assert len(models) == 2


def test_redacted_logs_keep_their_form(cli_inside: Cli, tmp_path: Path, logs: Path) -> None:
    out, _ = export(cli_inside, logs, "redacted-logs")
    folder = tmp_path / out
    before = {log.eval.task_id: log for log in map(read_eval_log, list_eval_logs(str(logs)))}
    after = {log.eval.task_id: log for log in map(read_eval_log, list_eval_logs(str(folder)))}
    assert before.keys() == after.keys()
    for name, log in after.items():
        source = before[name]
        assert log.eval.model == source.eval.model
        assert log.results is not None
        assert source.results is not None
        assert log.results.completed_samples == source.results.completed_samples
        texts = {sample.id: sample for sample in log.samples or ()}
        for sample in source.samples or ():
            shown = texts[sample.id].messages
            assert [one.role for one in shown] == [one.role for one in sample.messages]
            for message, old in zip(shown, sample.messages, strict=True):
                assert message.text == f"[withheld: {len(old.text)} characters]"
            assert texts[sample.id].model_usage == sample.model_usage
    home = logs.parent
    for secret in (str(home), "127.0.0.1"):
        assert found_in(logs, secret)
    for secret in (str(home), KEY, "127.0.0.1", "/tmp"):
        assert found_in(folder, secret) == []


def test_what_is_not_known_does_not_pass(cli_inside: Cli, tmp_path: Path, logs: Path) -> None:
    """A log that holds the canary wherever Inspect has a place for text."""
    log = next(
        one for one in map(read_eval_log, list_eval_logs(str(logs))) if "respond" in one.eval.task
    )
    text: Any = CANARY
    log.eval.tags, log.eval.task_file, log.eval.model_base_url = [text], text, f"http://{text}"
    log.eval.model_args |= {"api_key": text}
    log.eval.task_args |= {"prompt": f"/home/{text}/p.txt", "other": text, "variation": f"{text}\n"}
    assert log.eval.metadata is not None
    log.eval.metadata |= {"note": text, "variant": f"greedy;note={text} in a\nsentence"}
    log.eval.model = f"hf//home/{text}/checkpoints/step-100"
    log.eval.dataset.location = text
    log.eval.packages |= {text: text}
    log.plan.config.system_message = text
    assert log.results is not None
    log.results.scores = [EvalScore(name=text, scorer=text)]
    log.error = EvalError(message=text, traceback=text, traceback_ansi=text)
    log.status = "error"
    for sample in log.samples or ():
        sample.metadata |= {"note": text, "expected": f"a {text}\n"}
        sample.store |= {"note": text}
        sample.setup, sample.files, sample.choices = text, [text], [text]
        sample.target = text
        sample.model_usage |= {f"hf//home/{text}/x": ModelUsage(input_tokens=1)}
        for score in (sample.scores or {}).values():
            assert isinstance(score.value, dict)
            score.value |= {"note": text, text: 1.0, f"{text} a": 2.0}
            score.metadata = {**(score.metadata or {}), "note": text, "turns": f"{text} {text}"}
        sample.scores = (
            {**(sample.scores or {}), f"by_{text}": next(iter(sample.scores.values()))}
            if sample.scores
            else None
        )
    write_eval_log(log, str(tmp_path / f"{CANARY}.eval"))
    done = cli_inside("export", f"{CANARY}.eval", "--to", "redacted-logs", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert found_in(tmp_path / "out", CANARY) == []
    (redacted,) = list_eval_logs(str(tmp_path / "out"))
    assert read_eval_log(redacted).eval.model.startswith("hf/step-100/path-")


def test_a_run_without_a_judgement_makes_no_logs(
    cli_inside: Cli, tmp_path: Path, logs: Path
) -> None:
    log = read_eval_log(list_eval_logs(str(logs))[0])
    assert log.results is not None
    log.samples, log.results.completed_samples, log.status = [], 0, "cancelled"
    write_eval_log(log, str(tmp_path / "stopped.eval"))
    done = cli_inside("export", "stopped.eval", "--to", "redacted-logs", "--out", "out")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "stopped.eval: nothing was judged yet" in said
    assert "To go on: casewise run " in said
    assert not (tmp_path / "out").exists()


def test_no_run_goes_on_in_logs_without_texts(cli_inside: Cli, logs: Path) -> None:
    out, _ = export(cli_inside, logs, "redacted-logs")
    cases = next(logs.parent.glob("of-*.jsonl"))
    command = ("run", "-m", "openai-api/fake/m", "--cases", cases, "--log-dir", out)
    # Nobody listens there: it is refused before anything is sent.
    done = cli_inside(
        *command, "--model-base-url", "http://127.0.0.1:9/v1", env={"FAKE_API_KEY": "k"}
    )
    assert done.returncode == 2
    assert "logs without their texts" in " ".join(done.stderr.split())
    assert "give another --log-dir" in " ".join(done.stderr.split())
