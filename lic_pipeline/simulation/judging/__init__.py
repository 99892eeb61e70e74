"""Summaries put before a judge that is a model: what is asked, how each question is paid for once, what comes of it.

``questions`` says what is asked of whom, ``docket`` what the ledger knows of many questions at once, ``desk`` puts one
to the model, ``hearing`` has many answered on one event loop. ``stage`` judges the conversations of a manifest,
``lines`` the lines of a file; ``verdicts`` is how scoring reads what was said.

Every question is a conversation of its own in the ledger (claimed, called, finished), known by its content: a rerun, a
second process or an identical summary pays for nothing.
"""
