"""Any ``async def reply(messages, parameters)`` behind an OpenAI-compatible endpoint, with aiohttp.

``python -m memory_agent.serve forgetful --port 8101`` or ``... agent --port 8102``. Loopback only; Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from lic_pipeline.models.errors import CallError

_OURS = frozenset({"model", "messages"})


def application(name: str) -> web.Application:
    """The endpoint of one module of this package."""
    module = importlib.import_module(f"memory_agent.{name}")

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        parameters = {key: value for key, value in body.items() if key not in _OURS}
        try:
            said = await module.reply(body["messages"], parameters)
        except CallError as error:
            # Passed on with its status, so that the pipeline tells a rate limit from a wrong key.
            return web.json_response({"error": {"message": str(error)}}, status=error.status or 503)
        return web.json_response(said if isinstance(said, dict) else completion(said, body))

    app = web.Application(client_max_size=64 * 1024**2)
    app.router.add_post("/v1/chat/completions", answer)
    if hasattr(module, "aclose"):
        app.on_cleanup.append(lambda _: module.aclose())
    return app


def completion(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion document; words stand for tokens."""
    asked = sum(len(re.findall(r"\S+", json.dumps(message["content"]))) for message in body["messages"])
    return {
        "object": "chat.completion",
        "model": str(body.get("model")),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": asked, "completion_tokens": len(text.split())},
    }


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", choices=("forgetful", "agent"))
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()
    web.run_app(application(arguments.module), host="127.0.0.1", port=arguments.port, print=None)


if __name__ == "__main__":
    main()
