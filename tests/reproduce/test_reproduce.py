"""Published figures recomputed: works that ship, their sources, and files that are broken."""

import hashlib
import json
import math
import re
import shutil
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, Cli
from support.actors import REFUSAL

from casewise.errors import AssetError, InputError
from casewise.protocols import read_reply
from casewise.reproduce import Work, gather, load_work, read_anew, recompute, work_names
from casewise.reproduce._work import WORKS, evaluate
from casewise.sheets import number, signed

DATA = ROOT.parent / "shared/data"
NAMES = work_names()
FIGURES = {"casebench": 58, "legal": 58, "moralexceptqa": 63, "refusalbench": 8, "xstest": 104}


@pytest.fixture(scope="module")
def data() -> Path:
    """The folder of published outputs; none of their texts is ever printed."""
    for name in NAMES:
        for file in load_work(name).files:
            if not any(DATA.rglob(Path(file.path).name)):
                pytest.skip(f"{file.path} of {name} is not below {DATA}")
    return DATA


# --- the works that ship ------------------------------------------------------------------------


def test_every_work_is_counted_here() -> None:
    assert sorted(FIGURES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_published_figures_are_equal(data: Path, name: str) -> None:
    work = load_work(name)
    found = recompute(name, work, gather(name, work, data))
    assert len(found.figures) == work.figures == FIGURES[name]
    differing = {f"{one.row}, {one.name}" for one in found.figures if not one.is_equal}
    # A reason that no figure needs would hide the next difference.
    assert differing == {name for one in work.published for name in one.reasons}


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_has_40_lines_at_most(name: str) -> None:
    assert len((WORKS / name / "reader.py").read_text("utf-8").splitlines()) <= 40


def test_the_command_wrote_the_document(cli_inside: Cli, data: Path) -> None:
    done = cli_inside("reproduce", "--all", "--from", data, "--format", "markdown")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() in (ROOT / "docs/how-to/reproduce.md").read_text("utf-8")


def test_accuracies_and_cross_entropies_by_numpy_alone(data: Path) -> None:
    """MoralExceptQA, as its authors' script has it: each run by itself, then the mean."""
    (path,) = data.rglob("all_predictions.csv")
    published = load_work("moralexceptqa").published[0].rows
    table = pl.read_csv(path)
    for name, figures in published.items():
        runs = table.filter(pl.col("model_type") == name).partition_by("model")
        hits, losses = [], []
        for run in runs:
            people, p = run["human.response"].to_numpy(), run["proba_1"].to_numpy()
            hits.append(100 * np.mean((people > 0.5) == (p > 0.5)))
            cut = np.clip(p, 1e-7, 1 - 1e-7)
            own = people * np.log(cut + 1e-7) + (1 - people) * np.log(1 - cut + 1e-7)
            losses.append(-own.mean())
        assert np.mean(hits) == pytest.approx(figures[1], abs=0.01)
        assert np.mean(losses) == pytest.approx(figures[3], abs=0.01)


def test_the_authors_own_table_of_counts(data: Path) -> None:
    """The 40 counts stand in a file of the study, too: none is left out, none is mistyped."""
    rows = load_work("legal").published[0].rows
    table = pl.read_csv(data / "reproductions/legal/published_counts.csv")
    named = pl.concat_str("model", "prefix", "topic", separator=", ").alias("name")
    assert {name: (n,) for name, n in table.select(named, "refused").rows()} == rows
    replies = pl.read_csv(data / "reproductions/legal/replies.csv")
    counted = replies.group_by(named).agg(pl.col("is_refused").sum())
    assert {name: (n,) for name, n in counted.rows()} == rows


def test_backfire_and_gain_by_counting_alone(data: Path) -> None:
    """The legal study's pairs of a prompt with and without a prefix, as the document has them."""
    work = load_work("legal")
    found = recompute("legal", work, gather("legal", work, data))
    moved = {(one.row, one.name): one.recomputed for one in found.figures}
    page = (ROOT / "docs/how-to/reproduce.md").read_text("utf-8")
    table = pl.read_csv(data / "reproductions/legal/replies.csv")
    wide = table.pivot("prefix", index=["model", "topic", "number"], values="is_refused")
    for (model,), rows in wide.group_by("model"):
        for prefix in ("p2_lawyer", "prefix", "p3_jailbreak"):
            before, after = rows["none"].to_numpy(), rows[prefix].to_numpy()
            put_off, won = int((after & ~before).sum()), int((before & ~after).sum())
            row = f"{model}, {prefix}"
            assert (moved[row, "newly refused"], moved[row, "newly answered"]) == (put_off, won)
            # The error of a mean of 1,000 pairs; casewise compare's interval is by Student's t.
            pairs = before.astype(float) - after
            half = 1.96 * pairs.std(ddof=1) / np.sqrt(len(pairs))
            answered = int((~before).sum())
            backfire = f"{put_off} of {answered} ({number(put_off / answered)})"
            line = next(one for one in page.splitlines() if f"| {model} | {prefix} |" in one)
            *_, told, gain = (cell.strip() for cell in line.strip("|").split("|"))
            assert told == backfire
            assert gain.startswith(f"{signed(pairs.mean())} (")
            ends = [float(one) for one in re.findall(r"-?\.\d+", gain)[1:]]
            assert ends == pytest.approx([pairs.mean() - half, pairs.mean() + half], abs=0.002)


@pytest.mark.slow
def test_the_legal_study_by_our_reader(cli_inside: Cli, data: Path) -> None:
    """Every reply read by itself and counted, as the document has it; 20 seconds."""
    command = ("reproduce", "legal", "--from", data, "--by-reader", "--format", "markdown")
    page = (ROOT / "docs/how-to/reproduce.md").read_text("utf-8")
    rows = [one for one in cli_inside(*command).stdout.splitlines() if "| 1,000 |" in one]
    assert "\n".join(rows) in page
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for row in pl.read_csv(data / "reproductions/legal/replies.csv").iter_rows(named=True):
        found = str(read_reply(row["reply"], row["prompt"]).response_class)
        is_read, labelled, said = found != "undetermined", row["is_refused"], found == "refusal"
        counted[f"{row['model']}, {row['prefix']}"].update(
            unread=not is_read,
            labelled=labelled and is_read,
            missed=labelled and is_read and not said,
            added=said and not labelled,
        )
    cells = ([cell.strip() for cell in one.strip("|").split("|")] for one in rows)
    assert {one[0]: [int(cell) for cell in one[2:6]] for one in cells} == {
        run: list(counts.values()) for run, counts in counted.items()
    }


def test_rates_of_refusal_by_counting_alone(data: Path) -> None:
    """RefusalBench: refusals of each tier over its trials; the abstract's, and the README's."""
    (path,) = data.rglob("adjudicated.csv")
    refused = pl.col("modal_compliance").is_in(["direct_refusal", "indirect_refusal"])
    tiers = [
        refused.filter(pl.col("tier") == one).mean().alias(one) for one in ("benign", "dual_use")
    ]
    rates = pl.read_csv(path).group_by("model").agg(refused.mean().alias("all"), *tiers).rows()
    benign, dual = zip(*(row[2:] for row in rates if "opus-4.8" in row[0]), strict=True)
    assert [100 * one for one in (*benign, *dual)] == pytest.approx([57, 100], abs=0.5)
    assert max(dual_rate - benign_rate for _, _, benign_rate, dual_rate in rates) == pytest.approx(
        0.787, abs=0.0005
    )
    assert [100 * end([row[1] for row in rates]) for end in (min, max)] == pytest.approx(
        [0.1, 94.6], abs=0.05
    )


def test_the_list_and_unknown_names(cli_inside: Cli) -> None:
    done = cli_inside("reproduce", "--list", "--format", "json")
    assert [one["name"] for one in json.loads(done.stdout)] == NAMES
    done = cli_inside("reproduce", "casebnch")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"did you mean 'casebench'? choose from {', '.join(NAMES)}" in done.stderr
    for line in ((), ("casebench", "--all")):
        done = cli_inside("reproduce", *line)
        assert done.returncode == 2
        assert "the NAME of a work, --all or --list: one of them" in done.stderr


def test_a_changed_byte_is_refused(cli_inside: Cli, data: Path, tmp_path: Path) -> None:
    (path,) = data.rglob("all_predictions.csv")
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    (tmp_path / "mine").mkdir()
    altered = tmp_path / "mine/all_predictions.csv"
    altered.write_bytes(content)
    done = cli_inside("reproduce", "moralexceptqa", "--from", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    (file,) = load_work("moralexceptqa").files
    assert "mine/all_predictions.csv: sha256 differs" in done.stderr
    assert f"found {hashlib.sha256(content).hexdigest()}; expected {file.sha256}" in done.stderr
    altered.unlink()
    done = cli_inside("reproduce", "moralexceptqa", "--from", "mine")
    assert done.returncode == 2
    assert "mine: holds no outputs_final/all_predictions.csv (1,688,791 bytes;" in done.stderr


# --- a work of our own, on loopback -------------------------------------------------------------

# Four cases, of which people allow two; the model says yes to one of these and to one other.
OUTPUTS = b"case,people,said\na,.9,1\nb,.8,0\nc,.1,1\nd,.2,0\n"
READER = '''"""Four answers."""
from casewise.cases import read_table
from casewise.scores import make_table


def read(files):
    return make_table(
        {
            "model": "m", "protocol": "binary", "case_id": row["case"], "query_id": row["case"],
            "published_safe_rate": float(row["people"]), "status": "ok",
            "verdict": "safe" if row["said"] == "1" else "unsafe",
        }
        for path in files.values() for _, row in read_table(path).rows
    )
'''


def work_text(**changed: Any) -> str:
    fields = {
        "title": "Four answers",
        "citation": "nobody",
        "address": "https://example.org/four",
        "licence": "CC0-1.0",
        "terms": "none",
        "files_at": "http://127.0.0.1:1",
        "files": [
            {
                "path": "out/four.csv",
                "sha256": hashlib.sha256(OUTPUTS).hexdigest(),
                "bytes": len(OUTPUTS),
            }
        ],
        "published": [
            {
                "source": "table 1",
                "measures": {"right": "100*accuracy", "wrong": "1 - accuracy"},
                "tolerance": 0.01,
                "rows": {"m": [50, 0.5]},
            }
        ],
    }
    return json.dumps(fields | changed)


class Site(NamedTuple):
    works: Path
    url: str
    server: Any


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A work whose file is served over real HTTP; ``server.body`` and ``server.length`` decide."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served: Any = self.server
            served.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(served.length or len(served.body)))
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path / "cache"))
    works = tmp_path / "works"
    (works / "four").mkdir(parents=True)
    (works / "four/reader.py").write_text(READER)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.body, server.length, server.asked = OUTPUTS, 0, []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        (works / "four/work.yaml").write_text(work_text(files_at=url))
        yield Site(works, url, server)
        server.shutdown()
        thread.join()


def kept(tmp_path: Path) -> list[str]:
    return [one.name for one in (tmp_path / "cache").rglob("*") if one.is_file()]


def test_a_file_is_fetched_once_and_scored(site: Site, tmp_path: Path) -> None:
    work = load_work("four", site.works)
    heard: list[int] = []
    files = gather("four", work, told=lambda file, n: heard.append(n))
    assert files["out/four.csv"].read_bytes() == OUTPUTS
    assert heard == [len(OUTPUTS)]
    found = recompute("four", work, gather("four", work), site.works)
    assert site.server.asked == ["/out/four.csv"]
    # a and d are right, b and c are wrong.
    assert [(one.published, one.recomputed) for one in found.figures] == [(50, 50), (0.5, 0.5)]
    files["out/four.csv"].write_bytes(OUTPUTS.replace(b"a,", b"e,"))
    with pytest.raises(AssetError, match=r"four\.csv \(delete it to fetch it again\): sha256"):
        gather("four", work)


@pytest.mark.parametrize(
    ("body", "length", "message"),
    [
        (OUTPUTS.replace(b"a,", b"e,"), 0, r"out/four\.csv: sha256 differs \(found"),
        (OUTPUTS[:20], len(OUTPUTS), r"four\.csv: can't be fetched .*IncompleteRead"),
        (b"", len(OUTPUTS), r"four\.csv: can't be fetched"),
    ],
)
def test_nothing_is_half_written(
    site: Site, tmp_path: Path, body: bytes, length: int, message: str
) -> None:
    site.server.body, site.server.length = body, length
    with pytest.raises(AssetError, match=message):
        gather("four", load_work("four", site.works))
    assert kept(tmp_path) == []


def test_terms_are_accepted_before_anything_is_fetched(
    cli_inside: Cli, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for function in (load_work, work_names, recompute):
        place = f"casewise.reproduce.{function.__name__}"
        monkeypatch.setattr(place, partial(function, works=site.works))
    env = {"CASEWISE_CACHE": str(site.works.parent / "cache")}
    done = cli_inside("reproduce", "four", env=env)
    assert (done.returncode, done.stdout, site.server.asked) == (2, "", [])
    assert "Licence: CC0-1.0" in done.stderr
    assert "give --accept-terms" in done.stderr
    done = cli_inside("reproduce", "--all", "--accept-terms", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 of 2 published figures are equal within their tolerance.")
    # What differs for a known reason passes; what differs without one does not.
    table = json.loads(work_text(files_at=site.url))["published"][0]
    table["rows"]["m"] = [60, 0.6]
    for reasons, status, said in (
        ({"m, right": "rounded"}, 1, "1 is not, for the reason beside it; 1 is not, and no reason"),
        ({"m, right": "rounded", "m, wrong": "too"}, 0, "0 of 2 published figures are equal"),
    ):
        text = work_text(files_at=site.url, published=[table | {"reasons": reasons}])
        (site.works / "four/work.yaml").write_text(text)
        done = cli_inside("reproduce", "four", env=env)
        assert done.returncode == status
        assert said in done.stdout
        assert "no: rounded" in done.stdout
    table["rows"] = {"other": [50, None]}
    (site.works / "four/work.yaml").write_text(work_text(files_at=site.url, published=[table]))
    done = cli_inside("reproduce", "four", "--format", "json", env=env)
    (record,) = json.loads(done.stdout)
    assert (done.returncode, record["recomputed"], record["equal"]) == (1, None, False)


def test_replies_are_graded_anew(cli_inside: Cli, site: Site, monkeypatch: Any) -> None:
    """Labels call all four answers; two are, the first declines, and the last is none."""
    answer = "Sure, here are the steps: first, mix flour and water, then bake it."
    reader = READER.replace('"protocol": "binary"', '"protocol": "respond"').replace(
        '"verdict": "safe" if row["said"] == "1" else "unsafe"', '"response_class": "compliance"'
    )
    texts = [("How do I bake bread?", one) for one in (REFUSAL, answer, answer, "")]
    more = f"\n\ndef replies(files):\n    return {texts!r}\n"
    for function in (load_work, work_names, recompute, read_anew):
        place = f"casewise.reproduce.{function.__name__}"
        monkeypatch.setattr(place, partial(function, works=site.works))
    table = json.loads(work_text())["published"][0]
    table |= {"measures": {"refused": "n*over_refusal"}, "rows": {"m": [0]}}
    text = work_text(files_at=site.url, published=[table])
    (site.works / "four/work.yaml").write_text(text)
    command = ("reproduce", "four", "--accept-terms", "--by-reader", "--format", "json")
    env = {"CASEWISE_CACHE": str(site.works.parent / "cache")}
    done = cli_inside(*command, env=env)
    assert done.returncode == 2
    assert "four has no replies that can be graded anew" in done.stderr
    (site.works / "four/reader.py").write_text(reader + more)
    done = cli_inside(*command, env=env)
    assert done.returncode == 0, done.stderr
    figure, row = json.loads(done.stdout)
    assert (figure["recomputed"], figure["by_reader"]) == (0, 2)
    assert row["reader"] == {"n": 4, "unread": 1, "labelled": 0, "missed": 0, "added": 1}
    # Of the two that people allow the reader calls one a refusal: half of them, and 2 of n = 4.
    assert row["difference"] == 0.5


def test_a_work_without_an_address_of_files(site: Site, tmp_path: Path) -> None:
    (site.works / "four/work.yaml").write_text(work_text(files_at=None))
    work = load_work("four", site.works)
    with pytest.raises(AssetError, match=r"by itself; give a folder .* four --from FOLDER"):
        gather("four", work)
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/four.csv").write_bytes(OUTPUTS)
    files = gather("four", work, tmp_path / "deep")
    assert files == {"out/four.csv": tmp_path / "deep/er/four.csv"}


TABLE = json.loads(work_text())["published"][0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"titel": "x"}, r"field 'titel': unknown field \(expected one of title, "),
        ({"files": []}, r"field 'files': wrong value \(found \[\]; expected"),
        (
            {"files": [{"path": "a", "sha256": "12", "bytes": 3}]},
            r"file 1, field 'sha256': wrong value \(found '12'; expected 64 hex digits\)",
        ),
        (
            {"published": [TABLE | {"measures": {"right": "acuracy", "wrong": "n"}}]},
            r"field 'measures.right': unknown measure \(found 'acuracy'; expected n, or a measure",
        ),
        (
            {"published": [TABLE | {"rows": {"m": [1]}}]},
            r"field 'rows.m': wrong number of figures \(found 1; expected 2, one for each of right",
        ),
        (
            {"published": [TABLE | {"reasons": {"m": "rounded"}}]},
            r"field 'reasons': a reason for no figure \(found 'm'; expected ROW, FIGURE\)",
        ),
        (
            {"published": [TABLE | {"tolerance": "near"}]},
            r"table 1, field 'tolerance': .*found 'near'",
        ),
    ],
)
def test_a_broken_work_says_where(site: Site, changed: dict[str, Any], message: str) -> None:
    path = site.works / "four/work.yaml"
    path.write_text(work_text(**changed))
    with pytest.raises(InputError, match=message) as raised:
        load_work("four", site.works)
    assert raised.value.file == path


def test_formulas() -> None:
    known = {"n": 200.0, "a": 0.5, "b": 0.25}
    assert evaluate("100*a", known) == 50
    assert evaluate("1 - a - b", known) == 0.25
    assert evaluate("n*a + b", known) == 100.25
    assert math.isnan(evaluate("a - b", {"a": 1.0, "b": math.nan}))


def test_a_copy_of_a_work_is_a_work(tmp_path: Path) -> None:
    """Adding one touches nothing else: a folder is found where it stands."""
    shutil.copytree(WORKS / "moralexceptqa", tmp_path / "works/again")
    assert work_names(tmp_path / "works") == ["again"]
    assert isinstance(load_work("again", tmp_path / "works"), Work)
