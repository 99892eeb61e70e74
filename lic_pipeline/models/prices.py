"""What a call costs: the entry's own price, else the price table that litellm carries, read as data.

The table is read as JSON without importing litellm (6 seconds) and without the network. An unknown price is None, never
0: the cost is then NULL and a budget works on tokens.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Usage

_TABLE = "model_prices_and_context_window_backup.json"
_TIER = "input_cost_per_token_above_"
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """USD per token. ``cached`` = prompt tokens read from the provider's cache. ``tier`` = price of long prompts."""

    prompt: float
    completion: float
    cached: float | None = None
    tier_above: int | None = None
    tier: TokenPrice | None = None

    def cost(self, usage: Usage) -> float | None:
        """USD of one call, None when the provider did not say how many tokens it took."""
        if usage.prompt is None or usage.completion is None:
            return None
        if self.tier is not None and self.tier_above is not None and usage.prompt > self.tier_above:
            return self.tier.cost(usage)
        cached = min(usage.cached or 0, usage.prompt) if self.cached is not None else 0
        paid_in_full = usage.prompt - cached
        return paid_in_full * self.prompt + cached * (self.cached or 0.0) + usage.completion * self.completion


def price_of(entry: ModelEntry) -> TokenPrice | None:
    """The price of an entry, None when unknown. An endpoint of one's own has no price but the entry's."""
    if entry.price is not None:
        cached = entry.price.cached
        return TokenPrice(
            entry.price.prompt / _MILLION,
            entry.price.completion / _MILLION,
            None if cached is None else cached / _MILLION,
        )
    if entry.is_persona:
        return TokenPrice(0.0, 0.0)
    if entry.base_url or entry.provider == "python":
        return None
    row = _row(entry)
    return None if row is None else _price(row)


def _row(entry: ModelEntry) -> Mapping[str, Any] | None:
    table = price_table()
    row = table.get(entry.id)
    if row is None:
        bare = table.get(entry.id.partition("/")[2])
        row = bare if bare is not None and bare.get("litellm_provider") == entry.provider else None
    return row


def _price(row: Mapping[str, Any]) -> TokenPrice | None:
    base = _rates(row, "")
    above = next(
        (name.removeprefix(_TIER) for name in row if name.startswith(_TIER) and name.endswith("k_tokens")), None
    )
    if base is None or above is None or not above.removesuffix("k_tokens").isdigit():
        return base
    tier = _rates(row, f"_above_{above}")
    return TokenPrice(base.prompt, base.completion, base.cached, int(above.removesuffix("k_tokens")) * 1000, tier)


def _rates(row: Mapping[str, Any], suffix: str) -> TokenPrice | None:
    rates = [row.get(f"{kind}_cost_per_token{suffix}") for kind in ("input", "output")]
    if not all(isinstance(rate, int | float) for rate in rates):
        return None
    cached = row.get(f"cache_read_input_token_cost{suffix}")
    return TokenPrice(
        float(rates[0] or 0), float(rates[1] or 0), float(cached) if isinstance(cached, int | float) else None
    )


@cache
def price_table() -> Mapping[str, Mapping[str, Any]]:
    """litellm's local table by model name; empty when litellm is not installed or its table cannot be read."""
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    try:
        document = json.loads((Path(found.origin).parent / _TABLE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: row for name, row in document.items() if isinstance(row, dict)}
