"""The workflow's comment on a pull request, against a fake of the platform's interface."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from conftest import Cli
from support.gated import pairs_table

from casewise.gate._rules_file import gate_file

GH = '''#!{python}
"""`gh api`, as far as the workflow asks: requests to $API, and --jq by jq itself."""
import json, os, subprocess, sys, urllib.request
assert sys.argv[1] == "api" and os.environ["GH_TOKEN"] == "token"
words, options, place = sys.argv[2:], {{}}, ""
while words:
    word = words.pop(0)
    if word == "--paginate":
        continue
    if word.startswith("--"):
        options[word] = words.pop(0)
    else:
        place = word
data = None
if "--field" in options:
    name, _, path = options["--field"].partition("=@")
    data = json.dumps({{name: open(path, encoding="utf-8").read()}}).encode()
method = options.get("--method", "GET")
request = urllib.request.Request(os.environ["API"] + "/" + place, data, method=method)
answer = urllib.request.urlopen(request).read()
if "--jq" in options:
    command = ["jq", "-r", options["--jq"]]
    answer = subprocess.run(command, input=answer, capture_output=True, check=True).stdout
sys.stdout.buffer.write(answer)
'''

COMMENTS = "/repos/me/mine/issues/7/comments"


class FakePlatform:
    """Comments of one pull request, over loopback."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [
            {"id": 1, "user": {"type": "User"}, "body": "<!-- casewise gate --> quoted by a person"}
        ]
        self.asked: list[tuple[str, str]] = []
        self.refuses = False
        platform = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(200, platform.comments)

            def do_POST(self) -> None:
                made = {"id": len(platform.comments) + 1, "user": {"type": "Bot"}, **self.sent()}
                platform.comments.append(made)
                self.answer(201, made)

            def do_PATCH(self) -> None:
                number = int(self.path.rpartition("/")[2])
                (one,) = (one for one in platform.comments if one["id"] == number)
                one.update(self.sent())
                self.answer(200, one)

            def sent(self) -> dict[str, Any]:
                read: dict[str, Any] = json.loads(
                    self.rfile.read(int(self.headers["Content-Length"]))
                )
                return read

            def answer(self, status: int, value: object) -> None:
                platform.asked.append((self.command, self.path))
                self.send_response(403 if platform.refuses else status)
                self.end_headers()
                self.wfile.write(json.dumps(value).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    found = FakePlatform()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def comment(folder: Path, platform: FakePlatform) -> str:
    """Run the workflow's step as the platform does; what it prints."""
    workflow = yaml.load(gate_file("github-actions.yml").read_text("utf-8"), yaml.BaseLoader)
    steps = workflow["jobs"]["gate"]["steps"]
    (step,) = (one for one in steps if one.get("name") == "Comment")
    (folder / "gh").write_text(GH.format(python=sys.executable), "utf-8")
    (folder / "gh").chmod(0o755)
    env = {
        **{"PATH": f"{folder}:/usr/bin:/bin", "API": platform.url, "GH_TOKEN": "token"},
        **{"REPOSITORY": "me/mine", "NUMBER": "7", "PAGE": "https://pages.example/a?b=1&c=2"},
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


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_one_comment_is_posted_and_then_updated(
    cli_inside: Cli, tmp_path: Path, platform: FakePlatform
) -> None:
    right = np.ones((60, 2), bool)
    wrong = right.copy()
    wrong[:20, 0] = False
    for name, answers in (("before", right), ("after", wrong)):
        made = pairs_table(answers, model="m", run_id=name)
        made.write_parquet(tmp_path / f"{name}.parquet")
    gate = ("gate", "after.parquet", "--baseline", "before.parquet")
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    files = ("--markdown", "gate.md", "--page", "report.html", "--github")
    assert cli_inside(*gate, *files, env=summary).returncode == 1
    # A summary has no page beside it, so it links to none.
    assert "report.html" not in (tmp_path / "summary.md").read_text("utf-8")
    assert comment(tmp_path, platform) == ""
    person, ours = platform.comments
    assert person["body"].endswith("by a person")
    body = ours["body"]
    assert body.startswith("<!-- casewise gate -->\n## casewise gate: fail\n")
    assert "20 verdicts changed against the baseline: 20 to wrong, 0 to right." in body
    assert body.count("](https://pages.example/a?b=1&c=2#case=") == 10
    assert body.count("; the model calls it unsafe, where the run before calls it safe") == 10
    assert "- [and 10 more](https://pages.example/a?b=1&c=2#view=new)" in body
    assert "report.html#" not in body
    same = ("gate", "before.parquet", "--baseline", "before.parquet")
    assert cli_inside(*same, *files).returncode in (0, 3)
    assert comment(tmp_path, platform) == ""
    assert [one["id"] for one in platform.comments] == [1, 2]
    assert "20 to wrong" not in platform.comments[1]["body"]
    assert [method for method, _ in platform.asked] == ["GET", "POST", "GET", "PATCH"]
    assert {place for _, place in platform.asked[:3]} == {COMMENTS}


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_long_comment_has_whole_lines_and_the_page(
    tmp_path: Path, platform: FakePlatform
) -> None:
    """The platform takes 65,536 characters; links grow by the page's address."""
    line = "- [é](report.html#case=1) called otherwise than people do, and so wrong"
    (tmp_path / "gate.md").write_text("\n".join([line] * 2000), "utf-8")
    assert comment(tmp_path, platform) == ""
    body = platform.comments[1]["body"]
    assert 55_000 < len(body) <= 65_536
    lines = body.splitlines()
    whole = line.replace("report.html", "https://pages.example/a?b=1&c=2")
    assert set(lines[1:-4]) == {whole}
    assert lines[-3] == "The rest is in gate.md, beside the page."
    assert lines[-1].startswith("[The page with every case](https://pages.example/a?b=1&c=2)")


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_comment_that_is_refused_breaks_no_build(tmp_path: Path, platform: FakePlatform) -> None:
    (tmp_path / "gate.md").write_text("## casewise gate: pass\n", "utf-8")
    platform.refuses = True
    assert comment(tmp_path, platform).startswith("::warning title=casewise gate::No comment")
    assert len(platform.comments) == 1
