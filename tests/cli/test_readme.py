"""Commands and figures of the README and of the first pages, as they stand.

But for addresses and paths; those of the other pages under Start have tests of their own.
"""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, cli_in
from support.fake_openai import Answer, FakeServer
from support.scripts import load_script

README = (ROOT / "README.md").read_text("utf-8")
INDEX = (ROOT / "docs/index.md").read_text("utf-8")
OWN = (ROOT / "docs/start/own-model.md").read_text("utf-8")


def blocks(page: str) -> list[str]:
    return re.findall(r"```bash\n(.*?)```", page, re.DOTALL)


def answer(request: dict[str, Any]) -> Answer:
    return '{"explanation": "x", "judgement": "safe"}'


def inside(block: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run commands as a shell does, in this process."""
    done = subprocess.CompletedProcess(block, 0, "", "")
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        if program == "export":
            env |= dict(one.split("=", 1) for one in arguments)
            continue
        if program == "cp":
            shutil.copytree(folder / arguments[1], folder / arguments[2])
            continue
        assert program == "casewise"
        one = cli_in(folder)(*arguments, env=env)
        done.stdout += one.stdout
        done.stderr += one.stderr
        done.returncode = one.returncode
        if one.returncode:
            break
    return done


def block_with(text: str, page: str) -> str:
    (block,) = [one for one in blocks(page) if text in one]
    return block


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
    rates = {row.split("|")[1].strip(): row for row in table.splitlines() if "| binary |" in row}
    sentence = " ".join(INDEX.split("<!-- end -->")[1].split("!")[0].split())
    for name, model in (("gpt-4o", "GPT-4o"), ("llama370B", "Llama 3 70B")):
        over, under = (cell.split()[0] for cell in rates[name].split("|")[5:7])
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


@pytest.mark.parametrize("page", [README, OWN], ids=["README", "own-model"])
def test_ones_own_model(page: str, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        block = block_with("LOCAL_API_KEY", page).replace("http://localhost:8000/v1", server.url)
        # Last week's logs are a copy of today's.
        block = block.replace(
            "casewise compare", "cp -r logs/mine logs/last-week\ncasewise compare"
        )
        done = inside(block, tmp_path)
        assert len(server.requests) == 56
    assert done.returncode == 0, done.stderr
    if page is README:
        assert (tmp_path / "report.html").is_file()
        assert "No verdict changed." in done.stdout
    else:
        assert (tmp_path / "judgements.parquet").is_file()


@pytest.mark.slow
def test_casebench(tmp_path: Path, casebench: Path) -> None:
    block = block_with("fetch casebench", OWN).replace(
        "fetch casebench", f"fetch casebench --accept-terms --from {casebench}"
    )
    (tmp_path / "exp").symlink_to(casebench / "exp")
    done = inside(block, tmp_path, CASEWISE_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert '"accuracy": 0.77,' in done.stdout
    assert "519 (1038 cases)" in done.stdout
