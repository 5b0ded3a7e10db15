"""A loopback server that speaks what `HfApi` needs to make a repository, commit files to it and tag it."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flask import Flask, Response, jsonify, request
from werkzeug.serving import make_server

TOKEN = "planted-token"
READ_ONLY = "planted-reader"
SMALL = 4096
"""Bytes from which a file goes the way of large files, as on the hub."""


@dataclass
class Hub:
    """What the server holds.

    Args:
        url: where it listens.
        files: the content of main, by path.
        tags: content of each tag.
        objects: large files that were uploaded, by SHA-256.
        private: whether the repository is; None where none was made.
        breaks_at: a path whose next requests are answered with 503.
        commits: how many were made.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=lambda: {".gitattributes": b"*.parquet filter=lfs\n"})
    tags: dict[str, dict[str, bytes]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    uploads: list[str] = field(default_factory=list)
    private: bool | None = None
    breaks_at: str | None = None
    commits: int = 0

    @property
    def head(self) -> str:
        return hashlib.sha1(f"commit {self.commits}".encode()).hexdigest()

    def at(self, revision: str) -> dict[str, bytes]:
        return self.tags.get(revision, self.files)


def _entry(path: str, content: bytes) -> dict[str, object]:
    oid = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    shown: dict[str, object] = {"type": "file", "path": path, "size": len(content), "oid": oid}
    if len(content) >= SMALL:
        shown["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return shown


_BASE = "/api/datasets/us/pairs"


def _app(hub: Hub) -> Flask:
    app = Flask(__name__)

    @app.before_request
    def rights() -> Response | None:
        if hub.breaks_at is not None and hub.breaks_at in request.path:
            return Response("no", 400)
        sent = request.headers.get("Authorization")
        if "/objects/" in request.path and request.method == "PUT":
            return None
        if sent not in (f"Bearer {TOKEN}", f"Bearer {READ_ONLY}"):
            return Response("no", 401)
        is_write = request.method == "POST"
        return Response("no", 403) if sent == f"Bearer {READ_ONLY}" and is_write else None

    _add_reads(app, hub)
    _add_writes(app, hub)
    return app


def _add_reads(app: Flask, hub: Hub) -> None:
    @app.post("/api/repos/create")
    def create() -> tuple[Response, int]:
        if hub.private is None:
            hub.private = request.json is not None and request.json["visibility"] == "private"
            return jsonify(url=f"{hub.url}/datasets/us/pairs"), 200
        return jsonify(error="You already created this dataset repo", url=f"{hub.url}/datasets/us/pairs"), 409

    @app.post("/api/validate-yaml")
    def validate() -> Response:
        return jsonify(errors=[], warnings=[])

    @app.get(f"{_BASE}/refs")
    def refs() -> Response:
        tags = [{"name": name, "ref": f"refs/tags/{name}", "targetCommit": hub.head} for name in hub.tags]
        branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": hub.head}
        return jsonify(branches=[branch], converts=[], tags=tags)

    @app.get(f"{_BASE}/tree/<revision>")
    def tree(revision: str) -> Response:
        return jsonify([_entry(path, content) for path, content in hub.at(revision).items()])


def _add_writes(app: Flask, hub: Hub) -> None:
    @app.post(f"{_BASE}/preupload/<revision>")
    def preupload(revision: str) -> Response:
        asked = (request.json or {})["files"]
        modes = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if one["size"] >= SMALL else "regular",
                "shouldIgnore": False,
            }
            for one in asked
        ]
        return jsonify(files=modes)

    @app.post("/datasets/us/pairs.git/info/lfs/objects/batch")
    def batch() -> Response:
        asked = json.loads(request.data)["objects"]
        upload = {
            one["oid"]: {"actions": {"upload": {"href": f"{hub.url}/objects/{one['oid']}"}}}
            for one in asked
            if one["oid"] not in hub.objects
        }
        return jsonify(transfer="basic", objects=[{**one, **upload.get(one["oid"], {})} for one in asked])

    @app.put("/objects/<oid>")
    def put(oid: str) -> Response:
        hub.uploads.append(oid)
        hub.objects[oid] = request.data
        return Response(status=200)

    @app.post(f"{_BASE}/commit/<revision>")
    def commit(revision: str) -> Response:
        lines = [json.loads(line) for line in request.data.splitlines()]
        head = lines[0]["value"]
        if head.get("parentCommit") != hub.head:
            return Response("the branch has moved", 412)
        files = dict(hub.files)
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "deletedFile":
                del files[value["path"]]
            elif line["key"] == "lfsFile":
                files[value["path"]] = hub.objects[value["oid"]]
            else:
                files[value["path"]] = base64.b64decode(value["content"])
        hub.files, hub.commits = files, hub.commits + 1
        return jsonify(commitUrl=f"{hub.url}/datasets/us/pairs/commit/{hub.head}", commitOid=hub.head)

    @app.post(f"{_BASE}/tag/<revision>")
    def tag(revision: str) -> Response:
        hub.tags[(request.json or {})["tag"]] = dict(hub.files)
        return Response(status=200)


@contextmanager
def hub_on_loopback() -> Iterator[Hub]:
    """The server, while the context lasts."""
    hub = Hub()
    server = make_server("127.0.0.1", 0, _app(hub), threaded=True)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
