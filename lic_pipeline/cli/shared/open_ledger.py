"""The ledger a command opens; one that only looks into it must not create it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.ledger import Ledger


def open_ledger(home: Home) -> Ledger:
    """The ledger of this home, or the database LIC_LEDGER_URL names; made where there is none."""
    from lic_pipeline.models.ledger.ledger import Ledger

    return Ledger.open(home.ledger_target)


@contextmanager
def ledger_to_read(home: Home) -> Iterator[Ledger]:
    """As ``open_ledger``, but where there is none an empty one, gone after the block."""
    from tempfile import TemporaryDirectory

    from lic_pipeline.models.ledger.ledger import Ledger

    if has_ledger(home):
        with open_ledger(home) as ledger:
            yield ledger
    else:
        with TemporaryDirectory(prefix="lic-no-ledger-") as folder, Ledger.open(folder) as ledger:
            yield ledger


def has_ledger(home: Home) -> bool:
    """True when there is a ledger to look into, or a server's database that may hold one."""
    from pathlib import Path

    from lic_pipeline.models.ledger.database import FILE_NAME

    target = home.ledger_target
    if isinstance(target, str) and "://" in target:
        file = _file_of(target)
        return file is None or file.exists()
    path = Path(target).expanduser()
    return path.is_file() or (path / FILE_NAME).is_file()


def _file_of(url: str) -> Path | None:
    """The file a URL names, None for a server's database and for a URL whose fault is told when it is opened."""
    from pathlib import Path

    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except ArgumentError:
        return None
    named = parts.database if parts.get_backend_name() == "sqlite" else None
    return Path(named) if named and named != ":memory:" else None
