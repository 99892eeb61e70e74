"""Partitions: by task before the models come in, by task and model after. Keys are safe encodings of the names."""

from __future__ import annotations

import dagster as dg

from lic_pipeline.lake.files import safe_part, unsafe_part
from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.tasks.registry import task_names

BY_TASK = dg.StaticPartitionsDefinition(list(task_names()))
MODELS = dg.DynamicPartitionsDefinition(name="model")
BY_TASK_AND_MODEL = dg.MultiPartitionsDefinition({"task": BY_TASK, "model": MODELS})
AUTOMATIC_TAG = "lic/automatic"
"""Tag of runs that nobody asked for; they spend the budgets their models opted in with."""


def model_key(alias: str) -> str:
    """Partition key of a model."""
    return safe_part(alias)


def partition_key(task: str, alias: str) -> dg.MultiPartitionKey:
    """Partition key of a task and a model."""
    return dg.MultiPartitionKey({"task": task, "model": model_key(alias)})


def task_and_model(key: str) -> tuple[str, ModelEntry]:
    """Task and registry entry of a partition key. Raises UnknownNameError for a model no longer registered.

    Keys are read as text (model|task, the order of the dimensions' names): runs launched by GraphQL bring no object.
    """
    model, _, task = str(key).partition("|")
    return task, get_model(unsafe_part(model))
