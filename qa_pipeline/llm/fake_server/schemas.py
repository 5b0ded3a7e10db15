"""Which JSON schemas the real servers take for a reply.

What belongs here: the rules of Gemini and of OpenAI's strict mode, each as the complaint about the first
breach. What does not: making a reply that fits a schema (`sensible.py`).
"""

from collections.abc import Iterator
from typing import Any

Path = tuple[str, ...]
# https://ai.google.dev/gemini-api/docs/structured-output
_GEMINI_KEYWORDS = (
    "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum "
    "maximum anyOf oneOf properties additionalProperties required propertyOrdering"
)
# https://platform.openai.com/docs/guides/structured-outputs
_STRICT_KEYWORDS = (
    "$defs $ref type title description enum const items minItems maxItems minimum maximum exclusiveMinimum "
    "exclusiveMaximum multipleOf pattern format anyOf properties additionalProperties required"
)
_GEMINI = frozenset(_GEMINI_KEYWORDS.split())
_STRICT = frozenset(_STRICT_KEYWORDS.split())


def gemini_complaint(schema: Any) -> str | None:
    """What Gemini would refuse of a schema; None if it takes it."""
    if not isinstance(schema, dict):
        return "the schema is not an object"
    for path, node in _nodes(schema):
        for keyword in node:
            if keyword not in _GEMINI:
                return f'schema keyword "{keyword}" is not supported (at {".".join(path) or "the top"})'
    return None


def strict_complaint(schema: Any) -> str | None:
    """What OpenAI would refuse of a strict schema; None if it takes it."""
    if not isinstance(schema, dict):
        return "schema must be a JSON object"
    if schema.get("type") != "object":
        return f'schema must be of type "object", got "{schema.get("type")}"'
    return next((found for path, node in _nodes(schema) if (found := _strict_node(path, node))), None)


def _strict_node(path: Path, node: dict[str, Any]) -> str | None:
    context = f"In context={path!r}"
    unknown = [keyword for keyword in node if keyword not in _STRICT]
    if unknown:
        return f"{context}, '{unknown[0]}' is not permitted."
    if "$ref" in node and len(node) > 1:
        return f"{context}, $ref cannot have keywords {sorted(set(node) - {'$ref'})}."
    if node.get("type") != "object":
        return None
    if node.get("additionalProperties") is not False:
        return f"{context}, 'additionalProperties' is required to be supplied and to be false."
    missing = sorted(set(node.get("properties", {})) - set(node.get("required", [])))
    if missing:
        return (
            f"{context}, 'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{missing[0]}'."
        )
    return None


def _nodes(schema: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every schema inside a schema; names of properties are not keywords."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword in ("properties", "$defs"):
        named = schema.get(keyword)
        for name, inner in named.items() if isinstance(named, dict) else ():
            yield from _nodes(inner, (*path, keyword, name))
    for keyword in ("anyOf", "oneOf", "prefixItems"):
        listed = schema.get(keyword)
        for number, inner in enumerate(listed if isinstance(listed, list) else ()):
            yield from _nodes(inner, (*path, keyword, str(number)))
    yield from _nodes(schema.get("items"), (*path, "items"))
