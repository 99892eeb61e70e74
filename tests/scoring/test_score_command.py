"""``lic score`` as a command: files, exit codes, atomic output, memory and speed."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from lic_pipeline.cli.commands.score import score

APP = typer.Typer(add_completion=False, rich_markup_mode=None)
APP.command()(score)
RIGHT = {"id": "a", "reference": "3", "response": "Final answer: 3"}
WRONG = {"id": "b", "reference": "3", "response": "Final answer: 4"}
NOTHING = {"id": "c", "reference": "3"}
COMMAND = (
    "import typer; from lic_pipeline.cli.commands.score import score; "
    "app = typer.Typer(add_completion=False, rich_markup_mode=None); app.command()(score); app()"
)


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(APP, list(arguments), input=text)


def lines_of(*items: object) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text(lines_of(RIGHT, WRONG))
    return path


def test_scores_go_to_stdout_in_order_and_exit_is_0(items: Path) -> None:
    result = run("math", str(items))
    assert result.exit_code == 0
    assert [(line["id"], line["score"]) for line in map(json.loads, result.stdout.splitlines())] == [
        ("a", 100.0),
        ("b", 0.0),
    ]
    assert run("--task", "math", str(items)).stdout == result.stdout
    assert run("math", "-", text=items.read_text()).stdout == result.stdout


@pytest.mark.parametrize("bad", [lines_of(NOTHING), "{oops\n", lines_of({"id": "d"})])
def test_a_line_without_score_gives_exit_1_and_the_rest_is_scored(items: Path, bad: str) -> None:
    items.write_text(lines_of(RIGHT) + bad + lines_of(WRONG))
    result = run("math", str(items))
    assert result.exit_code == 1
    assert [json.loads(line)["score"] for line in result.stdout.splitlines()] == [100.0, None, 0.0]
    assert "1 of 3 lines have no score" in result.stderr


def test_no_lines_at_all_is_success(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    result = run("math", str(empty))
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["maths", "FILE"], "unknown task 'maths'; known: actions, code"),
        (["maths", "FILE"], "; did you mean math?"),
        (["GSM8K", "FILE"], "; did you mean math?"),
        (["humaneval", "FILE"], "; did you mean code?"),
        (["LiveCodeBench", "FILE"], "; did you mean code?"),
        (["text-to-sql", "FILE"], "; did you mean database?"),
        (["spider", "FILE"], "; did you mean database?"),
        (["bfcl", "FILE"], "; did you mean actions?"),
        (["totto", "FILE"], "; did you mean data2text?"),
        (["summhay", "FILE"], "; did you mean summary?"),
        (["FILE"], "no task is named"),
        (["math", "FILE", "--task", "code"], "two tasks are named"),
        (["math", "NOWHERE"], "cannot be read: No such file"),
        (["math", "FOLDER"], "cannot be read: Is a directory"),
        (["math", "FILE", "--policy", "lenient"], "lenient"),
        (["math", "FILE", "--jobs", "0"], "jobs"),
        (["math", "FILE", "--judge", "gpt-4o"], "--judge is for the task summary"),
        (["math", "FILE", "--yes"], "for a model that judges"),
        (["summary", "FILE", "--ask-again"], "for a model that judges"),
        (["summary", "FILE", "--budget-usd", "1"], "for a model that judges"),
        (["math", "FILE", "-o", "FOLDER"], "it is a folder"),
        (["math", "FILE", "-o", "NOWHERE/out.jsonl"], "cannot be written"),
        ([], "Missing argument"),
    ],
)
def test_usage_errors_exit_2_and_say_what_is_wrong(items: Path, arguments: Sequence[str], message: str) -> None:
    names = {"FILE": str(items), "FOLDER": str(items.parent), "NOWHERE": str(items.parent / "nowhere")}
    words = [names.get(word, word.replace("NOWHERE", names["NOWHERE"])) for word in arguments]
    result = run(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert [path.name for path in items.parent.iterdir()] == ["items.jsonl"]


def test_a_packed_file_is_scored_like_the_plain_one(items: Path) -> None:
    packed = items.parent / "items.jsonl.gz"
    packed.write_bytes(gzip.compress(items.read_bytes()))
    plain = run("math", str(items))
    assert run("math", str(packed)).stdout == plain.stdout != ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer; "),
        ('{"reference": "3"}\n'.encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        (gzip.compress(bytes(range(256)) * 999)[:-9], "broken or truncated gzip"),
    ],
)
def test_a_file_that_is_no_text_is_named_with_what_to_do(items: Path, content: bytes, said: str) -> None:
    items.write_bytes(content)
    result = run("math", str(items))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"lic score: {items} ")
    assert said in result.stderr


def test_output_file_is_written_whole_and_replaces_the_old_one(items: Path) -> None:
    target = items.parent / "scores.jsonl"
    target.write_text("old")
    target.chmod(0o640)
    assert run("math", str(items), "-o", str(target)).exit_code == 0
    assert len(target.read_text().splitlines()) == 2
    assert target.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in items.parent.iterdir()} == {"items.jsonl", "scores.jsonl"}


def test_output_may_be_the_input(items: Path) -> None:
    assert run("math", str(items), "-o", str(items)).exit_code == 0
    assert [json.loads(line)["score"] for line in items.read_text().splitlines()] == [100.0, 0.0]


def test_interrupted_output_leaves_the_old_file_alone(items: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lic_pipeline.scoring import score_stream as stream

    def interrupt(line: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(stream, "encode", interrupt)
    target = items.parent / "scores.jsonl"
    target.write_text("old")
    assert run("math", str(items), "-o", str(target)).exit_code == 130
    assert target.read_text() == "old"
    assert {path.name for path in items.parent.iterdir()} == {"items.jsonl", "scores.jsonl"}


def test_devices_are_written_straight(items: Path) -> None:
    assert run("math", str(items), "-o", os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


def test_reference_policy_is_another_signature(items: Path) -> None:
    line = json.loads(run("math", str(items), "--policy", "reference").stdout.splitlines()[0])
    assert "|policy:reference|" in line["signature"]


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_text(lines_of(RIGHT) * 5000)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "math", str(many)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1


@pytest.mark.parametrize(
    ("source", "closed", "said"),
    [
        ("{items}", ">&-", "standard output is closed; open it, or name a file with -o"),
        ("-", "<&-", "standard input is closed; open it, or name a file"),
    ],
)
def test_a_standard_stream_that_is_closed_is_said_in_one_line(items: Path, source: str, closed: str, said: str) -> None:
    whole = "import sys; from lic_pipeline.cli import main; main()"
    command = f'exec "{sys.executable}" -c "{whole}" score math "{source.format(items=items)}" {closed}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"lic score: {said}\n")


def test_a_pipe_may_be_named_as_output(items: Path) -> None:
    command = [sys.executable, "-c", COMMAND, "math", str(items), "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 2)


def _stream_of(tmp_path: Path, count: int) -> tuple[float, int]:
    """CPU seconds and peak memory (kB) of scoring ``count`` math lines in a process of its own."""
    source = tmp_path / f"{count}.jsonl"
    with source.open("w") as handle:
        for number in range(count):
            working = f"There are {number} crates and 3 more come, so we add {number} and 3.\n"
            item = {"id": number, "reference": f"#### {number + 3}", "response": f"{working}\\boxed{{{number + 3}}}"}
            handle.write(json.dumps(item) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = (
        "import resource, sys; from lic_pipeline.cli.commands.score import score; "
        "score('math', sys.argv[1], output=sys.argv[2]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    target = tmp_path / f"{count}.out"
    done = subprocess.run([sys.executable, "-c", measured, source, target], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert sum(1 for _ in target.open()) == count
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stdout)


def test_memory_is_flat(tmp_path: Path) -> None:
    _, small = _stream_of(tmp_path, 200)
    _, large = _stream_of(tmp_path, 5000)
    assert large - small < 12_000


@pytest.mark.slow
def test_100_000_math_lines_take_under_20_seconds_of_one_core(tmp_path: Path) -> None:
    # the best of three quarters, since neighbours on the same core slow each of them down
    quarter = min(_stream_of(tmp_path, 25_000)[0] for _ in range(3))
    assert 4 * quarter < 20


def test_command_module_imports_nothing_heavy() -> None:
    code = (
        "import sys; import lic_pipeline.cli.commands.score; "
        "print([m for m in sys.modules if m.startswith('pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_data2text_starts_and_scores_quickly(tmp_path: Path) -> None:
    source = tmp_path / "captions.jsonl"
    reference = "In 1987, Brintle had 3,402 inhabitants."
    source.write_text(lines_of(*({"references": [reference], "response": f"{reference} {n}"} for n in range(500))))
    run("data2text", str(source))
    start = time.process_time()
    assert run("data2text", str(source)).exit_code == 0
    assert time.process_time() - start < 0.5
