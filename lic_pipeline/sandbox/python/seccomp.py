"""A seccomp filter through prctl: no network, no new processes, no tracing. Linux on x86-64 and ARM64 only.

Denied calls fail with EPERM, so a program sees PermissionError. Threads stay possible. Nothing here is a namespace.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from functools import lru_cache

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# numbers of (x86_64, aarch64); None = this architecture does not have the call
_DENIED: dict[str, tuple[int, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242), "bind": (49, 200),
    "listen": (50, 201),
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "mount_setattr": (442, 442), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "bpf": (321, 280), "perf_event_open": (298, 241), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "userfaultfd": (323, 282), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
}  # fmt: skip
_CLONE = (56, 220)
_CLONE3 = 435
_OWN_PID_ONLY: dict[str, tuple[int, int]] = {"kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261)}
_TKILL = (200, 130)

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2

_Step = tuple[int, int, int, int]


def supported() -> bool:
    """True where this module knows the system call numbers."""
    return sys.platform == "linux" and sys.maxsize > 2**32 and platform.machine() in _AUDIT_ARCH


def program(own_pid: int) -> bytes:
    """The filter as bytes of ``struct sock_filter``; signals may go to ``own_pid`` only."""
    machine = platform.machine()
    column = list(_AUDIT_ARCH).index(machine)
    steps: list[_Step] = [
        (_LD, 0, 0, 4), (_JEQ, 1, 0, _AUDIT_ARCH[machine]), (_RET, 0, 0, _KILL),
        (_LD, 0, 0, 0), (_JGE, 0, 1, _X32), (_RET, 0, 0, _ERRNO | _EPERM),
    ]  # fmt: skip
    for numbers in _DENIED.values():
        number = numbers[column]
        if number is not None:
            steps += [(_JEQ, 0, 1, number), (_RET, 0, 0, _ERRNO | _EPERM)]
    steps += [(_JEQ, 0, 1, _CLONE3), (_RET, 0, 0, _ERRNO | _ENOSYS)]
    steps += [(_JEQ, 0, 1, _TKILL[column]), (_RET, 0, 0, _ERRNO | _EPERM)]
    steps += [
        (_JEQ, 0, 4, _CLONE[column]), (_LD, 0, 0, 16), (_JSET, 1, 0, _CLONE_THREAD),
        (_RET, 0, 0, _ERRNO | _EPERM), (_RET, 0, 0, _ALLOW),
    ]  # fmt: skip
    for name, numbers_of in _OWN_PID_ONLY.items():
        steps += _own_pid_only(numbers_of[column], own_pid, zero_is_self=name == "prlimit64")
    steps.append((_RET, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _own_pid_only(number: int, own_pid: int, *, zero_is_self: bool) -> list[_Step]:
    """Allow one call only when its first argument is our own process."""
    second = 0 if zero_is_self else own_pid
    return [
        (_JEQ, 0, 5, number), (_LD, 0, 0, 16), (_JEQ, 1, 0, own_pid), (_JEQ, 0, 1, second), (_RET, 0, 0, _ALLOW),
        (_RET, 0, 0, _ERRNO | _EPERM),
    ]  # fmt: skip


class _Fprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


@lru_cache(maxsize=1)
def program_for(own_pid: int) -> _Fprog:
    """The filter as the kernel takes it; it keeps what it points to alive."""
    code = program(own_pid)
    buffer = (ctypes.c_char * len(code)).from_buffer(bytearray(code))
    fprog = _Fprog(len(code) // 8, ctypes.addressof(buffer))
    fprog.kept = buffer  # as long as the struct lives, so does what it points to
    return fprog


def install(libc: ctypes.CDLL) -> None:
    """Put the filter on this process for good. Raises OSError where the kernel refuses."""
    fprog = program_for(os.getpid())
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(fprog), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
