"""The model classes of users: circuits with queries as methods."""

from tractable.model.circuit import *  # noqa: F403
