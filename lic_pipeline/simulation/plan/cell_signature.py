"""The signature of a cell: everything a number depends on, as one readable string that travels with it.

Two numbers are comparable when their signatures are equal but for the fields under study.
"""

from __future__ import annotations

from collections.abc import Iterable

from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Setting
from lic_pipeline.signatures import build
from lic_pipeline.simulation.plan.call_parameters import assistant_parameters, simulator_mode
from lic_pipeline.simulation.plan.conversation_ids import ENGINE_SEMANTICS
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.tasks.protocol import Task


def cell_signature(
    experiment: Experiment, task: Task, model: ModelEntry, setting: Setting, items: Iterable[str]
) -> str:
    """``key:value`` pairs joined by ``|``; item set as a hash of the sorted instruction ids."""
    # No model plays the user or labels replies in refinement tasks.
    mode = simulator_mode(experiment, model) if task.kind == "binary" else "scripted"
    user = mode if mode == "scripted" else f"llm({experiment.user_model},{experiment.fidelity})"
    system = "rules" if mode == "scripted" else f"llm({experiment.system_model})"
    parameters = assistant_parameters(experiment, model)
    fields = {
        "task": task.name,
        "items": digest("\x1f".join(sorted(items)))[:8],
        "setting": str(setting),
        "policy": "robust",
        "gate": "label+strict",
        "stop": experiment.stop if task.kind == "binary" else "exhausted",
        "score": "max" if task.kind == "binary" else "last",
        "extraction": "rules" if mode == "scripted" else "ladder+llm",
        "user": user,
        "system": system,
        "judge": experiment.judge_model or "lexical" if task.name == "summary" else "none",
        "assistant": digest(canonical_json([model.id, parameters]))[:8],
        "t": str(parameters.get("temperature", "fixed")),
        "budgets": experiment.preset,
        "system_prompt": digest(experiment.system_prompt)[:8] if experiment.system_prompt else "none",
        "engine": str(ENGINE_SEMANTICS),
        "ver": str(task.scorer_version),
        "seed": str(experiment.seed),
    }
    if setting is Setting.RECAP:
        fields["recap"] = f"{experiment.recap_of},notice={experiment.recap_notice}"
    return build(fields)
