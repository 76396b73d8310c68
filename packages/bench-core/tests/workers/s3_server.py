"""A server of S3 on this machine: moto's, behind what checks every signature and loses requests when told to."""

from __future__ import annotations

import hashlib
import io
import secrets
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import boto3
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from typing_extensions import Self

KEY, SECRET, REGION = "AKIAPLANTEDKEY012345", "planted/Secret+0123456789abcdefABCDEF", "eu-test-1"


class S3:
    """The server, with one bucket.

    Attributes:
        url: The bucket's.
        variables: What a client of it needs in its environment.
        refuse: Says of a request's method and path whether it is answered by 403.
        requests: Method and path of each.
    """

    def __init__(self, port: int, bucket: str) -> None:
        self.port = port
        self.bucket = bucket
        self.url = f"s3://{bucket}"
        self.refuse: Callable[[str, str], bool] = lambda *_: False
        self.requests: list[tuple[str, str]] = []
        self.client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{port}", region_name=REGION,
            aws_access_key_id=KEY, aws_secret_access_key=SECRET,
        )  # fmt: skip

    @property
    def variables(self) -> dict[str, str]:
        return self.through(self.port)

    def through(self, port: int) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "PROCTOR_ARTIFACTS": self.url,
        }  # fmt: skip

    def keys(self, prefix: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix
        )
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def read(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def write(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=key, Body=data)

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=key)


class _Silent(WSGIRequestHandler):
    def log(self, *_: Any) -> None:  # type: ignore[override]  # narrower
        """Print nothing."""


@contextmanager
def s3_server() -> Iterator[S3]:
    """Serve until the block ends."""
    backend = DomainDispatcherApplication(create_backend_app)
    found: list[S3] = []

    def checked(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        method, path = environ["REQUEST_METHOD"], environ["RAW_URI"]
        found[0].requests.append((method, path))
        if not _is_signed(environ, method, path, body) or found[0].refuse(method, path):
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>AccessDenied</Code></Error>"]
        return backend(environ, start)

    server = make_server("127.0.0.1", 0, checked, threaded=True, request_handler=_Silent)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    found.append(S3(server.port, f"bucket-{secrets.token_hex(4)}"))
    thread.start()
    try:
        place = {"LocationConstraint": REGION}
        found[0].client.create_bucket(Bucket=found[0].bucket, CreateBucketConfiguration=place)
        yield found[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _is_signed(environ: dict[str, Any], method: str, path: str, body: bytes) -> bool:
    """Whether a request was signed with the key, and its body is what was signed."""
    scheme, _, rest = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    parts = dict(each.strip().partition("=")[::2] for each in rest.split(","))
    if scheme != "AWS4-HMAC-SHA256" or not parts.get("Credential", "").startswith(f"{KEY}/"):
        return False
    if "Signature" not in parts or "HTTP_HOST" not in environ:
        return False  # the head was cut
    names = parts["SignedHeaders"].split(";")
    headers = {each: environ.get(f"HTTP_{each.upper().replace('-', '_')}") for each in names}
    for name, variable in (("content-type", "CONTENT_TYPE"), ("content-length", "CONTENT_LENGTH")):
        if name in headers:
            headers[name] = environ.get(variable)
    request = AWSRequest(
        method, f"http://{environ['HTTP_HOST']}{path}", headers, data=body,
    )  # fmt: skip
    request.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
    signer = S3SigV4Auth(Credentials(KEY, SECRET), "s3", parts["Credential"].split("/")[2])
    wanted = signer.signature(
        signer.string_to_sign(request, signer.canonical_request(request)), request
    )
    said = environ["HTTP_X_AMZ_CONTENT_SHA256"]
    is_body = said == "UNSIGNED-PAYLOAD" or said == hashlib.sha256(body).hexdigest()
    return is_body and secrets.compare_digest(wanted, parts["Signature"])


class CuttingProxy:
    """Passes connections on until so many bytes have gone to the server, and then refuses all.

    Attributes:
        port: Its own.
        left: How many bytes may still go.
    """

    def __init__(self, port: int, left: int) -> None:
        self._server = port
        self.left = left
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self.left:
                    client.close()
                    continue
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._server)) as server:
            back = threading.Thread(target=_pump, args=(server, client, bytes), daemon=True)
            back.start()
            _pump(client, server, self._allowed)
            back.join()

    def _allowed(self, data: bytes) -> bytes:
        with self._lock:
            data = data[: self.left]
            self.left -= len(data)
            return data


def _pump(source: socket.socket, sink: socket.socket, allowed: Callable[[bytes], bytes]) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 14):
            passed = allowed(data)
            sink.sendall(passed)
            if len(passed) < len(data):
                break
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
