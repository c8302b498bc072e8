"""A server on loopback that answers the first requests with broken HTTP, byte by byte."""

import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Self

ANSWER = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"judgement": "safe"}'},
            }
        ],
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
HALF = ANSWER[: len(ANSWER) // 2]
LENGTH = b"Content-Length: %d\r\n\r\n" % len(ANSWER)
CHUNK = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(HALF), HALF)

FAULTS: dict[str, tuple[bytes, bool]] = {
    "reset before the answer": (b"", True),
    "closed before the answer": (b"", False),
    "reset in the head": (HEAD, True),
    "closed in the head": (HEAD, False),
    "reset in the body": (HEAD + LENGTH + HALF, True),
    "half a body": (HEAD + LENGTH + HALF, False),
    "chunks cut off": (HEAD + CHUNK, False),
    "large head": (HEAD + b"X-Large: " + b"x" * 200_000 + b"\r\n" + LENGTH + ANSWER, False),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", False),
    "empty body": (HEAD + b"Content-Length: 0\r\n\r\n", False),
}
"""What is sent, and whether the connection is reset after it."""


@dataclass
class BrokenServer:
    """Breaks one answer, and gives the others whole; each has its own connection."""

    fault: str
    times: int = 1
    received: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as sent:
            length = 0
            while line := sent.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                return
            sent.read(length)
            with self.lock:
                self.received += 1
                breaks = self.received <= self.times
            answer, resets = HEAD + b"Connection: close\r\n" + LENGTH + ANSWER, False
            if breaks:
                answer, resets = FAULTS[self.fault]
            try:
                connection.sendall(answer)
            except OSError:
                return
            if resets:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
