"""Who owns a claim: one text per open ledger, and whether the process behind such a text is certainly dead.

Leases and their times are not known here; a process of another host is never called dead.
"""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path


def new_owner() -> str:
    """``host:pid:start:unique`` of this process. ``start`` is the kernel's start tick, 0 where it is not known."""
    pid = os.getpid()
    return f"{_host()}:{pid}:{_start_tick(pid) or 0}:{uuid.uuid4().hex[:12]}"


def certainly_dead(owner: str) -> bool:
    """True when the owner ran on this host and its process is gone (or its pid belongs to another process now)."""
    parts = owner.split(":")
    if len(parts) != 4 or parts[0] != _host() or not parts[1].isdigit():
        return False
    pid = int(parts[1])
    if Path("/proc/self/stat").exists():
        tick = _start_tick(pid)
        return tick is None or (parts[2] != "0" and parts[2] != str(tick))
    return not _pid_exists(pid)


def _host() -> str:
    """Host name with the pid namespace: containers may share a host name, and pids mean nothing across them."""
    try:
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        namespace = boot = ""
    return "/".join((socket.gethostname(), boot, namespace)).replace(":", "_")


def _start_tick(pid: int) -> int | None:
    """Start time of a live process in clock ticks; None for a missing one or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name may hold blanks and brackets, so fields are counted after its closing bracket.
    fields = stat.rpartition(")")[2].split()
    return None if len(fields) < 20 or fields[0] in {"Z", "X"} else int(fields[19])


def _pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
