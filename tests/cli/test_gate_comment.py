"""The workflow's comment on a pull request, against a fake of the platform's command."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import Cli
from support.gated import pairs_table

GH = '''#!{python}
"""`gh api`, as far as the workflow asks, over comments.json; --jq by jq itself."""
import json, os, pathlib, subprocess, sys
assert sys.argv[1] == "api" and os.environ["GH_TOKEN"] == "token"
words, options, place = sys.argv[2:], {{}}, ""
while words:
    word = words.pop(0)
    if word.startswith("--") and word != "--paginate":
        options[word] = words.pop(0)
    elif word != "--paginate":
        place = word
method = options.get("--method", "GET")
with open("asked", "a") as asked:
    print(method, place, file=asked)
if os.path.exists("refuses"):
    sys.exit(1)
comments = json.loads(pathlib.Path("comments.json").read_text())
if "--field" in options:
    name, _, path = options["--field"].partition("=@")
    sent = {{name: open(path, encoding="utf-8").read()}}
    if method == "POST":
        comments.append({{"id": len(comments) + 1, "user": {{"type": "Bot"}}, **sent}})
    else:
        comments[int(place.rpartition("/")[2]) - 1].update(sent)
    pathlib.Path("comments.json").write_text(json.dumps(comments))
answer = json.dumps(comments).encode()
if "--jq" in options:
    command = ["jq", "-r", options["--jq"]]
    answer = subprocess.run(command, input=answer, capture_output=True, check=True).stdout
sys.stdout.buffer.write(answer)
'''

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


@pytest.fixture
def step(cli: Cli, tmp_path: Path) -> dict[str, Any]:
    """The workflow's last step, beside a pull request on which a person commented."""
    cli.ok("gate", "--init", "new")
    workflow = yaml.safe_load((tmp_path / "new/.github/workflows/casewise-gate.yml").read_text())
    (found,) = (one for one in workflow["jobs"]["gate"]["steps"] if one.get("name") == "Comment")
    person = {
        "id": 1,
        "user": {"type": "User"},
        "body": "<!-- casewise gate --> quoted by a person",
    }
    (tmp_path / "comments.json").write_text(json.dumps([person]), "utf-8")
    return dict(found)


def comment(folder: Path, step: dict[str, Any]) -> str:
    """Run the step as the platform does; what it prints."""
    (folder / "gh").write_text(GH.format(python=sys.executable), "utf-8")
    (folder / "gh").chmod(0o755)
    env = {
        **{"PATH": f"{folder}:/usr/bin:/bin", "GH_TOKEN": "token", "REPOSITORY": "me/mine"},
        **{"NUMBER": "7", "PAGE": "https://pages.example/a?b=1&c=2"},
    }
    assert set(step["env"]) <= set(env)
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bodies(folder: Path) -> list[str]:
    return [load["body"] for load in json.loads((folder / "comments.json").read_text("utf-8"))]


def test_one_comment_is_posted_and_then_updated(
    cli: Cli, tmp_path: Path, step: dict[str, Any]
) -> None:
    right = np.ones((60, 2), bool)
    wrong = right.copy()
    wrong[:20, 0] = False
    for name, answers in (("before", right), ("after", wrong)):
        made = pairs_table(answers, model="m", run_id=name)
        made.write_parquet(tmp_path / f"{name}.parquet")
    files = ("--baseline", "before.parquet", "--markdown", "gate.md", "--page", "report.html")
    assert cli("gate", "after.parquet", *files).returncode == 1
    assert comment(tmp_path, step) == ""
    person, body = bodies(tmp_path)
    assert person.endswith("by a person")
    assert body.startswith("<!-- casewise gate -->\n## casewise gate: fail\n")
    assert "against the baseline: 20 verdicts changed: 20 to wrong, 0 to right." in body
    assert body.count("](https://pages.example/a?b=1&c=2#case=") == 10
    assert "- [and 10 more](https://pages.example/a?b=1&c=2#view=new)" in body
    assert "report.html#" not in body
    assert cli("gate", "before.parquet", *files).returncode in (0, 3)
    assert comment(tmp_path, step) == ""
    person, body = bodies(tmp_path)
    assert "20 to wrong" not in body
    asked = (tmp_path / "asked").read_text("utf-8").splitlines()
    assert [line.split()[0] for line in asked] == ["GET", "POST", "GET", "PATCH"]
    assert {line.split()[1] for line in asked[:3]} == {
        "/repos/me/mine/issues/7/comments".lstrip("/")
    }


def test_a_long_comment_has_whole_lines_and_the_page(tmp_path: Path, step: dict[str, Any]) -> None:
    """The platform takes 65,536 characters; links grow by the page's address."""
    line = "- [é](report.html#case=1) called otherwise than people do, and so wrong"
    (tmp_path / "gate.md").write_text("\n".join([line] * 2000), "utf-8")
    (tmp_path / "report.html").touch()
    assert comment(tmp_path, step) == ""
    body = bodies(tmp_path)[1]
    assert 55_000 < len(body) <= 65_536
    lines = body.splitlines()
    assert set(lines[1:-4]) == {line.replace("report.html", "https://pages.example/a?b=1&c=2")}
    assert lines[-1].startswith("[The page with every case](https://pages.example/a?b=1&c=2)")


def test_a_comment_that_is_refused_breaks_no_build(tmp_path: Path, step: dict[str, Any]) -> None:
    (tmp_path / "gate.md").write_text("## casewise gate: pass\n", "utf-8")
    (tmp_path / "refuses").touch()
    assert comment(tmp_path, step).startswith("::warning title=casewise gate::No comment")
    assert len(bodies(tmp_path)) == 1
