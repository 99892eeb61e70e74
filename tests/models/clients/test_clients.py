"""Clients against a misbehaving server: every odd response is read, every failure is classified."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
from fault_server import FaultServer

from lic_pipeline.errors import ConfigError
from lic_pipeline.models import errors
from lic_pipeline.models.clients import ModelClient, open_client
from lic_pipeline.models.clients.chat import EMPTY, wire_messages
from lic_pipeline.models.clients.reasoning import split_reasoning
from lic_pipeline.models.clients.replies import reply_of, usage_of
from lic_pipeline.models.registry import ChatStyle, ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Message, Reply, ToolCall, Usage

REQUEST = ModelRequest(
    "local/fake",
    (Message(role="system", content="Be brief."), Message(role="user", content="What is 3 plus 4?")),
    {"max_tokens": 9, "temperature": 0.5},
)
TEXT = "The answer is 7."


def ask(entry: ModelEntry, request: ModelRequest = REQUEST, times: int = 1) -> Any:
    """What each of ``times`` attempts brings: a reply or the error."""

    async def run() -> list[Any]:
        client: ModelClient = await open_client(entry, 2)
        try:
            return [await one(client) for _ in range(times)]
        finally:
            await client.close()

    async def one(client: ModelClient) -> Any:
        try:
            return await client.complete(request)
        except errors.CallError as error:
            return error

    results = asyncio.run(run())
    return results[0] if times == 1 else results


ODD = {
    "ok": {},
    "empty_choices": {"text": "", "finish_reason": "other", "flags": ("no_choices",)},
    "null_choices": {"text": "", "finish_reason": "other", "flags": ("no_choices",)},
    "null_message": {"text": ""},
    "null_content": {"text": ""},
    "parts": {"reasoning": "hm"},
    "tool_calls": {
        "text": "",
        "finish_reason": "tool_calls",
        "tool_calls": (ToolCall(name="add", arguments='{"a": 1}'), ToolCall(name="sub", arguments='{"b": 2}')),
    },
    "no_usage": {"usage": Usage(), "flags": ("no_usage",)},
    "null_details": {},
    "details": {"usage": Usage(prompt=7, completion=4, reasoning=3, cached=2)},
    "length": {"finish_reason": "length"},
    "content_filter": {"finish_reason": "content_filter"},
    "null_finish": {"finish_reason": "other"},
    "think": {"reasoning": "secret plan 999"},
    "think_open": {"text": "", "reasoning": f"secret plan 999 {TEXT}", "flags": ("truncated_reasoning",)},
    "reasoning_field": {"reasoning": "secret plan 999"},
    "surrogate": {"text": f"{TEXT} \ufffd", "flags": ("invalid_unicode",)},
    "refusal_field": {"text": "I cannot help with that.", "flags": ("refusal_field",)},
}

FAILURES = {
    "429": (errors.RateLimitError, 429, None),
    "429_after": (errors.RateLimitError, 429, 2.0),
    "429_date": (errors.RateLimitError, 429, 2.0),
    "429_quota": (errors.AccessError, 429, None),
    "500": (errors.TransientError, 500, None),
    "502": (errors.TransientError, 502, None),
    "503_html": (errors.TransientError, 503, None),
    "529": (errors.TransientError, 529, None),
    "reset": (errors.TransientError, None, None),
    "cut": (errors.TransientError, None, None),
    "html": (errors.TransientError, 200, None),
    "error200": (errors.TransientError, 503, None),
    "400": (errors.PermanentError, 400, None),
    "400_context": (errors.ContextOverflowError, 400, None),
    "500_context": (errors.ContextOverflowError, 500, None),
    "400_filter": (errors.ContentFilteredError, 400, None),
    "401": (errors.AccessError, 401, None),
    "403": (errors.AccessError, 403, None),
    "404": (errors.AccessError, 404, None),
}


def test_every_odd_response_is_one_reply(serve: Any, entry_for: Any) -> None:
    server = serve(list(ODD), answer=lambda body: TEXT)
    replies = ask(entry_for(server), times=len(ODD))
    for (kind, changes), reply in zip(ODD.items(), replies, strict=True):
        usual = Reply(text=TEXT, model_returned="fake", usage=Usage(prompt=7, completion=4))
        assert reply == usual.model_copy(update=changes), kind
    assert server.answered == len(ODD)


def test_every_failure_is_classified_in_one_attempt(serve: Any, entry_for: Any) -> None:
    server = serve(list(FAILURES), retry_after_s=2.0)
    found = ask(entry_for(server), times=len(FAILURES))
    for (kind, (error_class, status, wait)), error in zip(FAILURES.items(), found, strict=True):
        assert type(error) is error_class, kind
        assert error.status == status, kind
        assert error.retry_after == (None if wait is None else pytest.approx(wait, abs=1.0)), kind
        assert "<" not in str(error), kind
    assert server.requests == len(FAILURES)


def test_a_server_that_is_not_there_is_transient() -> None:
    entry = ModelEntry(alias="gone", id="local/gone", base_url="http://127.0.0.1:9/v1")
    assert type(ask(entry)) is errors.TransientError


def test_parameters_and_messages_are_sent_as_they_are(serve: Any, entry_for: Any) -> None:
    server = serve()
    ask(entry_for(server, id="local/org/model-7"))
    assert server.bodies == [
        {
            "model": "org/model-7",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What is 3 plus 4?"},
            ],
            "max_tokens": 9,
            "temperature": 0.5,
        }
    ]
    assert server.paths == ["/v1/chat/completions"]


def test_the_usual_key_does_not_travel_to_another_host(
    serve: Any, entry_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    monkeypatch.setenv("OWN_KEY", "own-canary-0123456789")
    server = serve()
    ask(entry_for(server, id="openai/fake"))
    ask(entry_for(server, id="openai/fake", key_variable="OWN_KEY"))
    assert set(server.keys) == {"Bearer none", "Bearer own-canary-0123456789"}


def test_a_request_says_nothing_of_the_machine_it_comes_from(serve: Any, entry_for: Any) -> None:
    server = serve()
    ask(entry_for(server))
    assert {"authorization", "content-type"} <= server.headers
    assert not [name for name in server.headers if name.startswith("x-stainless")]


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_path_follows_base_url_whatever_its_last_slash(serve: Any, entry_for: Any, path: str) -> None:
    server = serve()
    ask(entry_for(server, base_url=server.url.removesuffix("/v1") + path))
    assert server.paths == [f"{path.rstrip('/')}/chat/completions"]


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        ask(ModelEntry(alias="gpt", id="openai/gpt-4o-mini"))


@pytest.mark.parametrize(
    ("text", "answer", "reasoning", "truncated"),
    [
        ("plain", "plain", "", False),
        ("a < b and [c]", "a < b and [c]", "", False),
        ("<think>why</think>\n\n42", "42", "why", False),
        ("<THINK>why</THINK>42", "42", "why", False),
        ("why</think>\n42", "42", "why", False),
        ("<think>a<think>b</think>c</think>42", "42", "a\n\nb\n\nc", False),
        ("<think>never", "", "never", True),
        ("Well.\n<think>never 42", "Well.", "never 42", True),
        ("[THINK]why[/THINK]42", "42", "why", False),
        ("<reasoning>why</reasoning>42", "42", "why", False),
        ("The tag <analysis> is yours.", "The tag <analysis> is yours.", "", False),
        ("<think></think>42", "42", "", False),
        ("", "", "", False),
    ],
)
def test_reasoning_is_not_part_of_the_answer(text: str, answer: str, reasoning: str, truncated: bool) -> None:
    assert split_reasoning(text) == (answer, reasoning, truncated)


MESSAGES = (
    Message(role="system", content="S"),
    Message(role="user", content="a"),
    Message(role="assistant", content=""),
    Message(role="user", content="b"),
    Message(role="user", content="c"),
)


@pytest.mark.parametrize(
    ("style", "wire"),
    [
        ({}, [("system", "S"), ("user", "a"), ("assistant", ""), ("user", "b"), ("user", "c")]),
        ({"system": "developer"}, [("developer", "S"), ("user", "a"), ("assistant", ""), ("user", "b"), ("user", "c")]),
        ({"system": "merge"}, [("user", "S\n\na"), ("assistant", ""), ("user", "b"), ("user", "c")]),
        ({"alternate": "strict"}, [("system", "S"), ("user", "a"), ("assistant", EMPTY), ("user", "b\n\nc")]),
        ({"system": "merge", "alternate": "strict"}, [("user", "S\n\na"), ("assistant", EMPTY), ("user", "b\n\nc")]),
    ],
)
def test_messages_are_shaped_as_the_entry_says(style: dict[str, Any], wire: list[tuple[str, str]]) -> None:
    shaped = wire_messages(MESSAGES, ChatStyle.model_validate(style))
    assert [(message["role"], message["content"]) for message in shaped] == wire


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": "text"}]},
        {"choices": [{"text": "old style"}]},
        {"choices": [{"message": {"content": {"text": "x"}}}]},
        {"choices": [{"message": {"content": [None, 3, {"type": "image"}]}}]},
        {"choices": [{"message": {"content": "x", "tool_calls": [None, {"function": None}, {"function": {}}]}}]},
        {"choices": [{"message": {"content": "x"}, "finish_reason": 7}], "usage": [1], "model": 5},
        {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "3", "completion_tokens": -1}},
        {"choices": [{"message": {"content": "x", "reasoning_details": [{"text": "why"}], "reasoning": None}}]},
    ],
)
def test_no_document_crashes(document: dict[str, Any]) -> None:
    reply = reply_of(document)
    assert Reply.model_validate_json(reply.model_dump_json()) == reply


def test_usage_of_other_dialects() -> None:
    assert usage_of({"input_tokens": 3.0, "output_tokens": 4}) == Usage(prompt=3, completion=4)
    assert usage_of({"prompt_tokens": True, "completion_tokens": None}) == Usage()
    assert usage_of({"prompt_tokens": 5, "completion_tokens": 0, "prompt_cache_hit_tokens": 2}) == Usage(
        prompt=5, completion=0, cached=2
    )


@pytest.fixture
def own_module(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(**members: Any) -> None:
        module = types.ModuleType("own_system")
        for name, member in members.items():
            setattr(module, name, member)
        monkeypatch.setitem(sys.modules, "own_system", module)

    return install


def test_a_python_function_is_a_model(own_module: Any) -> None:
    seen: list[Any] = []

    async def text(messages: list[dict[str, str]]) -> str:
        seen.append(messages)
        return "<think>why</think>7"

    async def document(messages: Any, parameters: Any) -> dict[str, Any]:
        seen.append(parameters)
        return {"content": "7", "usage": {"prompt_tokens": 1, "completion_tokens": 2}, "cost_usd": 0.5}

    async def refuses(messages: Any) -> str:
        raise errors.RateLimitError("slow down", retry_after=3)

    async def breaks(messages: Any) -> str:
        raise KeyError("bug")

    async def unreachable(messages: Any) -> str:
        raise ConnectionResetError

    async def wrong(messages: Any) -> int:
        return 7

    own_module(text=text, document=document, refuses=refuses, breaks=breaks, unreachable=unreachable, wrong=wrong)
    entries = {name: ModelEntry(alias=name, id=f"python:own_system.{name}") for name in
               ("text", "document", "refuses", "breaks", "unreachable", "wrong")}  # fmt: skip
    assert ask(entries["text"]).text == "7"
    assert ask(entries["text"]).reasoning == "why"
    reply = ask(entries["document"])
    assert (reply.text, reply.cost_usd, reply.usage.completion) == ("7", 0.5, 2)
    assert seen[0][1] == {"role": "user", "content": "What is 3 plus 4?"}
    assert seen[-1] == {"max_tokens": 9, "temperature": 0.5}
    assert type(ask(entries["refuses"])) is errors.RateLimitError
    assert type(ask(entries["breaks"])) is errors.PermanentError
    assert type(ask(entries["unreachable"])) is errors.TransientError
    assert "return a string" in str(ask(entries["wrong"]))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("python:no_such_module.f", "cannot be imported"),
        ("python:own_system.g", "no function g"),
        ("python:own_system.plain", "must be async"),
        ("python:f", "module.function"),
    ],
)
def test_a_python_path_that_leads_nowhere(own_module: Any, path: str, message: str) -> None:
    own_module(plain=lambda messages: "7")
    with pytest.raises(ConfigError, match=message):
        ask(ModelEntry(alias="own", id=path))


def test_client_libraries_are_imported_only_when_used() -> None:
    program = (
        "import sys, lic_pipeline.simulation.engine.engine, lic_pipeline.models.calling.model_access; "
        "import lic_pipeline.definitions; "
        "print(sorted({'openai', 'litellm', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


NO_NETWORK = """
import asyncio, os, socket, sys
touched = []
def audit(event, arguments):
    if event in ("socket.getaddrinfo", "socket.connect"):
        touched.append(str(arguments[-1] if event == "socket.connect" else arguments[0]))
sys.addaudithook(audit)
from lic_pipeline.models.clients import open_client
from lic_pipeline.models.errors import CallError
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Message
entry = ModelEntry(alias="x", id="deepseek/deepseek-chat", patience={"attempt_s": 5})
request = ModelRequest(entry.id, (Message(role="user", content="What is 3 plus 4?"),), {"max_tokens": 5})
async def main():
    client = await open_client(entry, 2)
    assert not touched, touched
    for _ in range(int(sys.argv[1])):
        try:
            reply = await client.complete(request)
            print("reply", reply.text.replace(chr(10), " "), reply.usage.prompt, reply.cost_usd is not None)
        except CallError as error:
            print(type(error).__name__, error.status, error.retry_after)
            assert "canary" not in str(error)
    await client.close()
asyncio.run(main())
print([place for place in touched if "127.0.0.1" not in place])
"""


def test_litellm_speaks_for_other_providers_and_to_nobody_else(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ["ok", "429_after", "500", "401", "400_context", "400", "reset", "null_content"]
    server: FaultServer = serve(kinds, answer=lambda body: TEXT, retry_after_s=2)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-canary-0123456789abcdef")
    monkeypatch.setenv("DEEPSEEK_API_BASE", server.url)
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, str(len(kinds))], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.strip().splitlines()
    assert lines[0] == f"reply {TEXT} 5 True"
    assert lines[1] == "RateLimitError 429 2.0"
    assert [line.split()[0] for line in lines[2:7]] == [
        "TransientError", "AccessError", "ContextOverflowError", "PermanentError", "TransientError",
    ]  # fmt: skip
    assert lines[7].startswith("reply")
    assert lines[-1] == "[]"
    assert server.requests == len(kinds)
    assert "canary" not in done.stdout + done.stderr
