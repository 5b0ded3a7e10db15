"""Replies that make sense, made from nothing but the request, and what OpenAI refuses of a schema.

The same prompt always gets the same reply. A schema of no known role gets the smallest value that fits.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from qa_pipeline_tests.fake_server.responses import Asked

_PASSAGE = re.compile(r"<passage-(\d+)-(\w+)>\n(.*?)\n</passage-\1-\2>", re.DOTALL)
_DELIMITED = re.compile(r"<(text|question|answer|task|first|second)-(\w+)>\n(.*?)\n</\1-\2>", re.DOTALL)
_CLAIMS = re.compile(r"<claim-(\d+)-(\w+)>\n(.*?)\n</claim-\1-\2>", re.DOTALL)
_NUMBERED = re.compile(r"<sentence-(\d+)-(\w+)>\n(.*?)\n</sentence-\1-\2>", re.DOTALL)
_SENTENCE = re.compile(r"[^\s][^\n]*?(?:[.!?](?=\s|$)|$)", re.MULTILINE)
_QUOTED = re.compile(r"[^“]*“(.+)”", re.DOTALL)
_HOPS = re.compile(r"multi_hop|cross_document")
_BOTH = "” + “"
"""Between what is quoted of several passages in a question that needs each."""
_REFUSAL = re.compile(r'"none"[^\n"]*: (.+)$', re.MULTILINE)
"""What the prompt of an answer wants said where there is none."""
_NUMBER = re.compile(r"\d+")
_LONG_WORD = re.compile(r"\w{4,}")
_ACCEPTED_SHARE = 0.6


def sensible_text(asked: Asked) -> str:
    """Return the text of a reply that fits the request's schema and prompt."""
    schema = asked.schema
    named = schema.get("properties", {}) if schema else _quoted_names(asked)
    role = _role(schema, named)
    value = role(asked.prompt) if role else smallest(schema or {"type": "string"})
    return json.dumps(value, ensure_ascii=False)


def _role(schema: dict[str, Any] | None, named: Collection[str]) -> Callable[[str], dict[str, Any]] | None:
    """Return what makes the reply to a request with these fields."""
    if "quotes" in (named if not schema else json.dumps(schema)) and "questions" in named:
        return _pairs
    if "quote" in named and "question" in named:
        return _pair
    return next((role for name, role in _ROLES.items() if name in named), None)


def smallest(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """Return the smallest value that fits a schema; the first of what may be chosen from."""
    known = definitions if definitions is not None else schema.get("$defs", {})
    if "$ref" in schema:
        return smallest(known[schema["$ref"].rpartition("/")[2]], known)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return smallest(schema["anyOf"][0], known)
    kind = schema.get("type", "object").lower()  # Google's own schemas write OBJECT
    if kind == "object":
        wanted = schema.get("properties", {})
        return {name: smallest(wanted[name], known) for name in schema.get("required", wanted)}
    if kind == "array":
        return [smallest(schema["items"], known) for _ in range(int(schema.get("minItems", 0)))]
    simple = {"string": "text", "boolean": False, "null": None}
    return simple[kind] if kind in simple else schema.get("minimum", 0)


def _quoted_names(asked: Asked) -> set[str]:
    """Return the quoted names of the instruction, which tells what JSON is wanted where no schema does."""
    return set(re.findall(r'"(\w+)"', asked.system))


_ASKED = {"Skriv": "Vad är", "Schreib": "Was ist"}
"""How a question begins, by a word of the prompt in its language."""


def _questions(prompt: str) -> dict[str, Any]:
    passages, order = _passages(prompt), _PASSAGE.sub("", prompt)
    asked_for = _NUMBER.findall(order)
    asked = next((words for word, words in _ASKED.items() if word in order), "What is")
    sentences = [sentence for _, text in passages for sentence in _sentences(text)]
    questions = [f"{asked} “{sentence}”?" for sentence in dict.fromkeys(sentences)]
    limit, kind = int(asked_for[0]) if asked_for else 1, "fact_single"
    if hops := _HOPS.search(order):
        firsts = [found[0] for _, text in passages if (found := _sentences(text))]
        questions, kind = [f"{asked} “{_BOTH.join(firsts)}”?"], hops[0]
    return {"questions": [{"question": question, "question_type": kind} for question in questions[:limit]]}


def _pairs(prompt: str) -> dict[str, Any]:
    """Return questions with the sentences that they quote as their answers."""
    questions = _questions(prompt)["questions"]
    pairs = []
    for question in questions:
        quoted = _QUOTED.match(question["question"])
        quotes = quoted[1].split(_BOTH) if quoted else []
        pairs.append({"quotes": quotes, **question, "answer": " ".join(quotes), "coverage": "full"})
    return {"questions": pairs}


def _pair(prompt: str) -> dict[str, Any]:
    """Return one question with the sentence that it quotes as its answer."""
    pairs = _pairs(prompt)["questions"] or [{"quotes": [""], "question": "", "answer": ""}]
    return {"quote": pairs[0]["quotes"][0], "question": pairs[0]["question"], "answer": pairs[0]["answer"]}


def _answer(prompt: str) -> dict[str, Any]:
    question = _delimited(prompt)[-1]
    quoted = _QUOTED.match(question)
    wanted = (quoted[1] if quoted else question).split(_BOTH)
    least = _ACCEPTED_SHARE if len(wanted) > 1 else 0.0
    sentences = [(number, sentence) for number, text in _passages(prompt) for sentence in _sentences(text)]
    best = [max(sentences, key=lambda pair: _shared(one, pair[1]), default=(0, "")) for one in wanted]
    if any(_shared(one, sentence) <= least for one, (_, sentence) in zip(wanted, best, strict=True)):
        refusal = _REFUSAL.findall(prompt)[-1:] or ["No."]
        return {"coverage": "none", "answer": refusal[0], "used_chunks": [], "citations": []}
    citations = [{"passage": number, "quote": sentence} for number, sentence in best]
    answer = " ".join(sentence for _, sentence in best)
    used = sorted({number for number, _ in best})
    return {"coverage": "full", "answer": answer, "used_chunks": used, "citations": citations}


def _split(prompt: str) -> dict[str, Any]:
    """Return the parts of each sentence between its semicolons: each makes a statement."""
    statements = [
        {"sentence": int(number), "quote": part.strip(), "claim": " ".join(part.split())}
        for number, _, text in _NUMBERED.findall(prompt)
        for part in text.split(";")
        if part.strip()
    ]
    return {"claims": statements}


def _verify(prompt: str) -> dict[str, Any]:
    return {"verdicts": [_decide(prompt, claim, int(number)) for number, _, claim in _CLAIMS.findall(prompt)]}


def _decide(prompt: str, claim: str, number: int) -> dict[str, Any]:
    """Accept a claim most of whose words are in one passage, and quote the sentence with most of them."""
    sentences = [sentence for _, text in _passages(prompt) for sentence in _sentences(text)]
    quote = max(sentences, key=lambda one: _shared(claim, one), default="")
    share = max((_shared(claim, text) for _, text in _passages(prompt)), default=0.0)
    accepts = share >= _ACCEPTED_SHARE
    return {
        "claim": number,
        "reasoning": f"{share:.0%} of the claim's words are in one passage.",
        "quotes": [quote] if accepts else [],
        "decision": "accept" if accepts else "reject",
    }


def _judge(prompt: str) -> dict[str, Any]:
    """Score by words: those of the passages, one of the question, and no break within a sentence."""
    delimited = _delimited(prompt)[-2:]
    question, answer = delimited[0], delimited[-1]
    text = "\n".join(text for _, text in _passages(prompt))
    share = _shared(answer, text)
    asks, breaks_off = question.strip().endswith("?"), re.search(rf"{re.escape(answer)} +\w", text)
    is_related = set(_LONG_WORD.findall(answer.lower())) & set(_LONG_WORD.findall(question.lower()))
    return {
        "question_quality_reason": "It is a question." if asks else "It asks nothing.",
        "question_quality": 1.0 if asks else 0.0,
        "relevance_reason": f"Words that it shares with the question: {len(is_related)}.",
        "relevance": 1.0 if is_related else 0.2,
        "correctness_reason": f"{share:.0%} of the answer's words are in the passages.",
        "correctness": 1.0 if share == 1.0 else round(share / 2, 2),
        "completeness_reason": "It breaks off." if breaks_off else "It comes to an end.",
        "completeness": 0.0 if breaks_off else 1.0,
    }


_ROLES: dict[str, Callable[[str], dict[str, Any]]] = {
    "questions": _questions,
    "question": lambda prompt: {"question": None},
    "coverage": _answer,
    "can_answer": lambda prompt: {"reasoning": "", "can_answer": True, "confidence": 1.0},
    "answer": lambda prompt: {"answer": None},
    "claims": _split,
    "verdicts": _verify,
    "rationale": lambda prompt: {"rationale": "", "decision": "accept"},
    "decision": lambda prompt: {"reasoning": "", "decision": _decide(prompt, prompt, 1)["decision"]},
    "relevance": _judge,
}


def _passages(prompt: str) -> list[tuple[int, str]]:
    """Number and text of each passage; its title and section stand before the first blank line."""
    return [(int(number), body.partition("\n\n")[2]) for number, _, body in _PASSAGE.findall(prompt)]


def _delimited(prompt: str) -> list[str]:
    return [text for _, _, text in _DELIMITED.findall(_PASSAGE.sub("", prompt))] or [prompt]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without its headings, unless it has nothing else."""
    found = _SENTENCE.findall(text)
    return [one for one in found if one.endswith((".", "!", "?"))] or found


def _shared(text: str, other: str) -> float:
    """Share of the words of a text that the other has too."""
    words = set(re.findall(r"\w+", text.lower()))
    return len(words & set(re.findall(r"\w+", other.lower()))) / len(words) if words else 0.0


# https://platform.openai.com/docs/guides/structured-outputs
_STRICT_KEYWORDS = (
    "$defs $ref type title description enum const items minItems maxItems minimum maximum exclusiveMinimum "
    "exclusiveMaximum multipleOf pattern format anyOf properties additionalProperties required"
)
_STRICT = frozenset(_STRICT_KEYWORDS.split())


def strict_complaint(schema: Any) -> str | None:
    """Return what OpenAI would refuse of a strict schema; None if it accepts it."""
    if schema.get("type") != "object":
        return f'schema must be of type "object", got "{schema.get("type")}"'
    return next((found for node in _nodes(schema) if (found := _strict_node(node))), None)


def _strict_node(node: dict[str, Any]) -> str | None:
    unknown = [keyword for keyword in node if keyword not in _STRICT]
    if unknown:
        return f"'{unknown[0]}' is not permitted."
    if "$ref" in node and len(node) > 1:
        return f"$ref cannot have keywords {sorted(set(node) - {'$ref'})}."
    if node.get("type") != "object":
        return None
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    missing = sorted(set(node.get("properties", {})) - set(node.get("required", [])))
    return f"'required' must include every key in properties. Missing '{missing[0]}'." if missing else None


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Return every schema inside a schema; names of properties are not keywords."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), schema.get("items")]
    for keyword in ("anyOf", "oneOf", "prefixItems"):
        inner += schema.get(keyword, [])
    for one in inner:
        yield from _nodes(one)
