"""Laws of every format: any damage is a failure with a reason, and no file is longer than allowed."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.corpus.files import LIMITS, SUFFIXES, DocumentFailure
from qa_pipeline.documents.formats.office import pptx
from qa_pipeline.documents.formats.pdf import parser as pdf
from qa_pipeline.documents.parsing import PARSERS, ParseRequest, parse_in_process
from qa_pipeline.records import ParsedFile
from qa_pipeline.settings.documents import DocumentSettings
from qa_pipeline_tests.benchmarks.robustness.fuzz_seeds import built_seeds, unzipped, zipped
from qa_pipeline_tests.documents.builders import SETTINGS, refusal, source

SEEDS = [(suffix, content) for suffix, contents in built_seeds().items() for content in contents]
REASONS = {
    None, "archive_bomb", "binary_content", "damaged", "encrypted", "nested_too_deep", "no_text", "too_large",
    "too_long", "too_many_pages", "too_many_rows", "undecodable", "unsupported_format",
}  # fmt: skip
PIECES = st.sampled_from([b"", b"<w:p/>", b"&x;", b"\xff", b'"', b">", b"\0", b"[" * 200, b"\n\n"])


@pytest.mark.parametrize(("suffix", "content"), SEEDS, ids=[suffix for suffix, _ in SEEDS])
@given(st.data())
def test_any_damage_is_a_failure_with_a_reason(suffix: str, content: bytes, data: st.DataObject) -> None:
    def damaged(whole: bytes) -> bytes:
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.integers(start, min(start + 40, len(whole))))
        return whole[:start] + data.draw(PIECES | st.binary(max_size=40)) + whole[end:]

    if content.startswith(b"PK") and data.draw(st.booleans()):
        members = unzipped(content)
        name = data.draw(st.sampled_from(sorted(members)))
        content = zipped({**members, name: damaged(members[name])})
    else:
        content = damaged(content)
    parse = PARSERS[SUFFIXES[suffix]]
    assert refusal(lambda: parse(source(content, f"a{suffix}"), SETTINGS)) in REASONS


@pytest.mark.parametrize(("suffix", "content"), SEEDS, ids=[suffix for suffix, _ in SEEDS])
def test_more_text_than_allowed_is_refused(suffix: str, content: bytes) -> None:
    request = ParseRequest(source(content, f"a{suffix}"), SUFFIXES[suffix])
    (outcome,) = parse_in_process([request], DocumentSettings(max_characters=5))
    assert isinstance(outcome, DocumentFailure)
    assert outcome.reason == "too_long"


@pytest.mark.parametrize(("suffix", "parse"), [(".pdf", pdf.parse), (".pptx", pptx.parse)])
def test_more_pages_than_allowed_are_refused(
    suffix: str, parse: Callable[..., ParsedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = built_seeds()[suffix][0]
    monkeypatch.setattr(LIMITS, "pages", 1)
    assert refusal(lambda: parse(source(content), DocumentSettings())) == "too_many_pages"
