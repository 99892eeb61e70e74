"""Secrets are found by environment name, by registration and by shape; prose is left alone."""

from __future__ import annotations

import json

import pytest

from lic_pipeline.models.redaction import MASK, Redactor, looks_like_credential

REDACTOR = Redactor({"OPENAI_API_KEY": "value-of-a-key", "MAX_TOKENS": "100000000", "SSH_KEY": "/home/me/.ssh/id"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my key is value-of-a-key.", f"my key is {MASK}."),
        ("sk-proj-abcd1234efgh5678ijkl", MASK),
        ("hf_abcdefghij0123456789", MASK),
        ('{"Authorization": "Bearer abc.def-123456789"}', f'{{"Authorization": "Bearer {MASK}"}}'),
        ("authorization: Basic dXNlcjpwYXNz", f"authorization: Basic {MASK}"),
        ("x-api-key=abcdef123456", f"x-api-key={MASK}"),
        ("sent Bearer abcdefgh12345678", f"sent Bearer {MASK}"),
        ('"a line\\nsk-proj-abcd1234efgh5678ijkl"', f'"a line\\n{MASK}"'),
        ('"caf\\u00e9 \\u00e9hf_abcdefghij0123456789"', f'"caf\\u00e9 \\u00e9{MASK}"'),
        ('"\\tBearer abcdefgh12345678"', f'"\\tBearer {MASK}"'),
    ],
)
def test_secrets_are_masked(text: str, expected: str) -> None:
    assert REDACTOR.redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "use sk-learn-compatible-estimators here",
        "a task-oriented-dialogue-system-2024 works",
        "the bearer of this letter",
        "authorization is needed",
        "100000000 and /home/me/.ssh/id",
        "https://example.org/a:b@c",
    ],
)
def test_prose_is_left_alone(text: str) -> None:
    assert REDACTOR.redact(text) == text


def test_json_text_stays_json_and_escaped_secrets_are_found() -> None:
    secret = 'quo"te\\é-secret'
    redactor = Redactor({"A_TOKEN": secret})
    document = {"headers": {"authorization": f"Bearer {secret}"}, "text": [secret]}
    cleaned = redactor.redact(json.dumps(document))
    assert json.loads(cleaned)["text"] == [MASK]
    assert "secret" not in cleaned


def test_messages_lose_url_passwords() -> None:
    assert REDACTOR.redact_message("postgresql://me:pw@host/db") == f"postgresql://me:{MASK}@host/db"


def test_registered_secrets_are_known_at_once() -> None:
    redactor = Redactor({})
    assert redactor.redact("late-registered") == "late-registered"
    redactor.register("late-registered")
    redactor.register("short")
    assert redactor.redact("late-registered short") == f"{MASK} short"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OPENAI_API_KEY", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("HF_TOKEN", True),
        ("DB_PASSWORD", True),
        ("TOKENIZERS_PARALLELISM", False),
        ("MAX_TOKENS", False),
        ("KEYBOARD", False),
    ],
)
def test_credential_names(name: str, expected: bool) -> None:
    assert looks_like_credential(name) is expected
