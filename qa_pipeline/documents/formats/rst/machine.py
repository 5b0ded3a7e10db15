"""docutils' reStructuredText parser, kept from harm and made to keep text it would complain about.

What belongs here: how docutils is set up, and the few steps of its parser that are replaced. What does not:
what single directives and roles mean (`directives`, `roles`), and the tree it returns (`blocks`).

docutils looks directives and roles up in tables of the process, which a document may change, and turns what
it finds nowhere into an error message in the text. Neither happens here: states and inline parser ask this
package instead. No file is read or written, nothing is printed, and nothing exits.
"""

import re
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from typing import Any

from docutils import frontend, nodes, statemachine, utils
from docutils.parsers.rst import Parser, languages, states, tableparser

from qa_pipeline.corpus.files import DocumentFailure
from qa_pipeline.documents.formats.rst.directives import role_node, run_directive

_SAFE = {
    "debug": False,
    "file_insertion_enabled": False,
    "halt_level": 6,
    "line_length_limit": 1_000_000_000,
    "pep_references": False,
    "raw_enabled": False,
    "record_dependencies": None,
    "report_level": 6,
    "rfc_references": False,
    "smart_quotes": False,
    "syntax_highlight": "none",
    "traceback": True,
    "warning_stream": False,
}
_DEEPEST = 58
_LONGEST_INLINE = 3_000
_SEGMENT_LINES = 400
_TABLE_BORDER = re.compile(r"=+(?: +=+)+ *$")
_TABLE_LINE = re.compile(r"[-=][ =-]*$")
_DIRECTIVE = re.compile(rf"\.\. +({states.Inliner.simplename}) ?::(?: +|$)")


def read_tree(text: str, *, has_headers: bool) -> nodes.document:
    """Parse a file into docutils' tree.

    Args:
        text: the file.
        has_headers: it begins with lines such as `Title: ...`, as an e-mail does.

    Raises:
        DocumentFailure: `nested_too_deep`.
    """
    document = utils.new_document("document", copy(_settings()))
    lines = statemachine.string2lines(text, tab_width=8, convert_whitespace=True)
    machine = _Machine(state_classes=_STATES, initial_state="RFC2822Body" if has_headers else "Body")
    try:
        machine.read(lines, document)
    except RecursionError as error:
        raise _too_deep() from error
    return document


@cache
def _settings() -> Any:
    """Settings of the parser, which docutils reads from a command line's definition: slow to make."""
    settings = frontend.get_default_settings(Parser)
    for name, value in _SAFE.items():
        setattr(settings, name, value)
    return settings


def segments(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Parts of a file that can be read one after another with the same result, and where each begins.

    At each list docutils copies all lines that follow, so the time for one long file grows with its square.
    A line without indentation below a blank one ends everything but a simple table, whose rows may stand
    apart, and a literal block announced right above. A border between blank lines may begin a table as well
    as end one, and one right below text or another border may be none, so nothing is parted below it.
    """
    start, last, last_line = 0, "", ""
    in_table, tracked = False, True
    for number, line in enumerate(lines):
        if number - start >= _SEGMENT_LINES and _begins_anew(lines, number, last) and not in_table:
            yield start, lines[start:number]
            start = number
        if tracked and _TABLE_BORDER.match(line):
            below = "".join(lines[number + 1 : number + 2])
            doubled = _TABLE_BORDER.match(last_line) is not None
            tracked = (in_table or not last_line) and not doubled
            in_table = doubled or not (in_table and last_line and not below.strip())
        last, last_line = line or last, line
    yield start, lines[start:]


def _begins_anew(lines: list[str], number: int, last: str) -> bool:
    line = lines[number]
    return bool(line) and line[0] != " " and not lines[number - 1] and not last.endswith("::")


def _too_deep() -> DocumentFailure:
    return DocumentFailure("nested_too_deep", f"blocks are nested more than {_DEEPEST} levels deep")


class _States(dict[str, Any]):
    """The states of a machine by name, each made when it is asked for.

    docutils makes all of them for every list and every item in it, of which a machine meets one or two; that
    took a quarter of the time.
    """

    def __init__(self, machine: Any, classes: Iterable[type[states.RSTState]]) -> None:
        super().__init__()
        self.machine = machine
        self.classes = {state.__name__: state for state in classes}

    def __missing__(self, name: str) -> Any:
        state = self[name] = self.classes[name](self.machine, self.machine.debug)
        if self.machine.memo is not None:  # it runs already
            state.runtime_init()
        return state


class _Nested(states.NestedStateMachine):
    """A machine for the content of a block."""

    memo: Any = None

    def add_states(self, state_classes: Any) -> None:
        """Have the states made when they are needed."""
        self.states = _States(self, state_classes)


class _Machine(states.RSTStateMachine):
    """The outermost state machine, which reads a long file in segments."""

    def read(self, lines: list[str], document: nodes.document) -> None:
        """Parse `lines` into `document`, as `RSTStateMachine.run` does for all of them at once."""
        self.language = languages.get_language("en", document.reporter)
        self.match_titles = True
        inliner = _Inliner()
        inliner.init_customizations(document.settings)
        self.memo = states.Struct(  # type: ignore[attr-defined]
            document=document,
            reporter=document.reporter,
            language=self.language,
            title_styles=[],
            section_level=0,
            section_bubble_up_kludge=False,
            inliner=inliner,
            depth=0,
        )
        self.document = document
        self.attach_observer(document.note_source)  # type: ignore[arg-type]
        self.reporter = document.reporter
        self.node = document
        for start, part in segments(lines):
            statemachine.StateMachineWS.run(self, part, start, input_source=document["source"])
            self.initial_state = "Body"


class _Inliner(states.Inliner):
    """Inline markup, with every role understood and addresses left as the text they are."""

    def __init__(self) -> None:
        super().__init__()
        self.raw_roles: set[str] = set()

    def init_customizations(self, settings: Any) -> None:
        """Build the patterns, which docutils does from the attributes of the very class."""
        vars(self).update(vars(_plain_inliner()))

    def parse(self, text: str, lineno: int, memo: Any, parent: Any) -> Any:
        """Parse a piece of text; the time grows with its square, so a very long one is parsed in parts."""
        found: list[nodes.Node] = []
        for part in _parts(text):
            found += super().parse(part, lineno, memo, parent)[0]
        return found, []

    def interpreted(self, rawsource: str, text: str, role: str, lineno: int) -> Any:
        """Interpreted text, whose role need not be known."""
        return [role_node(role, utils.unescape(text), self.raw_roles)], []

    def problematic(self, text: str, rawsource: str, message: Any) -> Any:
        """A mark without its partner, which is the text it is."""
        return nodes.inline(rawsource, nodes.unescape(text))

    def implicit_inline(self, text: str, lineno: int) -> Any:
        """Text between markup; a web address in it reads the same with or without being a link."""
        return [nodes.Text(text)] if text else []


@cache
def _plain_inliner() -> states.Inliner:
    inliner = states.Inliner()
    inliner.init_customizations(_settings())
    return inliner


def _parts(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > _LONGEST_INLINE:
        stop = text.rfind(" ", start, start + _LONGEST_INLINE) + 1
        stop = max(stop, text.rfind("\n", start, start + _LONGEST_INLINE) + 1)
        stop = stop if stop > start else start + _LONGEST_INLINE
        yield text[start:stop]
        start = stop
    yield text[start:]


class _State(states.RSTState):
    """Any state; counts how deep blocks are nested, and hands these classes on to nested machines."""

    nested_sm = _Nested
    nested_sm_cache: list[Any] = []  # noqa: RUF012 - docutils looks it up here; apart from its own

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}

    def nested_parse(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the content of a block."""
        self._descend()
        try:
            return super().nested_parse(*args, **kwargs)
        finally:
            self.memo.depth -= 1

    def nested_list_parse(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the items of a list, or explicit markup that follows explicit markup."""
        self._descend()
        try:
            return super().nested_list_parse(*args, **kwargs)
        finally:
            self.memo.depth -= 1

    def _descend(self) -> None:
        if self.memo.depth >= _DEEPEST:
            raise _too_deep()
        self.memo.depth += 1


class _SimpleTables(tableparser.SimpleTableParser):
    """The parser of simple tables, which drops lines above the first row that has text in its first column.

    Tables in which all columns have names but the first begin so. An escape in the first column keeps them.
    """

    def setup(self, block: Any) -> None:
        """Take in the lines of a table."""
        super().setup(block)
        width = len(self.block[0].split(" ", 1)[0])
        below_border = False
        for number, line in enumerate(self.block):
            if _TABLE_LINE.match(line):
                below_border = True
            elif line.strip():
                if below_border and not line[:width].strip():
                    self.block[number] = f"\\{line[1:]}"
                below_border = False


class _Body(_State, states.Body):
    """States that meet blocks; their directives are run by this package."""

    def explicit_construct(self, match: Any) -> Any:
        """A construct behind two dots: a directive, which docutils would look up itself, or another."""
        if found := _DIRECTIVE.match(match.string):
            return self.directive(found)
        for method, pattern in self.explicit.constructs:
            if construct := pattern.match(match.string):
                return self._construct(method, construct)
        return self.comment(match)  # type: ignore[no-untyped-call]

    def _construct(self, method: Any, match: Any) -> Any:
        """A construct; of a malformed one docutils keeps nothing but a complaint, here its lines go along."""
        machine: Any = self.state_machine
        first = machine.line_offset
        try:
            return method(self, match)
        except states.MarkupError:
            text = "\n".join(machine.input_lines[first : machine.line_offset + 1])
            complaint = nodes.system_message("", nodes.literal_block(text, text))
            return [complaint], machine.is_next_line_blank()

    def table_top(self, match: Any, context: Any, next_state: Any, isolate: Any, parser: Any) -> Any:
        """A table of any kind, where the state allows one."""
        parser = _SimpleTables if parser is tableparser.SimpleTableParser else parser
        return super().table_top(match, context, next_state, isolate, parser)  # type: ignore[no-untyped-call]

    def directive(self, match: Any, **option_presets: Any) -> Any:
        """Any directive, known or not; `option_presets` say what an image in a substitution stands for."""
        machine: Any = self.state_machine
        line = machine.abs_line_number()
        block, _, offset, blank_finish = machine.get_first_known_indented(match.end(), strip_top=False)
        found = run_directive(self, match.group(1), block, offset, line)
        return found, blank_finish or machine.is_next_line_blank()


def _lenient(state: type[states.RSTState]) -> type[states.RSTState]:
    """The class of a state with the changes above; docutils knows states by the names of their classes."""
    changes = _Body if issubclass(state, states.Body) else _State
    return type(state.__name__, (changes, state), {})


_STATES = tuple(_lenient(state) for state in states.state_classes)
