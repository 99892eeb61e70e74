"""The front door for people: `lic`, one module per command.

A command's module is imported only when that command is called, so that `lic --help` is quick whatever they need.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the console script. Errors of ours end in one line on stderr and their exit code."""
    from lic_pipeline.cli.app import build
    from lic_pipeline.config import load_env_file
    from lic_pipeline.errors import LicError

    try:
        load_env_file()
        build(sys.argv[1:])()
    except LicError as error:
        print(f"lic: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("lic: interrupted; finished work is stored, run the command again to go on", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
