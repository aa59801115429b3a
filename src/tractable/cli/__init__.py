"""The command line: each command parses its options, calls the library once and prints the answer.

To add a command: a file with a function, and a line in the table of `app.py`.
"""

from tractable.cli.app import main, run

__all__ = ["main", "run"]
