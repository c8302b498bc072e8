"""A server on loopback that answers the first request with broken HTTP, byte by byte."""

import json
import socket
import struct
import threading
import time
from typing import Self

from support.fake_openai import whole

ANSWER = json.dumps(whole({"model": "m"}, '{"judgement": "safe"}')).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
HALF = ANSWER[: len(ANSWER) // 2]
LENGTH = b"Content-Length: %d\r\n\r\n" % len(ANSWER)
CHUNK = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(HALF), HALF)
LONGEST_S = 10

FAULTS: dict[str, tuple[bytes, str]] = {
    "reset before the answer": (b"", "reset"),
    "closed before the answer": (b"", ""),
    "reset in the head": (HEAD, "reset"),
    "closed in the head": (HEAD, ""),
    "reset in the body": (HEAD + LENGTH + HALF, "reset"),
    "half a body": (HEAD + LENGTH + HALF, ""),
    "chunks cut off": (HEAD + CHUNK, ""),
    "large head": (HEAD + b"X-Large: " + b"x" * 200_000 + b"\r\n" + LENGTH + ANSWER, ""),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", ""),
    "empty body": (HEAD + b"Content-Length: 0\r\n\r\n", ""),
    "silence": (b"", "hang"),
    "a body in drops": (HEAD + LENGTH, "drip"),
}
"""What is sent, and what becomes of the connection then, which is closed if nothing is said."""


class BrokenServer:
    """Breaks one answer, and gives the others whole; each has its own connection."""

    def __init__(self, fault: str) -> None:
        self.fault, self.received = fault, 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._accepting.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.received += 1
            given = HEAD + b"Connection: close\r\n" + LENGTH + ANSWER, ""
            if self.received == 1:
                given = FAULTS[self.fault]
            threading.Thread(target=_serve, args=[connection, *given], daemon=True).start()


def _serve(connection: socket.socket, answer: bytes, then: str) -> None:
    with connection, connection.makefile("rb") as sent:
        length = 0
        while line := sent.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        sent.read(length)
        try:
            connection.sendall(answer)
            ends = time.monotonic() + LONGEST_S
            while then in ("hang", "drip") and time.monotonic() < ends:
                connection.sendall(b" " if then == "drip" else b"")
                time.sleep(0.1)
        except OSError:
            return
        if then == "reset":
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
