"""Reading of sheets of workbooks (.xlsx, .xls, .ods and others) by python-calamine."""

from io import BytesIO
from typing import Any

from tractable.data.cells import table_of_cells
from tractable.data.column_names import ROW_NAMES, check_names, no_name
from tractable.data.delimited import MISSING
from tractable.data.layout import Layout
from tractable.data.problems import ColumnError, caution
from tractable.data.source import Source, choose_part


def read_sheet(source: Source, layout: Layout) -> Any:
    """The named sheet of a workbook, or the only one that has cells.

    Raises:
        ValueError: if there is no such sheet, or it does not hold a table.
    """
    workbook = _open(source)
    names = list(workbook.sheet_names)
    if source.part is None:
        filled = [name for name in _visible(workbook) if _has_cells(source, workbook, name)]
        if not filled:
            raise ValueError(f"{source}: no sheet has any cells")
        names = filled
    name = choose_part(source, "sheet", names)
    rows, above = _rows(source, workbook, name)
    where = f"{source}, sheet '{name}'"
    rows, above = _skip(rows, above, layout.skip)
    if not rows:
        raise ValueError(f"{where}: the sheet has no cells")
    columns = _filled(rows, layout.header)
    header = [_name(rows[0][i]) for i in columns] if layout.header else layout.names_for(len(columns))
    cells = {n: [row[i] for row in rows[int(layout.header) :]] for n, i in enumerate(columns)}
    if layout.header:
        _check_title(where, header, cells, above)
        if "" not in layout.drop:
            header, cells = _without_row_names(where, header, cells, columns)
        check_names(where, header, layout.drop)
    try:
        return table_of_cells(header, cells.values(), {*MISSING, *layout.na})
    except ValueError as fault:
        raise ValueError(f"{where}: {fault}") from None


def _open(source: Source) -> Any:
    try:
        from python_calamine import CalamineError, load_workbook
    except ImportError:
        raise ValueError(
            f"{source}: reading workbooks requires python-calamine, which is installed by: pip install"
            " 'tractable[excel]'"
        ) from None
    try:
        return load_workbook(BytesIO(source.read()))
    except (CalamineError, OSError) as fault:
        raise ValueError(f"{source}: the workbook is damaged or incomplete: {_first_line(fault)}") from None


def _visible(workbook: Any) -> list[str]:
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    return [
        sheet.name
        for sheet in workbook.sheets_metadata
        if sheet.visible == SheetVisibleEnum.Visible and sheet.typ == SheetTypeEnum.WorkSheet
    ]


def _has_cells(source: Source, workbook: Any, name: str) -> bool:
    return bool(_rows(source, workbook, name)[0])


def _rows(source: Source, workbook: Any, name: str) -> tuple[list[list[Any]], int]:
    """The rows of a sheet from the first one that has a cell, and the number of rows above it."""
    from python_calamine import CalamineError

    try:
        sheet = workbook.get_sheet_by_name(name)
        rows = sheet.to_python(skip_empty_area=True)
    except (CalamineError, OSError) as fault:
        raise ValueError(f"{source}, sheet '{name}': {_first_line(fault)}") from None
    return rows, sheet.start[0] if rows else 0


def _skip(rows: list[list[Any]], above: int, count: int) -> tuple[list[list[Any]], int]:
    """The rows of the sheet from row `count` on that have a cell, and the number of rows above them."""
    start = max(count - above, 0)
    while start < len(rows) and not any(map(_is_filled, rows[start])):
        start += 1
    return [row for row in rows[start:] if any(map(_is_filled, row))], above + start


def _is_filled(cell: Any) -> bool:
    return not (isinstance(cell, str) and not cell.strip())


def _filled(rows: list[list[Any]], header: bool) -> list[int]:
    """The columns with a name or any cells."""
    return [i for i in range(len(rows[0])) if any(_is_filled(row[i]) for row in rows)]


def _name(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell if isinstance(cell, str) else str(cell)


def _check_title(where: str, header: list[str], cells: dict[int, list[Any]], above: int) -> None:
    """Refuse a first row with a single name for several columns, which seems to be a title."""
    if len(header) < 2 or sum(map(bool, header)) > 1:
        return
    rows = list(zip(*cells.values(), strict=True))
    full = next((i for i, row in enumerate(rows) if sum(map(_is_filled, row)) > 1), 0)
    raise ValueError(
        f"{where}: row {above + 1} names only one of {len(header)} columns; if it is a title, skip the rows"
        f" above the header (skip={above + 1 + full}, --skip {above + 1 + full})"
    )


def _without_row_names(
    where: str, header: list[str], cells: dict[int, list[Any]], columns: list[int]
) -> tuple[list[str], dict[int, list[Any]]]:
    """The columns without an initial column of row names, as data frames are written."""
    for n, name in enumerate(header):
        if not name.strip() and (n or len(set(map(str, cells[n]))) < len(cells[n])):
            raise ColumnError("", f"{where}: {no_name(_letters(columns[n]))}")
    if header[0].strip():
        return header, cells
    caution(f"{where}: {ROW_NAMES}")
    return header[1:], {n: cells[n] for n in list(cells)[1:]}


def _letters(column: int) -> str:
    """The letters of a column of a sheet."""
    return (_letters(column // 26 - 1) if column >= 26 else "") + chr(ord("A") + column % 26)


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
