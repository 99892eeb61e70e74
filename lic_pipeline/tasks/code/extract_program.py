"""Lifting a program out of a reply, by the robust rules. Running it, and finding its entry point, is done elsewhere."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from lic_pipeline.records import Extraction, Instruction, Reply, Rung
from lic_pipeline.tasks.code.numbered_listings import listings_in, unnumbered
from lic_pipeline.tasks.code.program_candidates import MAX_LOOSE, STARTS_CODE, clean, fenced, from_json, without_diffs
from lic_pipeline.tasks.code.program_syntax import (
    classes_of,
    defines,
    functions_of,
    imports_from_elsewhere,
    is_stub,
    is_test,
    missing_names,
    parse,
)
from lic_pipeline.tasks.code.wrapped import enclosed, marked
from lic_pipeline.tasks.python_tree import parse_python
from lic_pipeline.tasks.reading_cache import Kept
from lic_pipeline.tasks.reply_reading import reasoning_flags, visible_text

_STARTS_SCRIPT = re.compile(r"(?:[A-Za-z_][\w, \[\]]*=[^=]|for\s.+:|while\s.+:|print\s*\(|if\s.+:|with\s.+:|try:)")
_READS = re.compile(r"\binput\s*\(|\bstdin\b|\bopen\s*\(\s*0\s*\)|\bos\.read\s*\(\s*0|fileinput")
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff]")
_MAX_CUTS = 40
_MAX_STARTS = 20


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a reply that is Python: its text, its tree, and whether it defines something or reads input."""

    text: str
    tree: ast.Module
    useful: bool


def entry_point_of(instruction: Instruction) -> str | None:
    """The expected name, None for programs that read standard input."""
    name = instruction.reference.get("entry_point")
    return name if isinstance(name, str) and name else None


def extract_program(reply: Reply, instruction: Instruction) -> Extraction:
    """The program of a reply: fenced blocks first, else code that stands in the open text. Never raises."""
    text, _ = visible_text(reply.text)
    prompt = instruction.reference.get("prompt")
    found = _read(text, entry_point_of(instruction), prompt if isinstance(prompt, str) else "")
    flags = reasoning_flags(reply)
    return found.model_copy(update={"flags": (*flags, *found.flags)}) if flags else found


@Kept
def _read(text: str, expected: str | None, prompt: str) -> Extraction:
    """The program of a visible reply. ``prompt``: what the reply may merely go on with, "" without one."""
    text = from_json(text) or text
    bodies = fenced(text)
    blocks = _blocks(bodies, expected)
    if not any(block.useful for block in blocks):
        inside = [program for body in bodies if (program := unnumbered(body)) is not None]
        inside += [program for body in bodies[-_MAX_STARTS:] for program in enclosed(body)]
        blocks = [block for block in _blocks(inside, expected) if block.useful] or blocks
    chosen = _choose(blocks, expected)
    if chosen is not None:
        return Extraction(answer=chosen, rung=Rung.BLOCK, candidates=_others(blocks, chosen))
    text = without_diffs(text)
    completed = _completed_body(bodies or [text], prompt, expected)
    if completed is not None:
        return Extraction(answer=completed, rung=Rung.BLOCK if bodies else Rung.WHOLE)
    if bodies and any(STARTS_CODE.search(body) for body in bodies):
        broken = next(body for body in reversed(bodies) if STARTS_CODE.search(body))
        flags = () if parse(broken) is not None else ("unparsable",)
        return Extraction(answer=broken.strip("\n"), rung=Rung.BLOCK, flags=flags)
    return _unfenced(text, expected)


def _blocks(bodies: Sequence[str], expected: str | None) -> list[Block]:
    return [block for body in bodies if (block := _block(body, expected)) is not None]


def _block(body: str, expected: str | None) -> Block | None:
    for text in dict.fromkeys(
        (body, textwrap.dedent(body), textwrap.dedent(_INVISIBLE.sub("", body.replace("\u00a0", " "))))
    ):
        tree = parse(text)
        if tree is not None and tree.body:
            useful = _useful(text, tree, expected)
            return Block(text.strip("\n"), tree, useful)
    return None


def _useful(text: str, tree: ast.Module, expected: str | None) -> bool:
    if expected is None:
        return _READS.search(text) is not None
    if defines(tree, expected):
        return True
    return bool(functions_of(tree.body) or any(functions_of(owner.body) for owner in classes_of(tree)))


def _choose(blocks: Sequence[Block], expected: str | None) -> str | None:
    """The last block with the entry point, else the last useful one; earlier blocks it needs go before it."""
    if not blocks:
        return None
    if expected is None:
        reading = [index for index, block in enumerate(blocks) if block.useful]
        index = reading[-1] if reading else _last_script(blocks)
    else:
        named = [index for index, block in enumerate(blocks) if _has_entry(block, expected)]
        useful = [index for index, block in enumerate(blocks) if block.useful]
        solving = [index for index in useful if not _only_tests(blocks[index].tree)]
        index = next((places[-1] for places in (named, solving, useful) if places), None)
    return None if index is None else _joined(blocks, index)


def _has_entry(block: Block, expected: str) -> bool:
    if not defines(block.tree, expected):
        return False
    if imports_from_elsewhere(block.tree, expected):
        return False
    own = [function for function in functions_of(block.tree.body) if function.name == expected]
    return not own or not all(is_stub(function) for function in own)


def _only_tests(tree: ast.Module) -> bool:
    """True for a block that defines nothing but tests of what another one defines."""
    functions = functions_of(tree.body)
    return bool(functions) and not classes_of(tree) and all(is_test(function) for function in functions)


def _last_script(blocks: Sequence[Block]) -> int | None:
    """Programs that read nothing: the last block that prints or calls something."""
    for index in range(len(blocks) - 1, -1, -1):
        if any(isinstance(part, ast.Call) for part in ast.walk(blocks[index].tree)):
            return index
    return None


def _joined(blocks: Sequence[Block], index: int) -> str:
    """The block, after those blocks (earlier ones first) that define names it lacks."""
    chosen = blocks[index]
    needed = missing_names(chosen.tree)
    parts: list[int] = []
    for other in [*range(index - 1, -1, -1), *range(index + 1, len(blocks))]:
        if not needed:
            break
        names = {name for name in needed if defines(blocks[other].tree, name)}
        if names:
            parts.append(other)
            needed = (needed - names) | (missing_names(blocks[other].tree) - names)
    return "\n\n".join([*[blocks[part].text for part in sorted(parts)], chosen.text])


def _others(blocks: Sequence[Block], chosen: str) -> tuple[str, ...]:
    return tuple(block.text for block in blocks if block.useful and block.text not in chosen)


def _completed_body(bodies: Sequence[str], prompt: str, expected: str | None) -> str | None:
    """A reply that only continues the prompt with an indented function body."""
    if expected is None or not prompt.strip():
        return None
    for body in reversed(bodies):
        text = body.strip("\n")
        if "return" not in text or re.search(rf"\bdef\s+{re.escape(expected)}\b", text):
            continue
        for candidate in _indented(text):
            whole = prompt.rstrip() + "\n" + candidate
            if parse(whole) is not None:
                return whole
    return None


def _indented(text: str) -> tuple[str, ...]:
    """A function body as it stands, with the indentation its first line lost, and indented as a whole."""
    if text[:1] in (" ", "\t"):
        return text, textwrap.indent(textwrap.dedent(text), "    ")
    return textwrap.indent(text, "    "), "    " + text


def _unfenced(text: str, expected: str | None) -> Extraction:
    """Code in the open text: from the first line that starts code to the last that still parses, else between marks."""
    if len(text) > MAX_LOOSE:
        return Extraction(answer=None, rung=Rung.FAILED, flags=("too_long",))
    text = clean(text)
    whole = _block(text, expected)
    if whole is not None and whole.useful:
        return Extraction(answer=whole.text, rung=Rung.WHOLE)
    listed = [block for block in _blocks(list(listings_in(text)), expected) if block.useful]
    if listed:
        return Extraction(answer=listed[-1].text, rung=Rung.LOOSE)
    # Before the lines: the last one of these ends with a tag or a mark, and would be cut as no Python.
    inside = [block for block in _blocks(enclosed(text), expected) if block.useful]
    if inside:
        return Extraction(answer=_choose(inside, expected), rung=Rung.LOOSE)
    lines = text.split("\n")
    if not any(_starts(line, expected) for line in lines):
        lines = [line[4:] if line.startswith("    ") else line for line in lines]  # a block of Markdown by indentation
    position, tries = 0, 0
    while position < len(lines) and tries < _MAX_STARTS:
        if not _starts(lines[position], expected):
            position += 1
            continue
        tries += 1
        block, end = _longest_block(lines, position, expected)
        if block is not None and block.useful:
            return Extraction(answer=block.text, rung=Rung.LOOSE)
        position = max(end, position + 1)  # what parses without being useful holds nothing useful either
    blocks = [block for block in _blocks(marked(text), expected) if block.useful]
    return Extraction(answer=_choose(blocks, expected), rung=Rung.LOOSE if blocks else Rung.FAILED)


def _starts(line: str, expected: str | None) -> bool:
    if STARTS_CODE.match(line):
        return True
    return expected is None and _STARTS_SCRIPT.match(line) is not None


def _longest_block(lines: list[str], start: int, expected: str | None) -> tuple[Block | None, int]:
    """Cut at the line the parser stumbles over until the rest is Python; the block and the line after it."""
    end = len(lines)
    for _ in range(_MAX_CUTS):
        if end <= start:
            break
        text = "\n".join(lines[start:end])
        try:
            tree = parse_python(text)
        except SyntaxError as error:
            end = start + min(max((error.lineno or end) - 1, 0), end - start - 1)
            continue
        except (ValueError, RecursionError, MemoryError):
            break
        useful = bool(tree.body) and _useful(text, tree, expected)
        return (Block(text.strip("\n"), tree, useful) if tree.body else None), end
    return None, start + 1
