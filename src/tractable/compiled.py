"""The decorator of compiled functions; their cache on disk survives a new version of this package.

numba keeps compiled functions in files beside their source, with an index that is pickled together with the
classes of their arguments. An index that was written before such a class was renamed or removed cannot be
unpickled, and numba lets that error through. Such an index is out of date: it is ignored and written anew.
"""

import pickle
from typing import Any

from numba import njit
from numba.core import caching

__all__ = ["njit"]

OUT_OF_DATE = (AttributeError, ImportError, pickle.UnpicklingError, EOFError)


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
