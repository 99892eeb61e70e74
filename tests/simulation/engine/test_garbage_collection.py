"""The collector is calm during a run only."""

from __future__ import annotations

import gc

import pytest

from lic_pipeline.simulation.engine.garbage_collection import rare_garbage_collection


def test_thresholds_and_frozen_objects_are_as_before_afterwards() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with rare_garbage_collection():
        assert gc.get_threshold()[0] > before[0]
        with rare_garbage_collection():
            assert gc.get_freeze_count() > frozen
        assert gc.get_freeze_count() > frozen, "the inner one must not thaw what the outer one froze"
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, frozen)


def test_an_error_inside_changes_nothing_of_that() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), rare_garbage_collection():
        raise KeyError
    assert gc.get_threshold() == before
