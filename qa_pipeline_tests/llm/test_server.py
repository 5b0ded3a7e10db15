"""The loopback server takes what Google takes, and nothing else."""

import json
from typing import Any

import pytest

from qa_pipeline.llm.server import (
    GeminiServer,
    says,
)
from qa_pipeline_tests.llm.asking import ACCEPT


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"contents": []}, "no text"),
        ({"generationConfig": {"temperature": 0}}, "schema"),
        (
            {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {}}},
            "temperature",
        ),
    ],
)
def test_the_loopback_server_complains_about_a_request_google_would_not_take(
    changed: dict[str, Any], complaint: str
) -> None:
    body = {
        "contents": [{"parts": [{"text": "hej"}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": {},
            "temperature": 0,
        },
    }
    server = GeminiServer([says(ACCEPT)])
    path = "/v1/models/m:generateContent"
    play = server.reply(path, server.key, json.dumps(body | changed).encode())
    assert play.status == 400
    assert complaint in str(play.body)
    assert server.reply(path, server.key, json.dumps(body).encode()).status == 200
    assert server.reply(path, None, b"").status == 403
    assert server.reply("/v1/models/m:countTokens", server.key, b"").status == 404
