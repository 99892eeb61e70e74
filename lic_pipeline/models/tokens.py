"""Token counts without a tokenizer: three characters a token, on the high side for English, code and SQL.

English prose has about four characters a token, code and JSON about three; scripts other than Latin have fewer and are
under-estimated. Used where being wrong is cheap: to leave out what cannot fit a window, to pace tokens a minute, and to
count a budget when the provider reports no usage.
"""

from __future__ import annotations

from collections.abc import Iterable

from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Reply, Usage

CHARACTERS_PER_TOKEN = 3
PER_MESSAGE = 4


def estimate_texts(texts: Iterable[str]) -> int:
    """Estimated tokens of these messages."""
    return sum(-(-len(text) // CHARACTERS_PER_TOKEN) + PER_MESSAGE for text in texts)


def estimate_request(request: ModelRequest) -> int:
    """Estimated tokens of a prompt."""
    return estimate_texts(message.content for message in request.messages)


def usage_of_call(request: ModelRequest, reply: Reply) -> Usage:
    """Tokens of a call as the provider counts them, estimated where it does not."""
    usage = reply.usage
    if usage.prompt is not None and usage.completion is not None:
        return usage
    prompt = estimate_request(request) if usage.prompt is None else usage.prompt
    completion = estimate_texts([reply.text, reply.reasoning]) if usage.completion is None else usage.completion
    return Usage(prompt=prompt, completion=completion, reasoning=usage.reasoning, cached=usage.cached)
