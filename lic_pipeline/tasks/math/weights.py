"""What each feature of a candidate (``features.py``, ``candidates.py``) is worth; the sum is the candidate's worth.

Fitted by ``bench/extraction_fit.py`` on published replies (docs/scoring.md says which, and how well it does on
instructions left out). Do not edit by hand. A new table is a new VERSION, and a new ``scorer_version`` of the task.
"""

from __future__ import annotations

VERSION = 1
WEIGHTS: dict[str, float] = {
    "hashed": 9.00,
    "boxed": 8.91,
    "marked_strong": 6.58,
    "label_in_list": 4.75,
    "marked": 3.95,
    "bold_alone": 2.77,
    "only": 2.77,
    "of_amount": 2.71,
    "rounded_result": 2.34,
    "concluded_before": 2.03,
    "last_result": 2.02,
    "concludes": 1.93,
    "label_asked": 1.77,
    "opens": 1.72,
    "marked_next": 1.38,
    "bold": 1.37,
    "unit_asked": 1.30,
    "stated": 1.18,
    "last": 1.15,
    "unit_near": 0.96,
    "after_sign": 0.92,
    "apposition": 0.92,
    "result": 0.91,
    "alone": 0.90,
    "announced": 0.85,
    "after_colon": 0.84,
    "calculated": 0.73,
    "from_end0": 0.73,
    "beside": 0.59,
    "first": 0.55,
    "from_end1": 0.55,
    "headline": 0.50,
    "purpose": 0.43,
    "says_asked": 0.43,
    "stating0": 0.40,
    "left_of_equals": 0.33,
    "marked_if": 0.23,
    "marked_point": 0.00,
    "stating2": -0.00,
    "stating3": -0.01,
    "says_little": -0.04,
    "after_in": -0.17,
    "after_by": -0.18,
    "after_label": -0.29,
    "stating1": -0.30,
    "after_for": -0.34,
    "from_end2": -0.36,
    "says_some": -0.39,
    "unit_other": -0.41,
    "relative": -0.48,
    "after_comma": -0.60,
    "stating4": -0.68,
    "doing": -0.70,
    "given": -0.74,
    "given_calculated": -0.75,
    "step": -0.77,
    "after_and": -0.80,
    "rate": -0.83,
    "from_end3": -0.92,
    "after_of": -1.06,
    "determiner": -1.24,
    "reason": -1.65,
    "aside": -1.80,
    "unit_other_kind": -1.94,
    "operand": -2.23,
    "point": -2.64,
    "after_preposition": -2.70,
    "parenthesis": -2.85,
    "check": -2.96,
    "explaining": -3.99,
    "place_before_last": -5.94,
}

# How far ahead of every other value the chosen one must be: in a box or behind a marker, to count as a strict rung;
# elsewhere, to count as the conclusion and not just as the last number that fits; at all, to be an answer.
CLEAR = 1.0
SURE = 0.3
UNSURE = 0.05
# A value worth this much settles it: among published replies none that was read further back was the recorded answer.
ENOUGH = 8.0
