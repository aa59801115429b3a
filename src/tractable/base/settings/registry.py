"""Tables of classes by name, each imported when it is first asked for.

A line of such a table is all that it takes to register a learner or a method: the classes import numba and
scipy, and listing names must not.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar

from tractable.base.settings.declaration import Configurable
from tractable.base.settings.text import check_setting_name, did_you_mean, settings_from_text

T = TypeVar("T", bound=Configurable)


class Home(NamedTuple):
    """Where a class is defined, and what its estimator is called, if any."""

    module: str
    class_name: str
    estimator: str | None = None
    is_made: bool = True  # whether the estimator is made from the settings, and not written by hand


def unknown_name(noun: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for an unknown name, with the most similar known name or, if there is none, all of them."""
    names = list(known)
    near = did_you_mean(name, names) or f" ({noun}s: {', '.join(names)})"
    return ValueError(f"there is no {noun} '{name}'{near}")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes by the names that users type. `noun` is what one of them is called in messages."""

    def __init__(self, noun: str, homes: Mapping[str, Home]) -> None:
        self.noun = noun
        self._homes = dict(homes)

    def register(self, name: str, home: Home) -> None:
        """Add a class, for instance one that another package defines.

        Raises:
            ValueError: if the name is taken.
        """
        if name in self._homes:
            raise ValueError(f"the {self.noun} '{name}' is already registered")
        self._homes[name] = home

    def unregister(self, name: str) -> None:
        """Remove a class that was added."""
        del self._homes[name]

    def __getitem__(self, name: str) -> type[T]:
        home = self._homes[name]
        kind: type[T] = getattr(import_module(home.module), home.class_name)
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:  # a Mapping would import the class to find out
        return name in self._homes

    @property
    def estimators(self) -> dict[str, str]:
        """The names of the classes by those of the estimators that are made from their settings."""
        return {
            home.estimator: name
            for name, home in self._homes.items()
            if home.estimator is not None and home.is_made
        }

    def estimator_of(self, name: str) -> str | None:
        """What the estimator of a class is called, if it has any."""
        return self._homes[name].estimator

    def find(self, name: str) -> type[T]:
        """The class of a name that a user typed.

        Raises:
            ValueError: naming what is unknown, with the nearest name that is known.
        """
        if name not in self:
            raise unknown_name(self.noun, name, self)
        return self[name]

    def make(self, name: str, texts: "list[str] | tuple[str, ...]" = ()) -> T:
        """An instance with settings as texts `name=value`.

        Raises:
            ValueError: naming what is unknown or not allowed.
        """
        kind = self.find(name)
        return kind(**settings_from_text(kind, texts))

    def make_with(self, name: str, settings: Mapping[str, Any]) -> T:
        """An instance with settings as values.

        Raises:
            ValueError: naming what is unknown or not allowed.
        """
        kind = self.find(name)
        for setting in settings:
            check_setting_name(kind, setting)
        return kind(**settings)
