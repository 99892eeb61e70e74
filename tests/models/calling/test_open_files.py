"""The limit of open files: raised where the system lets us, connections made to fit it, refused where nothing fits."""

from __future__ import annotations

import logging
import resource

import pytest

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.calling import open_files
from lic_pipeline.models.calling.open_files import BESIDE_CONNECTIONS, calls_in_reach, require_files
from lic_pipeline.models.registry import ModelEntry

OPEN_NOW = 10
ENDLESS = resource.RLIM_INFINITY
HTTP = [ModelEntry(alias=name, id=f"local/{name}", base_url="http://127.0.0.1:9/v1") for name in ("a", "b")]
OWN = [ModelEntry(alias="agent", id="python:a.b"), ModelEntry(alias="sim/lost", id="sim/lost")]


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The limits of this process, as if it were so; nothing real is changed."""
    now = {"soft": 64, "hard": 64}

    def set_limits(_: int, wanted: tuple[int, int]) -> None:
        now["soft"], now["hard"] = wanted

    monkeypatch.setattr(open_files, "_open_now", lambda: OPEN_NOW)
    monkeypatch.setattr("resource.getrlimit", lambda _: (now["soft"], now["hard"]))
    monkeypatch.setattr("resource.setrlimit", set_limits)
    return now


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [(30, 30, 30), (29, 30, 30), (20, 4096, 30), (20, ENDLESS, 30), (ENDLESS, ENDLESS, ENDLESS), (500, 500, 500)],
)
def test_what_would_do_is_never_refused(limits: dict[str, int], soft: int, hard: int, then: int) -> None:
    limits.update(soft=soft, hard=hard)
    require_files(20)
    assert limits == {"soft": then, "hard": hard}


def test_too_low_a_limit_is_told_with_its_number_and_the_way_on(limits: dict[str, int]) -> None:
    limits.update(soft=20, hard=29)
    with pytest.raises(ConfigError) as raised:
        require_files(20)
    assert str(raised.value).startswith("the limit of open files is too low: 29, and a run needs 30 or more; raise it")
    assert "ulimit -n" in str(raised.value)


@pytest.mark.parametrize(
    ("hard", "calls"),
    [(OPEN_NOW + BESIDE_CONNECTIONS + files, calls) for files, calls in ((2, 1), (3, 1), (9, 4), (16, 8), (99, 8))],
)
def test_calls_in_flight_fit_the_limit_and_it_is_said(
    limits: dict[str, int], caplog: pytest.LogCaptureFixture, hard: int, calls: int
) -> None:
    limits.update(soft=12, hard=hard)
    with caplog.at_level(logging.WARNING, "lic"):
        assert calls_in_reach(8, [*HTTP, HTTP[0], *OWN]) == calls
    assert (f"room for {calls} calls in flight instead of 8" in caplog.text) == (calls < 8)


def test_less_than_a_connection_for_each_model_is_refused(limits: dict[str, int]) -> None:
    limits.update(soft=12, hard=OPEN_NOW + BESIDE_CONNECTIONS + 1)
    with pytest.raises(ConfigError, match="limit of open files is too low: 19, and a run needs 20"):
        calls_in_reach(8, HTTP)
    assert calls_in_reach(8, OWN) == 8
