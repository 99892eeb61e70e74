"""Progress on stderr: what is under way, done of total, calls per second, spend, time left.

A fault here never stops a run.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from lic_pipeline.cli.shared.standard_streams import live_terminal, terminal_width

if TYPE_CHECKING:
    from lic_pipeline.simulation.engine.outcome import Progress

QUIET_SECONDS = 10.0
"""Where stderr is no terminal, one plain line at most this often."""


class ProgressDisplay(AbstractContextManager["ProgressDisplay"]):
    """Shows stages and the progress of conversations; a live line on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._live = live_terminal()
        self._label = ""
        self._started = time.monotonic()
        self._calls: dict[str, int] = {}
        self._last_line = 0.0
        self._unpriced: Counter[str] = Counter()
        self._metered = 0

    def __enter__(self) -> ProgressDisplay:
        from lic_pipeline.models.budget import METER
        from lic_pipeline.simulation.engine.progress_listeners import listening

        self._metered = METER.unpriced_tokens
        self._stack.enter_context(listening(self.show))
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        self._stack.close()

    @property
    def calls(self) -> int:
        """Calls really made by the runs shown; stored replies that were read again are none."""
        return sum(self._calls.values())

    def stage(self, text: str) -> None:
        """Say which stage begins."""
        self._clear()
        print(text, file=sys.stderr, flush=True)

    def show(self, progress: Progress) -> None:
        """Show how far one partition is, over all processes of its run."""
        progress = progress.overall
        self._calls[progress.label] = progress.calls
        self._count_unpriced(progress.label)
        now = time.monotonic()
        if progress.label != self._label:
            self._label, self._started, self._last_line = progress.label, now, now
        if now - self._last_line < (0.2 if self._live else QUIET_SECONDS):
            return
        self._last_line = now
        text = line_of(progress, now - self._started, self._unpriced[progress.label] + progress.unpriced_tokens)
        if self._live:  # a line that wraps could not be taken back
            print(f"\r\x1b[2K{text[: terminal_width() - 1]}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _count_unpriced(self, label: str) -> None:
        """Give the tokens metered since the last look to the partition that moves: one is under way at a time."""
        from lic_pipeline.models.budget import METER

        self._unpriced[label] += METER.unpriced_tokens - self._metered
        self._metered = METER.unpriced_tokens

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def line_of(progress: Progress, seconds: float, unpriced_tokens: int = 0) -> str:
    """One line: done/total, calls a second, spend where there is one (tokens where no price is known), time left."""
    held = progress.finished + progress.failed
    done = progress.already + held
    rate = progress.calls / seconds if seconds > 0 else 0.0
    left = (progress.total - done) * seconds / held if held else 0.0
    spend = f", ${progress.cost_usd:.2f}" if progress.cost_usd else ""
    if unpriced_tokens:
        spend += f"{' +' if spend else ','} {_short(unpriced_tokens)} tokens, price unknown"
    failed = f", {progress.failed} in error" if progress.failed else ""
    return f"  {progress.label}: {done}/{progress.total}{failed}, {rate:.0f} calls/s{spend}, about {left:.0f} s left"


def _short(number: int) -> str:
    """999, 12.3k, 4.0M: what moves on a live line need not be exact."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"
