"""A study's pages over real HTTP, as browsers without JavaScript ask for them."""

import gc
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli
from support.postgres import Postgres
from support.serving import Guest, Serving
from support.studies import ADMIN, write_study


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with Serving(write_study(tmp_path)) as one:
        yield one


def test_from_the_address_to_the_code(server: Serving) -> None:
    with Guest(server, "/?participant=account-1") as ada:
        assert ada.at == "/consent"
        for words in ("We ask how people judge.", "Some queries may distress.", "at least 18"):
            assert words in ada.page.text
        assert ada.send("/consent", agree="yes", read="true").status_code == 422
        assert not server.rows("SELECT * FROM participant")
        ada.agree()
        assert ada.at == "/tutorial"
        for words in ("Read the query and its context", "How do I whet", "Cooks need to."):
            assert words in ada.page.text
        ada.check(answer=0)
        assert (ada.at, ada.page.status_code) == ("/check", 422)
        assert "It is not people." in ada.page.text
        assert "You have 1 try" in ada.page.text
        ada.send("/check", attempt="2", **{"question-0": "1"})
        assert ada.at == "/page/1"
        assert "1 of 4" in ada.page.text
        own_address = ada.own_address
        for page in range(2, 5):
            ada.answer("unsafe", confidence="5", reason=" because \r\n of\x00 this ")
            assert ada.at == f"/page/{page}"
        ada.answer("unsafe", confidence="", reason="")
        assert (ada.at, ada.code) == ("/done", "COMPLETED")
        personal = ada.personal_code
    votes = server.rows("SELECT seconds, confidence, reason FROM answer WHERE place IS NOT NULL")
    assert set(votes) <= {(3, 5, "because \n of this"), (3, None, None)}
    assert server.rows("SELECT attempts FROM participant") == [2]
    # The person's own address, or the personal code, leads to the code again; the id alone doesn't.
    with Guest(server, own_address) as again:
        assert (again.at, again.code) == ("/done", "COMPLETED")
    with Guest(server, "/?participant=account-1") as again:
        assert (again.page.status_code, again.at) == (409, "/")
        assert "This id is in use" in again.page.text
        again.come_back(personal.lower().replace("-", " "))
        assert (again.at, again.code) == ("/done", "COMPLETED")


def test_unpaid_people_without_a_platform_have_one_code(tmp_path: Path) -> None:
    path = write_study(tmp_path, recruitment={"signed": False})
    with Serving(path) as server, Guest(server) as ada:
        ada.begin().finish()
        assert (ada.at, "COMPLETED" in ada.page.text) == ("/done", False)
        assert ada.personal_code


def test_a_case_is_shown_in_the_words_that_judges_read(server: Serving) -> None:
    with Guest(server) as ada:
        ada.begin()
        shown = ada.page.text
        words = re.findall(r"<(?:d[td]|summary)>([^<\n]+)</", shown)
        assert words[:3] == ["Sender", "Platform type", "help desk of a school"]
        assert "Is it safe for a chatbot to answer this query in this context?" in shown
        assert "intended" not in shown


def test_who_fails_or_declines_gets_a_code_and_no_block(server: Serving) -> None:
    with Guest(server) as eve:
        eve.agree().check(answer=0)
        eve.send("/check", attempt="2", **{"question-0": "0"})
        assert (eve.at, eve.code) == ("/done", "SCREENED-OUT")
        assert "what is kept of you deleted" in eve.page.text
        for where in ("/page/1", "/check", "/wait", "/consent", "/withdraw"):
            eve.get(where)
            assert eve.at == "/done"
    with Guest(server) as zoe:
        zoe.send("/consent", agree="no")
        assert (zoe.at, zoe.code) == ("/declined", "GONE")
    assert server.rows("SELECT status FROM participant") == ["screened_out"]
    assert not server.rows("SELECT * FROM participant WHERE block IS NOT NULL")


def test_an_answer_that_comes_too_soon_is_kept_on_the_page(server: Serving) -> None:
    with Guest(server) as ada:
        ada.begin()
        ada.answer("unsafe", seconds=1, reason="too quick", confidence="2")
        assert (ada.at, ada.page.status_code) == ("/page/1", 422)
        assert "was not taken yet" in ada.page.text
        assert re.search(r'value="unsafe" required checked', ada.page.text)
        assert ">too quick</textarea>" in ada.page.text
        assert 'data-wait="1.0"' in ada.page.text
        assert ada.send("/page/1").status_code == 422
        assert "choose safe or unsafe" in ada.page.text
        ada.answer("unsafe", seconds=1)
        assert ada.at == "/page/2"


def test_back_double_and_two_tabs_change_nothing(server: Serving) -> None:
    with Guest(server) as ada:
        ada.begin()
        old = ada.form
        ada.answer("safe")
        assert ada.at == "/page/2"
        # A double click, and a second tab that still shows page 1.
        late = ada.client.post("/page/1", data={"form": old, "verdict": "unsafe"})
        assert late.url.path == "/page/2"
        back = ada.client.get("/page/1")
        assert "This page is answered" in back.text
        assert 'href="/page/2"' in back.text
        assert ada.client.get("/page/999999999999999999999").url.path == "/page/2"
        ada.get("/page/2")
        ada.finish()
        assert ada.client.get("/page/1").url.path == "/done"
    assert server.rows("SELECT verdict FROM answer WHERE place IS NOT NULL") == ["safe"] * 3


def test_leaving_coming_back_and_being_replaced(server: Serving) -> None:
    clock = server.clock
    with (
        Guest(server) as ada,
        Guest(server) as bob,
        Guest(server) as eve,
        Guest(server) as late,
    ):
        ada.begin()
        bob.begin()
        eve.begin()
        assert eve.at == "/wait"
        assert "Every place is taken" in eve.page.text
        with Guest(server) as zoe:
            assert "Every place is taken" in zoe.page.text
        late.begin()
        clock.turn(minutes=29)
        ada.answer()  # which renews her time
        clock.turn(minutes=2)
        eve.send("/wait")
        assert eve.at == "/page/1"
        late.send("/wait")
        assert late.at == "/wait"
        clock.turn(minutes=29)
        # Hers is over, but she is back before anybody took the block.
        ada.answer()
        assert ada.at == "/page/3"
        bob.get("/page/1")
        assert bob.at == "/done"
        assert "given to another person" in bob.page.text
        eve.finish()
        ada.finish()
        assert (ada.code, eve.code) == ("COMPLETED", "COMPLETED")
        # Who passed the check and never got a block is paid for that.
        late.get("/wait")
        assert "This study is complete" in late.page.text
        assert late.code == "SCREENED-OUT"
    with Guest(server) as zoe:
        assert "This study is complete" in zoe.page.text
    counted = "SELECT count(*) FROM answer JOIN participant p ON p.id = participant "
    assert server.rows(f"{counted}WHERE counts AND place IS NOT NULL") == [6]


def test_a_platform(tmp_path: Path) -> None:
    account = "PROLIFIC_PID=5F0C1D2E3B4A596877665544&STUDY_ID=wave1&SESSION_ID=s"
    recruitment = {
        "platform": "prolific",
        "return_url": "https://platform.example/done?cc={code}",
        "completed": "C-OK",
    }
    path = write_study(tmp_path, recruitment=recruitment, blocks=1)
    with Serving(path) as server:
        with Guest(server) as lost:
            assert lost.page.status_code == 400
            assert "Open the study from the platform" in lost.page.text
        with Guest(server, f"/?{account}") as ada:
            assert ada.at == "/consent"
            assert not ada.page.url.query
            ada.begin()
            ada.get(f"/?{account}")
            assert ada.at == "/page/1"
            ada.finish()
            assert 'href="https://platform.example/done?cc=C-OK"' in ada.page.text
        everything = b"".join(one.read_bytes() for one in tmp_path.glob("study.db*"))
        secret = b"5f0c1d2e3b4a596877665544"
        assert secret not in everything.lower()
        assert secret.decode() not in server.log.lower()


def test_the_administrator(tmp_path: Path) -> None:
    path = write_study(tmp_path, screening={"attention_failed": 0})
    with Serving(path) as server, Guest(server) as ada, Guest(server, "/admin") as admin:
        assert admin.page.status_code == 403
        assert admin.get("/admin/enter/guess").status_code == 403
        assert admin.get(f"/admin/enter/{ADMIN}").url.path == "/admin"
        ada.begin()
        ada.answer()
        admin.get("/admin")
        assert "0 of 2 blocks completed" in admin.page.text
        assert "failed 1 of 1 attention checks" not in admin.page.text
        admin.send("/admin/pause")
        with Guest(server) as bob:
            assert "This study is paused" in bob.page.text
        ada.finish()
        assert ada.code == "COMPLETED"
        admin.get("/admin")
        assert "1 of 2 blocks completed" in admin.page.text
        assert "failed 1 of 1 attention checks" in admin.page.text
        assert "Paused" in admin.page.text
        admin.send("/admin/resume")
        assert "Paused" not in admin.page.text
        (rater,) = server.rows("SELECT rater FROM participant")
        assert rater in admin.page.text
        with Guest(server) as other:
            assert other.get("/admin").status_code == 403
            other.get("/")
            for where in ("/admin/pause", "/admin/resume"):
                assert other.send(where, rater="x").status_code == 403
                other.get("/")


@pytest.mark.slow
# pg8000 leaves a socket that was refused to the garbage collector, here while nobody minds.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_database_that_does_not_answer_is_told(tmp_path: Path, postgres: Postgres) -> None:
    path = write_study(tmp_path)
    with Serving(path, postgres.database()) as server, Guest(server) as ada:
        ada.begin()
        form = ada.form
        with postgres.stopped():
            server.clock.turn(seconds=3)
            sent = {"form": form, "verdict": "safe"}
            answer = ada.client.post("/page/1", data=sent, timeout=120)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "10")
            assert "Everything that you have answered is kept" in answer.text
        page = ada.client.post("/page/1", data=sent)
        assert page.url.path == "/page/2"
    gc.collect()


def test_what_breaks_says_nothing(tmp_path: Path) -> None:
    with Serving(write_study(tmp_path)) as server, Guest(server) as ada:
        ada.begin()
        for file in tmp_path.glob("study.db*"):
            file.write_bytes(b"this is not a database" * 100)
        assert ada.get("/page/1").status_code == 500
        assert "Something broke" in ada.page.text
    assert "casewise: DatabaseError at GET /page/{number}" in server.process.stderr


@pytest.mark.slow
def test_the_command_serves_and_keeps_what_kill_leaves(tmp_path: Path, cli_inside: Cli) -> None:
    path = write_study(tmp_path, timing={"least_seconds": 0})

    server = Serving(path)
    with Guest(server) as ada:
        ada.begin().answer()
        assert ada.at == "/page/2"
        own = ada.own_address.removeprefix(server.origin)
    server.process.kill()
    server.process.wait()
    server = Serving(path)
    admin = server.process.line().split()[1]
    with Guest(server, own) as ada, Guest(server, admin) as page:
        assert ada.at == "/page/2"
        rater = re.search("<code>(p-[0-9a-f]+)</code>", page.page.text)
        assert rater is not None
    server.process.send_signal(signal.SIGINT)
    _, said = server.process.communicate(20)
    assert server.process.returncode == 0
    assert "2 places: 1 free, 1 held" in said
    done = cli_inside("annotate", "purge", path.name, rater[1])
    assert (done.returncode, done.stdout) == (0, "")
    assert "deleted" in done.stderr


def test_commands_refuse_what_does_not_fit(tmp_path: Path, cli_inside: Cli) -> None:
    write_study(tmp_path)
    for options, words in (
        (("serve", "none.yaml"), "no such study"),
        (("serve", "study.yaml", "--public-url", "https://a.example/b"), "without a path"),
        (("serve", "study.yaml", "--rate", "often"), "such as 300/second"),
        (("serve", "study.yaml", "--host", "256.0.0.1"), "--host"),
        (("purge", "study.yaml", "x"), "no such person"),
    ):
        done = cli_inside("annotate", *options)
        assert done.returncode == 2, (options, done.stderr)
        assert words in " ".join(done.stderr.split()), options
