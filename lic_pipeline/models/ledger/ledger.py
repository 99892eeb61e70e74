"""The ledger's public face: nothing is paid for twice.

One ``Ledger`` belongs to one process; several processes may open one file or database. Writing goes through one thread
(``writer.py``), reading through connections of its own. Synchronous methods may be called from the event loop: they
take milliseconds. Keys of conversations and requests are made elsewhere.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from lic_pipeline.models.ledger import reads
from lic_pipeline.models.ledger.batch import Batches
from lic_pipeline.models.ledger.claims import CHUNK, Claims, Won, server_clock_offset
from lic_pipeline.models.ledger.database import Database, open_database
from lic_pipeline.models.ledger.faults import storage_errors
from lic_pipeline.models.ledger.owner import new_owner
from lic_pipeline.models.ledger.reader import LedgerReader, RecentVerdicts
from lic_pipeline.models.ledger.records import DONE, ERROR_PREFIX, CallKey
from lic_pipeline.models.ledger.rows import Spend, encode, new_call
from lic_pipeline.models.ledger.schema import prepare_schema
from lic_pipeline.models.ledger.statements import chunks
from lic_pipeline.models.ledger.vacuum import Vacuumed, vacuum
from lic_pipeline.models.ledger.writer import Operation, Writer
from lic_pipeline.models.redaction import redact, redact_message, refresh_secrets
from lic_pipeline.records import Json

LEASE_SECONDS = 60.0
HEARTBEAT_SECONDS = 15.0
_DETAIL_CHARACTERS = 2000


class Ledger(LedgerReader):
    """Durable calls, decisions, claims, budgets and caches. Use ``Ledger.open``; close it, or use it in ``with``."""

    def __init__(self, database: Database, claims: Claims) -> None:
        self._claims = claims
        self._batches = Batches(database, claims)
        super().__init__(database, Writer(self._batches))
        self._verdicts = RecentVerdicts()
        self._blobs: set[str] = set()
        self._live: set[str] = set()
        atexit.register(self._close_quietly)

    @classmethod
    def open(
        cls, target: Path | str, *, lease_s: float = LEASE_SECONDS, heartbeat_s: float = HEARTBEAT_SECONDS
    ) -> Ledger:
        """Open or create the ledger of a folder, a .sqlite file or a SQLAlchemy URL.

        Raises StorageError when it is damaged, not a ledger, of a newer version or cannot be written, and ConfigError
        for a URL that cannot be used. A write-ahead log left by a killed process is recovered.
        """
        refresh_secrets()
        database = open_database(target)
        try:
            with storage_errors(database.place), database.writer.connect() as connection, connection.begin():
                prepare_schema(connection, database.place)
                offset = server_clock_offset(connection)
            return cls(database, Claims(database.writer.dialect, new_owner(), lease_s, heartbeat_s, offset))
        except BaseException:
            database.dispose()
            raise

    @property
    def address(self) -> str:
        """What another process opens this ledger by. It may hold a password: for pipes, never for messages."""
        return self._database.address

    def close(self) -> None:
        """Make everything durable and release all claims. Raises StorageError if queued rows could not be stored."""
        self._close_quietly()
        if self._writer.failure is not None and self._writer.untold:
            self._writer.untold = False
            raise self._writer.failure

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._close_quietly()

    def _close_quietly(self) -> None:
        atexit.unregister(self._close_quietly)
        self._writer.close()
        self._database.dispose()

    # -- upkeep and budgets --------------------------------------------------------------------------------------------

    def vacuum(self) -> Vacuumed:
        """Drop the texts of superseded epochs and give the space back; sums of calls, tokens and cost stay true.

        Raises StorageError while another process works on this ledger.
        """
        self._writer.call("flush", "", None)
        with storage_errors(self.place):
            return vacuum(self._database, self._claims.owner)

    def budget_seen(self, scope: str) -> tuple[float, int]:
        """As ``budget``, at this process's last commit in ``scope``: free of charge, never more than one batch late."""
        seen = self._batches.rows.spent.get(scope)
        return self.budget(scope) if seen is None else seen

    # -- claims and states --------------------------------------------------------------------------------------------

    async def claim(self, ids: Sequence[str]) -> Won:
        """Claim what is open and free, 256 per transaction. Unknown ids become open."""
        parts: list[Won] = [await self._writer.submit("claim", "", part) for part in chunks(ids, CHUNK)]
        return Won(frozenset().union(*(won.ids for won in parts)), frozenset().union(*(won.new for won in parts)))

    def release(self, ids: Iterable[str]) -> None:
        """Give claims back (queued)."""
        self._writer.put(Operation("release", "", list(ids)))

    def finish(self, conversation_id: str, state: str, stop_reason: str | None) -> None:
        """End a conversation as ``done`` or ``error:<class>`` and release its claim (queued)."""
        if state != DONE and not (state.startswith(ERROR_PREFIX) and len(state) > len(ERROR_PREFIX)):
            raise ValueError(f"a conversation ends as 'done' or 'error:<class>', not {state!r}")
        self._writer.put(Operation("finish", conversation_id, (state, stop_reason)))

    def reopen(self, ids: Sequence[str], *, error_only: bool = True) -> int:
        """Make ended conversations open again; only those in error unless ``error_only`` is off. Returns how many."""
        return int(self._writer.call("reopen", "", (list(ids), error_only)))

    def bump_epoch(self, ids: Sequence[str]) -> None:
        """Start a new epoch: the same keys may be called and decided anew, older rows stay."""
        self._writer.call("bump", "", list(ids))

    # -- what was paid for and decided --------------------------------------------------------------------------------

    async def record_call(
        self,
        conversation_id: str,
        key: CallKey,
        request_hash: str,
        request_fields: Mapping[str, str],
        reply: Mapping[str, Json],
        latency_s: float | None = None,
        *,
        model: str = "",
        cost_usd: float | None = None,
        tokens: int | None = None,
        budget_scope: str | None = None,
        plain: str | None = None,
    ) -> bool:
        """Store a paid call; durable when it returns. True = stored, False = the same request was stored before.

        ``reply`` is the JSON of ``records.Reply``; usage, cost and model are taken from it where not given. With
        ``budget_scope`` the cost is added to that budget in the same transaction. ``plain`` is the text of ``reply``
        without secrets, where it is at hand (``encode``, then ``redact``). Raises DriftError when the key holds another
        request in this epoch, ClaimLostError, StorageError; ValueError or TypeError when reply is no JSON.
        """
        new = new_call(
            key,
            request_hash,
            request_fields,
            reply,
            latency_s=latency_s,
            model=model,
            cost_usd=cost_usd,
            tokens=tokens,
            budget_scope=budget_scope,
            plain=plain,
        )
        stored: bool = await self._writer.submit("call", conversation_id, new)
        return stored

    def record_decision(self, conversation_id: str, kind: str, turn: int, value: Json, version: str) -> None:
        """Store a decision (queued); the first of an epoch stands. Durable with the next awaited operation."""
        self._writer.put(Operation("decision", conversation_id, (kind, turn, redact(encode(value)), version)))

    def record_try(
        self,
        conversation_id: str,
        key: CallKey,
        outcome_class: str,
        status: int | None,
        detail_redacted: str,
        latency: float | None,
    ) -> None:
        """Store one HTTP attempt (queued): its outcome, HTTP status, detail (redacted again, cut) and seconds."""
        detail = _plain_text(redact_message(detail_redacted)[:_DETAIL_CHARACTERS]) if detail_redacted else ""
        row = (conversation_id, *key, outcome_class, status, detail, latency, time.time())
        self._writer.put(Operation("try", conversation_id, row))

    def add_spend(self, scope: str, usd: float, tokens: int) -> None:
        """Add to a budget what no call row stands for (queued); calls use ``record_call(budget_scope=)``."""
        self._writer.put(Operation("spend", "", Spend(scope, usd, tokens)))

    async def flush(self) -> None:
        """Return when everything queued is durable."""
        await self._writer.submit("flush", "", None)

    # -- texts and verdicts -------------------------------------------------------------------------------------------

    def put_blob(self, kind: str, text: str) -> str:
        """Store a text once (queued) and return its sha256 in hex."""
        content = redact(text).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._blobs:
            self._writer.put(Operation("blob", "", (digest, kind, content)))
            self._blobs.add(digest)
        return digest

    def verdict(self, key: str) -> dict[str, Json] | None:
        """A cached verdict, None when unknown; the latest used ones are kept in memory."""
        known = self._verdicts.get(key)
        if known is None:
            known = self._peek(lambda connection: reads.read_verdict(connection, key))
        if known is not None:
            self._verdicts.keep(key, known)
        return known

    def verdicts(self, keys: Sequence[str]) -> dict[str, dict[str, Json]]:
        """The cached ones among these verdicts, read together and not kept in memory."""
        found = {key: known for key in keys if (known := self._verdicts.get(key)) is not None}
        rest = [key for key in keys if key not in found]
        return {**found, **self._peek(lambda connection: reads.read_verdicts(connection, rest))} if rest else found

    def store_verdict(self, key: str, value: Mapping[str, Json]) -> None:
        """Cache a costly verdict (queued)."""
        text = redact(encode(dict(value)))
        self._writer.put(Operation("verdict", "", (key, text)))
        self._verdicts.keep(key, json.loads(text))

    # -- processes ----------------------------------------------------------------------------------------------------

    def live_runs(self, provider_key: str) -> int:
        """How many live processes use this provider, this one included (the first call joins it); at least 1."""
        if provider_key not in self._live:
            self._writer.call("live", "", provider_key)
            self._live.add(provider_key)
        return max(1, self._peek(lambda connection: self._claims.count_live(connection, provider_key)))


def _plain_text(text: str) -> str:
    """Text every database stores: no NUL, no lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "backslashreplace").decode("utf-8")
