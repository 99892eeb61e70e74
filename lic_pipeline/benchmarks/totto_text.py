"""What a user says about a ToTTo table: the HTML table, the FULL message, the shards by rule.

Wording stands in ``prompts/data2text``. Nothing here reads files or scores; the reader of the raw benchmark calls this.
``metadata`` is that of docs/contracts.md: ``table``, ``highlighted_cells``, ``page_title``, ``section_title``,
``section_text``.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render, template
from lic_pipeline.records import Json, Shard

_FACTS = ("page_title", "section_title", "section_text")


def render_table(metadata: Mapping[str, Json], highlight: bool = True) -> str:
    """The table as HTML, one row a line; cells of ``highlighted_cells`` carry ``class="highlighted"``.

    Spans of 1 are left out, values are HTML-escaped and put on one line. Raises RecordError naming the field that is
    missing or garbled, or a highlighted cell that is not in the table.
    """
    rows = _rows(metadata)
    marked = _marked(metadata, rows) if highlight else frozenset()
    lines = ["<table>"]
    for number, row in enumerate(rows):
        cells = "".join(_cell(cell, (number, place) in marked) for place, cell in enumerate(row))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def build_text(metadata: Mapping[str, Json]) -> str:
    """The FULL message: request, highlighted table, titles and section text, sample captions.

    Raises RecordError as ``render_table`` does.
    """
    about = [render(f"data2text/{name}", value=value) for name, value in _facts(metadata)]
    return render("data2text/full", table=render_table(metadata), about="\n\n".join([*about, _captions()]))


def build_shards(metadata: Mapping[str, Json]) -> tuple[Shard, ...]:
    """The shards by rule, whole user messages: table (intent), highlighted cells, one per title or text, captions.

    Empty titles and texts give no shard. Raises RecordError as ``render_table`` does.
    """
    texts = [
        render("data2text/intent", table=render_table(metadata, highlight=False)),
        render("data2text/highlight", table=render_table(metadata)),
        *(render(f"data2text/{name}", value=value) for name, value in _facts(metadata)),
        _captions(),
    ]
    return tuple(Shard(shard_id=number, text=text) for number, text in enumerate(texts, start=1))


def _captions() -> str:
    return render("data2text/captions", captions=template("data2text/caption_samples"))


def _facts(metadata: Mapping[str, Json]) -> list[tuple[str, str]]:
    facts = []
    for name in _FACTS:
        value = metadata.get(name) or ""
        if not isinstance(value, str):
            raise RecordError("must be a string", field=name)
        if value.strip():
            facts.append((name, value.strip()))
    return facts


def _rows(metadata: Mapping[str, Json]) -> Sequence[Sequence[Mapping[str, Json]]]:
    rows = metadata.get("table")
    if not isinstance(rows, list) or not rows:
        raise RecordError("missing or empty; a list of rows is needed", field="table")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or not all(isinstance(cell, Mapping) and "value" in cell for cell in row):
            raise RecordError(f"row {number} must be a list of cells with a value", field="table")
    return rows


def _marked(metadata: Mapping[str, Json], rows: Sequence[Sequence[Json]]) -> frozenset[tuple[int, int]]:
    cells = metadata.get("highlighted_cells")
    if not isinstance(cells, list) or not cells:
        raise RecordError("missing or empty; a list of [row, column] is needed", field="highlighted_cells")
    marked = set()
    for cell in cells:
        match cell:
            case [int(row), int(column)] if 0 <= row < len(rows) and 0 <= column < len(rows[row]):
                marked.add((row, column))
            case _:
                raise RecordError(f"{cell!r} is no cell of the table", field="highlighted_cells")
    return frozenset(marked)


def _cell(cell: Mapping[str, Json], marked: bool) -> str:
    tag = "th" if cell.get("is_header") else "td"
    spans = "".join(
        f' {name}="{size}"'
        for name, key in (("colspan", "column_span"), ("rowspan", "row_span"))
        if (size := _span(cell.get(key, 1), key)) > 1
    )
    shown = ' class="highlighted"' if marked else ""
    value = " ".join(str(cell["value"]).split())
    return f"<{tag}{shown}{spans}>{html.escape(value, quote=False)}</{tag}>"


def _span(value: Json, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RecordError(f"{key} {value!r} must be a whole number of at least 1", field="table")
    return value
