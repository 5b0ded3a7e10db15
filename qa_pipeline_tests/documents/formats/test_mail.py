import base64
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa_pipeline.documents.assembly import assemble, visible
from qa_pipeline.documents.formats import mail as mail_messages
from qa_pipeline.records import ParsedFile
from qa_pipeline_tests.documents.builders import SETTINGS, outline, refusal, source


def parse(content: str | bytes) -> ParsedFile:
    return mail_messages.parse(source(content, "a.eml"), SETTINGS)


def mail(text: str = "Hello there.", **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {"From": "anna@example.org", "Subject": "Pumps", **headers}.items():
        message[name] = value
    message.set_content(text)
    return message


def left_out(parsed: ParsedFile) -> dict[str, int]:
    return {part.what: part.pieces for part in parsed.left_out}


@given(st.text("XY1.)| \n", max_size=150))
def test_every_character_of_a_body_is_in_a_block_or_counted_as_left_out(body: str) -> None:
    def told(content: str) -> int:
        parsed = parse(f"From: a\n\n{content}".encode())
        kept = visible("".join(f"{block.marker or ''}{block.text}" for block in parsed.blocks))
        return kept + sum(part.characters for part in parsed.left_out)

    assert told(body) - told("") == visible(body)


def test_the_subject_is_title_and_heading_and_the_rest_of_the_head_key_value_lines() -> None:
    message = mail(To="bo@example.org", Date="Mon, 02 Mar 2020 10:00:00 +0100", **{"X-Spam": "no"})
    parsed = parse(message.as_bytes())
    assert parsed.title == "Pumps"
    assert outline(parsed)[0] == ("heading", "Pumps")
    assert parsed.blocks[1].text.split("\n") == [
        "From: anna@example.org",
        "To: bo@example.org",
        "Date: Mon, 02 Mar 2020 10:00:00 +0100",
    ]
    assert outline(parsed)[2] == ("paragraph", "Hello there.")
    assert left_out(parsed) == {"header": 4}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"=?utf-8?q?F=C3=B6rslag?= om =?iso-8859-1?q?=E5r?=", "Förslag om år"),
        ("Förslag".encode("cp1252"), "Förslag"),
        (b"one\n two", "one two"),
        (b"=?no-such?q?a?= =?utf-8?b?!!?=", "a"),
    ],
)
def test_subjects_are_read_as_a_person_sees_them(raw: bytes, shown: str) -> None:
    assert parse(b"Subject: " + raw + b"\n\nbody").title == shown


def test_of_two_versions_the_plain_one_is_read_and_the_other_counted() -> None:
    message = mail("Plain words about it.")
    message.add_alternative("<p>Rich words about it.</p>", subtype="html")
    parsed = parse(message.as_bytes())
    assert [text for kind, text in outline(parsed) if kind == "paragraph"][1:] == ["Plain words about it."]
    assert left_out(parsed)["alternative"] == 1


def test_what_is_beside_and_within_the_versions_of_a_text_is_read_or_counted() -> None:
    message = mail("See the other version.")
    rich = mail()
    rich.set_content(f"<p>{'The fee is 40 euros. ' * 9}</p>", subtype="html")
    rich.add_attachment(b"PNG", maintype="image", subtype="png")
    rich.add_attachment("<p>It rises in May.</p>", subtype="html", disposition="inline")
    message.add_alternative("BEGIN:VCALENDAR", subtype="calendar")
    message.attach(rich)
    parsed = parse(message.as_bytes())
    assert [text for _, text in outline(parsed)][-1] == "It rises in May."
    assert left_out(parsed)["attachment"] == 2
    assert left_out(parsed)["alternative"] == 1


def test_attachments_are_counted_and_never_opened() -> None:
    message = mail()
    message.add_attachment(b"PK\x03\x04", maintype="application", subtype="zip", filename="secret-name.zip")
    message.add_attachment("text inside", filename="notes.txt")
    parsed = parse(message.as_bytes())
    assert left_out(parsed)["attachment"] == 2
    assert "inside" not in str(parsed.blocks)
    assert "secret-name" not in str(parsed)


def test_quotes_are_quote_blocks_and_a_signature_keeps_its_lines() -> None:
    text = "I agree.\n\n> > First.\n> Second\n>\n> Third\n\nAnd more.\n-- \nAnna\nPumps Ltd\n"
    assert outline(parse(mail(text).as_bytes()))[2:] == [
        ("paragraph", "I agree."),
        ("quote", "> First. > Second > Third"),
        ("paragraph", "And more."),
        ("paragraph", "Anna Pumps Ltd"),
    ]


def test_a_forwarded_message_is_below_the_one_that_holds_it() -> None:
    outer = mail("See below.", Subject="Fwd")
    outer.add_attachment(mail("Inner words.", Subject="Original"))
    headings = [block for block in parse(outer.as_bytes()).blocks if block.kind == "heading"]
    assert [(block.text, block.level) for block in headings] == [("Fwd", 1), ("Original", 2)]


def test_messages_within_messages_end_somewhere() -> None:
    content: Any = b"From: a\n\nThe core."
    for _ in range(60):
        content = b"From: a\nContent-Type: message/rfc822\n\n" + content
    assert outline(parse(content))[-1] == ("paragraph", "The core.")
    many = b"From: a\nContent-Type: message/rfc822\n\n" * 20_000
    assert refusal(lambda: parse(many)) in (None, "nested_too_deep")


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", "Åkning för 5 €".encode("cp1252"), "Åkning för 5 €"),
        ("text/plain; charset=no-such", "Åkning".encode(), "Åkning"),
        ("multipart/mixed", b"No boundary named.", "No boundary named."),
        ("text/plain\nContent-Transfer-Encoding: base64", base64.b64encode(b"Hidden."), "Hidden."),
        ("text/plain\nContent-Transfer-Encoding: base64", b"This is no Base64.", "This is no Base64."),
        ("nonsense", b"Still text.", "Still text."),
        ("text/plain; charset=iso-8859-1", "Mötet i Växjö.".encode(), "Mötet i Växjö."),
        ("text/html; charset=iso-8859-1", "Mötet i Växjö.".encode(), "Mötet i Växjö."),
    ],
)
def test_broken_and_odd_bodies_are_read_as_far_as_they_go(head: str, body: bytes, text: str) -> None:
    parsed = parse(b"From: a\nContent-Type: " + head.encode() + b"\n\n" + body)
    assert outline(parsed)[-1] == ("paragraph", text)


BODY_OF_BO = "The pump costs 5 euros."


@pytest.mark.parametrize(
    "head",
    [
        "-----Original Message-----\n\n",
        "From: bo@example.org\nSent: Monday\nTo: anna@example.org\n\n",
    ],
)
def test_earlier_mail_is_marked_as_quoted_and_in_doubt(head: str) -> None:
    parsed = parse(mail(f"It costs 6 euros.\n\n{head}{BODY_OF_BO}", Subject="Re: Pumps").as_bytes())
    body = parsed.blocks[2:]
    assert body[0].text == "It costs 6 euros."
    assert body[1].kind == "quote"
    text = assemble(parsed.blocks)
    quoted = "".join(text.text[doubt["start"] : doubt["end"]] for doubt in text.doubts)
    assert {doubt["kind"] for doubt in text.doubts} == {"quoted"}
    assert "5 euros" in quoted
    assert "6 euros" not in quoted


def test_an_answer_below_quoted_lines_and_a_forwarded_mail_are_no_earlier_mail() -> None:
    parsed = parse(mail("He wrote in 2030 about it.\n\n> It costs 5.\n\nNow it costs 6.").as_bytes())
    assert [block.kind for block in parsed.blocks[2:]] == ["paragraph", "quote", "paragraph"]
    passed_on = mail("-----Original Message-----\n\nIt costs 5.", Subject="Fwd: Pumps")
    assert "quote" not in [block.kind for block in parse(passed_on.as_bytes()).blocks]
