"""Reply models as JSON schemas in the subsets that providers read.

What belongs here: inlining references and leaving keywords out. What does not: which keywords a provider
lacks (their `requests.py`).
"""

from collections.abc import Callable, Collection
from typing import Any

from qa_pipeline.llm.base import json_schema
from qa_pipeline.records import ReplyModel

Node = dict[str, Any]


def inlined_schema(
    reply_model: type[ReplyModel],
    left_out: Collection[str],
    finish: Callable[[Node], Node] = lambda node: node,
) -> Node:
    """Return the schema of a reply model with its references put in place.

    Fields keep the model's order, so that reasoning is written before what it leads to.

    Args:
        reply_model: the model.
        left_out: keywords that the provider does not read; the reply is checked against the whole model in
            any case.
        finish: what is done to every object of the schema in the end.
    """
    definitions = json_schema(reply_model).get("$defs", {})

    def simplify(node: Any) -> Any:
        if isinstance(node, list):
            return [simplify(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            beside = {name: value for name, value in node.items() if name != "$ref"}
            return simplify(definitions[node["$ref"].rpartition("/")[2]] | beside)
        return finish({name: simplify(value) for name, value in node.items() if name not in left_out})

    simplified: Node = simplify(json_schema(reply_model))
    return simplified
