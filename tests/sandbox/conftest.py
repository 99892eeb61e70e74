"""The pool of the Python sandbox for tests of single programs; what needs other limits or pools makes its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lic_pipeline.sandbox.python.api import Pool


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """A pool of the Python sandbox that the tests of one module share."""
    pool = Pool()
    yield pool
    pool.close()
