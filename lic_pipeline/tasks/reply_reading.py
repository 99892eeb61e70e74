"""Reading replies as text: reasoning tags, sentences, and the label rules every task shares.

Here live helpers that know nothing of a single task. Fenced blocks live in ``fences.py``, number and call grammars
beside their tasks, user messages in ``messages.py``. Everything here is linear in the length of the text and never
raises on any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lic_pipeline.records import Extraction, Reply, Rung, Strategy, Verdict
from lic_pipeline.tasks.end_marks import without_end_marks
from lic_pipeline.tasks.fenced_blocks import without_fences

TRUNCATED_REASONING = "truncated_reasoning"

_TAG_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_REASONING_TAG = re.compile(rf"<(/?)({_TAG_NAMES})>|\[(/?)(THINK)\]", re.IGNORECASE)
_ROLE_TOKENS = re.compile(
    r"<\|(?:start|im_start|start_header_id)\|>(?:assistant)?\s?|<\|/?[A-Za-z][\w▁ \\]{1,40}\|>|<｜[^<>｜\n]{1,40}｜>"
    r"|<start_of_turn>(?:model)?\s?"
)
_BETWEEN_PARTS = re.compile(r"tool|call|channel|message|constrain|recipient|content|sep\b|action", re.IGNORECASE)
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_ANALYSIS = re.compile(
    r"<\|channel\|>analysis[^<]{0,40}<\|message\|>.*?(<\|end\|>|(?=<\|start\|>|<\|channel\|>)|\Z)", re.DOTALL
)
_NEXT_TURN = re.compile(
    r"(?:<\|(?:im_start|start_header_id|start)\|>|<start_of_turn>|<[|｜])[uU]ser\b|(?:^|</s>)\s*\[INST\]", re.MULTILINE
)
_BEGINS = re.compile(r"\A\s*(?:(?:<s>|<bos>|\[/INST\])\s*)+")
_STOP = re.compile(r"[.!?\n]")
_AFTER_MARK = re.compile(r"[\"')\]*_]{0,4}\s+(?=[\"'(\[*_#$\\A-Z0-9]|[^\x00-\x7f])")
_AFTER_LINE = re.compile(r"\s*\n|(?=[ \t]*(?:[-*+•#|>]|\d{1,2}[.)])\s)|(?=[ \t]*[\"'(*_]{0,3}[A-Z][A-Za-z']*[ ,:])")
_ABBREVIATED = re.compile(r"\b(?:i\.e|e\.g|vs|approx|incl|cf|Mrs?|Ms|Dr|St|Prof)$", re.IGNORECASE)
_LAST_LETTERS = frozenset("egsxlfrtEGSXLFRT")
_POINT_NUMBER = re.compile(r"\n[ \t>*#]{0,6}\d{1,2}$")
_DECLINE_HINTS = (
    "sorry",
    "afraid",
    "unable",
    "not able",
    "cannot",
    "can't",
    "won't",
    "i will not",
    "not enough",
    "not possible",
    "decline",
    "functions",
    "lack",
    "insufficient",
)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|afraid|unable|not able)"
    r"|i (?:can(?:'t|not)|won't|will not|must decline|have to decline)"
    r"|(?:none of|no) (?:the )?(?:given |provided |available |listed )?functions (?:can|is|are|could)\b"
    r"|cannot (?:be )?(?:help|assist|answer|comply|fulfil|provide|use|determin|calculat|comput|solv|complet|proceed"
    r"|make)"
    r"|can(?:'t|not) (?:be )?(?:answered|determined|calculated|computed|solved|used|invoked|called)"
    r"|(?:not enough|insufficient|lack(?:s|ing)?(?: of)?(?: the)?(?: necessary| required)?) "
    r"(?:information|data|details|parameters?|context)"
    r"|not possible to (?:answer|determine|calculate|compute|solve|say)"
    r"|unable to (?:help|assist|answer|determine|calculate))",
    re.IGNORECASE,
)
_ASKS_TO = r"provide|specify|clarify|confirm|tell|share|give|state|supply|indicate"
_REQUEST = re.compile(
    rf"\b(?:(?:please|kindly|could you|can you|would you) (?:please )?(?:{_ASKS_TO}"
    r"|let me know (?:the|what|which|how|whether|if you (?:have|mean|want)))"
    r"|(?:i(?:'ll| will|'d| would| still)? need|i require|need to know) "
    r"(?:to know|more|some|additional|further|the|your|a few)"
    r"|(?:let me know|tell me) (?:the|what|which|how|whether|your))",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:(?:is there )?anything else|would you like|do you (?:want|need) (?:me|help|any)|shall i|should i|want me to"
    r"|need (?:any )?(?:more|further) help|does (?:this|that)(?: \w+)? (?:help|make sense|answer)|can i help|may i help"
    r"|(?:any (?:other|more|further)|another) (?:questions?|problem)|something else|let me know if|feel free)\b",
    re.IGNORECASE,
)
_SHORT = 600


def visible_text(text: str) -> tuple[str, bool]:
    """The text without reasoning, and True when an opened reasoning tag was never closed (the rest is hidden).

    A closing tag without an opening one ends reasoning that began in the prompt: all before it is dropped. What a chat
    template writes around messages, and a next turn that the model wrote for its user, are no part of the text.
    """
    if "<" not in text and "THINK]" not in text and "INST]" not in text:
        return text, False
    text, truncated = _message(text)
    kept: list[str] = []
    position = depth = 0
    for tag in _REASONING_TAG.finditer(text):
        closing = bool(tag.group(1) or tag.group(3))
        if not closing:
            if depth == 0:
                kept.append(text[position : tag.start()])
            depth += 1
        elif depth == 0:
            kept.clear()
        else:
            depth -= 1
        position = tag.end()
    if depth:
        return "".join(kept), True
    kept.append(text[position:])
    return without_end_marks("".join(kept)), truncated


def _message(text: str) -> tuple[str, bool]:
    """The text without a template's tokens and channel of reasoning, and True when that channel never ends."""
    turn = _NEXT_TURN.search(text)
    if turn is not None and _ROLE_TOKENS.sub("", text[: turn.start()]).strip():
        text = text[: turn.start()]
    truncated = False
    if "<|" in text or "<｜" in text or "_turn>" in text:
        text = text.rpartition(_FINAL_CHANNEL)[2]
        truncated = any(part.end() == len(text) and not part[1] for part in _ANALYSIS.finditer(text))
        text = _ROLE_TOKENS.sub(_between, _ANALYSIS.sub("", text))
    return _BEGINS.sub("", text), truncated


def _between(token: re.Match[str]) -> str:
    """What a token of a template leaves: a line break where it separates the parts of one message."""
    return "\n" if _BETWEEN_PARTS.search(token.group()) else ""


def storable(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def sentence_spans(text: str, begin: int = 0, finish: int | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence between two places; blank lines, list items and headings end one too."""
    last = len(text) if finish is None else finish
    position = begin
    for stop in _STOP.finditer(text, begin, last):
        place = stop.start()
        if place < position:
            continue
        mark = text[place]
        if mark == "." and (_numbers_a_point(text, place) or _abbreviates(text, place)):
            continue
        gap = (_AFTER_LINE if mark == "\n" else _AFTER_MARK).match(text, place + 1, last)
        if gap is None:
            continue
        end = place if mark == "\n" else place + 1 + len(gap.group().rstrip())
        if end > position:
            yield position, end
        position = gap.end()
    if position < last:
        yield position, last


def _numbers_a_point(text: str, place: int) -> bool:
    """True for the full stop of "3. " at the start of a line, which numbers a point and ends no sentence."""
    if place == 0 or not text[place - 1].isdigit():
        return False
    begin = max(0, place - 10)
    return _POINT_NUMBER.search(("\n" if begin == 0 else "") + text[begin:place]) is not None


def _abbreviates(text: str, place: int) -> bool:
    """True for the last full stop of "i.e." and its like, which a sentence never ends with."""
    return text[place - 1 : place] in _LAST_LETTERS and _ABBREVIATED.search(text[max(0, place - 8) : place]) is not None


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, empty ones left out."""
    found = (text[start:end].strip() for start, end in sentence_spans(text))
    return [sentence for sentence in found if sentence]


def declines(text: str) -> bool:
    """True when the text says that it will not or cannot answer."""
    plain = text.replace("’", "'").lower()
    # The hints are substrings of every refusal; looking for them first spares most texts the slow pattern.
    return holds_any(plain, _DECLINE_HINTS) and _REFUSAL.search(plain) is not None


def holds_any(text: str, words: Iterable[str]) -> bool:
    """True when one of these words is a part of the text."""
    for word in words:  # noqa: SIM110 - a generator for each of a million texts costs more than the search
        if word in text:
            return True
    return False


def count_questions(text: str) -> int:
    """How many specific questions or requests for information a text holds; offers of help do not count."""
    count = 0
    for sentence in sentences(without_fences(text).replace("’", "'")):
        if _OFFER.search(sentence) and not _REQUEST.search(sentence):
            continue
        asks = sentence.count("?")
        if asks or _REQUEST.search(sentence):
            count += max(asks, 1)
    return count


def label_without_answer(text: str) -> Strategy:
    """The strategy of a reply that offers no answer: missing, clarification, interrogation, refusal or discussion."""
    if not text.strip():
        return Strategy.MISSING
    questions = count_questions(text)
    if questions > 1:
        return Strategy.INTERROGATION
    if questions == 1:
        return Strategy.CLARIFICATION if len(text) <= _SHORT else Strategy.DISCUSSION
    return Strategy.REFUSAL if declines(text) else Strategy.DISCUSSION


def reasoning_flags(reply: Reply) -> tuple[str, ...]:
    """The flag of a reply whose reasoning tag never closes, else nothing."""
    return (TRUNCATED_REASONING,) if visible_text(reply.text)[1] else ()


def unanswered(extraction: Extraction) -> Verdict:
    """Score 0 for an extraction without answer: ``ambiguous`` or ``no_answer``. Raises ValueError when it has one."""
    if extraction.answer is not None:
        raise ValueError("the extraction holds an answer; score it")
    verdict = "ambiguous" if extraction.rung is Rung.AMBIGUOUS else "no_answer"
    return Verdict(score=0.0, verdict=verdict, detail={"candidates": list(extraction.candidates)})
