"""Swedish definition lists: "I denna lag avses med" and the terms below it, and the entries of a glossary.

What belongs here: finding such entries and asking for their meaning. What does not: sentences
(the other `swedish_*.py`).
"""

import re

from qa_pipeline.llm.extractive.candidates import Candidate
from qa_pipeline.llm.extractive.prose import Line, lines
from qa_pipeline.llm.extractive.swedish_statutes import Statute
from qa_pipeline.records import Passage

_OPENS = re.compile(r"(?:.{0,80} )?(?:avses|förstås|betyder)(?: i \w+ \w+)? med:?", re.IGNORECASE)
_GLOSSARY = re.compile(r"Ordlista|Definition|Begrepp|Termer")
_ENTRY = re.compile(r"(?P<s>[^\W\d_][\w ()-]{1,60}): (?P<a>(?!detsamma|i \d)\S.{14,})")
_TRAIL = re.compile(r"[,;]?(?: och| samt)?[,;.]?$")


def find_terms(passage: Passage, statute: Statute | None) -> list[Candidate]:
    """Ask for the meaning of every term a definition list defines."""
    opened = any(_GLOSSARY.search(heading) for heading in passage.section_path[1:])
    found: list[Candidate] = []
    for line in lines(passage.text):
        if _OPENS.fullmatch(line.text):
            opened = True
        elif line.kind in ("prose", "list_item") and opened:
            entry = _ENTRY.fullmatch(line.text)
            if entry:
                found.append(_meaning(entry, line, statute))
            elif line.kind == "prose":
                opened = False
    return found


def _meaning(entry: re.Match[str], line: Line, statute: Statute | None) -> Candidate:
    where = f" i {statute.name}" if statute else ""
    quote = _TRAIL.sub("", line.text)
    return Candidate(
        question=f"Vad avses med {entry['s']}{where}?",
        question_type="definition",
        answer=quote,
        quote=quote,
        start=line.start,
        end=line.start + len(quote),
        score=0.9,
    )
