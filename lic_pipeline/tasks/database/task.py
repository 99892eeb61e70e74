"""The database task (Spider): its Task object. Extraction, comparison, policies, discrimination: ``database_*``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import Extraction, Instruction, Json, PersonaReply, Policy, Reply, Strategy, Verdict
from lic_pipeline.sandbox.sql import Source, SourceError, file_source, find_databases, run_cached, script_source
from lic_pipeline.tasks.database.discrimination import reason_against, tables_of
from lic_pipeline.tasks.database.extract_query import find, unwrap
from lic_pipeline.tasks.database.extract_query import label as label_sql
from lic_pipeline.tasks.database.reference import judge_reference
from lic_pipeline.tasks.database.run_queries import judge, sources_of
from lic_pipeline.tasks.database.sql_tokens import canonical, is_one_query
from lic_pipeline.tasks.reply_reading import TRUNCATED_REASONING, visible_text
from lic_pipeline.tasks.user_messages import PlainMessages

_SCHEMA_QUERY = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'view')"


class DatabaseTask(PlainMessages):
    """Questions about a database, answered with one SQL query; scored by what the query returns."""

    name = "database"
    kind: Literal["binary", "refinement"] = "binary"
    costly = True
    scores_every_turn = True
    scorer_version = 3
    answer_description = "one complete SQLite query (SELECT ...) that returns what was asked for"

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError when reference query, prompt-visible schema or databases are missing or unusable."""
        _reference_sql(instruction)
        schema = instruction.context.get("schema_sql")
        if not isinstance(schema, str) or not schema.strip():
            raise RecordError("is missing", field="context.schema_sql")
        _sources(instruction)

    def system_prompt(self, instruction: Instruction) -> str:
        """Role, schema and form of the answer, the same in every setting."""
        return render("database/system", schema=str(instruction.context.get("schema_sql", "")).strip())

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """Strategy by the rules of this task: a query in an unmistakable place is an attempt."""
        text, _ = visible_text(reply.text)
        return label_sql(text, find(text))

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The query of a reply; both policies read replies alike."""
        text, truncated = visible_text(reply.text)
        extraction = find(text)
        if truncated:
            return extraction.model_copy(update={"flags": (*extraction.flags, TRUNCATED_REASONING)})
        return extraction

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 when the query returns what the reference returns on every database of the instruction."""
        sql = canonical(unwrap(visible_text(answer)[0]))
        shown = sql.encode("utf-8", "replace").decode()
        if not sql:
            return Verdict(score=0, verdict="no_answer")
        try:
            gold_sql = _reference_sql(instruction)
            sources = sources_of(instruction.reference)
        except (RecordError, SourceError) as error:
            return Verdict(score=None, verdict="not_judged", answer=shown, error=str(error))
        if not is_one_query(sql):
            return Verdict(score=0, verdict="not_one_query", answer=shown)
        decide = judge_reference if policy == "reference" else judge
        verdict = decide(sql, gold_sql, sources)
        detail = {**verdict.detail, "db": _kind_of(instruction.reference, len(sources))}
        return verdict.model_copy(update={"answer": shown, "detail": detail})

    def gold(self, instruction: Instruction) -> str | None:
        """The reference query in a code block."""
        sql = instruction.reference.get("reference_sql")
        return f"```sql\n{sql.strip()}\n```" if isinstance(sql, str) and sql.strip() else None

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Right, two wrong (each run and seen to be wrong), and three replies that are no attempt.

        Raises RecordError when the reference or its databases cannot be used.
        """
        sql = _reference_sql(instruction)
        first, second = self._wrong_queries(instruction)
        return (
            PersonaReply(kind="right", text=f"This query returns what you asked for:\n\n{_block(sql)}", score=100.0),
            PersonaReply(kind="wrong", text=f"Here is a query:\n\n{_block(first)}", score=0.0),
            PersonaReply(kind="wrong", text=f"This should do:\n\n{_block(second)}", score=0.0),
            PersonaReply(kind="question", text="Which columns should the result have?"),
            PersonaReply(
                kind="hedge",
                text=f"If you mean one thing, use this:\n\n{_block(first)}\n\nIf you mean the other, use this:\n\n"
                f"{_block(second)}",
            ),
            PersonaReply(kind="refusal", text="I am sorry, but I cannot help with this database."),
        )

    def _wrong_queries(self, instruction: Instruction) -> tuple[str, str]:
        """Two plausible queries on the instruction's own tables that score 0."""
        tables = tables_of(_sources(instruction)[0])
        plausible = [f"SELECT * FROM {table}" for table in tables] + [f"SELECT COUNT(*) FROM {t}" for t in tables]
        certain = ["SELECT -1 AS n, 'none' AS note", "SELECT NULL AS n, NULL AS note, 0 AS total"]
        wrong: list[str] = []
        for sql in plausible + certain:
            if self.score(sql, instruction).score == 0:
                wrong.append(sql)
            if len(wrong) == 2:
                return wrong[0], wrong[1]
        raise RecordError("no two wrong queries could be found; does the reference query run?", field="reference")

    def discrimination(self, instruction: Instruction) -> str | None:
        """Why this item cannot tell a right query from a lazy one; None when it can (see ``discrimination``)."""
        return discrimination(instruction)

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line ``{reference_sql, response, schema | database}``."""
        sql = line.get("reference_sql")
        if not isinstance(sql, str) or not sql.strip():
            raise RecordError("is missing" if not sql else "must be SQL text", field="reference_sql")
        if not is_one_query(sql):
            raise RecordError("must be one query", field="reference_sql")
        reference: dict[str, Json] = {"reference_sql": sql, "db_id": str(line.get("db_id") or "")}
        schema, database = line.get("schema"), line.get("database")
        if database is not None and schema is not None:
            raise RecordError("and 'schema' are both given; keep the one to score on", field="database")
        if database is not None:
            reference["databases"] = _databases_at(database, base)
            source = _usable(Path(reference["databases"][0]))
        elif isinstance(schema, str) and schema.strip():
            reference["schema"] = schema
            source = script_source(schema)
        else:
            raise RecordError("is missing; give SQL text in 'schema' or a path in 'database'", field="schema")
        return Instruction(
            instruction_id=str(line.get("id", "")),
            task=self.name,
            benchmark="lic_score",
            text=str(line.get("question") or ""),
            context={"schema_sql": _schema_text(source)},
            reference=reference,
        )


def discrimination(instruction: Instruction) -> str | None:
    """Why this item cannot tell a right query from a lazy one, as a short code; None when it can.

    Codes: ``no_database``, ``gold_fails``, ``empty``, ``limit_tie``, ``filter_inert``, ``whole_table``,
    ``single_table``. Raises RecordError when there is no reference query.
    """
    sql = _reference_sql(instruction)
    try:
        sources = sources_of(instruction.reference)
    except SourceError:
        return "no_database"
    return reason_against(sql, sources)


def _kind_of(reference: Mapping[str, Json], count: int) -> str:
    """What a score was measured on, for the signature: one database file, a suite of them, or a script."""
    if not reference.get("databases"):
        return "rebuilt"
    return "original" if count == 1 else f"suite({count})"


def _block(sql: str) -> str:
    return f"```sql\n{sql}\n```"


def _reference_sql(instruction: Instruction) -> str:
    sql = instruction.reference.get("reference_sql")
    if not isinstance(sql, str) or not sql.strip():
        raise RecordError("is missing", field="reference.reference_sql")
    if not is_one_query(sql):
        raise RecordError("is not one query", field="reference.reference_sql")
    return canonical(sql)


def _sources(instruction: Instruction) -> tuple[Source, ...]:
    try:
        return sources_of(instruction.reference)
    except SourceError as error:
        raise RecordError(str(error), field="reference.databases") from error


def _databases_at(database: Json, base: Path) -> list[str]:
    if not isinstance(database, str) or not database or "\0" in database:
        raise RecordError("must be the path of a .sqlite file or of a folder", field="database")
    place = base / database
    try:
        changed = place.stat().st_mtime_ns
    except OSError as error:
        raise RecordError(f"{database} does not exist ({error.strerror})", field="database") from error
    found = _listed(str(place.resolve()), changed)
    if not found:
        raise RecordError(f"{database} holds no .sqlite file", field="database")
    return list(found)


@lru_cache(maxsize=256)
def _listed(place: str, changed: int) -> tuple[str, ...]:
    """Database files of a place; remembered, since a million lines may name the same folder."""
    return tuple(str(path) for path in find_databases(Path(place)))


def _usable(path: Path) -> Source:
    try:
        return file_source(path)
    except SourceError as error:
        raise RecordError(str(error), field="database") from error


def _schema_text(source: Source) -> str:
    return "\n".join(str(row[0]) + ";" for row in run_cached(source, _SCHEMA_QUERY).rows)


TASK = DatabaseTask()
