"""A chapter of an EPUB to blocks, by way of the reader of HTML pages.

What belongs here: XHTML to plain HTML, and what in a chapter is no text of the book. What does not: what the
elements that stay mean (`html`).

A chapter is not a page of a site, so all that the reader of pages drops as furniture is renamed here, and
what is no text of the book is taken out and counted.
"""

import re
from typing import TYPE_CHECKING

from qa_pipeline.documents.decoding import decode
from qa_pipeline.documents.failure import DocumentFailure
from qa_pipeline.documents.html.elements import ASIDES, HEADINGS
from qa_pipeline.documents.html.parser import read_fragment
from qa_pipeline.documents.omissions import Omissions, visible
from qa_pipeline.documents.xml_trees import parse_xml
from qa_pipeline.records import Block

if TYPE_CHECKING:
    from lxml.etree import _Element

_TYPE = "{http://www.idpf.org/2007/ops}type"
_DROPPED = {
    "script": "script",
    "style": "script",
    "nav": "navigation",
    "img": "image",
    "image": "image",
    "svg": "image",
    "picture": "image",
    "audio": "embedded_object",
    "video": "embedded_object",
    "iframe": "embedded_object",
    "object": "embedded_object",
    "embed": "embedded_object",
    "canvas": "embedded_object",
    "map": "embedded_object",
    "annotation": "annotation",
    "annotation-xml": "annotation",
    "button": "form_control",
    "select": "form_control",
    "textarea": "form_control",
    "input": "form_control",
    "template": "hidden_text",
}
_IN_HEAD = {"title": "metadata", "style": "script", "script": "script"}
_DROPPED_ROLES = {
    "pagebreak": "page_number",
    "doc-pagebreak": "page_number",
    "noteref": "note_mark",
    "doc-noteref": "note_mark",
    "backlink": "note_mark",
    "doc-backlink": "note_mark",
    "toc": "navigation",
    "doc-toc": "navigation",
    "page-list": "navigation",
    "landmarks": "navigation",
}
_RENAMED = {**dict.fromkeys(("aside", "header", "footer", "dialog", "noscript"), "div"), "menu": "ul"}
_EMPTY = re.compile(r"<(?P<name>[a-zA-Z][\w:-]*)(?P<rest>(?:\s[^<>]*)?)/>")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905


def read_chapter(content: bytes, omissions: Omissions) -> list[Block]:
    """Blocks of a chapter.

    Raises:
        DocumentFailure: its bytes cannot be decoded, or elements are nested too deep.
    """
    from lxml import etree

    root = _tree(content)
    body = next((element for element in root.iter() if _local(element) == "body"), root)
    _count_unseen(root, omissions)
    _clean(body, omissions)
    markup = etree.tostring(body, encoding="unicode", method="html", with_tail=False)
    return read_fragment(markup, omissions)


def is_list_of_links(content: bytes) -> bool:
    """Whether most of the text below the headings of a page is links, as in a table of contents."""
    root = _tree(content)
    counts = {"a": 0, "body": 0}
    for element in root.iter():
        name = _local(element)
        length = visible("".join(map(str, element.itertext()))) if name in counts or name in HEADINGS else 0
        counts["a" if name == "a" else "body"] += -length if name in HEADINGS else length
    return 2 * counts["a"] >= counts["body"]


def _count_unseen(root: "_Element", omissions: Omissions) -> None:
    """Count and take out comments, and count what the head of a page holds."""
    from lxml import etree

    for comment in root.iter(etree.Comment):
        omissions.add("comment", comment.text or "")
    etree.strip_elements(root, etree.Comment, with_tail=False)
    for head in root:
        if _local(head) == "head":
            for element in head:
                what, text = _IN_HEAD.get(_local(element)), "".join(map(str, element.itertext()))
                if what and text.strip():
                    omissions.add(what, text)


def _tree(content: bytes) -> "_Element":
    """XHTML as it should be, else what a reader of books that forgives makes of it."""
    from lxml import etree

    try:
        return parse_xml(content, declared_type=True, comments=True)
    except DocumentFailure as failure:
        if failure.reason == "nested_too_deep":
            raise
    markup = _EMPTY.sub(_with_end_tag, decode(content, declared=True))
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_pis=True)
    try:
        root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise DocumentFailure("damaged", "a chapter is neither XHTML nor HTML") from error
    if root is None:
        raise DocumentFailure("damaged", "a chapter holds nothing")
    return root


def _with_end_tag(tag: "re.Match[str]") -> str:
    """An empty element of XHTML in a form that HTML does not take for a start."""
    name, rest = tag["name"], tag["rest"]
    return tag[0] if name.lower() in _VOID else f"<{name}{rest}></{name}>"


def _clean(body: "_Element", omissions: Omissions) -> None:
    pending = [body]
    while pending:
        element = pending.pop()
        for child in list(element):
            if not isinstance(child.tag, str):
                continue  # a reference to an entity of HTML, which the reader of pages knows
            what = _left_out_as(child)
            if what is None:
                pending.append(child)
            else:
                omissions.add(what, " ".join([child.get("alt", ""), *map(str, child.itertext())]))
                _empty(child)
        _plain(element)


def _left_out_as(element: "_Element") -> str | None:
    if element.get("hidden") is not None:
        return "hidden_text"
    roles = f"{element.get(_TYPE, '')} {element.get('epub:type', '')} {element.get('role', '')}".split()
    by_role = next((_DROPPED_ROLES[role] for role in roles if role in _DROPPED_ROLES), None)
    return by_role or _DROPPED.get(_local(element))


def _empty(element: "_Element") -> None:
    """Take out what stands in an element, but not the text that follows it."""
    del element[:]
    element.attrib.clear()
    element.text = None
    element.tag = "span"


def _plain(element: "_Element") -> None:
    """An element without namespace, and without what makes a reader of pages take it for furniture."""
    name = _local(element)
    if name in _RENAMED or element.tag.startswith("{"):
        element.tag = _RENAMED.get(name, name)
    asides = ASIDES.intersection(element.get("class", "").lower().split())
    reach = {name: element.get(name, "") for name in ("colspan", "rowspan")}
    element.attrib.clear()  # their names may hold characters that nothing can be asked for by
    for attribute, value in reach.items():
        if value.isascii() and value.isdecimal():
            element.set(attribute, value)
    if asides:
        element.set("class", " ".join(sorted(asides)))


def _local(element: "_Element") -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""
