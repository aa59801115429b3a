"""What users hold: circuits with their queries as methods."""

from tractable.model.circuit import *  # noqa: F403
