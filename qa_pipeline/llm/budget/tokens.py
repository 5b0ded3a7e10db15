"""How many tokens a text comes to, before anybody was asked: an estimate, and a bound."""

import json
import math
from functools import cache
from typing import Any

from qa_pipeline.llm.base import Request, json_schema
from qa_pipeline.records import ReplyModel
from qa_pipeline.text.lexicon.languages import LEXICONS

MOST_OUTPUT = 65_536
"""Tokens of the longest reply of the models in use, thoughts included, where the settings cap none."""
_AROUND = 64
"""Tokens that a provider may put around system instruction and prompt, such as those of turns."""
_TOKEN_BYTES = 3.0  # of a language that was not measured


def request_tokens(request: Request[Any]) -> int:
    """Estimate the tokens of what a request sends, without its schema.

    The bytes of a token are those of manuals and law texts of the language by o200k, less a tenth: the
    estimate leans upwards.
    """
    lexicon = LEXICONS.get(request.language)
    return math.ceil(_text_bytes(request) / (lexicon.token_bytes if lexicon else _TOKEN_BYTES))


def most_request_tokens(request: Request[Any]) -> int:
    """Return tokens that no request of this text and schema exceeds: a token is at least one byte.

    What it holds too much is given back with the reply.
    """
    return _text_bytes(request) + _schema_bytes(request.reply_model) + _AROUND  # type: ignore[arg-type]


def _text_bytes(request: Request[Any]) -> int:
    return len(request.system.encode("utf-8", "replace")) + len(request.prompt.encode("utf-8", "replace"))


@cache
def _schema_bytes(reply_model: type[ReplyModel]) -> int:
    # twice: providers write a schema their own way, with references put in place
    return 2 * len(json.dumps(json_schema(reply_model)).encode())
