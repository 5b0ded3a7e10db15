"""A real object store on loopback, SeaweedFS, which a test starts and stops, and faults put before it."""

import json
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import fsspec
import pytest

BUCKET = "qa-pipeline"
SECRET = "planted-secret"
_RIGHTS = {
    "owner": ["Admin", "Read", "Write", "List", "Tagging"],
    "no-list": [f"Read:{BUCKET}", f"Write:{BUCKET}"],
    "reader": [f"Read:{BUCKET}", f"List:{BUCKET}"],
}
"""Access keys, all with `SECRET`, and what each may do."""
_STARTED_WITHIN = 90.0
_GRPC = 10_000
"""SeaweedFS opens a second port this far above each."""
_PORTS = 12_000, 22_000
"""So that neither is one of 32,768 and above, from which Linux gives each connection its own for a minute."""


def access(url: str, key: str = "owner") -> dict[str, str]:
    """The environment in which libraries reach the store."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ALLOW_HTTP": "true",
    }


def reach(monkeypatch: pytest.MonkeyPatch, url: str, key: str = "owner") -> None:
    """Let this process and those that it starts reach the store, not one that an earlier test reached."""
    for name, value in access(url, key).items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()


@contextmanager
def seaweedfs(folder: Path, ports: Sequence[int] = ()) -> Iterator[str]:
    """The address of a store with a bucket, empty at first; its files lie in the folder.

    At the end it is killed. Another one with the same four ports has its files and its address.
    """
    identities = [
        {"name": key, "credentials": [{"accessKey": key, "secretKey": SECRET}], "actions": actions}
        for key, actions in _RIGHTS.items()
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    master, volume, filer, s3 = ports or free_ports(4)
    command = [
        str(Path(sys.executable).with_name("weed")), "server", f"-dir={folder}", "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1", f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}",
        "-s3", f"-s3.port={s3}", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.autoCreateBucket=false",
        f"-s3.config={folder / 's3.json'}",
        "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=0",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{s3}"
    with (
        (folder / "weed.log").open("ab") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_for(url, process, folder / "weed.log")
            yield url
        finally:
            process.kill()  # it would wait for its readers


def free_ports(count: int) -> list[int]:
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(*_PORTS)
        if port not in ports and is_free(port) and is_free(port + _GRPC):
            ports.append(port)
    return ports


def is_free(port: int) -> bool:
    """Whether a server can listen on a port: neither a server nor a connection has it."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Make the bucket, once the store takes files."""
    import boto3
    import botocore.exceptions

    deadline = time.monotonic() + _STARTED_WITHIN
    client = boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id="owner",
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    while True:
        try:
            if not any(bucket["Name"] == BUCKET for bucket in client.list_buckets()["Buckets"]):
                client.create_bucket(Bucket=BUCKET)
            client.put_object(Bucket=BUCKET, Key="ready", Body=b"")
            client.delete_object(Bucket=BUCKET, Key="ready")
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(log.read_text(errors="replace")[-2000:]) from None
            time.sleep(0.3)
        else:
            return


class Proxy:
    """A store that passes requests on to another one, but for some that it refuses (503), and some that wait.

    Args:
        target: address of the other one.
        refuses: share of the requests that it refuses; may be set at any time, as the others.
        delays: share of them that it keeps waiting.
        seconds: how long.
    """

    def __init__(self, target: str, refuses: float = 0, delays: float = 0, seconds: float = 0.3) -> None:
        self.target, self.refuses, self.delays, self.seconds = target, refuses, delays, seconds
        self.refused = 0
        self.refusal = 503, "SlowDown"
        self.lots = random.Random(1)
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def _pass_on(self) -> None:
        proxy = self.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if proxy.lots.random() < proxy.refuses:
            proxy.refused += 1
            status, code = proxy.refusal
            self._answer(status, {}, f"<Error><Code>{code}</Code></Error>".encode())
            return
        if proxy.lots.random() < proxy.delays:
            time.sleep(proxy.seconds)
        request = urllib.request.Request(
            proxy.target + self.path, body or None, dict(self.headers), method=self.command
        )
        try:
            with urllib.request.urlopen(request) as answer:
                self._answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, dict(error.headers), error.read())
        except OSError:  # the store is gone: so is the connection
            self.close_connection = True

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        length = headers.pop("Content-Length", str(len(body)))
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass_on  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        """Say nothing."""
