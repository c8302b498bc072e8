"""The report's HTML without a browser: what is in it, what is kept out, how large it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.reported import HOSTILE, Parsed
from support.tables import judgement, table

import casewise as cw

CANARY = "vermilion-canary"


def page(folder: Path, text: str, *, reveal: bool, names: str = "m") -> Parsed:
    """A page of two cases; the text stands in all that a case and a judgement have."""
    said = {name: f"{text} {name}" for name in ("answer", "explanation", "error")}
    rows = [judgement("q", side, model=names, category=names) | said for side in ("safe", "unsafe")]
    cases = [
        {
            "id": row["case_id"],
            "query": text,
            "context": {"sender": {text: text, "side": row["intended"]}},
            "history": [{"role": one, "content": text} for one in ("user", "assistant")],
            "intended": row["intended"],
        }
        for row in rows
    ]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    (folder / "cases.jsonl").write_text(lines, "utf-8")
    out = folder / "page.html"
    cw.report(table(*rows), out, title=names, reveal=reveal, cases=folder / "cases.jsonl")
    return Parsed(out.read_text("utf-8"))


def test_no_text_breaks_out_of_its_place(tmp_path: Path) -> None:
    hostile = page(tmp_path, HOSTILE, reveal=True, names=HOSTILE)
    plain = page(tmp_path, "plain", reveal=True)

    def scripts(parsed: Parsed) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in parsed.tags if tag == "script"]

    assert scripts(hostile) == scripts(plain)
    assert not any(name.startswith("on") for _, attributes in hostile.tags for name in attributes)
    assert not {"img", "iframe", "object", "embed"} & {tag for tag, _ in hostile.tags}
    assert hostile.packed("case-data")["cases"]["query"] == [HOSTILE, HOSTILE]
    assert json.loads(hostile.scripts["scores"])[0]["model"] == HOSTILE


# Of the process alone: what the system tells of an ended one holds the memory of who started it.
_MEASURED = """
import re, sys, time
from casewise.cli import main
sys.argv[0] = "casewise"
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(time.process_time(), re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
"""


@pytest.mark.slow
def test_43_published_files_take_25_seconds_and_500_megabytes(
    casebench: Path, tmp_path: Path
) -> None:
    """As ``benchmarks/speed.py`` measures; of computing, whatever else the machine does."""
    if not Path("/proc/self/status").is_file():
        pytest.skip("this system doesn't say what memory a process took")
    sources = sorted((casebench / "exp").glob("*/*.json"))
    for place in range(43):
        source = sources[place % len(sources)]
        folder = tmp_path / "exp" / f"{source.parent.name}-{place // len(sources)}"
        folder.mkdir(parents=True, exist_ok=True)
        text = source.read_text("utf-8")
        model = source.parent.name.removeprefix("safety_")
        assert f'"{model}"' in text
        (folder / source.name).write_text(text.replace(f'"{model}"', f'"{model}-{place // 8}"'))
    command = [sys.executable, "-c", _MEASURED, "report", "exp", "--out", "r.html"]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kilobytes = map(float, done.stdout.split()[-2:])
    assert "43 runs" in (tmp_path / "r.html").read_text("utf-8")
    assert kilobytes / 1000 < 500
    assert seconds < 25
