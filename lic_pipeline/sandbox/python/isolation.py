"""The walls: namespaces, a root folder with nothing of the user in it, limits, and giving up privileges.

Runs in the zygote and its children only. Each function raises OSError where the system refuses; who calls decides what
that means. The wall of system calls stands in ``seccomp``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from pathlib import Path

from lic_pipeline.sandbox.python import seccomp

NOBODY = 65534
TMP_BYTES = 32 * 1024 * 1024

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME, _MS_NOEXEC = 1024, 2048, 1 << 21, 8
_ST_KEPT = {2: _MS_NOSUID, 4: _MS_NODEV, 8: _MS_NOEXEC, 1024: _MS_NOATIME, 2048: _MS_NODIRATIME, 4096: _MS_RELATIME}
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 8, 24, 38
_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/lib", "/lib64")
_DEVICES = ("null", "zero", "random", "urandom")

libc = ctypes.CDLL(None, use_errno=True)
for _name in ("unshare", "setns", "prctl", "mount", "umount2", "syscall", "capset"):
    getattr(libc, _name, None)  # Looked up now and kept, or each job looks it up anew.


def _call(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    """Leave the given namespaces for fresh ones."""
    _call(libc.unshare(ctypes.c_int(flags)), "unshare")


def own_pid_namespace() -> int:
    """A descriptor through which children return to this process's pid namespace. Linux 5.8 or later."""
    return os.pidfd_open(os.getpid())


def children_stay_here(pid_namespace: int) -> None:
    """Undo ``unshare(NEWPID)`` for the children forked from now on."""
    _call(libc.setns(pid_namespace, NEWPID), "setns")


def die_with_parent() -> None:
    """Be killed when the forking process (which must have one thread only) ends."""
    _call(libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "pdeathsig")


def enter_namespaces() -> None:
    """Fresh mount, net, ipc, uts and pid (for children) namespaces; as root directly, else inside a user namespace."""
    flags = NEWNS | NEWUTS | NEWIPC | NEWNET | NEWPID
    if os.geteuid() == 0:
        try:
            unshare(flags)
            return
        except PermissionError:
            pass  # root without CAP_SYS_ADMIN, as in a container: go on like an ordinary user
    user, group = os.geteuid(), os.getegid()
    unshare(flags | NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {group} 1")


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """mount(2)."""
    encoded = [part.encode() if part is not None else None for part in (source, target, kind)]
    options = data.encode() if data is not None else None
    _call(libc.mount(*encoded, ctypes.c_ulong(flags), options), f"mount {target}")


def build_root(stage: str, libraries: list[str], extra: list[tuple[str, str]]) -> None:
    """Make a root of read-only system libraries, ``libraries`` and ``extra`` (source, target), and move into it.

    ``stage`` is an existing empty folder to build on. After this no file of the user can be named any more.
    """
    mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    mount("tmpfs", stage, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for folder in dict.fromkeys((*_SYSTEM_FOLDERS, *libraries)):
        _library(stage, folder)
    for folder in libraries:
        hidden = f"{stage}{folder}/site-packages"
        if os.path.isdir(hidden):
            mount("tmpfs", hidden, "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_RDONLY, "size=4k,mode=755")
    for source, target in extra:
        _bind(source, stage + target)
    os.makedirs(f"{stage}/dev", exist_ok=True)
    for device in _DEVICES:
        Path(f"{stage}/dev/{device}").touch()
        mount(f"/dev/{device}", f"{stage}/dev/{device}", None, _MS_BIND)
    os.symlink("/tmp/.stdin", f"{stage}/dev/stdin")
    os.makedirs(f"{stage}/tmp", exist_ok=True)
    _pivot(stage)
    mount("none", "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def _library(stage: str, folder: str) -> None:
    """Show ``folder`` in the new root, as the link it is on merged-/usr systems or as a read-only bind."""
    if os.path.islink(folder) and folder in _SYSTEM_FOLDERS:
        os.symlink(os.readlink(folder), stage + folder)
    elif os.path.isdir(folder) and not os.path.exists(stage + folder):
        _bind(folder, stage + folder)


def _bind(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    mount(source, target, None, _MS_BIND | _MS_REC)
    kept = os.statvfs(target).f_flag
    flags = sum(flag for bit, flag in _ST_KEPT.items() if kept & bit)
    mount("none", target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | flags)


def _pivot(stage: str) -> None:
    old = f"{stage}/.old"
    os.makedirs(old)
    _call(libc.syscall(_pivot_number(), stage.encode(), old.encode()), "pivot_root")
    os.chdir("/")
    _call(libc.umount2(b"/.old", _MNT_DETACH), "umount")
    os.rmdir("/.old")


def _pivot_number() -> int:
    return 155 if os.uname().machine == "x86_64" else 41


def private_tmp(*, filtered: bool) -> None:
    """Fresh mounts for one job, its own empty /tmp; fresh ipc and network too where seccomp cannot deny their use."""
    unshare(NEWNS if filtered else NEWNS | NEWIPC | NEWNET)
    mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={TMP_BYTES},mode=1777,nr_inodes=4096")
    os.chdir("/tmp")


def limit_resources(memory: int, cpu_seconds: int) -> None:
    """The limits of one process: address space, processor time, files, no core dump."""
    wanted = {
        "RLIMIT_AS": memory,
        "RLIMIT_CPU": cpu_seconds,
        "RLIMIT_FSIZE": TMP_BYTES,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 512,
        "RLIMIT_CORE": 0,
        "RLIMIT_STACK": 64 * 1024 * 1024,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        try:
            resource.setrlimit(number, (value, value))
        except (OSError, ValueError):  # lower already; macOS refuses some
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, (resource.getrlimit(number)[1],) * 2)


def limit_memory(size: int) -> None:
    """The address space of this process, in bytes, where the system has such a limit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


# Made once: in a freshly forked process each new C type costs more than the call it is for.
_OWN_CAPABILITIES = _CapHeader(0x20080522, 0)
_NO_CAPABILITIES = (ctypes.c_uint32 * 6)()


def forget_capabilities() -> None:
    """Empty the bounding set: capabilities held now stay, none can be gained."""
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def drop_privileges() -> None:
    """Become nobody (as real root), lose every capability and the way back."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    _call(libc.capset(ctypes.byref(_OWN_CAPABILITIES), ctypes.byref(_NO_CAPABILITIES)), "capset")
    _call(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _call(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")


def filter_calls() -> bool:
    """Install the seccomp filter where this system has one; True when it stands."""
    if not seccomp.supported():
        return False
    try:
        seccomp.install(libc)
    except OSError:
        return False
    return True


def is_linux() -> bool:
    """Namespaces exist on Linux only."""
    return sys.platform == "linux"
