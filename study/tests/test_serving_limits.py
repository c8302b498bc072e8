"""A study's server under odd options, with other people's files, and on a full disk."""

import os
import resource
import stat
from pathlib import Path

import pytest
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import write_study

PUBLIC = "the server itself speaks no HTTPS"
INVENTED = "ids can be made up, so places are provisional until casewise annotate reconcile"


def test_an_open_address_is_warned_of(tmp_path: Path, cli_inside: Cli) -> None:
    codes = {"completed": "C0FFEE", "screened_out": "5C0DE", "withdrawn": "60BACC"}
    platform = {"platform": "prolific", "return_url": "https://x/{code}", **codes}
    write_study(tmp_path, recruitment=platform)
    for options, warned in (
        ((), (PUBLIC, INVENTED)),
        (("--behind-proxy", "--public-url", "https://study.example"), (INVENTED,)),
        (("--public-url", "http://study.example"), (PUBLIC, INVENTED)),
    ):
        # None of this computer's addresses: the server ends after its warnings.
        done = cli_inside("annotate", "serve", "study.yaml", "--host", "203.0.113.1", *options)
        said = " ".join(done.stderr.split())
        for words in (PUBLIC, INVENTED):
            assert (words in said) == (words in warned), said


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        (tmp_path / "study.db").touch()
        with Serving(write_study(tmp_path)) as server, Guest(server) as ada:
            ada.begin()
            # SQLite's way to lose nothing.
            assert server.rows("PRAGMA journal_mode") == ["wal"]
            written = list(tmp_path.glob("study.db*"))
            assert len(written) == 3
            for path in written:
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    finally:
        os.umask(before)


@pytest.mark.slow
def test_a_full_disk_is_told_with_its_place(tmp_path: Path) -> None:
    with Serving(write_study(tmp_path)) as server, Guest(server) as ada:
        ada.begin()
        whole = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        # What it writes elsewhere is smaller.
        size = tmp_path.joinpath("study.db-wal").stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, whole[1]))
        server.clock.turn(seconds=3)
        full = ada.client.post("/page/1", data={"form": ada.form, "verdict": "safe"}, timeout=120)
        assert full.status_code == 503
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, whole)
        assert f"{server.database}: the database does not answer (" in server.process.stderr
        assert "; see that its disk has room" in server.process.stderr
        ada.answer()
        assert ada.at == "/page/2"
