"""Simulated people judge while servers are killed, databases are away, and the study moves."""

import subprocess
import sys

import pytest
from conftest import ROOT
from support.postgres import programs


@pytest.mark.slow
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_two_servers_through_storms_exports_and_a_move() -> None:
    names = ("small-sqlite", "small-postgresql")
    subprocess.run([sys.executable, ROOT / "benchmarks/rehearse.py", "--only", *names], check=True)
