"""`python -m tractable` is `tractable`: the way in, which says "interrupted" from the very beginning."""

import sys


def main() -> None:
    """Run the command line of this process."""
    try:
        from tractable.cli import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:  # while the command line itself was being loaded
        sys.stderr.write("tractable: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
