"""Where things live: LIC_HOME, the project's own data, the users' benchmark files. Reads .env, never writes it.

Nothing here opens a database or imports a heavy library; the command line imports this first.
"""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lic_pipeline.errors import ConfigError, StorageError

PROJECT_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Home:
    """The folder everything produced lives under; ``Home.locate()`` finds it, ``prepare()`` creates it."""

    root: Path

    @classmethod
    def locate(cls, start: Path | None = None) -> Home:
        """LIC_HOME, else the nearest ``.lic`` upwards of ``start``, else beside pyproject.toml, else ``./.lic``.

        Raises ConfigError for the ``~`` of somebody unknown.
        """
        named = os.environ.get("LIC_HOME")
        if named:
            return cls(_path_named("LIC_HOME", named).resolve())
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / ".lic").is_dir():
                return cls(folder / ".lic")
        checkout = (PROJECT_ROOT / "pyproject.toml").is_file()
        return cls((PROJECT_ROOT if checkout else here) / ".lic")

    def prepare(self) -> Home:
        """Create the folders and prove that they can be written. Raises StorageError naming the folder."""
        for folder in (self.root, self.ledger, self.lake, self.report, self.dagster):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                probe = folder / f".write-probe-{os.urandom(8).hex()}"
                probe.write_bytes(b"x")
                probe.unlink()
            except OSError as error:
                raise StorageError(
                    f"LIC_HOME folder {folder} cannot be written ({error.strerror or error}); "
                    "set LIC_HOME to a writable folder with free space"
                ) from error
        return self

    @property
    def ledger(self) -> Path:
        """Folder of the ledger database."""
        return self.root / "ledger"

    @property
    def ledger_target(self) -> Path | str:
        """What to open as the ledger: the database LIC_LEDGER_URL names, else the folder. Raises ConfigError."""
        return ledger_address() or self.ledger

    @property
    def lake(self) -> Path:
        """Folder of the Parquet lake."""
        return self.root / "lake"

    @property
    def warehouse(self) -> Path:
        """The published DuckDB file."""
        return self.root / "lic.duckdb"

    @property
    def report(self) -> Path:
        """Folder of reports and CSV exports."""
        return self.root / "report"

    @property
    def validation(self) -> Path:
        """Folder of the data-validation report."""
        return self.root / "validation"

    @property
    def dagster(self) -> Path:
        """DAGSTER_HOME of this installation."""
        return self.root / "dagster"

    @property
    def fetched(self) -> Path:
        """Benchmark files that ``lic fetch`` brought."""
        return self.root / "fetched"


@cache
def data_path() -> Path:
    """The project's own data folder, in a checkout or inside an installed wheel. Raises ConfigError if neither is."""
    for candidate in (PROJECT_ROOT / "data", Path(__file__).resolve().parent / "_data"):
        if (candidate / "models.yaml").is_file():
            return candidate
    raise ConfigError("the data folder of lic_pipeline is missing; reinstall the package or use a full checkout")


def instance_settings() -> Path:
    """Our dagster.yaml, in a checkout or inside an installed wheel."""
    checkout = PROJECT_ROOT / "dagster.yaml"
    return checkout if checkout.is_file() else data_path() / "dagster.yaml"


def raw_data_folder() -> Path | None:
    """The folder LIC_DATA names, None when unset. Raises ConfigError when it names no folder."""
    named = os.environ.get("LIC_DATA")
    if not named:
        return None
    folder = _path_named("LIC_DATA", named).resolve()
    if not folder.is_dir():
        raise ConfigError(f"LIC_DATA={named} is not a folder; point it at the folder holding humaneval/, gsm8k/, ...")
    return folder


_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*|):", re.IGNORECASE)
_SQLITE = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRESQL = frozenset({"postgresql", "postgresql+psycopg2"})


def ledger_address() -> str | None:
    """What LIC_LEDGER_URL names, None when unset: the URL of a database, or a path that cannot be taken for a name.

    Raises ConfigError for anything else and where PostgreSQL's driver is missing; never repeats the address, which may
    hold a password.
    """
    named = os.environ.get("LIC_LEDGER_URL")
    if not named:
        return None
    scheme = _SCHEME.match(named)
    if scheme is None:
        if named[0] in "~." or "/" in named or os.sep in named:
            _path_named("LIC_LEDGER_URL", named)
            return named
        raise ConfigError(f"LIC_LEDGER_URL is neither a path nor a URL; {_LEDGER_FORMS}")
    if scheme[1] not in _SQLITE | _POSTGRESQL or not named.startswith(f"{scheme[0]}//"):
        raise ConfigError(f"LIC_LEDGER_URL: {scheme[0]} is not how the URL of a ledger begins; {_LEDGER_FORMS}")
    if scheme[1] in _POSTGRESQL and importlib.util.find_spec("psycopg2") is None:
        raise ConfigError(
            "LIC_LEDGER_URL names PostgreSQL, which needs one more package: pip install 'lic-pipeline[postgres]'"
        )
    return named


_LEDGER_FORMS = "write a path such as ./ledger or /data/ledger, or a URL such as postgresql://user@host/name"


def _path_named(variable: str, text: str) -> Path:
    """The path a variable names, its ``~`` filled in. Raises ConfigError where nobody has that home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{variable} begins with the home folder of somebody unknown; write the path out") from error


def load_env_file() -> None:
    """Load ``.env`` of the current folder (or the checkout) into the environment; set variables win."""
    from dotenv import load_dotenv

    for candidate in (Path.cwd() / ".env", PROJECT_ROOT / ".env"):
        if candidate.is_file():
            load_dotenv(candidate, override=False)
            return
