"""Workbooks as three spreadsheet programs lay them out, byte for byte; cells as they are given.

Cell types are those of ECMA-376, 18.18.11. How programs differ: dates in a built-in format, or in
one of the file's own (calamine's pull request 198, SheetJS's issue 2112); repeated empty rows and
columns, spaces and dates in ODS (tidyods's issue 7, OpenDocument 1.3 part 3, 9.1 and 19.675 on).
A text that begins with ``date:`` is a date, days since 1899-12-30; with ``=`` a formula's text.
"""

import datetime
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


_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SPACES = " ".join(
    f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "table", "text", "manifest")
)


def write_ods(path: Path, grid: Grid, program: str = "excel", merged: int = 0) -> Path:
    """A sheet as OpenDocument; the first cell spans ``merged`` columns, if that is not 0.

    Excel and Google fill the sheet with repeated empty cells and rows, and repeat spaces by an
    element; Excel's dates have a time of midnight.
    """
    width = max(map(len, grid))
    rest, below = (0, 0) if program == "libreoffice" else (1000 - width, 1_000_000)
    rows = []
    for n, cells in enumerate(grid):
        of_row = [_ods_cell(cell, program) for cell in cells]
        if n == 0 and merged:
            of_row[0] = of_row[0].replace(
                "<table:table-cell", f'<table:table-cell table:number-columns-spanned="{merged}"', 1
            )
            of_row[1:merged] = ["<table:covered-table-cell/>"] * (merged - 1)
        of_row += [_repeated("cell", "columns", rest)] if rest else []
        rows.append(f"<table:table-row>{''.join(of_row)}</table:table-row>")
    if below:
        blank = _repeated("cell", "columns", 1000)
        rows.append(
            f'<table:table-row table:number-rows-repeated="{below}">{blank}</table:table-row>'
        )
    body = f'<table:table table:name="S">{"".join(rows)}</table:table>'
    content = (
        f'{_HEAD}<office:document-content {_SPACES} office:version="1.3"><office:body>'
        f"<office:spreadsheet>{body}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    files = {"/": kind, "content.xml": "text/xml"}
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{media}"/>'
        for name, media in files.items()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(zipfile.ZipInfo("mimetype"), kind)
        book.writestr("content.xml", content)
        book.writestr(
            "META-INF/manifest.xml",
            f'{_HEAD}<manifest:manifest {_SPACES} manifest:version="1.3">{entries}'
            "</manifest:manifest>",
        )
    return path


def _repeated(what: str, of: str, times: int) -> str:
    return f'<table:table-{what} table:number-{of}-repeated="{times}"/>'


def _ods_cell(cell: str | float | bool | None, program: str) -> str:
    kind, shown = "", str(cell)
    if cell is None:
        return "<table:table-cell/>"
    if isinstance(cell, bool):
        kind = f'office:value-type="boolean" office:boolean-value="{str(cell).lower()}"'
    elif isinstance(cell, str) and cell.startswith("date:"):
        days = float(cell.removeprefix("date:"))
        moment = datetime.datetime(1899, 12, 30) + datetime.timedelta(days=days)
        whole = days.is_integer() and program != "excel"
        shown = (moment.date() if whole else moment).isoformat()
        kind = f'office:value-type="date" office:date-value="{shown}"'
    elif not isinstance(cell, str):
        kind = f'office:value-type="float" office:value="{cell!r}"'
    else:
        kind = 'office:value-type="string"'
        shown = escape(cell.removeprefix("="))
        if program != "libreoffice":
            shown = shown.replace("  ", ' <text:s text:c="1"/>')
    return f"<table:table-cell {kind}><text:p>{shown}</text:p></table:table-cell>"
