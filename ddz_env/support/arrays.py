"""Tools that make arrays writable again after unpickling, as compiled functions need.

Pickles of protocol 5 may leave arrays in foreign, read-only memory (Ray's object store, buffers that are sent apart).
The kernels write in place, and to them an array that cannot be written is of another type: they fail, or are compiled
again.  What holds arrays for kernels therefore copies such arrays when it is restored.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")


def copy_readonly_arrays(value: _T, copies: dict[int, Any] | None = None) -> _T:
    """Return a value with every read-only array in it replaced by a writable copy.

    Args:
        value: Anything; tuples, lists and dicts are looked into, other objects look after themselves.
        copies: What was copied so far, by the original's ``id``: arrays that were one object stay one.

    Returns:
        The value itself if there was nothing to replace.
    """
    copies = {} if copies is None else copies
    changed: Any = value
    if isinstance(value, np.ndarray):
        if not value.flags.writeable:
            changed = copies.setdefault(id(value), value.copy())
    elif isinstance(value, dict):
        parts = {key: copy_readonly_arrays(part, copies) for key, part in value.items()}
        if any(parts[key] is not part for key, part in value.items()):
            changed = parts
    elif isinstance(value, (tuple, list)):
        items = [copy_readonly_arrays(part, copies) for part in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            remake: Any = getattr(value, "_make", type(value))  # of a named tuple
            changed = remake(items)
    return changed  # type: ignore[no-any-return]


class WritableAfterUnpickling:
    """A base class for objects whose arrays must be writable after unpickling, as compiled functions need."""

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(copy_readonly_arrays(saved))
