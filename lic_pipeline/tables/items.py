"""Tables of items on their way from raw rows to approval, one row per instruction and layer.

Each layer keeps every row and gives it a ``status``: ``ok`` or ``quarantined:<reason>``; the next reads ``ok`` only.
"""

from __future__ import annotations

from lic_pipeline.tables import Column, TableSpec, register

OK = "ok"

_ID = Column("instruction_id", "string", "Instruction")
_TASK = Column("task", "string", "Task")
_STATUS = Column("status", "string", "ok, or quarantined:<reason>")

BENCHMARK_FILES = register(
    TableSpec(
        "benchmark_files",
        "One raw file that was read, by benchmark.",
        (
            Column("benchmark", "string", "Benchmark"),
            Column("source", "string", "Which copy", choices=("lic_data", "fetched", "embedded")),
            Column("path", "string", "Path inside the benchmark's folder"),
            Column("sha256", "string", "SHA-256 of the file"),
            Column("rows", "int", "Rows found", minimum=0),
            Column("bytes", "int", "Size in bytes", minimum=0),
        ),
        ("benchmark", "path"),
    )
)

PROBLEMS = register(
    TableSpec(
        "problems",
        "One row or file that never became a usable record: where it stands and why.",
        (
            _TASK,
            Column("layer", "string", "Layer that set it aside"),
            Column("place", "int", "Position in the layer's list", minimum=0),
            Column("file", "string", "File"),
            Column("line", "int", "Line from 1, 0 = the whole file", minimum=0),
            Column("record_id", "string", "Record, where it has an id"),
            Column("field", "string", "Field, where one is to blame"),
            Column("reason", "string", "Why it cannot be used"),
        ),
        ("task", "layer", "place"),
    )
)

INSTRUCTIONS = register(
    TableSpec(
        "instructions",
        "One fully specified instruction, gold-checked.",
        (
            _ID,
            _TASK,
            Column("benchmark", "string", "Benchmark"),
            Column("source", "string", "Which copy it was read from"),
            Column("text", "string", "What the user says in FULL"),
            Column("context", "json", "Prompt-visible fields"),
            Column("reference", "json", "What scoring needs; never prompt-visible"),
            Column("metadata", "json", "Neither"),
            Column("gold_score", "float", "Score of the reference answer; NULL when there is none", True, 0, 100),
            _STATUS,
        ),
        ("instruction_id",),
    )
)

LIBRARY = register(
    TableSpec(
        "instruction_library",
        "One version of one usable instruction; scores of older manifests are computed against their own version.",
        (
            _ID,
            Column("content", "string", "Hash of text and context"),
            _TASK,
            Column("benchmark", "string", "Benchmark"),
            Column("source", "string", "Which copy it was read from"),
            Column("text", "string", "What the user says in FULL"),
            Column("context", "json", "Prompt-visible fields"),
            Column("reference", "json", "What scoring needs; the latest for this version"),
            Column("metadata", "json", "Neither"),
        ),
        ("instruction_id", "content"),
    )
)

SHARDED_INSTRUCTIONS = register(
    TableSpec(
        "sharded_instructions",
        "One instruction and its shards; without shards it is quarantined:no_shards.",
        (
            _ID,
            _TASK,
            Column("n_shards", "int", "Number of shards, 0 = none", minimum=0),
            Column("shards", "json", "Shards in order: shard_id, text, documents"),
            Column("provenance", "string", "Who made them", nullable=True),
            _STATUS,
        ),
        ("instruction_id",),
    )
)

APPROVED_INSTRUCTIONS = register(
    TableSpec(
        "approved_instructions",
        "One instruction and whether it may be evaluated; without shards in FULL only.",
        (
            _ID,
            _TASK,
            Column("n_shards", "int", "Number of shards, 0 = none", minimum=0),
            Column("approval", "string", "reviewed, verified, released, authored, unsharded, pending or rejected"),
            Column("warnings", "json", "Warnings of the static checks; they exclude nothing by themselves"),
            _STATUS,
        ),
        ("instruction_id",),
    )
)
