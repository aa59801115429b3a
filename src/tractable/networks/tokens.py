"""A tokeniser of network files."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

T = TypeVar("T")


def file_text(path: Path) -> str:
    """The text of a network file; invalid UTF-8 is replaced, so that a parser can name the line."""
    return path.read_text(encoding="utf-8", errors="replace")


class Tokens:
    """A sequential reader of a file; errors name the line."""

    def __init__(self, tokens: list[tuple[str, int]], first_line: int = 1) -> None:
        self.tokens = tokens  # with the number of the line of each
        self.at = 0
        self._first_line = first_line

    def peek(self) -> str:
        """The next token, without consuming it."""
        if self.at == len(self.tokens):
            self.fail("the file ends too early")
        return self.tokens[self.at][0]

    def take(self) -> str:
        """The next token."""
        word = self.peek()
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        """Consume a given token."""
        token = self.take()
        if token != word:
            self.fail(f"'{word}' is expected, not '{token[:40]}'")

    def optional(self, word: str) -> None:
        """Consume a given token if it is next."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == word:
            self.at += 1

    def with_line_number(self, make: Callable[[], T]) -> T:
        """The result of `make`, whose errors get a line number."""
        try:
            return make()
        except ValueError as error:
            return self.fail(str(error))

    def fail(self, message: str) -> NoReturn:
        """Raise an error that names the current line."""
        line = self.tokens[max(self.at - 1, 0)][1] if self.tokens else self._first_line
        raise ValueError(f"line {line}: {message}")
