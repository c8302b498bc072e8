"""What people with bad intentions try, over real HTTP; afterwards every vote is as it was."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import ADMIN, HOSTILE, SECRET, write_study

NASTY = (
    "'; DROP TABLE vote; --",
    "' OR '1'='1",
    '" UNION SELECT secret --',
    "{{ 1234567 * 3 }}{% for a in b %}",
    "${1234567*3}#{1234567*3}<%= 1234567*3 %>",
    HOSTILE,
    "\x00\x1b[31m\x07",
    "\ud7ff\uffff\u202e\U0001f4a9",
    "%0d%0aSet-Cookie: a=b",
    "9" * 5000,
    "1e400",
    "a" * 20_000,
)

FORGOTTEN = (
    "{{%PROLIFIC_PID%}}",
    "%257B%257B%2525PROLIFIC_PID%2525%257D%257D",
    "%ACCOUNT%",
    "${e://Field/PROLIFIC_PID}",
    "$workerId",
    "%5BPARTICIPANT%5D",
    "<your id>",
    "PROLIFIC_PID",
    "undefined",
)
"""What stands in a link whose platform or tool has not filled it in."""

PID = "5f0c1d2e3b4a59687766554"
"""All but the last digit of a Prolific id."""

LINE = re.compile(r"\S+ (GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|OTHER) (\S+) \d{3} [\d.]+ms")


def answers(server: Serving) -> list[Any]:
    """Every answer that the server has taken, to cases and to checks."""
    return server.rows("SELECT participant, position, verdict, reason, check_id FROM answer")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    path = write_study(tmp_path, ("a query that stays unsaid", "second", "third"), blocks=4)
    with Serving(path) as one:
        yield one


@pytest.fixture
def ada(server: Serving) -> Iterator[Guest]:
    """Has answered one page of four."""
    with Guest(server, "/?participant=ada") as one:
        one.begin()
        one.answer(reason="a reason that stays unsaid")
        yield one


def test_nobody_answers_for_another(server: Serving, ada: Guest, tmp_path: Path) -> None:
    before = answers(server)
    elsewhere = write_study(tmp_path / "elsewhere", ("a", "b"))
    with (
        Guest(server, "/?participant=eve") as eve,
        Serving(elsewhere, env={"CASEWISE_STUDY_SECRET": "another secret of tests"}) as other,
        Guest(other, "/?participant=ada") as double,
    ):
        eve.begin()
        double.begin()
        server.clock.turn(seconds=3)
        verdict = {"verdict": "unsafe"}
        cookie_name, cookie = next(iter(ada.client.cookies.items()))
        own = next(iter(eve.client.cookies.values()))
        for form in (ada.form, "", f"{eve.form}x", SECRET):
            answer = eve.client.post("/page/1", data={"form": form, **verdict})
            assert answer.status_code in (403, 422), form
        assert eve.client.post("/page/1", data=verdict).status_code == 422
        # A cookie that was changed, made elsewhere, or put together from two.
        forged = [
            # Not the last letter: some of its bits are padding, and say nothing.
            cookie[:-5] + ("A" if cookie[-5] != "A" else "B") + cookie[-4:],
            next(iter(double.client.cookies.values())),
            # A payload that was compressed begins with a full stop.
            ".".join((cookie.rsplit(".", 2)[0], *own.rsplit(".", 2)[1:])),
            "x.y.z",
        ]
        for one in forged:
            with httpx.Client(base_url=server.origin, timeout=60) as client:
                headers = {"cookie": f"{cookie_name}={one}"}
                answer = client.post("/page/2", data={"form": ada.form, **verdict}, headers=headers)
                assert answer.status_code == 403, one
                assert client.get("/page/2", headers=headers).headers["location"] == "/"
        token = ada.own_address.rsplit("/", 1)[1]
        elsewhere_token = double.own_address.rsplit("/", 1)[1]
        tokens = (token[:-2], elsewhere_token, "ada", "x" * 3000, own)
        for one in tokens:
            assert eve.client.get(f"/resume/{one}").status_code == 404, one
        # A cookie is no address, and an address no cookie.
        headers = {"cookie": f"{cookie_name}={token}"}
        with httpx.Client(base_url=server.origin, timeout=60) as client:
            assert client.get("/page/2", headers=headers).headers["location"] == "/"
    assert answers(server) == before


@pytest.mark.parametrize("platform", ["none", "prolific"])
def test_a_placeholder_names_nobody(tmp_path: Path, platform: str) -> None:
    name = {"prolific": "PROLIFIC_PID"}.get(platform, "participant")
    with Serving(study_on(platform, tmp_path)) as server:
        for forgotten in FORGOTTEN:
            with Guest(server, f"/?{name}={forgotten}") as lost:
                assert (lost.page.status_code, lost.at) == (400, "/"), forgotten
                assert "the link was handed out with a placeholder" in lost.page.text.lower()
                assert "lab@example.org" in lost.page.text
                assert not lost.client.cookies
                assert ("return the task there" in lost.page.text) == (platform != "none")
        assert not server.rows("SELECT * FROM participant")


def test_platforms_ids_have_their_form(tmp_path: Path) -> None:
    with Serving(study_on("prolific", tmp_path)) as server:
        for wrong in ("1", PID, f"{PID}00", f"{PID}g"):
            with Guest(server, f"/?PROLIFIC_PID={wrong}") as lost:
                assert lost.page.status_code == 400, wrong
                assert "A Prolific id is 24 digits" in lost.page.text
        with Guest(server, f"/?PROLIFIC_PID=%20{PID}A%20") as ada:
            assert ada.begin().at == "/page/1"
            with Guest(server, f"/?PROLIFIC_PID={PID}a") as same:
                assert same.page.status_code == 409
        assert len(server.rows("SELECT rater FROM participant")) == 1


def test_a_platforms_id_alone_lets_nobody_in(tmp_path: Path) -> None:
    """An id that no signature proves is known to others too: the code or the address is asked."""
    with Serving(study_on("prolific", tmp_path)) as server:
        link = f"/?PROLIFIC_PID={PID}0"
        with Guest(server, link) as ada, Guest(server, link) as tab:
            ada.begin().answer(reason="a reason that stays unsaid")
            code = ada.personal_code
            # Consent given in a second browser that had opened the link before.
            tab.agree()
            with Guest(server, link) as other:
                for one in (tab, other):
                    assert one.page.status_code == 409
                    assert "write to us through the platform" in one.page.text
                    for where in ("/page/2", "/page/1", "/done", "/withdraw"):
                        one.get(where)
                        assert one.at in ("/", "/consent")
                        assert "personal-code" not in one.page.text
                        assert "unsaid" not in one.page.text
                # The browser in which Ada began stays hers, whatever link it opens.
                assert ada.get(link).url.path == "/page/2"
                assert ada.personal_code == code
                # With her own address, and with her code, she goes on anywhere.
                assert other.get(ada.own_address).url.path == "/page/2"
                assert tab.come_back(code).url.path == "/page/2"
                assert tab.finish().code == "COMPLETED-OK"
                assert len(server.rows("SELECT * FROM answer WHERE place IS NOT NULL")) == 3
    with Serving(tmp_path / "study.yaml") as server, Guest(server, "/resume") as phone:
        phone.come_back(code)
        phone.get("/withdraw")
        phone.send("/withdraw")
        assert "You have withdrawn" in phone.page.text
        assert not server.rows("SELECT * FROM answer")


def test_personal_codes_can_not_be_guessed_fast(server: Serving, ada: Guest, cli: Cli) -> None:
    code = ada.personal_code
    with Guest(server) as gone:
        wrong = gone.agree().personal_code
    assert cli("annotate", "purge", "study.yaml", wrong).returncode == 0
    with Guest(server, "/resume") as eve:
        assert eve.page.status_code == 200
        for _ in range(10):
            assert eve.come_back(wrong).status_code == 403
            assert not eve.client.cookies
        assert eve.come_back(code).status_code == 429
        assert not eve.client.cookies


def study_on(platform: str, folder: Path) -> Path:
    recruitment = {
        "platform": platform,
        "return_url": "https://platform.example/done?cc={code}",
        "completed": "COMPLETED-OK",
    }
    return write_study(folder, recruitment=recruitment, blocks=3)


def test_other_sites_can_send_nothing(server: Serving, ada: Guest) -> None:
    before = answers(server)
    fields = {"form": ada.form, "verdict": "unsafe"}
    server.clock.turn(seconds=3)
    for headers in (
        {"origin": "null"},
        {"origin": server.origin.replace("http:", "https:") + ".evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = ada.client.post("/page/2", data=fields, headers=headers)
        assert answer.status_code == 403, headers
    assert answers(server) == before
    good = {"origin": server.origin, "sec-fetch-site": "same-origin"}
    assert ada.client.post("/page/2", data=fields, headers=good).url.path == "/page/3"
    assert len(answers(server)) == 2


def test_injections_stay_text(tmp_path: Path) -> None:
    path = write_study(tmp_path, ("first", HOSTILE, "third"), title=HOSTILE)
    with Serving(path) as server, Guest(server) as ada:
        ada.begin()
        ada.answer()
        server.clock.turn(seconds=3)
        before = answers(server)
        for nasty in NASTY:
            fields = {"form": ada.form, "verdict": nasty, "confidence": nasty, "reason": nasty}
            for where, sent in (
                ("/page/2", fields),
                ("/page/2", fields | {"form": nasty}),
                ("/check", {"form": ada.form, "attempt": nasty, "question-0": nasty, nasty: nasty}),
                ("/consent", {"form": ada.form, "agree": nasty, "age": nasty, "read": nasty}),
                ("/withdraw", {"form": nasty}),
                ("/admin/pause", {"form": nasty}),
            ):
                answer = ada.client.post(where, data=sent)
                assert answer.status_code < 500, (where, nasty)
                assert "3703701" not in answer.text
                assert "<img" not in answer.text
            for name in ("participant", "PROLIFIC_PID", "workerId", "assignmentId", nasty):
                with httpx.Client(base_url=server.origin, verify=False, timeout=60) as client:
                    answer = client.get("/", params={name[:2000]: nasty[:2000]})
                    assert answer.status_code in (200, 303, 400, 403), name
        assert answers(server) == before
        # A reason may hold anything, and is kept as it is but for control characters.
        for position, nasty in enumerate(NASTY[:3], 2):
            ada.get(f"/page/{position}")
            assert ada.answer(reason=nasty).status_code == 200
        reasons = server.rows("SELECT reason FROM answer WHERE place IS NOT NULL")
        assert len(set(reasons) & set(NASTY[:3])) >= 2


def test_what_is_too_much_or_nowhere_is_refused(server: Serving, ada: Guest) -> None:
    large = {"form": ada.form, "verdict": "safe", "reason": "a" * 70_000}
    assert ada.client.post("/page/2", data=large).status_code == 413

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b"reason=" + b"a" * 1000 + b"&"

    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert ada.client.post("/page/2", content=parts(), headers=kind).status_code == 413
    for path in (
        "/static/..%2fguard.py",
        "/static/%2e%2e/%2e%2e/store/study_store.py",
        "/static//etc/passwd",
        "/openapi.json",
        "/page/",
        "/admin/enter/",
    ):
        raw = httpx.Request("GET", server.origin + path, extensions={})
        assert ada.client.send(raw).status_code in (404, 422), path
    for method in ("PUT", "OPTIONS", "BREW"):
        assert ada.client.request(method, "/page/2").status_code == 405, method
    for kind_of in ("application/json", "multipart/form-data; boundary=x", ""):
        answer = ada.client.post(
            "/page/2", content=b'{"verdict": "safe"}', headers={"content-type": kind_of}
        )
        assert 400 <= answer.status_code < 500, kind_of
    for text in (b"\xff\xfe=%zz&verdict=safe", b"&".join([b"a=b"] * 5000), b"=", b"%00=%00"):
        answer = ada.client.post("/page/2", content=text, headers=kind)
        assert 400 <= answer.status_code < 500
    # A body that is shorter than was said is given up with the connection.
    host, port = server.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        half.sendall(b"POST /page/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nverdict=")
    assert len(answers(server)) == 1
    assert ada.get("/page/2").status_code == 200


def test_each_client_has_a_rate_of_its_own(tmp_path: Path) -> None:
    """A client is the last entry of the last line: a proxy wrote it, and the client the others."""
    clients: list[Callable[[int], list[str]]] = [
        lambda number: [f"10.0.0.{number}", f"10.0.0.1, 10.1.1.{number} ,192.0.2.1"],
        lambda number: [f"10.0.0.{number}", f"2001:db8:7:1:{number:x}::"],  # 64 bits are one
        lambda number: [["::ffff:192.0.2.9", "192.0.2.9"][number % 2]],
        lambda number: ["192.0.2.1", "2001:db8:7:2::1"],
    ]
    with (
        Serving(write_study(tmp_path), None, "--rate", "3/hour", "--behind-proxy") as server,
        httpx.Client(base_url=server.origin, timeout=60) as client,
    ):
        for lines in clients:
            headers = ([("x-forwarded-for", line) for line in lines(number)] for number in range(4))
            found = [client.get("/", headers=header) for header in headers]
            assert [one.status_code for one in found] == [303, 303, 303, 429]
            assert int(found[-1].headers["retry-after"]) > 0
        assert "192.0.2" not in server.log


def test_an_address_of_another_person_asks_before_it_links_two(server: Serving, ada: Guest) -> None:
    """Whoever made the browser follow it: a link of another site, a redirect, the person."""

    def linked() -> bool:
        return bool(server.rows("SELECT id FROM second_account"))

    with Guest(server) as eve:
        eve.begin()
        at, own = eve.at, eve.own_address
        token = own.rsplit("/", 1)[1]
        for site in ("cross-site", "same-site", "none"):
            shown = ada.client.get(own, headers={"sec-fetch-site": site})
            assert (shown.status_code, shown.url.path) == (200, f"/resume/{token}")
            assert "Is this address yours?" in shown.text
        form = {"form": eve.form}
        forged = ada.client.post(f"/resume/{token}", data=form)
        assert "That form is out of date" in forged.text
        away = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
        assert ada.client.post(f"/resume/{token}", data=form, headers=away).status_code == 403
        assert not linked()
        ada.get("/")
        assert ada.page.url.path != f"/resume/{token}"
        # The person's own address, and anybody's in a browser where nobody has begun, ask nothing.
        ada.get(ada.own_address)
        assert ada.at.startswith("/page/")
        with Guest(server, own) as again:
            assert again.at == at
        assert not linked()
        ada.get(own)
        ada.send(f"/resume/{token}")
        assert (ada.at, ada.own_address) == (at, own)
        assert linked()


def test_the_administrators_token_can_not_be_guessed_fast(tmp_path: Path) -> None:
    with (
        Serving(write_study(tmp_path)) as server,
        httpx.Client(base_url=server.origin, timeout=60) as client,
    ):
        codes = [client.get(f"/admin/enter/{number}").status_code for number in range(12)]
        assert codes[:10] == [403] * 10
        assert codes[10:] == [429] * 2


def test_cookies_and_headers(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    with (
        Serving(path, None, "--public-url", "https://study.example") as server,
        httpx.Client(base_url=server.origin, timeout=60) as client,
    ):
        answer = client.get("/")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-casewise_")
        assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        for where in ("/", "/static/study.css", "/none", "/health"):
            headers = client.get(where).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["x-frame-options"] == "DENY"
            assert "max-age" in headers["strict-transport-security"]
            assert "server" not in headers
        assert client.get("/").headers["cache-control"] == "no-store"
        entered = client.get(f"/admin/enter/{ADMIN}").headers["set-cookie"]
        assert {"HttpOnly", "Secure", "SameSite=lax"} <= set(entered.split("; "))
        secure = {"cookie": cookie.split(";")[0]}
        page = client.get("/consent", headers=secure)
        form = re.search('name="form" value="([^"]+)"', page.text)
        assert form is not None
        sent = {"form": form[1], "agree": "yes", "age": "true", "read": "true"}
        for origin, status in ((server.origin, 403), ("https://study.example", 303)):
            answer = client.post("/consent", data=sent, headers=secure | {"origin": origin})
            assert answer.status_code == status


def test_the_log_holds_no_content(server: Serving, ada: Guest) -> None:
    own, personal = ada.own_address, ada.personal_code
    with Guest(server, "/resume") as again:
        again.come_back(personal)
    with Guest(server, own) as again:
        again.get("/page/2")
        again.answer(reason="a reason that stays unsaid")
    ada.client.get("/a query that stays unsaid?participant=ada")
    ada.client.get(f"/admin/enter/{ADMIN}")
    ada.client.request("UNSAID", "/")
    log = server.log
    lines = log.splitlines()
    assert all(LINE.fullmatch(line) for line in lines), log
    patterns = {found[2] for line in lines if (found := LINE.fullmatch(line))}
    assert patterns >= {"/", "/consent", "/page/{number}", "/resume", "/resume/{token}", "-"}
    for secret in (
        "unsaid",
        "ada",
        "127.0.0.1",
        own.rsplit("/", 1)[1],
        ADMIN,
        "safe",
        personal,
    ):
        assert secret not in log
