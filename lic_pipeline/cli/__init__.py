"""The front door for people: `lic`, one module per command.

A command's module is imported only when that command is called, so that `lic --help` is quick whatever they need.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from lic_pipeline.errors import INTERRUPTED, InterruptedRunError


def main() -> None:
    """Entry point of the console script. Every error ends in one line on stderr and its exit code."""
    from lic_pipeline.cli.shared.standard_streams import close_stdout, secure_streams

    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # nohup ignores it, and means it
        signal.signal(signal.SIGHUP, _hang_up)
    secure_streams()
    try:
        code = _call(sys.argv[1:])
        # Here and not at exit, where a closed pipe could only be complained about.
        close_stdout()
    except BrokenPipeError:
        _silence()
        code = 1
    except OSError as error:
        _silence()
        code = _told(f"stdout cannot be written ({error.strerror or error}); what is stored stays", 2)
    except KeyboardInterrupt:
        code = _told(INTERRUPTED, InterruptedRunError.exit_code)
    _leave(code)


def _leave(code: int) -> None:
    """End the process with this code, whatever native libraries do on their way out.

    DuckDB and Arrow keep threads whose teardown by the C++ runtime has been seen to abort the finished process with
    SIGABRT ("terminate called without an active exception"): all was stored, and the caller read a failure.
    """
    if not {"duckdb", "pyarrow"} & set(sys.modules):
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _call(arguments: Sequence[str]) -> int:
    from lic_pipeline.cli.app import call
    from lic_pipeline.config import load_env_file
    from lic_pipeline.errors import LicError

    try:
        load_env_file()
        return call(arguments)
    except LicError as error:
        return _told(str(error), error.exit_code)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        from lic_pipeline.cli.shared.error_messages import error_message

        if os.environ.get("LIC_DEBUG"):
            raise
        return _told(*error_message(error))


def _told(message: str, code: int) -> int:
    """One line on stderr, whatever the message holds."""
    with suppress(OSError, ValueError):
        print("lic: " + " ".join(part.strip() for part in message.splitlines()), file=sys.stderr, flush=True)
    return code


def _interrupt(number: int, _frame: object) -> None:
    """SIGTERM before and after an engine's loop ends the command as Ctrl-C does; in between the engine takes it."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def _hang_up(_number: int, _frame: object) -> None:
    """The terminal was closed: whoever takes SIGTERM at this moment stores what there is and ends."""
    os.kill(os.getpid(), signal.SIGTERM)


def _silence() -> None:
    """The reader of stdout is gone: keep the interpreter from complaining when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
