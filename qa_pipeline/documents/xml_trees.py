"""XML from files nobody vouches for: no entities, no DTD, no network, bounded depth.

What belongs here: opening XML as a tree or as a stream of elements. What does not: what the elements mean.

The library's own bounds stay on: 256 levels, ten million characters in one text, little growth by entities.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from qa_pipeline.documents.failure import DocumentFailure

if TYPE_CHECKING:
    from lxml.etree import XMLSyntaxError, _Element, _ElementTree


class Readable(Protocol):
    """What XML can be read from piece by piece."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


def parse_xml(content: bytes, *, declared_type: bool = False, comments: bool = False) -> "_Element":
    """The root of an XML document.

    Args:
        content: the document.
        declared_type: allow a document type declaration, as XHTML has; its entities stay unresolved.
        comments: keep comments, for who counts them.

    Raises:
        DocumentFailure: `damaged` or `nested_too_deep`.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=not comments, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error
    if not declared_type:
        _refuse_type(root.getroottree())
    return root


def stream_xml(source: Readable, names: Sequence[str]) -> Iterator["_Element"]:
    """Elements of the given names in the order in which they end; a consumer may clear what it has read.

    Raises:
        DocumentFailure: `damaged` or `nested_too_deep`.
    """
    from lxml import etree

    events = etree.iterparse(
        source,
        events=("end",),
        tag=names,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    first = True
    try:
        for _, element in events:
            if first:
                _refuse_type(element.getroottree())
                first = False
            yield element
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error


def root_name(source: Readable) -> str:
    """Name of the outermost element, without reading further.

    Raises:
        DocumentFailure: `damaged`.
    """
    from lxml import etree

    events = etree.iterparse(
        source,
        events=("start",),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    try:
        for _, element in events:
            return str(element.tag)
    except etree.XMLSyntaxError as error:
        raise _failure(error) from error
    raise DocumentFailure("damaged", "a part of the file is empty")


def _refuse_type(tree: "_ElementTree") -> None:
    """Formats made of XML parts forbid document types: nothing but an attack needs one there."""
    if tree.docinfo.internalDTD is not None:
        raise DocumentFailure("damaged", "a part of the file declares entities or a document type")


def _failure(error: "XMLSyntaxError") -> DocumentFailure:
    """The message of the library may hold text of the document; its place does not."""
    if "Excessive depth" in str(error.msg):
        return DocumentFailure("nested_too_deep", "elements are nested more than 256 levels deep")
    return DocumentFailure("damaged", f"the XML of a part breaks at line {error.lineno}")
