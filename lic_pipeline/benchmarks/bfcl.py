"""Berkeley Function-Calling Leaderboard -> actions instructions ``bfcl/<category>_<n>``.

Questions stand in ``BFCL_v<n>_<category>.json`` (JSON Lines in spite of the ending), accepted calls under the same name
in ``possible_answer/``. The task is the category ``parallel``; others of the same shape are read when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lic_pipeline.benchmarks.fields import kind_of, need_id, need_list, need_object, need_objects, need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading, Row
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json

CATEGORIES = ("parallel",)
GLOBS = ("BFCL_v[0-9]_parallel.json", "possible_answer/BFCL_v[0-9]_parallel.json")


def read(folder: Path, categories: Sequence[str] = CATEGORIES) -> Reading:
    """All items of the categories below ``folder``; of several versions of a file the newest is read."""
    collector = Collector(folder)
    for category in categories:
        for path in collector.find(f"BFCL_v[0-9]_{category}.json")[-1:]:
            answers = _answers(collector, folder / "possible_answer" / path.name)
            for row in collector.lines(path):
                collector.add(row, lambda row, answers=answers: _build_row(row, answers))  # type: ignore[misc]
    return collector.reading()


def build(
    instruction_id: str, question: Mapping[str, Json], functions: Mapping[str, Json], calls: Mapping[str, Json]
) -> Instruction:
    """The instruction out of ``question``, ``function`` and ``ground_truth``, each in an object of its own.

    Raises RecordError naming the field.
    """
    return Instruction(
        instruction_id=instruction_id,
        task="actions",
        benchmark="bfcl",
        text=question_text(question, "question"),
        context={"functions": _functions(functions)},
        reference={"calls": _calls(calls)},
    )


def question_text(value: Mapping[str, Json], field: str) -> str:
    """The one user message in BFCL's nested question ``[[{role, content}]]``. Raises RecordError."""
    turns = need_list(value, field)
    messages = turns[0] if len(turns) == 1 else None
    if not isinstance(messages, list) or len(messages) != 1 or not isinstance(messages[0], Mapping):
        raise RecordError("must hold one turn with one message, [[{role, content}]]", field=field)
    if messages[0].get("role") != "user":
        raise RecordError("the one message must have the role 'user'", field=field)
    return need_text(messages[0], "content", label=f"{field}[0][0].content").strip()


def _build_row(row: Row, answers: Mapping[str, Mapping[str, Json]]) -> Instruction:
    item = need_id(row.value, "id")
    if item not in answers:
        raise RecordError("no usable answer with this id in possible_answer", field="ground_truth")
    return build(f"bfcl/{item}", row.value, row.value, answers[item])


def _answers(collector: Collector, path: Path) -> dict[str, Mapping[str, Json]]:
    if not path.is_file():
        collector.problem(f"possible_answer/{path.name}", "is missing, so no item can be scored")
        return {}
    answers: dict[str, Mapping[str, Json]] = {}
    for row in collector.lines(path):
        try:
            item = need_id(row.value, "id")
            if item in answers:
                raise RecordError(f"{item} stands twice; the first answer is used", field="id")
            answers[item] = row.value
        except RecordError as error:
            collector.reject(row, error.reason, field=error.field or "")
    return answers


def _functions(value: Mapping[str, Json]) -> list[dict[str, Json]]:
    functions = need_objects(value, "function")
    names = []
    for place, function in enumerate(functions):
        names.append(need_text(function, "name", label=f"function[{place}].name"))
        parameters = need_object(function, "parameters", label=f"function[{place}].parameters")
        need_object(parameters, "properties", label=f"function[{place}].parameters.properties")
    if len(set(names)) != len(names):
        raise RecordError("two functions have the same name", field="function")
    return functions


def _calls(value: Mapping[str, Json]) -> list[dict[str, Json]]:
    calls = need_objects(value, "ground_truth")
    for place, call in enumerate(calls):
        if len(call) != 1:
            raise RecordError("a call must name exactly one function", field=f"ground_truth[{place}]")
        ((name, arguments),) = call.items()
        if not isinstance(arguments, Mapping):
            raise RecordError(f"must be an object, is {kind_of(arguments)}", field=f"ground_truth[{place}].{name}")
        for argument, accepted in arguments.items():
            if not isinstance(accepted, list) or not accepted:
                where = f"ground_truth[{place}].{name}.{argument}"
                raise RecordError("must be a list of accepted values", field=where)
    return calls
