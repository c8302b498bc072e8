"""Workbooks as three spreadsheet programs lay them out, byte for byte; cells as they are given.

Cell types are those of ECMA-376, 18.18.11. How programs differ: dates in a built-in format, or in
one of the file's own (calamine's pull request 198, SheetJS's issue 2112).
A text that begins with ``date:`` is a date, days since 1899-12-30; with ``=`` a formula's text.
"""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Grid = Sequence[Sequence[str | float | bool | None]]

PROGRAMS = ("excel", "libreoffice", "google")

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DOC = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_REL = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


_DATE_FORMATS = {
    "excel": (14, ""),
    "libreoffice": (165, "yyyy\\-mm\\-dd\\ hh:mm"),
    "google": (166, "d.m.yyyy h:mm"),
}
"""Number and code of the format of dates; a built-in one has no code."""


def write_workbook(
    path: Path, sheets: Mapping[str, Grid], program: str = "excel", merged: Sequence[str] = ()
) -> Path:
    """Excel shares strings, a few of them in runs; LibreOffice shares all and styles empty cells;
    Google writes them in their cells."""
    shared: dict[str, int] = {}
    pages = [
        _sheet(grid, program, shared, merged if n == 0 else ())
        for n, grid in enumerate(sheets.values())
    ]
    strings = "".join(f"<si>{_string(text, program)}</si>" for text in shared)
    names = enumerate(sheets, start=1)
    listed = "".join(f'<sheet name="{escape(s)}" sheetId="{n}" r:id="rId{n}"/>' for n, s in names)
    kinds = [(f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n, _ in enumerate(pages, 1)]
    kinds += [("rIdA", "sharedStrings", "sharedStrings.xml"), ("rIdB", "styles", "styles.xml")]
    links = "".join(
        f'<Relationship Id="{i}" Type="{_DOC}/{kind}" Target="{target}"/>'
        for i, kind, target in kinds
    )
    overrides = "".join(
        f'<Override PartName="/xl/{target}" ContentType="{_TYPE}.{kind}+xml"/>'
        for _, kind, target in kinds
    )
    format_id, code = _DATE_FORMATS[program]
    own = f'<numFmt numFmtId="{format_id}" formatCode="{code}"/>' if code else ""
    styles = (
        f'<styleSheet xmlns="{_MAIN}"><numFmts count="{int(bool(own))}">{own}</numFmts>'
        '<fonts count="1"><font/></fonts>'
        '<fills count="1"><fill/></fills><borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf numFmtId="0"/>'
        f'<xf numFmtId="{format_id}" applyNumberFormat="1"/></cellXfs></styleSheet>'
    )
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
        'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
        'package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f"{overrides}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_REL}"><Relationship Id="rId1" '
        f'Type="{_DOC}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOC}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_REL}">{links}</Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}" uniqueCount="{len(shared)}">{strings}</sst>',
        "xl/styles.xml": styles,
    }
    parts |= {f"xl/worksheets/sheet{n}.xml": page for n, page in enumerate(pages, 1)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, _HEAD + text)
    return path


def _string(text: str, program: str) -> str:
    keep = ' xml:space="preserve"'
    if program == "excel" and len(text) > 3:
        runs = f"<t{keep}>{escape(text[:2])}</t></r><r><rPr><b/></rPr><t{keep}>{escape(text[2:])}"
        return f"<r>{runs}</t></r>"
    return f"<t{keep}>{escape(text)}</t>"


def _sheet(grid: Grid, program: str, shared: dict[str, int], merged: Sequence[str]) -> str:
    rows = "".join(
        f'<row r="{n}">{"".join(_cells(cells, n, program, shared))}</row>'
        for n, cells in enumerate(grid, start=1)
    )
    areas = "".join(f'<mergeCell ref="{area}"/>' for area in merged)
    joined = f'<mergeCells count="{len(merged)}">{areas}</mergeCells>' if merged else ""
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData>{joined}</worksheet>'


def _cells(
    cells: Sequence[str | float | bool | None], row: int, program: str, shared: dict[str, int]
) -> Iterator[str]:
    for column, cell in enumerate(cells):
        place = f"{chr(65 + column)}{row}"
        if cell is None:
            yield f'<c r="{place}" s="0"/>' if program == "libreoffice" else ""
        elif isinstance(cell, bool):
            yield f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
        elif isinstance(cell, str) and cell.startswith("date:"):
            yield f'<c r="{place}" s="1"><v>{cell.removeprefix("date:")}</v></c>'
        elif not isinstance(cell, str):
            yield f'<c r="{place}"><v>{cell!r}</v></c>'
        elif cell.startswith("="):
            text = escape(cell.removeprefix("="))
            yield f'<c r="{place}" t="str"><f>T("")</f><v>{text}</v></c>'
        elif program == "google":
            yield f'<c r="{place}" t="inlineStr"><is>{_string(cell, program)}</is></c>'
        else:
            number = shared.setdefault(cell, len(shared))
            yield f'<c r="{place}" t="s"><v>{number}</v></c>'
