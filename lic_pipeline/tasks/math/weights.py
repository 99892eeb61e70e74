"""What each feature of a candidate (``features.py``, ``candidates.py``) is worth; the sum is the candidate's worth.

Fitted by ``bench/extraction_fit.py`` on published replies (docs/scoring.md says which, and how well it does on
instructions left out). Do not edit by hand. A new table is a new VERSION, and a new ``scorer_version`` of the task.
"""

from __future__ import annotations

VERSION = 1
WEIGHTS: dict[str, float] = {
    "hashed": 9.00,
    "boxed": 8.91,
    "marked_strong": 6.43,
    "label_in_list": 4.76,
    "marked": 3.88,
    "bold_alone": 3.10,
    "only": 2.76,
    "of_amount": 2.69,
    "rounded_result": 2.22,
    "concludes": 2.17,
    "concluded_before": 2.05,
    "last_result": 1.98,
    "opens": 1.93,
    "label_asked": 1.82,
    "unit_asked": 1.40,
    "marked_next": 1.32,
    "bold": 1.24,
    "stated": 1.17,
    "last": 1.14,
    "unit_near": 1.08,
    "purpose": 1.01,
    "result": 1.00,
    "after_sign": 0.97,
    "apposition": 0.94,
    "after_colon": 0.92,
    "alone": 0.88,
    "calculated": 0.82,
    "announced": 0.79,
    "from_end0": 0.77,
    "headline": 0.65,
    "beside": 0.63,
    "stating0": 0.52,
    "from_end1": 0.51,
    "first": 0.45,
    "left_of_equals": 0.42,
    "says_asked": 0.39,
    "marked_if": 0.23,
    "says_little": 0.05,
    "stating2": -0.01,
    "stating3": -0.11,
    "after_in": -0.19,
    "after_label": -0.24,
    "after_by": -0.25,
    "after_for": -0.25,
    "stating1": -0.37,
    "from_end2": -0.38,
    "says_some": -0.43,
    "unit_other": -0.45,
    "relative": -0.51,
    "after_comma": -0.65,
    "stating4": -0.67,
    "step": -0.68,
    "given_calculated": -0.74,
    "doing": -0.75,
    "after_and": -0.89,
    "rate": -0.89,
    "from_end3": -0.90,
    "after_of": -1.07,
    "given": -1.18,
    "determiner": -1.27,
    "marked_point": -1.46,
    "reason": -1.68,
    "aside": -1.78,
    "unit_other_kind": -1.94,
    "operand": -2.19,
    "point": -2.68,
    "parenthesis": -2.88,
    "check": -2.95,
    "after_preposition": -3.00,
    "explaining": -4.00,
    "place_before_last": -5.94,
}

# How far ahead of every other value the chosen one must be: in a box or behind a marker, to count as a strict rung;
# elsewhere, to count as the conclusion and not just as the last number that fits; at all, to be an answer.
CLEAR = 1.0
SURE = 0.3
UNSURE = 0.05
# A value worth this much settles it: among published replies none that was read further back was the recorded answer.
ENOUGH = 8.0
