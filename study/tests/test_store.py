"""The rules of life of blocks and people, over HTTP."""

import threading
from collections import Counter
from pathlib import Path

import pytest
from conftest import Cli
from support.serving import Guest, Serving, check_at_once, rows
from support.studies import exported, read_csv, write_study


def test_the_first_answer_to_a_page_wins(tmp_path: Path, address: str, cli: Cli) -> None:
    path = write_study(tmp_path)
    with Serving(path, address) as server, Guest(server) as ada:
        ada.begin()
        server.clock.turn(seconds=3)
        sent = {"form": ada.form, "verdict": "safe"}
        threads = [
            threading.Thread(target=ada.client.post, args=("/page/1",), kwargs={"data": sent})
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for late in ("/page/1", "/page/3", "/page/99", "/page/-1"):
            assert ada.client.post(late, data=sent | {"verdict": "unsafe"}).url.path == "/page/2"
        exported(cli, "--database", address, "--with-flagged")
    assert [row["verdict"] for row in read_csv(tmp_path / "out/votes.csv")] == ["safe"]


def test_no_block_is_held_twice(tmp_path: Path, address: str) -> None:
    path = write_study(tmp_path, blocks=6)
    with Serving(path, address) as one, Serving(path, address) as other:
        guests = [Guest((one, other)[number % 2]).agree() for number in range(12)]
        check_at_once(guests)
        assert Counter(guest.at for guest in guests) == {"/page/1": 6, "/wait": 6}
        with Guest(one) as late:
            assert "Every place is taken at the moment" in late.page.text
        for guest in guests:
            guest.client.close()


def test_withdrawing_deletes_votes_and_frees_the_block(tmp_path: Path) -> None:
    with Serving(write_study(tmp_path, blocks=1)) as server:
        with Guest(server, "/?participant=ada") as ada:
            ada.begin().answer()
            ada.get("/withdraw")
            ada.send("/withdraw")
            assert server.rows("SELECT status, outcome FROM participant") == [
                ("withdrawn", "withdrawn")
            ]
            assert not server.rows("SELECT * FROM answer")
            # One person has one block in a lifetime.
            ada.get("/?participant=ada")
            assert "You have withdrawn" in ada.page.text
        with Guest(server) as bob:
            bob.begin().finish()
            assert bob.code == "COMPLETED"
            # After the end too; the code that was paid stays.
            bob.get("/withdraw")
            bob.send("/withdraw")
            assert bob.code == "COMPLETED"
        assert not server.rows("SELECT * FROM answer")
        with Guest(server) as eve:
            assert eve.begin().at == "/page/1"


def test_purged_people_vanish(tmp_path: Path, cli: Cli) -> None:
    with Serving(write_study(tmp_path)) as server:
        with Guest(server, "/?participant=account") as ada:
            ada.begin().answer(reason="a reason that must vanish")
            ada.finish()
        (rater,) = server.rows("SELECT rater FROM participant")
        call = ("annotate", "purge", "study.yaml")
        assert cli(*call, "nobody").returncode == 2
        assert rater in cli(*call, " account ").stderr
        assert cli(*call, rater).returncode == 2
        assert not server.rows("SELECT * FROM answer")
        with Guest(server, "/?participant=account") as again:
            assert again.page.status_code == 409
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("study.db*"))
    assert b"must vanish" not in kept
    assert rater.encode() not in kept


def test_a_database_belongs_to_one_study_and_its_secrets(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Serving(write_study(tmp_path)):
        pass
    write_study(tmp_path, title="Another title")
    serve = ("annotate", "serve", "study.yaml", "--host", "203.0.113.1")
    assert "as it was when it was first served" in " ".join(cli(*serve).stderr.split())
    write_study(tmp_path)
    monkeypatch.setenv("CASEWISE_STUDY_SECRET", "another secret entirely")
    assert "other secrets" in cli(*serve).stderr


def test_nobody_loses_a_place_while_the_server_is_away(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    with Serving(path) as server, Guest(server) as gone, Guest(server) as ada:
        gone.begin()
        server.clock.turn(minutes=40)
        ada.begin()
        own = ada.own_address.removeprefix(server.origin)
    # Two hours before the server is back.
    for name in ("started", "passed", "shown", "lease_until"):
        earlier = f"strftime('%Y-%m-%d %H:%M:%f000', {name}, '-160 minutes')"
        rows(path.with_suffix(".db"), f"UPDATE participant SET {name} = {earlier}")
    with Serving(path) as server, Guest(server) as new:
        # The place of who left long before is free; hers is not.
        assert new.begin().at == "/page/1"
        with Guest(server) as late:
            assert "Every place is taken at the moment" in late.page.text
        server.clock.turn(minutes=29)
        with Guest(server, own) as ada:
            ada.answer()
            assert ada.at == "/page/2"
