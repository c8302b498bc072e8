"""Certificates for servers on loopback, and a server that shows one."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from support.fake_openai import FakeServer

DAY = timedelta(days=1)


def write_certificate(path: Path, address: str = "127.0.0.1", days: int = 2) -> Path:
    """Write a key and a certificate that signs itself, which ends in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "casewise test")])
    ends = datetime.now(UTC) + days * DAY
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - 10 * DAY)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(key.private_bytes(pem, form, no_password) + certificate.public_bytes(pem))
    return path


@dataclass
class TlsServer(FakeServer):
    """A server that speaks TLS with a certificate."""

    certificate: Path = Path()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        super().__enter__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        # A handshake that fails must not end the thread that accepts.
        listening = self._http.socket
        self._http.socket = context.wrap_socket(
            listening, server_side=True, do_handshake_on_connect=False
        )
        return self
