"""`simulator_health` from a run whose LLM roles misbehave a known number of times; rebuilt without a call."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from fault_server import FaultServer
from math_plans import entry_at, math_plan
from role_answers import faithful_user, role_of

from lic_pipeline.metrics.build import build_metrics
from lic_pipeline.metrics.simulator_health import simulator_events
from lic_pipeline.metrics.warehouse import store
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import user_registry
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.tables.scores import PLANNED, SCORES

LOOSE = "Two numbers matter: there are 40 shelves, which brings us to $2,106 for everything, shelves included"


class Misbehaving:
    """The user fails twice, then adds something; the classifier fails twice, the extractor always."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, body: Mapping[str, Any]) -> str:
        role = role_of(body)
        self.asked[role] += 1
        if role == "user":
            bad = ["no object", "still none", '{"response": "each box holds 3 pens, 77 shelves", "shard_id": 3}']
            return bad[self.asked[role] - 1] if self.asked[role] <= len(bad) else faithful_user(body)
        if role == "classifier":
            return '{"strategy": "shouting"}' if self.asked[role] <= 2 else '{"strategy": "answer_attempt"}'
        return '{"answer": "2107"}' if role == "extractor" else LOOSE


def test_bad_replies_of_roles_are_counted_and_survive_the_loss_of_the_lake(
    tmp_path: Path, serve: Any, lic_home: Path
) -> None:
    setup = Misbehaving()
    server: FaultServer = serve(answer=setup)
    lic_home.mkdir(exist_ok=True)
    user_registry().write_text(
        "models:\n"
        f"  - {{alias: user, id: local/user, base_url: '{server.url}', limits: {{concurrency: 1}}}}\n"
        f"  - {{alias: system, id: local/system, base_url: '{server.url}'}}\n"
    )
    plan = math_plan(
        entry_at(server.url, limits={"concurrency": 1}), 1, settings=["SHARDED"],
        simulator="llm", user_model="user", system_model="system", fidelity="flag",
    )  # fmt: skip
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert run(plan, ledger, tmp_path / "lake").complete
        before, requests = health(tmp_path / "lake", plan), server.requests
        shutil.rmtree(tmp_path / "lake")
        assert run(plan, ledger, tmp_path / "lake").complete
    assert server.requests == requests
    assert health(tmp_path / "lake", plan) == before

    assert (before["n_conversations"], before["replies"], before["user_turns"]) == (1, 4, 3)
    assert (before["user_reasked"], before["user_fallback"]) == (1, 1)
    assert (before["user_added"], before["user_flawed"], before["flawed_conversations"]) == (1, 1, 1)
    assert (before["label_reasked"], before["label_fallback"]) == (1, 1)
    attempts = before["attempts"]
    assert attempts >= 3
    found = (before["extractor_asked"], before["extractor_reasked"], before["extractor_failed"])
    assert found == (attempts, attempts, attempts)
    assert setup.asked["extractor"] == 2 * attempts
    assert before["user_flawed_share"] == 1 / 3
    assert {"user", "extractor", "conversations"} <= set(before["over"].split(", "))


def health(lake: Path, plan: Plan) -> dict[str, Any]:
    """The one row of the table for this plan."""
    planned = [
        {
            **{name: getattr(spec, name) for name in ("conversation_id", "task", "model", "instruction_id", "run")},
            "experiment": "faults",
            "setting": str(spec.setting),
            "condition": "{}",
            "signature": "task:math",
        }
        for spec in plan.specs
    ]
    table = PLANNED.arrow_table(planned)
    with duckdb.connect() as connection:
        store(connection, "planned", table)
        store(connection, "scores", pa.Table.from_pylist([], schema=SCORES.arrow_schema))
        store(connection, "simulator_events", simulator_events(lake, table))
        build_metrics(connection)
        (row,) = connection.sql("SELECT * FROM simulator_health").to_arrow_table().to_pylist()
        return dict(row)
