"""Documents and answers of markup, script and control characters stay texts on every page."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import polars as pl
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode
from starlette.routing import Route
from starlette.testclient import TestClient

from qa_pipeline.cli.exit_codes import FAILED
from qa_pipeline.review import server
from qa_pipeline.storage.layout import Layout
from qa_pipeline.storage.parquet import read_table, write_table
from qa_pipeline.storage.tables import PAIRS
from qa_pipeline_tests.end_to_end import Workspace, new_workspace
from qa_pipeline_tests.review.conftest import ADDRESS

SECRET = "the words of a file beside the output folder"
MARK = "data-hostile"
"""An attribute that no template has: where a page has it, a text was read as markup."""
MARKUP = [
    f"<script {MARK}>alert(1)</script>",
    f"</script><script {MARK}>alert(1)</script>",
    f"<img {MARK} src=x onerror=alert(1)>",
    f"<svg {MARK} onload=alert(1)>",
    f"<iframe {MARK} srcdoc='<script>alert(1)</script>'></iframe>",
    f"<style {MARK}>* {{ display: none }}</style>",
    f"<form {MARK} action=https://evil.example><button>Accept</button></form>",
    f"</title><base {MARK} href=https://evil.example>",
    f"</textarea></select></option><b {MARK}>bold</b>",
    f'" {MARK} onmouseover="alert(1)',
    f"' {MARK} onfocus='alert(1)' autofocus='",
    f"> <a {MARK} href='javascript:alert(1)'>click</a>",
    f"--> <!-- <p {MARK}> ]]>",
    f"{{{{ 7 * 7 }}}} {{% raw %}} <i {MARK}> {{{{ config }}}}",
    "javascript:alert(1)",
    "\u202ethgir ot tfel\u202c \u2066isolated\u2069 \u200bzero\u200f",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 \x9b2J",
    "&lt;b&gt; &#60;script&#62; &amp;quot;",
    "../../secret.txt /etc/passwd file:///etc/passwd",
    "a" * 3_000,
]
LONG_QUESTION = f"What is {MARKUP[0]}?"
PATHS = ["..%2f..%2f..%2fsecret.txt", "%2e%2e", "..", "....//secret.txt", "%00", "b%2f..%2f..%2f..%2fsecret"]
_TEMPLATES = Path(server.__file__).parent / "templates"
_ISOLATING = {"bdi", "option", "textarea"}


def file_name(number: int, text: str) -> str:
    """A name that a file system takes: no slash, no null, not too long."""
    return f"{number} {text[:60].replace('/', '∕').replace(chr(0), '')}.md"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A finished run over 20 documents and 100 pairs of hostile texts, one of them a megabyte long."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "secret.txt").write_text(SECRET)
    with pytest.MonkeyPatch.context() as patch:
        made = new_workspace(folder, patch)
        names = [file_name(number, text) for number, text in enumerate(MARKUP)]
        made.write({f"b/{name}": document(text) for name, text in zip(names, MARKUP, strict=True)})
        rows = [row for name, text in zip(names, MARKUP, strict=True) for row in pairs(name, text)]
        made.write({"b/pairs.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows)})
        assert made.run("--provider", "none").code == FAILED  # no row is accepted
    file = Layout(made.out).table(PAIRS.name, "b")
    is_long = pl.col("question") == LONG_QUESTION  # lengthened only now: to verify it would take long, too
    answer = pl.when(is_long).then(pl.col("answer").str.pad_end(1_000_000, "<")).otherwise("answer")
    write_table(file, read_table(file, PAIRS).with_columns(answer), PAIRS)
    return made


def document(text: str) -> str:
    return (
        f"# Guide {text}\n\n## {text}\n\nThe valve of {text} opens at 3 bar.\n\n"
        f"```\n{text}\n```\n\n| name | value |\n| --- | --- |\n| {text} | 3 bar |\n"
    )


def pairs(name: str, text: str) -> Iterator[dict[str, object]]:
    for question, answer in (
        ("When does the valve open?", f"The valve of {text} opens at 3 bar."),
        (f"What is {text}?", f"The valve of {text} opens at 5 bar."),
        (f"{text}", f"{text}"),
        ("Which name?", f"Nothing is known. {text} is drained by hand, and {text} is not."),
        (f"Is {text} open?", "The valve opens."),
    ):
        yield {"question": question, "answer": answer, "citations": [name, text[:50] or "x"]}


def attributes_of_templates() -> dict[str, set[str]]:
    """The elements of all templates with their attributes, read without the values that are filled in."""
    elements: dict[str, set[str]] = {"tbody": set()}
    for file in _TEMPLATES.glob("*.j2"):
        source = re.sub(
            r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", " ", file.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for name, rest in re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)((?:[^<>\"]|\"[^\"]*\")*)>", source):
            bare = re.sub(r"\"[^\"]*\"", "", rest)
            elements.setdefault(name.lower(), set()).update(re.findall(r"[a-zA-Z][\w-]*", bare))
    return elements


def pages(client: TestClient, starts: list[str]) -> Iterator[tuple[str, LexborHTMLParser]]:
    """Every page that a link leads to, from some on; of addresses that differ in ids or values, three."""
    waiting, seen = [*starts], defaultdict[tuple[str, ...], set[str]](set)
    while waiting:
        address = waiting.pop(0)
        reply = client.get(address)
        assert reply.status_code == 200, (address, reply.text[:500])
        if not reply.headers["content-type"].startswith("text/html"):
            continue
        tree = LexborHTMLParser(reply.text)
        yield address, tree
        for link in tree.css("[href], [src], [action]"):
            value = next(
                link.attributes[name] for name in ("href", "src", "action") if name in link.attributes
            )
            target = urlsplit(urljoin(f"{ADDRESS}{address}", value or ""))
            assert (target.scheme, target.netloc) == ("http", "127.0.0.1"), (address, link.html)
            kind = (re.sub(r"[0-9a-f]{16,}", "", target.path), *sorted(parse_qs(target.query)))
            page = f"{target.path}?{target.query}"
            if link.tag != "form" and page not in seen[kind] and len(seen[kind]) < 3:
                seen[kind].add(page)
                waiting.append(page)


def test_every_page_has_only_the_elements_of_the_templates_and_isolates_directions(
    hostile: Workspace, sign_in: Callable[[Path], TestClient]
) -> None:
    client = sign_in(hostile.out)
    elements = attributes_of_templates()
    rows = {"document": hostile.table("documents", "b"), "pair": hostile.table("pairs", "b")}
    starts = [f"/{kind}/b/{key}" for kind, frame in rows.items() for key in frame[f"{kind}_id"]]
    routes = [route for route in client.app.routes if isinstance(route, Route)]  # type: ignore[attr-defined]
    starts += [route.path for route in routes if "{" not in route.path and "GET" in (route.methods or ())]
    for address, tree in pages(client, ["/?list=all", *starts]):
        assert tree.root is not None
        for node in tree.root.traverse(include_text=True):
            tag = node.tag or ""
            if tag == "-text":
                text = node.text_content or ""
                assert "\u202e" not in text or is_isolated(node), (address, text)
            elif not tag.startswith("-"):
                assert {*node.attributes} <= elements.get(tag, set()), (
                    address,
                    node.tag,
                    node.attributes,
                )


def is_isolated(node: LexborNode | None) -> bool:
    """Whether a text cannot turn the direction of what stands around it."""
    while node is not None:
        if node.tag in _ISOLATING or "dir" in node.attributes:
            return True
        node = node.parent
    return False


@pytest.mark.parametrize("name", PATHS)
def test_no_address_leads_out_of_the_output_folder(
    hostile: Workspace, sign_in: Callable[[Path], TestClient], name: str
) -> None:
    client = sign_in(hostile.out)
    for route in client.app.routes:  # type: ignore[attr-defined]
        for filled in (
            re.sub(r"\{\w+(:\w+)?\}", name, route.path),
            re.sub(r"\{\w+(:\w+)?\}", name, route.path, count=1),
        ):
            reply = client.get(f"{filled.replace('{', '').replace('}', '')}?batch={name}&document={name}")
            assert SECRET not in reply.text
            assert reply.status_code < 500, (filled, reply.text)
