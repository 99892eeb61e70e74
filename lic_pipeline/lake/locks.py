"""One process at a time: a file lock beside what it guards, released by the system when its holder dies.

For what is read, changed and written again, or made the first time. What is only replaced needs none (``files``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lic_pipeline.errors import StorageError


@contextmanager
def locked(target: Path, doing: str, seconds: float = 120.0) -> Iterator[None]:
    """Hold the lock of ``target`` (``<name>.lock`` beside it) while the block lasts, creating folders.

    Raises StorageError when the lock cannot be made, or another process, ``doing`` the same, has it for too long.
    """
    lock = FileLock(target.with_name(f"{target.name}.lock"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise StorageError(
            f"another process has been {doing} {target} for over {seconds:.0f} s; wait for it or end it"
        ) from error
    except OSError as error:
        raise StorageError(
            f"{target.parent} cannot be written ({error.strerror or error}); make it writable and free some space"
        ) from error
    try:
        yield
    finally:
        lock.release()
