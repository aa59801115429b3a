"""The decorators of compiled functions; their cache on disk survives a new version of this package.

`njit` is numba's own, but for a machine on which no cache can be written: functions are then compiled in
each process. `kernel` and `inner` compile in a fraction of its time, because numba then writes no
reference counts and fewer wrappers; their price is that such functions cannot allocate arrays or return any.
Kernels of a `Trial` are interpreted until it pays to compile them.

numba keeps compiled functions in files beside their source, with an index that is pickled together with the
classes of their arguments. An index that was written before such a class was renamed or removed cannot be
unpickled, and numba lets that error through. Such an index is out of date: it is ignored and written anew.
"""

import importlib
import pickle
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import caching, event
from numba.np import linalg

from tractable.base.compiling import announce

__all__ = [
    "Trial",
    "cache_folder",
    "compile_at_once",
    "fused_kernel",
    "inner",
    "kernel",
    "merged_with",
    "njit",
]

OUT_OF_DATE = (AttributeError, ImportError, pickle.UnpicklingError, EOFError)

_Function = TypeVar("_Function", bound=Callable[..., Any])

# `_nrt` is a private option of numba: without it, functions that allocate or return arrays do not compile.
_LEAN: dict[str, Any] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}


def njit(**options: Any) -> Callable[[_Function], _Function]:
    """The decorator of numba, without a cache where no folder for it can be written."""

    def decorate(function: _Function) -> _Function:
        try:
            compiled: _Function = numba.njit(**options)(function)
        except RuntimeError:  # «no locator available»: neither beside the source nor in the user's folder
            compiled = numba.njit(**{**options, "cache": False})(function)
        return compiled

    return decorate


def kernel(function: _Function) -> _Function:
    """A compiled function that Python calls: it fills arrays that its caller made, and returns numbers."""
    return njit(cache=True, **_LEAN)(function)


def fused_kernel(function: _Function) -> _Function:
    """A kernel in which the processor may round once instead of twice when it multiplies and adds."""
    return njit(cache=True, fastmath={"contract"}, **_LEAN)(function)


def inner(function: _Function) -> _Function:
    """A compiled function that only other compiled functions call; Python must not call it.

    It is not cached on disk: it is a part of its callers, which are.
    """
    return njit(no_cpython_wrapper=True, **_LEAN)(function)


def merged_with(liberties: set[str]) -> Callable[[_Function], _Function]:
    """The decorator of inner functions that always become part of their callers, loops over rows for example.

    `liberties` are those of numba's `fastmath` that the arithmetic of such a function may take.
    """
    return njit(no_cpython_wrapper=True, forceinline=True, fastmath=liberties, **_LEAN)


class Trial:
    """Kernels that are interpreted by Python until they have taken some seconds together, and then compiled.

    Compiling takes longer than a small problem does, and so does loading what was compiled before. Only
    kernels without floating-point arithmetic can be on trial, so that their answers do not depend on it.
    """

    at_once = False  # whether all trials are over

    def __init__(self, uncached: float, cached: float) -> None:
        self.uncached = uncached  # seconds, if the kernel was never compiled on this machine
        self.cached = cached  # seconds, if it was
        self.spent = 0.0

    def kernel(self, function: _Function) -> _Function:
        """A kernel that is interpreted while the trial lasts."""
        compiled: Any = kernel(function)
        if compiled is function:  # compilation is switched off
            return function
        limit, interpreted = _Once(lambda: self._limit(compiled)), _Once(lambda: _interpret(compiled))

        @wraps(function)
        def call(*arguments: Any) -> Any:
            if Trial.at_once or self.spent > limit():
                return compiled(*arguments)
            begin = time.thread_time()
            try:
                return interpreted()(*arguments)
            finally:
                self.spent += time.thread_time() - begin

        return cast(_Function, call)

    def _limit(self, compiled: Any) -> float:
        return self.cached if _is_cached(compiled) else self.uncached


class _Once:
    """A value that is computed when it is first asked for."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self._values: list[Any] = []

    def __call__(self) -> Any:
        if not self._values:
            self._values.append(self._compute())
        return self._values[0]


def compile_at_once() -> None:
    """End all trials: from now on, all kernels are compiled when they are first called."""
    Trial.at_once = True


def _is_cached(compiled: Any) -> bool:
    """Whether a file of this machine's cache has the function, of whatever types."""
    name = compiled.py_func.__qualname__
    return any(Path(compiled.stats.cache_path or "").glob(f"*.{name}-*.nbi"))


def _interpret(compiled: Any) -> Callable[..., Any]:
    """A compiled function as Python runs it, and with it the compiled functions that it calls."""
    function = compiled.py_func
    scope = function.__globals__
    below = {name: scope[name] for name in function.__code__.co_names if name in scope}
    plain = {name: _interpret(value) for name, value in below.items() if hasattr(value, "py_func")}
    return FunctionType(function.__code__, {**scope, **plain}, function.__name__)


def _nothing() -> None:
    """A function that is cached wherever all others are."""


_probe: Any = njit(cache=True)(_nothing)


def cache_folder() -> Path | None:
    """The folder of the cache of compiled functions, or None if no folder is writable."""
    path = _probe.stats.cache_path if hasattr(_probe, "stats") else None
    return None if path is None else Path(path).parent


class _Announcer(event.Listener):
    """Passes numba's events on."""

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        announce(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            announce(None)


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


def ignore_unreadable_indexes(index_file: Any) -> None:
    """Have a class of numba's index files take an index that cannot be unpickled for an empty one."""
    load = index_file._load_index

    def load_or_forget(self: Any) -> dict[Any, Any]:
        try:
            overloads: dict[Any, Any] = load(self)
        except OUT_OF_DATE:
            return {}
        return overloads

    index_file._load_index = load_or_forget


if hasattr(getattr(caching, "IndexDataCacheFile", None), "_load_index"):  # a private part of numba
    ignore_unreadable_indexes(caching.IndexDataCacheFile)


def take_blas_for_granted() -> None:
    """Load what numba needs for its first kernel, without scipy's linear algebra: that takes 0.2 seconds.

    numba loads it only in order to know that it is there, and scipy is a requirement of this package. Matrix
    products in kernels still load it when they are compiled.
    """
    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


if hasattr(linalg, "ensure_blas"):  # a private part of numba, too
    take_blas_for_granted()
