"""Summaries put before a judge that is a model: what is asked, how each question is paid for once, what comes of it.

``questions`` says what is asked of whom, ``pending_questions`` what the ledger knows of many at once and which may be
asked here, ``judge_calls`` puts one to the model, ``question_loop`` has many answered on one event loop.
``judge_conversations`` judges the conversations of a manifest, ``score_lines`` the lines of a file; ``stored_verdicts``
is how scoring reads what was said, ``expected_questions`` how many are still to be asked.

Every question is a conversation of its own in the ledger (claimed, called, finished), known by its content: a rerun, a
second process or an identical summary pays for nothing.
"""
