"""Hashes are those of every earlier release: ids, caches and data versions rest on them."""

from pathlib import Path

from qa_pipeline.storage.hashes import draw_number, hash_file, hash_json, hash_parts, hash_text


def test_hashes_of_known_contents_never_change(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("10 °C".encode())
    of_text = "6aa6b11efdb2744235e4f411baadf44959b61a13e8e16c0695946ba5bed29163"
    assert (hash_text("10 °C"), hash_parts("10 °C"), hash_file(tmp_path / "file")) == (of_text,) * 3
    assert hash_parts("a", 1) == "839e11a421d370be28db56fde67e9aadde2f31514becf2626b521ea3b9009ef4"
    assert hash_json(["é", None]) == "e2d63003b1ecbffe5bc6071f10d1daad0b22a2e3d552acad916581e52476781a"
    assert draw_number("a", 1) == 9484037261928657086


def test_the_order_of_keys_does_not_change_the_hash_of_json() -> None:
    assert hash_json({"b": 1, "a": [2]}) == hash_json({"a": [2], "b": 1}) != hash_json({"a": [2], "b": 2})
