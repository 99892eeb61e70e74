"""Whether a full stop ends a sentence or belongs to an abbreviation, an initial or a number.

What stands before the stop has a class, and the class says which next words go on with the sentence. Words known to
begin sentences decide where both readings are common ("the U.S. Army", "the U.S. The").
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"([^\s(\[{\"'“‘«„*_]+)[\"'”’»)\]*_]*$")
_NEXT = re.compile(r"[^\w]*([^\W_]*)")
_INITIALS = re.compile(r"(?:[A-Z]\.-?)*[A-Z]$|(?:[^\W\d_]\.)+[^\W\d_]$")
_REFERENCE = re.compile(r"\d|(?:[B-HJ-Z]|[IVXLC]{2,})(?![^\W_])")
_NUMBERED = re.compile(r"\d[\d.,/½¼¾–-]{0,20}\s?(?:[a-z]{2,3}\. )?[^\s\d]+$")
_CITY_TIME = re.compile(r"\s[^\W\d_]{1,30} time\b")
_VOWELS = frozenset("aeiouy")
_SHORT = 4  # letters
_OPENING = 4  # words


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


STARTERS = _words("""
the a an it its he she they we i you this that these those there here in on at for if when while but and so yet or
however my our your his her their as to with after before then what how why who where which once since because not no
yes next finally also first second third today each every some many most all both another please let use try although
even still thus therefore meanwhile now just only others are is do does did can could would will should have has had
one two people according overall instead additionally furthermore moreover besides maybe perhaps sometimes usually often
tomorrow yesterday later soon until unless during despite by from of without within under over through nobody everyone
everything someone something nothing anyone none thanks thank see never always later
""")
"""Words that, capitalised, are far more often the first of a sentence than part of a name."""

_TITLES = _words(
    "Mr Mrs Ms Mme Mlle Messrs Dr Drs Prof Rev Hon Gen Col Lt Sgt Capt Cpt Cmdr Maj Adm Gov Sen Rep Pres Fr"
)
_NEVER_LAST = _words("e.g i.e eg ie vs v cf viz ca approx resp esp incl excl")
_BEFORE_NUMBER = _words("""
fig figs eq eqs vol vols p pp ch chap sec sect art ed eds ex app par para ref refs op max min avg est tel ext ver apt
ste bldg rte rt c n pt
""")
_WEEKDAYS = _words("mon tue tues wed thu thur thurs fri sat sun")
_MONTHS = _words("jan feb mar apr jun jul aug sep sept oct nov dec")
_DAYS = (
    _WEEKDAYS
    | _MONTHS
    | _words("""
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december
""")
)
_ZONES = _words(
    "eastern central mountain pacific est edt cst cdt mst mdt pst pdt et ct pt gmt utc cet cest bst ist jst"
)
_TIMES = _words("a.m p.m am pm")
_COMPANIES = _words("inc ltd corp llc plc co bros gmbh")
_LAST = _words("etc al ph.d m.d b.a m.a b.sc m.sc ed.d d.phil b.c a.d b.c.e c.e mph govt assn intl")
_MAYBE_LAST = _words("jr sr esq st mt ft ave blvd rd ln sq hwy co bros dept univ")
_UNITS = _words("in ft yd mi oz lb lbs min mins sec secs hr hrs tbsp tsp qt pt gal km cm mm kg g m l ml doz pct")
_PREPOSITIONS = _words("about after around at before between by during from in on since to until within")
_NOISES = _words("hm hmm hmmm mm mmm shh shhh psst pfft brr grr tsk zzz")
_LABELS = _words("""
vitamin plan grade option type group class team point part appendix section hepatitis size exhibit block gate platform
line route answer figure table
""")


def next_word(rest: str) -> str:
    """The next word, past quotation marks, brackets and emoji."""
    found = _NEXT.match(rest)
    return found[1] if found else ""


def starts_sentence(word: str) -> bool:
    """True for a capitalised word that usually is the first of a sentence."""
    return word[:1].isupper() and word.casefold() in STARTERS


def abbreviates(before: str, rest: str, opening: bool = False) -> bool:
    """True when a full stop between ``before`` and ``rest`` does not end a sentence.

    ``opening``: ``before`` is no sentence yet, but "At 9 a.m" or "In the U.S" (see ``is_opening``).
    """
    found = _TOKEN.search(before)
    if found is None:
        return False
    if opening and (known_shortening(before) or _is_unit(found[1], before)):
        return True
    token, word = found[1], next_word(rest)
    behind = rest.lstrip()[:1]
    if behind in {"—", "–"} or (behind in {"(", "["} and not starts_sentence(word)):
        return known_shortening(before)  # what is shortened goes on, or is explained
    plain = _lowered(token)
    if token in _TITLES or plain in _NEVER_LAST:
        return True
    if plain == "no":
        return word[:1].isdigit()
    if _is_unit(token, before):
        return not word[:1].isupper()
    if plain in _BEFORE_NUMBER:
        return word[:1].islower() or _REFERENCE.match(word) is not None
    goes_on = _goes_on(token, plain, rest, before[: found.start()].split()[-1:])
    if goes_on is not None:
        return goes_on
    return _looks_shortened(token, word)


def is_opening(sentence: str) -> bool:
    """True for a few words that begin with a preposition: a sentence needs more."""
    words = sentence.split()
    return 0 < len(words) <= _OPENING and words[0].casefold() in _PREPOSITIONS


def _is_unit(token: str, before: str) -> bool:
    return _lowered(token) in _UNITS and _NUMBERED.search(before) is not None


def _looks_shortened(token: str, word: str) -> bool:
    """True for a token of no list that is no word ("Bldg. B", "pkg. of") or is short and followed by a small letter."""
    plain = token.casefold()
    if not token.isalpha() or not (token.islower() or token.istitle()) or plain in _NOISES:
        return False
    if not _VOWELS & set(plain.removeprefix("y")):  # "yrs"
        return not word[:1].isupper() or (token[0].isupper() and not starts_sentence(word))
    return token[0].isupper() and len(token) <= _SHORT and word[:1].islower()


def _goes_on(token: str, plain: str, rest: str, previous: list[str]) -> bool | None:
    """Whether the sentence goes on behind what may stand within or at its end; None when it is no such token."""
    word = next_word(rest)
    after = word.casefold()
    capital = word[:1].isupper()
    days = token[0].isupper() and plain in _WEEKDAYS | _MONTHS
    if plain in _MAYBE_LAST:
        return not starts_sentence(word)
    if days or plain in _LAST | _TIMES | _COMPANIES:
        if plain in _TIMES and _CITY_TIME.match(rest):
            return True
        known = _DAYS if days else _DAYS | _ZONES if plain in _TIMES else _COMPANIES if plain in _COMPANIES else ()
        return not capital or after in known
    if _INITIALS.fullmatch(token):
        return not (capital if _names_nothing(token, previous) else starts_sentence(word))
    return None


def _names_nothing(token: str, previous: list[str]) -> bool:
    """True for a letter or acronym that no name goes on behind: "vitamin C", "than I", "Washington, D.C."."""
    if not previous:
        return False
    before = previous[0]
    return (
        before.strip("*_(\"'“").casefold() in _LABELS
        or (token == "I" and before.islower())
        or ("." in token and before[-1] == ",")
    )


def _lowered(token: str) -> str:
    """The token as the lists hold it; a single capital letter is an initial, no unit and no page."""
    return token if len(token) == 1 else token.casefold()


def known_shortening(before: str) -> bool:
    """True when ``before`` ends in something that is written with a full stop."""
    found = _TOKEN.search(before)
    plain = _lowered(found[1]) if found else ""
    return found is not None and (
        _INITIALS.fullmatch(found[1]) is not None
        or found[1] in _TITLES
        or plain in _LAST | _TIMES | _COMPANIES | _MAYBE_LAST | _BEFORE_NUMBER | _NEVER_LAST
        or (found[1][0].isupper() and plain in _WEEKDAYS | _MONTHS)
    )


def joins(before: str, rest: str) -> bool:
    """True when a full stop without a space behind it joins a name ("a.b", "Node.js"), not two sentences."""
    found = _TOKEN.search(before)
    word = next_word(rest)
    if found is None or rest[:1] != word[:1]:
        return True
    token, behind = found[1], rest[len(word) : len(word) + 1]
    capitalised = word[:1].isupper() and (word[1:].islower() or word in {"I", "A"})
    if not capitalised or behind in {"(", "_"} or known_shortening(before):
        return True
    plain = (token[0].isdecimal() and token[-1].isdecimal()) or before[-1].islower() or before[-1] in ")]%\"'”’»"
    named = token[0].isupper() and token.isalpha() and not starts_sentence(word)
    return not plain or (named and len(before) > len(token))
