"""Nothing is spent without a cap or a plain yes; caps come from the environment and must be numbers."""

from __future__ import annotations

import pytest

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.simulation.plan import caps
from lic_pipeline.simulation.plan.experiment import Experiment

SCRIPTED = Experiment(name="one", simulator="scripted")
PAID = ModelEntry(alias="paid", id="openai/gpt-4o-mini")


@pytest.fixture(autouse=True)
def no_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (caps.CONNECTIONS, caps.PROCESSES, caps.BUDGET_USD, caps.BUDGET_TOKENS):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("entry", "costs"),
    [
        (get_model("sim/lost"), False),
        (PAID, True),
        (ModelEntry(alias="unknown", id="openai/nobody-knows-this-one"), True),
        (ModelEntry(alias="local", id="local/small", base_url="http://127.0.0.1:8080/v1"), False),
        (ModelEntry(alias="remote", id="own/large", base_url="https://models.example.com/v1"), True),
        (ModelEntry(alias="agent", id="python:package.module"), False),
        (ModelEntry.model_validate({"alias": "gift", "id": "own/x", "price": {"prompt": 0, "completion": 0}}), False),
    ],
)
def test_what_costs_money(entry: ModelEntry, costs: bool) -> None:
    assert caps.paid_models(SCRIPTED, entry) == ([entry.alias] if costs else [])


def test_a_judge_costs_where_summaries_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Experiment(name="one", simulator="scripted", judge_model="gpt-4o")
    assert caps.paid_models(judged, get_model("sim/lost")) == ["gpt-4o"]
    elsewhere = Experiment(name="one", simulator="scripted", judge_model="gpt-4o", tasks=("math",))
    assert caps.paid_models(elsewhere, get_model("sim/lost")) == []
    with pytest.raises(ConfigError, match="sim/steady is a calibration persona"):
        caps.paid_models(Experiment(name="one", judge_model="sim/steady"), get_model("sim/lost"))


def test_a_paid_model_needs_a_budget_or_a_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"paid would be paid for.*--budget-usd"):
        caps.require_consent(SCRIPTED, [PAID], yes=False)
    caps.require_consent(SCRIPTED, [PAID], yes=True)
    monkeypatch.setenv(caps.BUDGET_TOKENS, "1000")
    caps.require_consent(SCRIPTED, [PAID], yes=False)
    budget = caps.budget_of(SCRIPTED)
    assert budget is not None
    assert (budget.scope, budget.usd, budget.tokens) == ("experiment:one", None, 1000)


READ = {caps.CONNECTIONS: caps.connections, caps.PROCESSES: caps.processes}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((caps.BUDGET_USD, value) for value in ("much", "-1", "nan", "inf")),
        *((caps.BUDGET_TOKENS, value) for value in ("1.5", "-1", "nan")),
        *((caps.CONNECTIONS, value) for value in ("0", "-2", "99999999")),
        *((caps.PROCESSES, value) for value in ("0", "1.5", "65")),
    ],
)
def test_a_cap_that_is_no_number_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        READ.get(name, lambda: caps.budget_of(SCRIPTED))()


def opted_in(alias: str, usd: float, per: str) -> ModelEntry:
    auto = {"roles": ["assistant", "user", "system"], "budget_usd": usd, "per": per}
    return ModelEntry.model_validate({"alias": alias, "id": f"own/{alias}", "auto": auto})


@pytest.mark.parametrize(
    ("per", "scope"), [("run", "automatic:r1"), ("day", "automatic:m:2026-01-02"), ("total", "automatic:m")]
)
def test_a_run_that_starts_by_itself_has_the_budget_its_model_opted_in_with(per: str, scope: str) -> None:
    budget = caps.automatic_budget(SCRIPTED, opted_in("m", 2.5, per), "r1", "2026-01-02")
    assert budget is not None
    assert (budget.scope, budget.usd) == (scope, 2.5)


def test_the_smallest_budget_of_all_roles_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"user": opted_in("user", 1.0, "total"), "system": opted_in("system", 3.0, "total")}
    monkeypatch.setattr(caps, "get_model", others.__getitem__)
    played = Experiment(name="two", simulator="llm", user_model="user", system_model="system")
    budget = caps.automatic_budget(played, opted_in("m", 2.5, "total"), "r1", "2026-01-02")
    assert budget is not None
    assert budget.usd == 1.0


def test_without_a_budget_of_its_own_the_caps_of_the_environment_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(caps.BUDGET_USD, "4")
    assert caps.automatic_budget(SCRIPTED, PAID, "r1", "2026-01-02") == caps.budget_of(SCRIPTED)
