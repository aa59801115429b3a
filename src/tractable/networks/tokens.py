"""The words and marks of a network's file, taken one after another."""

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

T = TypeVar("T")


def file_text(path: Path) -> str:
    """The text of a network's file; what is no UTF-8 is replaced, so that a parser names the line."""
    return path.read_text(encoding="utf-8", errors="replace")


class Tokens:
    """Reads a file from front to back; errors name the line."""

    def __init__(self, tokens: list[tuple[str, int]], first_line: int = 1) -> None:
        self.tokens = tokens  # with the number of the line of each
        self.at = 0
        self._first_line = first_line

    def peek(self) -> str:
        """The next token, which stays."""
        if self.at == len(self.tokens):
            self.fail("the file ends too early")
        return self.tokens[self.at][0]

    def take(self) -> str:
        """The next token."""
        word = self.peek()
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        """Take a given token."""
        found = self.take()
        if found != word:
            self.fail(f"'{word}' is expected, not '{found[:40]}'")

    def optional(self, word: str) -> None:
        """Take a given token if it is there."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == word:
            self.at += 1

    def with_line_number(self, make: Callable[[], T]) -> T:
        """What `make` answers; its complaint gets a line number."""
        try:
            return make()
        except ValueError as error:
            return self.fail(str(error))

    def fail(self, message: str) -> NoReturn:
        """Say on which line the reading stopped."""
        line = self.tokens[max(self.at - 1, 0)][1] if self.tokens else self._first_line
        raise ValueError(f"line {line}: {message}")
