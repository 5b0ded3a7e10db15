"""A real object store on loopback: SeaweedFS, started for a test and stopped by its process."""

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def seaweedfs(folder: Path) -> Iterator[str]:
    """The address of a store with an empty bucket; its files lie in the folder."""
    identities = [
        {"name": key, "credentials": [{"accessKey": key, "secretKey": SECRET}], "actions": actions}
        for key, actions in _RIGHTS.items()
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    master, volume, filer, s3 = _free_ports(4)
    command = [
        Path(sys.executable).with_name("weed"), "server", f"-dir={folder}", "-ip=127.0.0.1",
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


def _free_ports(count: int) -> list[int]:
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(21_000, 31_000)
        if port not in ports and _is_free(port) and _is_free(port + _GRPC):
            ports.append(port)
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


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
