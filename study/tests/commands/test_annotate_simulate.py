"""``casewise annotate simulate`` as a person runs it."""

import re
from pathlib import Path

from conftest import Cli
from support.studies import change, write_arms


def test_screening_and_cost(cli: Cli, tmp_path: Path) -> None:
    # 4 queries by 3 arms by 2 votes, in 6 blocks of 4; 10 an hour for (5 x 25 s + 6 min), that is
    # 9 whole minutes, is 1.50.
    pay = {"per_hour": 10, "seconds_per_task": 25, "minutes_besides": 6}
    study = write_arms(tmp_path, queries=4, votes=2, pay=pay)
    before = sorted(tmp_path.iterdir())
    options = ("--careless", "1", "--seed", "2")
    done = cli("annotate", "simulate", "study.yaml", *options)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    flagged = re.search(r"careless 6 (\d)", said)
    assert flagged is not None
    assert int(flagged[1]) > 0
    assert "What it costs amount ─" in re.sub("─+", "─", said)
    assert "people 6 " in said
    assert "cost 9.00 GBP" in said
    assert f"to replace those flagged {int(flagged[1]) * 1.5:.2f} GBP" in said
    assert cli("annotate", "simulate", "study.yaml", *options).stdout == done.stdout
    # Nothing is served, so no database and no secrets are made.
    assert sorted(tmp_path.iterdir()) == before
    change(study, pay={"per_hour": 0})
    unpaid = cli("annotate", "simulate", "study.yaml", *options).stdout
    assert unpaid.split()[-2:] == ["cost", "unpaid"]
