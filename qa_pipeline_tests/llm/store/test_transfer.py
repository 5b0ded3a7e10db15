import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qa_pipeline.errors import InputError, StorageError
from qa_pipeline.llm.store import transfer
from qa_pipeline.llm.store.database import Database
from qa_pipeline.llm.store.store import Outcome, Round, SqlReplyStore
from qa_pipeline.llm.store.transfer import HEADER, Imported, export_replies, import_replies
from qa_pipeline_tests.llm.postgres_server import NewPlace
from qa_pipeline_tests.llm.store.asking import OUTCOMES, paid

REPLY = Outcome("replied", "{}", "{}")
LINE: dict[str, Any] = {
    "asked_model": "m",
    "request_key": "a" * 64,
    "role": "verify",
    "batch": "hr",
    "outcome": "replied",
    "detail": None,
    "raw": "{}",
    "value": "{}",
    "replied_model": "m-1",
    "repair": "none",
    "input_tokens": 5,
    "output_tokens": None,
    "cached_tokens": None,
    "thought_tokens": None,
    "stored_at": 1.5,
    "documents": ["d"],
}


def key(number: int) -> str:
    return hashlib.sha256(f"{number}".encode()).hexdigest()


@pytest.fixture
def database(place: Path | str) -> Iterator[Database]:
    opened = Database(place)
    yield opened
    opened.close()


@given(outcomes=st.lists(OUTCOMES, max_size=12))
@settings(max_examples=20)
def test_an_export_brought_into_an_empty_store_gives_the_same_store(
    new_place: NewPlace, tmp_path_factory: pytest.TempPathFactory, outcomes: list[Outcome]
) -> None:
    first, second = Database(new_place()), Database(new_place())
    folder = tmp_path_factory.mktemp("export")
    store, copy = SqlReplyStore(first), SqlReplyStore(second)
    ids = {("m", key(number)): outcome for number, outcome in enumerate(outcomes)}
    if ids:
        store.write(Round(paid=[paid(one, outcome, documents=("d",)) for one, outcome in ids.items()]))
    there, back = str(folder / "there.jsonl.gz"), str(folder / "back.jsonl.gz")
    assert export_replies(first, there) == len(ids)
    assert import_replies(second, there) == Imported(len(ids), 0)
    assert copy.find(ids) == ids
    assert copy.unseen(dict.fromkeys(ids, ("d",))) == []
    assert export_replies(second, back) == len(ids)
    assert Path(there).read_bytes() == Path(back).read_bytes()
    store.close()
    copy.close()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_more_replies_than_a_portion_pass_through_any_packing(tmp_path: Path, name: str) -> None:
    store = SqlReplyStore(Database(tmp_path / "a.sqlite"))
    store.write(Round(paid=[paid(("m", key(number)), REPLY) for number in range(1_201)]))
    store.close()
    assert export_replies(Database(tmp_path / "a.sqlite"), str(tmp_path / name)) == 1_201
    assert import_replies(Database(tmp_path / "b.sqlite"), str(tmp_path / name)) == Imported(1_201, 0)


def test_what_is_stored_is_not_replaced_by_an_import(database: Database, tmp_path: Path) -> None:
    store = SqlReplyStore(database)
    mine = Outcome("replied", "mine", '"mine"')
    store.write(Round(paid=[paid(("m", "a" * 64), mine)]))
    lines = [LINE, LINE | {"request_key": "b" * 64}]
    assert import_replies(database, write(tmp_path, *lines)) == Imported(new=1, known=1)
    assert store.find([("m", "a" * 64)]) == {("m", "a" * 64): mine}
    store.close()


@pytest.fixture(params=["memory", "s3"])
def address(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    bucket = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:20]
    if request.param == "s3":
        from moto.moto_server.threaded_moto_server import ThreadedMotoServer

        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "planted-key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        fsspec.core.url_to_fs(f"s3://{bucket}")[0].mkdir(bucket)
        yield f"s3://{bucket}/kept"
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        server.stop()
    else:
        yield f"memory://{bucket}/kept"


def test_a_file_at_an_address_is_put_and_fetched(tmp_path: Path, address: str) -> None:
    store = SqlReplyStore(Database(tmp_path / "a.sqlite"))
    store.write(Round(paid=[paid(("m", key(number)), REPLY) for number in range(10)]))
    store.close()
    assert export_replies(Database(tmp_path / "a.sqlite"), f"{address}/replies.jsonl.gz") == 10
    assert import_replies(Database(tmp_path / "b.sqlite"), f"{address}/replies.jsonl.gz") == Imported(10, 0)
    with pytest.raises(InputError, match=r"cannot read .*nothing\.jsonl\.gz .*check the address"):
        import_replies(Database(tmp_path / "b.sqlite"), f"{address}/nothing.jsonl.gz")


def write(folder: Path, *lines: object, header: object = HEADER) -> str:
    path = folder / "replies.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.writelines(
            f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in (header, *lines)
        )
    return str(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no json", "the line json_invalid"),
        ("[" * 100_000, "the line json_invalid"),
        ("", "the line json_invalid"),
        ([], "the line model_type"),
        (LINE | {"<script>": 1}, "an unknown field"),
        ({name: value for name, value in LINE.items() if name != "raw"}, "raw missing"),
        (LINE | {"request_key": "../../etc/passwd"}, "request_key string_pattern_mismatch"),
        (LINE | {"role": "root"}, "role literal_error"),
        (LINE | {"input_tokens": -1}, "input_tokens greater_than_equal"),
        (LINE | {"input_tokens": 2**63}, "input_tokens less_than_equal"),
        (LINE | {"stored_at": "now"}, "stored_at float_type"),
        (LINE | {"asked_model": "m" * 401}, "asked_model string_too_long"),
        (LINE | {"value": None}, "only the outcome replied has a value"),
        (LINE | {"outcome": "empty"}, "only the outcome replied has a value"),
        (LINE | {"value": "{"}, "value is not JSON"),
        (LINE | {"value": "[" * 100_000}, "value is not JSON"),
        (LINE | {"raw": "\0"}, "the character zero"),
        (LINE | {"raw": "\ud800"}, "the line json_invalid"),
        (LINE | {"documents": [""]}, "ids of 1 to 64 characters"),
        (LINE | {"documents": ["d"] * 10_001}, "documents too_long"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_of_the_file_is_taken(
    tmp_path: Path, line: object, told: str
) -> None:
    database = Database(tmp_path / "a.sqlite")
    file = write(tmp_path, LINE, line)
    with pytest.raises(InputError) as refused:
        import_replies(database, file)
    assert f"{file} cannot be imported: line 3" in str(refused.value)
    assert told in str(refused.value)
    assert "script" not in str(refused.value)
    assert export_replies(database, str(tmp_path / "left.jsonl")) == 0


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (LINE, "line 1 is no header of replies"),
        ("[]", "line 1 is no header of replies"),
        ("no json", "line 1 is no header of replies"),
        (HEADER | {"version": 99}, "line 1 is of version '99', this program reads version 2"),
    ],
)
def test_a_file_that_is_no_export_is_told(tmp_path: Path, header: object, told: str) -> None:
    with pytest.raises(InputError, match=told):
        import_replies(Database(tmp_path / "a.sqlite"), write(tmp_path, LINE, header=header))


@pytest.mark.parametrize("name", ["cut.jsonl.gz", "cut.jsonl.zst"])
def test_a_cut_file_is_told_and_nothing_of_it_is_taken(tmp_path: Path, name: str) -> None:
    store = SqlReplyStore(Database(tmp_path / "a.sqlite"))
    store.write(Round(paid=[paid(("m", key(number)), REPLY) for number in range(900)]))
    store.close()
    whole = tmp_path / name
    export_replies(Database(tmp_path / "a.sqlite"), str(whole))
    whole.write_bytes(whole.read_bytes()[:-40])
    other = Database(tmp_path / "b.sqlite")
    with pytest.raises(InputError, match=r"cut or damaged|no stored reply"):
        import_replies(other, str(whole))
    assert export_replies(other, str(tmp_path / "left.jsonl")) == 0


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LONGEST_LINE", 10_000)
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(json.dumps(HEADER).encode() + b"\n" + b" " * 50_000_000))
    with pytest.raises(InputError, match="line 2 is longer than 10,000 bytes"):
        import_replies(Database(tmp_path / "a.sqlite"), str(bomb))
    monkeypatch.setattr(transfer, "MOST_BYTES", 1_000)
    with pytest.raises(InputError, match=r"it holds more than 1,000 bytes at line \d"):
        import_replies(Database(tmp_path / "a.sqlite"), write(tmp_path, *[LINE] * 10))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("replies.csv", r"must end in \.jsonl\.gz, \.jsonl\.zst, \.jsonl"),
        ("s3://user:secret@bucket/a.jsonl.gz", "the address cannot be used: it holds a password"),
        ("nowhere.jsonl.gz", r"nowhere\.jsonl\.gz is not there, or is no file"),
    ],
)
def test_a_place_that_cannot_be_read_is_told(tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        import_replies(Database(tmp_path / "a.sqlite"), name)
    assert "secret" not in str(refused.value)


def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl.gz"
    kept.write_bytes(b"old")
    broken = tmp_path / "a.sqlite"
    broken.write_bytes(b"no database" * 1_000)
    with pytest.raises(Exception, match="cannot be used"):
        export_replies(Database(broken), str(kept))
    assert kept.read_bytes() == b"old"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot write"):
        export_replies(Database(tmp_path / "b.sqlite"), str(tmp_path / "file" / "a.jsonl"))
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
