"""Options for reading a file that cannot be detected from its content."""

from dataclasses import dataclass

UNNAMED = "\0"  # begins what a column is called while it is read, if it has no name or that of another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The options of readers besides the file itself."""

    sep: str | None = None  # between cells; a space stands for any run of blanks
    na: tuple[str, ...] = ()  # marks of missing cells, beside the usual ones
    texts: frozenset[str] = frozenset()  # columns that stay as they were typed
    kept: frozenset[str] = frozenset()  # columns of text that are not taken for numbers with a unit
    only: frozenset[str] | None = None  # the columns that are used, if that is known
    numbers: frozenset[str] = frozenset()  # columns that are known to hold numbers, and no codes such as 007
    drop: frozenset[str] = frozenset()  # columns that will be left out, and are not checked
    encoding: str | None = None  # of text
    header: bool = True  # whether the first line holds the names of the columns
    names: tuple[str, ...] = ()  # of the columns of a file without a header, if it has as many
    skip: int = 0  # lines, or rows of a sheet, above the header
    decimal: str | None = None  # the decimal point of the numbers: a point or a comma

    def __post_init__(self) -> None:
        if self.skip < 0:
            raise ValueError(f"skip must be a number of lines, not {self.skip}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"the decimal point must be '.' or ',', not {self.decimal!r}")

    def names_for(self, columns: int) -> list[str]:
        """The names of the columns of a file without a header."""
        known = list(self.names)
        return known if len(known) == columns else [f"x{i}" for i in range(columns)]

    def may_be_numbers(self, name: str) -> bool:
        """Whether a column of text may be read as numbers with units or separators."""
        if name.startswith(UNNAMED):
            return False
        return name not in self.kept | self.texts and (self.only is None or name in self.only)
