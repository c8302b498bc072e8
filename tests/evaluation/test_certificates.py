"""Certificates that are refused: in the middle of a run and by a target."""

from collections import Counter
from pathlib import Path
from typing import Any

from conftest import Cli
from support.broken import ANSWER
from support.certificates import TlsServer, write_certificate
from support.fake_openai import Answer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

import casewise as cw

CASES, BEFORE, AT_ONCE = 40, 10, 2


def refused(server: TlsServer) -> str:
    return f"the certificate of 127.0.0.1:{server.port} is not trusted (self-signed certificate"


def test_in_the_middle_of_a_run(cli: Cli, tmp_path: Path) -> None:
    """The server gets another certificate: what was judged is scored."""
    trusted = write_certificate(tmp_path / "trusted.pem")
    other = write_certificate(tmp_path / "other.pem")

    def answer(request: dict[str, Any]) -> Answer:
        if len(server.requests) >= BEFORE:
            server._http.socket.context.load_cert_chain(other)  # type: ignore[attr-defined]
        # It closes the connection, so that the next request looks at the certificate.
        return Raw(200, ANSWER, {"Content-Type": "application/json"})

    write_questions(tmp_path / "cases.jsonl", CASES)
    with TlsServer(answer, certificate=trusted) as server:
        done = cli(
            *("run", "-m", f"openai-api/tls{server.port}/m", "--cases", "cases.jsonl"),
            *("--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "logs"),
            env={
                f"TLS{server.port}_API_KEY": KEY,
                f"TLS{server.port}_BASE_URL": server.url,
                "SSL_CERT_FILE": str(trusted),
            },
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 1, said
        assert refused(server) in said
        assert BEFORE <= len(server.requests) <= BEFORE + AT_ONCE
        judged = Counter(cw.judgements(tmp_path / "logs")["status"])["ok"]
        assert judged == len(server.requests)
    assert "not all was judged: a provider's answer is final" in said
    assert "other" not in said.split("met on the way: ")[1].split(" To go on")[0]


def test_of_a_target(cli: Cli, tmp_path: Path) -> None:
    write_questions(tmp_path / "cases.jsonl", CASES)
    file = write_certificate(tmp_path / "server.pem")
    with TlsServer(lambda _: "Yes.", certificate=file) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot{server.port}\nurl: {server.url}/chat\nreply: choices[0].message.content\n"
            "body: {messages: '{messages}'}\n"
        )
        done = cli(
            *("run", "--target", "target.yaml", "--cases", "cases.jsonl"),
            *("--protocol", "respond", "--log-dir", "logs"),
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 2, said
        assert refused(server) in said
        assert "SSL_CERT_FILE" in said
        assert server.requests == []
