"""Counting sentences, for the rule "at most n sentences". The counting is ours; the paper states none.

Counted: what ends in ``.``, ``!``, ``?`` or an ellipsis before a new sentence, and what ends a paragraph without one;
each list item and table row at least once; a fenced block once. Not counted: headings, and full stops in
abbreviations, initials, decimals, versions, domains, file names. A missing space ("Done.Next") still ends a sentence.
An ellipsis, a question or an exclamation mark before a small letter does not ("Really? she asked").
"""

from __future__ import annotations

import re

from lic_pipeline.tasks.fences import fenced_blocks, without_fences

_HEADING = re.compile(r"#{1,6}\s|(?:\*\*|__)[^*_]*[^*_.!?…](?:\*\*|__):?\s*$")
_RULE = re.compile(r"(?:[-*_=]\s*){3,}$|\|?[\s:|-]*-{2,}[\s:|-]*$")
_ITEM = re.compile(r"(?:[-*+•‣◦▪●–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|\|)\s+|[•‣◦▪●]|\|")
_WINDOW = 60  # characters looked at on either side of a mark
_WORD = re.compile(r"\w")
_MASKED = re.compile(
    r"`[^`\n]+`|(?:https?://|www\.)[^\s)\]>]*[^\s)\]>.,;:!?]|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{0,60}\w"
)
_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]*_]*")
_ACRONYM = re.compile(r"(?:^|[^\w.])(?:[^\W\d_]\.){1,}$")
_LAST_TOKEN = re.compile(r"([^\s(\[\"'“‘]+)$")
_NEXT_TOKEN = re.compile(r"\s*[\"'“‘(\[*_]*([^\W_]*)")

_NEVER_LAST_LIST = """
mr mrs ms dr prof st mt ft rev hon gen col lt sgt capt cpt gov sen rep pres e.g i.e eg ie vs cf fig figs eq no nos vol
pp ed eds al approx ca viz resp dept univ est tel ext max min avg incl art sec ch
"""
_MAYBE_LAST_LIST = "etc inc ltd co corp jr sr bros ave blvd rd a.m p.m am pm ph.d b.c a.d u.s u.k"
_STARTER_LIST = """
the a an it its he she they we i you this that these those there here in on at for if when while but and so yet or
however my our your his her their as to with after before then what how why who where which once since because not no
yes next finally also first second third today each every some many most all both another please let use try
"""
_NEVER_LAST = frozenset(_NEVER_LAST_LIST.split())
_MAYBE_LAST = frozenset(_MAYBE_LAST_LIST.split())
_STARTERS = frozenset(_STARTER_LIST.split())


def count_sentences(text: str) -> int:
    """Number of sentences of a reply; 0 for a text without any word."""
    prose = without_fences(text).replace("\n\n", "\n \n")
    return len(fenced_blocks(text)) + sum(_in_block(block) for block in _blocks(prose))


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items and table rows, each on one line; headings and rules left out."""
    blocks: list[list[str]] = []
    open_block = False
    for raw in text.splitlines():
        line = raw.strip().lstrip(">").strip()
        if not line or _RULE.match(line) or _HEADING.match(line):
            if line and _RULE.match(line) and set(line) <= set("=-") and open_block and len(blocks[-1]) == 1:
                blocks.pop()  # the line above an underline is a heading
            open_block = False
            continue
        item = _ITEM.match(line)
        if item or not open_block:
            blocks.append([line[item.end() :] if item else line])
        else:
            blocks[-1].append(line)
        open_block = True
    return [" ".join(lines) for lines in blocks]


def _in_block(block: str) -> int:
    text = _MASKED.sub("X", block).rstrip()
    count = 0
    words = False
    position = 0
    for end in _END.finditer(text):
        words = words or _WORD.search(text, position, end.start()) is not None
        position = end.end()
        if words and _ends_sentence(text, end):
            count += 1
            words = False
    return count + (words or _WORD.search(text, position) is not None)


def _ends_sentence(text: str, end: re.Match[str]) -> bool:
    mark, rest = end[0], text[end.end() : end.end() + _WINDOW]
    if not rest.strip():
        return True
    following = rest.lstrip()[0]
    spaced = rest[0].isspace()
    if any(sign in mark for sign in "。！？"):
        return True
    if mark[0] in "!?…" or mark.startswith(".."):
        return not following.islower() and (spaced or following.isupper())
    before = text[max(0, end.start() - _WINDOW) : end.start()]
    return not _abbreviates(before, rest, following) if spaced else _joined(before, mark, rest)


def _joined(before: str, mark: str, rest: str) -> bool:
    """True for "done.Next": small letters or a closing bracket before, a capitalised word behind."""
    if len(mark) > 1:
        return rest[:1].isupper()
    word = _NEXT_TOKEN.match(rest)
    capitalised = word is not None and word[1][:1].isupper() and (word[1][1:].islower() or word[1] in {"I", "A"})
    last = _LAST_TOKEN.search(before)
    plain = last is not None and (last[1].isdecimal() or last[1][-1].islower() or last[1][-1] in ")]%")
    return capitalised and plain and not (last is not None and _ACRONYM.search(last[1] + "."))


def _abbreviates(before: str, rest: str, following: str) -> bool:
    """True when the full stop behind ``before`` belongs to an abbreviation or an initial."""
    last = _LAST_TOKEN.search(before)
    token = last[1].casefold() if last else ""
    next_word = _NEXT_TOKEN.match(rest)
    starts_new = next_word is not None and next_word[1][:1].isupper() and next_word[1].casefold() in _STARTERS
    if token in _NEVER_LAST:
        # "No." is an answer unless a number follows it
        return token not in {"no", "nos", "art", "ch", "sec", "ed", "max", "min", "al"} or following.isdigit()
    if token in _MAYBE_LAST or _ACRONYM.search(before[-12:] + "."):
        return not starts_new
    return False
