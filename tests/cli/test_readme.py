"""Commands and figures of the README and of the first pages, as they stand.

But for addresses and paths; those of the other pages under Start have tests of their own.
"""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, cli_in
from support.fake_openai import Answer, FakeServer
from support.scripts import load_script

README = (ROOT / "README.md").read_text("utf-8")
INDEX = (ROOT / "docs/index.md").read_text("utf-8")


def answer(request: dict[str, Any]) -> Answer:
    return '{"explanation": "x", "judgement": "safe"}'


@pytest.mark.slow
def test_the_first_tables_are_of_published_outputs(casebench: Path) -> None:
    published = load_script(ROOT / "docs/make_published.py")
    for needed in (casebench.parent / "reproductions", ROOT / "benchmarks/reproduce"):
        if not needed.is_dir():
            pytest.skip(f"{needed} is not there")
    for name in published.PAGES:
        page = (ROOT / name).read_text("utf-8")
        assert "<!-- published: " in page
        assert page == published.with_tables(page, casebench.parent), "make published"
    # The sentence below the index's table has one protocol of each model.
    table = published.verdicts(casebench.parent)
    rates = {row.split()[1]: row for row in table.splitlines() if "(binary)" in row}
    sentence = " ".join(INDEX.split("<!-- end -->")[1].split("!")[0].split())
    for name, model in (("gpt-4o", "GPT-4o"), ("llama370B", "Llama 3 70B")):
        over, under = (cell.split()[0] for cell in rates[name].split("|")[4:6])
        said = rf"{model} calls {over}\b[^;.]* unsafe[^;.]* {under}\b[^;.]* safe"
        assert re.search(said, sentence)


def test_the_first_lines_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with FakeServer(answer) as server:
        monkeypatch.setenv("LOCAL_API_KEY", "none")
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        code = code.replace('"openai/gpt-4o"', '"openai-api/local/my-model"')
        names: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), names)
    assert names["scores"][0].accuracy.value == 0.5
    assert (tmp_path / "report.html").is_file()


def test_ones_own_model(tmp_path: Path) -> None:
    (block,) = (one for one in re.findall(r"```bash\n(.*?)```", README, re.S) if "LOCAL_" in one)
    env: dict[str, str] = {}
    said = ""
    with FakeServer(answer) as server:
        for line in block.replace("http://localhost:8000/v1", server.url).splitlines():
            program, *arguments = shlex.split(line)
            if program == "export":
                env |= dict(argument.split("=", 1) for argument in arguments)
                continue
            assert program == "casewise"
            if arguments[0] == "compare":
                # Last week's logs are a copy of today's.
                shutil.copytree(tmp_path / "logs/mine", tmp_path / "logs/last-week")
            done = cli_in(tmp_path).ok(*arguments, env=env)
            said += done.stdout
        assert len(server.requests) == 56
    assert (tmp_path / "report.html").is_file()
    assert "No verdict changed." in said
