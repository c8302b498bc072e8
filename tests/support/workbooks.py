"""Workbooks with texts in their cells, as Google's program writes them.

Cell types are those of ECMA-376, 18.18.11. A text that begins with ``date:`` is a date, days since
1899-12-30; with ``=`` a formula's text.
"""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Cell = str | float | bool | None
Grid = Sequence[Sequence[Cell]]

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOC = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

_STYLES = f"""<styleSheet xmlns="{_MAIN}">
<numFmts count="1"><numFmt numFmtId="166" formatCode="d.m.yyyy h:mm"/></numFmts>
<fonts count="1"><font/></fonts><fills count="1"><fill/></fills>
<borders count="1"><border/></borders>
<cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="166" applyNumberFormat="1"/></cellXfs>
</styleSheet>"""


def write_workbook(path: Path, sheets: Mapping[str, Grid], merged: Sequence[str] = ()) -> Path:
    """Write sheets by name; cells of the first are merged."""
    numbered = list(enumerate(sheets, start=1))
    kinds = [(n, "worksheet", f"worksheets/sheet{n}.xml") for n, _ in numbered]
    kinds.append((0, "styles", "styles.xml"))
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in numbered
    )
    overrides = [("workbook.xml", "sheet.main"), *((target, kind) for _, kind, target in kinds)]
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        + "".join(
            f'<Override PartName="/xl/{target}" ContentType="{_TYPE}.{kind}+xml"/>'
            for target, kind in overrides
        )
        + "</Types>",
        "_rels/.rels": _relations((1, "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOC}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": _relations(*kinds),
        "xl/styles.xml": _STYLES,
    }
    for n, name in numbered:
        parts[f"xl/worksheets/sheet{n}.xml"] = _sheet(sheets[name], merged if n == 1 else ())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, _HEAD + text)
    return path


def _relations(*kinds: tuple[int, str, str]) -> str:
    links = (
        f'<Relationship Id="rId{n}" Type="{_DOC}/{kind}" Target="{target}"/>'
        for n, kind, target in kinds
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(links)}</Relationships>'


def _sheet(grid: Grid, merged: Sequence[str]) -> str:
    rows = ""
    for number, cells in enumerate(grid, start=1):
        held = "".join(_cell(cell, f"{chr(65 + n)}{number}") for n, cell in enumerate(cells))
        rows += f'<row r="{number}">{held}</row>'
    areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
    joined = f'<mergeCells count="{len(merged)}">{areas}</mergeCells>' if merged else ""
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData>{joined}</worksheet>'


def _cell(cell: Cell, place: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if not isinstance(cell, str):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    if cell.startswith("date:"):
        return f'<c r="{place}" s="1"><v>{cell.removeprefix("date:")}</v></c>'
    if cell.startswith("="):
        text = escape(cell.removeprefix("="))
        return f'<c r="{place}" t="str"><f>T("")</f><v>{text}</v></c>'
    text = f'<t xml:space="preserve">{escape(cell)}</t>'
    return f'<c r="{place}" t="inlineStr"><is>{text}</is></c>'
