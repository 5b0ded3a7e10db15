"""Estimate the tokens of a request and give an upper bound, before it is sent."""

import json
import math
from functools import cache
from typing import Any

from qa_pipeline.llm.base import Request, json_schema
from qa_pipeline.records import ReplyModel
from qa_pipeline.text.lexicon.languages import LEXICONS

MOST_OUTPUT = 65_536
"""Maximum tokens of a reply, including thoughts, of the models in use, unless the settings cap it."""
_AROUND = 64
"""Tokens that a provider may add to system instruction and prompt, such as turn markers."""
_TOKEN_BYTES = 3.0  # for a language that was not measured


def request_tokens(request: Request[Any]) -> int:
    """Estimate the tokens that a request sends, without its schema.

    Bytes per token were measured with o200k on manuals and law texts of the language. They are reduced by a
    tenth, so the estimate is rather too high.
    """
    lexicon = LEXICONS.get(request.language)
    return math.ceil(_text_bytes(request) / (lexicon.token_bytes if lexicon else _TOKEN_BYTES))


def most_request_tokens(request: Request[Any]) -> int:
    """Return an upper bound of a request's tokens, since a token has at least one byte.

    The excess is returned after the reply.
    """
    return _text_bytes(request) + _schema_bytes(request.reply_model) + _AROUND  # type: ignore[arg-type]


def _text_bytes(request: Request[Any]) -> int:
    return len(request.system.encode("utf-8", "replace")) + len(request.prompt.encode("utf-8", "replace"))


@cache
def _schema_bytes(reply_model: type[ReplyModel]) -> int:
    # doubled, because providers rewrite a schema and resolve its references
    return 2 * len(json.dumps(json_schema(reply_model)).encode())
