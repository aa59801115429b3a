"""`python -m tractable` is `tractable`."""

from tractable.cli import main

if __name__ == "__main__":
    main()
