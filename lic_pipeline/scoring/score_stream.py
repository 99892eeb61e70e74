"""Many lines through one scorer: in input order, in flat memory, in parallel where scoring leaves the process.

Tasks that are not ``costly`` are scored in the calling thread (threads would only wait for each other). Costly ones go
through a pool of ``jobs`` threads; at most ``_AHEAD`` lines per thread are read ahead of the oldest unfinished one.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from lic_pipeline.errors import plain_words
from lic_pipeline.scoring.line_scorer import LineScorer, OutputLine, bad_line

_AHEAD = 8
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def score_lines(raw_lines: Iterable[bytes], scorer: LineScorer, jobs: int = 1) -> Iterator[OutputLine]:
    """One output line per non-blank input line, in order. Line numbers count blank lines too, from 1."""
    numbered = ((number, raw) for number, raw in enumerate(raw_lines, start=1) if raw.strip())
    if jobs <= 1 or not scorer.task.costly:
        return (scorer.score(number, raw) for number, raw in numbered)
    return _in_threads(numbered, scorer, jobs)


def _in_threads(numbered: Iterator[tuple[int, bytes]], scorer: LineScorer, jobs: int) -> Iterator[OutputLine]:
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="lic-score")
    waiting: deque[Future[OutputLine]] = deque()
    try:
        for number, raw in numbered:
            waiting.append(pool.submit(scorer.score, number, raw))
            if len(waiting) >= jobs * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def encode(line: OutputLine) -> bytes:
    """One output line as UTF-8 JSON with a line end; a detail that JSON cannot hold makes it an error line."""
    try:
        text = _ENCODER.encode(line)
    except (TypeError, ValueError, RecursionError) as error:
        number = line.get("line") or 0
        text = json.dumps({**bad_line(None, number, ""), "error": f"the result is no valid JSON: {plain_words(error)}"})
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(line, allow_nan=False).encode() + b"\n"
