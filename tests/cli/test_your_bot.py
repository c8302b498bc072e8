"""docs/how-to/your-bot.md, command by command, against a real bot."""

import json
import re
import shlex
import urllib.request
from pathlib import Path

import pytest
from conftest import ROOT, Cli, clean_env
from support.bots import BotServer, SessionBot, line_of
from support.secret import KEY
from support.starts import Start

PAGE = (ROOT / "docs/how-to/your-bot.md").read_text("utf-8")
BLOCKS = [block.splitlines() for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)]
TARGET, RULES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def label_by_page(folder: Path, command: str) -> int:
    """Label each reply of the sheet by requests as the page sends them; gives their number."""
    env = clean_env() | {"BROWSER": "true %s"}
    process = Start(shlex.split(command)[1:], folder, env)
    address = process.line().strip()
    page = urllib.request.urlopen(address, timeout=30).read().decode()
    data = json.loads(re.findall(r'type="application/json" id="data">(.*?)</script>', page)[0])

    def send(place: str, told: object) -> None:
        urllib.request.urlopen(f"{address}{place}", json.dumps(told).encode(), timeout=30).close()

    for at, shown in enumerate(data["shown"]):
        refuses = re.search(r"\b(sorry|can't|cannot|unable)\b", shown["reply"])
        send("label", {"place": at, "label": "refusal" if refuses else "compliance"})
    send("end", {})
    assert process.wait() == 0, process.stderr
    return len(data["shown"])


def test_a_checked_rate_in_five_commands_a_gate_and_a_change_that_it_stops(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "gate.yaml").write_text(RULES, "utf-8")
    bot = SessionBot(line_of("customer-support"))
    with BotServer(bot) as server:
        address = "http://localhost:8080"
        (tmp_path / "target.yaml").write_text(TARGET.replace(address, server.root), "utf-8")
        check, run, sample, label, score = BLOCKS[0]
        for command in (check, run, sample):
            done = cli(*shlex.split(command)[1:], env={"BOT_KEY": KEY})
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            if command == run:
                assert "Provisional: rules graded the replies" in " ".join(done.stdout.split())
        labelled = label_by_page(tmp_path, label)
        done = cli.ok(*shlex.split(score)[1:])
        assert "provisional" not in done.stdout + done.stderr
        shown = " ".join(done.stdout.split())
        match = re.search(r"by prediction-powered inference from (\d+) labelled replies", shown)
        # What the card allows in part has no label of its own, and counts in no rate.
        assert match
        assert 0 < int(match[1]) <= labelled
        for command in BLOCKS[1]:
            done = cli(*shlex.split(command)[1:])
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Gate: pass" in done.stdout
        # Another prompt: it answers whatever it is asked.
        bot.line, bot.sessions = {}, {}
        run, compare, gate = BLOCKS[2]
        cli.ok(*shlex.split(run)[1:], env={"BOT_KEY": KEY})
        done = cli.ok(*shlex.split(compare)[1:])
        done = cli(*shlex.split(gate)[1:])
        assert done.returncode == 1, done.stdout
        assert re.search(r"under_refusal .* 1\.000 .*fail", done.stdout)
        assert {headers["authorization"] for _, _, headers in server.asked} == {f"Bearer {KEY}"}
