"""Signed links, and second accounts: recorded, shown, and counted or not by the study's rules."""

import base64
import json
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import serving_thread
from support.serving import Guest, Serving
from support.studies import ADMIN, write_study

PID = "5f0c1d2e3b4a596877665544"
OTHER = "5f0c1d2e3b4a596877665545"
HOST, KEYS_PATH = "api.prolific.com", "/.well-known/study/jwks.json"
AWAY = {"HTTPS_PROXY": "http://127.0.0.1:1"}


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Platform:
    """Signs links as Prolific does, by openssl, and publishes the key where Prolific does.

    To servers it is a proxy, whose certificate is the only one that they trust.
    """

    def __init__(self, folder: Path, bits: int = 2048) -> None:
        self._private, self._certificate = folder / "key.pem", folder / "tls.pem"
        self._say("genrsa", "-out", str(self._private), str(bits))
        told = self._say("rsa", "-in", str(self._private), "-noout", "-modulus").decode()
        modulus = bytes.fromhex(told.split("=")[1].strip())
        key = {"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig"}
        self.keys = {"keys": [key | {"n": encoded(modulus), "e": encoded(b"\1\0\1")}]}
        call = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
        call += ["-addext", f"subjectAltName=DNS:{HOST}"]
        self._say(*call, "-keyout", str(folder / "tls.key"), "-out", str(self._certificate))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(self._certificate, folder / "tls.key")
        self.asked = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        proxy = f"http://127.0.0.1:{self._server.server_port}"
        self.env = {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(self._certificate)}
        self._thread = serving_thread(self._server)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        platform = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                assert self.path == f"{HOST}:443"
                platform.asked += 1
                self.send_response(200)
                self.end_headers()
                with platform._tls.wrap_socket(self.connection, server_side=True) as inside:
                    assert inside.recv(4096).startswith(f"GET {KEYS_PATH} ".encode())
                    body = json.dumps(platform.keys).encode()
                    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n"
                    inside.sendall(head.encode() + body)
                self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _say(self, *command: str, given: bytes = b"") -> bytes:
        done = subprocess.run(["openssl", *command], input=given, capture_output=True, check=True)
        return done.stdout

    def token(self, origin: str, head: Mapping[str, Any] | None = None, **claims: Any) -> str:
        header = {"alg": "RS256", "kid": "one", "typ": "JWT"} | dict(head or {})
        body = {"iss": "https://www.prolific.com", "aud": origin, "exp": time.time() + 600}
        body |= {"sub": "s", "prolific": {"PROLIFIC_PID": PID, "workspace_id": "w"}} | claims
        said = ".".join(encoded(json.dumps(part).encode()) for part in (header, body))
        sealed = self._say("dgst", "-sha256", "-sign", str(self._private), given=said.encode())
        return f"{said}.{encoded(sealed)}"


@pytest.fixture(scope="module")
def prolific(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    platform = Platform(tmp_path_factory.mktemp("keys"))
    yield platform
    platform.close()


@dataclass
class Signing:
    server: Serving
    platform: Platform

    def link(self, pid: str = PID, **claims: Any) -> str:
        token = self.platform.token(self.server.origin, **claims)
        return f"/?PROLIFIC_PID={pid}&STUDY_ID=wave&prolific_token={token}"


def recruitment(**more: Any) -> dict[str, Any]:
    back = "https://platform.example/done?cc={code}"
    return {"platform": "prolific", "return_url": back, "completed": "C-OK"} | more


@pytest.fixture
def signing(tmp_path: Path, prolific: Platform) -> Iterator[Signing]:
    path = write_study(tmp_path, blocks=3, recruitment=recruitment(signed=True))
    with Serving(path, env=prolific.env) as server:
        yield Signing(server, prolific)


def test_a_key_that_can_be_factored_signs_nothing(tmp_path: Path) -> None:
    path = write_study(tmp_path, recruitment=recruitment(signed=True))
    with closing(Platform(tmp_path, bits=1024)) as short, Serving(path, env=short.env) as server:
        with Guest(server, Signing(server, short).link()) as eve:
            assert eve.page.status_code == 400
        assert short.asked == 1


def test_a_signed_link_is_the_person(signing: Signing) -> None:
    with Guest(signing.server, signing.link()) as ada:
        assert ada.at == "/consent"
        ada.begin().answer()
        # Another device, with the link of another hour: Prolific says that it is the same person.
        with Guest(signing.server, signing.link(exp=time.time() + 900)) as phone:
            assert phone.at == "/page/2"
            assert phone.personal_code == ada.personal_code
    assert signing.server.rows("SELECT signed FROM participant") == [1]


def test_what_prolific_has_not_signed_is_refused(signing: Signing) -> None:
    now = time.time()
    good = signing.link()
    bad = {
        "no token": f"/?PROLIFIC_PID={PID}",
        "another's id": signing.link(OTHER),
        "cut": good[:-4],
        "no signature": good.rsplit(".", 1)[0] + ".",
        "expired": signing.link(exp=now - 120),
        "another study": signing.link(aud="https://other.example"),
        "another issuer": signing.link(iss="https://evil.example"),
        "no algorithm": signing.link(head={"alg": "none"}),
        "a shared secret": signing.link(head={"alg": "HS256"}),
        "an unknown key": signing.link(head={"kid": "two"}),
        "nobody": signing.link(prolific={"workspace_id": "w"}),
        "another parameter": signing.link(prolific={"PROLIFIC_PID": PID, "STUDY_ID": "x"}),
    }
    for name, link in bad.items():
        with Guest(signing.server, link) as eve:
            assert (eve.page.status_code, eve.at) == (400, "/"), name
            assert "Your link is not signed by Prolific" in eve.page.text, name
            assert "Secured external URL" in eve.page.text
            assert not eve.client.cookies
    # Unknown keys are not asked for at every try.
    asked = signing.platform.asked
    for _ in range(3):
        Guest(signing.server, signing.link(head={"kid": "three"})).client.close()
    assert signing.platform.asked <= asked + 1


def test_signatures_count_where_they_exist_and_keys_may_be_away(
    tmp_path: Path, prolific: Platform
) -> None:
    path = write_study(tmp_path, blocks=3, recruitment=recruitment())
    with Serving(path, env=prolific.env) as server:
        one = Signing(server, prolific)
        with Guest(server, f"/?PROLIFIC_PID={OTHER}") as bob, Guest(server, one.link()) as ada:
            assert bob.at == ada.at == "/consent"
            with Guest(server, one.link(OTHER)) as eve:
                assert eve.page.status_code == 400
    with Serving(path, env=AWAY) as server:
        with Guest(server, Signing(server, prolific).link()) as ada:
            assert ada.begin().at == "/page/1"
        with Guest(server, Signing(server, prolific).link()) as again:
            assert again.page.status_code == 409  # nobody could tell that it is she
    path = write_study(tmp_path / "strict", recruitment=recruitment(signed=True))
    with (
        Serving(path, env=AWAY) as server,
        Guest(server, Signing(server, prolific).link()) as ada,
    ):
        assert ada.page.status_code == 503
        assert "can't be checked at the moment" in ada.page.text


COUNTED = "SELECT id FROM participant WHERE counts ORDER BY 1"


def test_a_second_account_in_a_browser_is_left_out_and_shown(tmp_path: Path, cli: Cli) -> None:
    path = write_study(tmp_path, blocks=2, second_accounts="leave_out")
    with Serving(path) as server, Guest(server, "/?participant=ada") as ada:
        ada.begin().finish()
        server.clock.turn(minutes=30)
        ada.get("/?participant=ada-again")
        ada.begin().finish()
        # She is thanked and paid all the same.
        assert ada.code == "COMPLETED"
        found = server.rows("SELECT participant, other FROM second_account ORDER BY other")
        assert found == [(1, None), (2, 1)]
        assert server.rows(COUNTED) == [1]
        # The block is another's: both blocks are judged by two people.
        with Guest(server, "/?participant=bob") as bob:
            bob.begin().finish()
        assert server.rows(COUNTED) == [1, 3]
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            assert "May be one person" in admin.page.text
            assert "left out" in admin.page.text
        (first,) = server.rows("SELECT rater FROM participant WHERE id = 1")
        assert cli("annotate", "purge", "study.yaml", first).returncode == 0
        assert server.rows("SELECT id FROM second_account") == []
