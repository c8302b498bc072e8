"""As much of an S3 server as a folder of logs needs, on loopback and in memory."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from support.fake_openai import serving_thread

DATE = "Mon, 02 Jan 2023 00:00:00 GMT"
STAMP = "2023-01-02T00:00:00.000Z"


@dataclass
class S3:
    """Objects by bucket and key, and the settings by which clients find them."""

    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0

    @property
    def env(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            # Plain bodies, without sums behind them.
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
            "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        }


@contextmanager
def s3_server() -> Iterator[S3]:
    """A server that lasts as long as the block."""
    found = S3()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(found))
    http.daemon_threads = True
    found.port = http.server_address[1]
    thread = serving_thread(http)
    try:
        yield found
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _handler(s3: S3) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def parse(self) -> tuple[str, dict[str, str]]:
            """The object's place, and the request's options."""
            parts = urlsplit(self.path)
            query = parse_qs(parts.query, keep_blank_values=True)
            return unquote(parts.path).strip("/"), {name: one[0] for name, one in query.items()}

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def do_HEAD(self) -> None:
            place, _ = self.parse()
            data = s3.objects.get(place)
            if data is None and "/" in place:
                self.reply(404, b"")
            else:
                self.reply(200, data or b"", head=True)

        def do_GET(self) -> None:
            place, query = self.parse()
            if "/" not in place:
                self.reply(200, self.listing(place, query), kind="application/xml")
                return
            data = s3.objects.get(place)
            if data is None:
                self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>", kind="application/xml")
                return
            wanted = self.headers.get("Range")
            if wanted is None:
                self.reply(200, data)
                return
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(data) - int(last))
            end = min(int(last), len(data) - 1) if first and last else len(data) - 1
            told = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
            self.reply(206, data[start : end + 1], told)

        def do_PUT(self) -> None:
            place, query = self.parse()
            data = self.body()
            with s3.lock:
                if "uploadId" in query:
                    s3.parts[query["uploadId"]][int(query["partNumber"])] = data
                elif "/" in place:
                    s3.objects[place] = data
            self.reply(200, b"", {"ETag": _etag(data)})

        def do_POST(self) -> None:
            place, query = self.parse()
            self.body()
            with s3.lock:
                if "uploads" in query:
                    number = str(len(s3.parts))
                    s3.parts[number] = {}
                    text = f"<UploadId>{number}</UploadId>"
                    name = "InitiateMultipartUploadResult"
                else:
                    parts = s3.parts.get(query.get("uploadId", ""), {})
                    s3.objects[place] = b"".join(parts[one] for one in sorted(parts))
                    text, name = f"<ETag>{_etag(s3.objects[place])}</ETag>", "Result"
            self.reply(200, f"<{name}>{text}</{name}>".encode(), kind="application/xml")

        def do_DELETE(self) -> None:
            place, _ = self.parse()
            s3.objects.pop(place, None)
            self.reply(204, b"")

        def listing(self, bucket: str, query: dict[str, str]) -> bytes:
            prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
            found, folders = [], set()
            with s3.lock:
                for place, data in sorted(s3.objects.items()):
                    key = place.removeprefix(f"{bucket}/")
                    if key == place or not key.startswith(prefix):
                        continue
                    rest = key[len(prefix) :]
                    if delimiter and delimiter in rest:
                        folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                        continue
                    found.append(
                        f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size>"
                        f"<LastModified>{STAMP}</LastModified><ETag>{_etag(data)}</ETag>"
                        "</Contents>"
                    )
            found += [
                f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>"
                for one in sorted(folders)
            ]
            whole = f"<KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>"
            text = f"<ListBucketResult>{whole}{''.join(found)}</ListBucketResult>"
            return text.encode()

        def reply(
            self,
            status: int,
            data: bytes,
            told: dict[str, str] | None = None,
            *,
            kind: str = "binary/octet-stream",
            head: bool = False,
        ) -> None:
            self.send_response(status)
            headers = {"ETag": _etag(data), "Last-Modified": DATE} | (told or {})
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if not head and status != 204:
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return Handler
