from qa_pipeline.settings.tree import MASK, Settings, setting_fields, settings_in_force


def test_every_setting_is_listed_once_with_its_meaning() -> None:
    rows = settings_in_force({})
    assert [row["path"] for row in rows] == [path for path, _ in setting_fields(Settings)]
    assert all(row["meaning"] for row in rows)


def test_keys_and_passwords_are_masked() -> None:
    chosen = {
        "documents": {"masking": {"key": "correct horse battery staple"}},
        "llm": {"base_url": "http://gateway:hunter2@127.0.0.1:8000/v1"},
    }
    rows = settings_in_force(chosen)
    assert "hunter2" not in repr(rows)
    assert "horse" not in repr(rows)
    values = {row["path"]: row["value"] for row in rows}
    assert values["llm.base_url"] == f"http://gateway:{MASK}@127.0.0.1:8000/v1"
    assert values["documents.masking.key"] == MASK
