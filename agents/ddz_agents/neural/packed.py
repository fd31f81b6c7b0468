"""Named tuples of arrays as one array of words, which is all that Python passes to a kernel.

Numba spends a third of a microsecond on every array that Python passes: a policy and its memory are 33 arrays, and were
half as expensive to pass as to multiply.  All contents begin on a cache line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

Words = npt.NDArray[np.uint64]

_WORD = 8
_LINE = 8
"""Words of a cache line."""


def _arrays(parts: Any) -> Iterator[npt.NDArray[Any]]:
    """The arrays of nested tuples, in their order."""
    if isinstance(parts, tuple):
        for part in parts:
            yield from _arrays(part)
    else:
        yield parts


def pack(parts: Any) -> Words:
    """Copy nested tuples of arrays into one array: where each begins and its sides, then the contents of each.

    Args:
        parts: Arrays, or tuples of such parts.
    """
    arrays = list(_arrays(parts))
    header = sum(1 + array.ndim for array in arrays)
    sizes = [-(-size // _LINE) * _LINE for size in (header, *(-(-array.nbytes // _WORD) for array in arrays))]
    *starts, total = np.cumsum(sizes).tolist()
    memory = np.zeros(total + _LINE, np.uint64)
    skipped = -(memory.ctypes.data // _WORD) % _LINE
    words = memory[skipped : skipped + total]
    words[:header] = [number for array, start in zip(arrays, starts, strict=True) for number in (start, *array.shape)]
    for array, start in zip(arrays, starts, strict=True):
        words[start:].view(array.dtype)[: array.size] = array.ravel()
    return words


def unpacker(example: Any) -> Any:
    """What kernels call to read what was packed: ``unpack(words)`` gives the same tuples, of the packed arrays.

    Args:
        example: Tuples and arrays of the same types.
    """
    kind = numba.typeof(example)

    @intrinsic  # type: ignore[untyped-decorator]
    def unpack(context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            whole, places = make_array(signature.args[0])(context, builder, given[0]).data, count()

            def number() -> Any:
                return builder.load(builder.gep(whole, [context.get_constant(types.intp, next(places))]))

            def read(part: Any) -> Any:
                if isinstance(part, types.BaseTuple):
                    return context.make_tuple(builder, part, [read(inner) for inner in part.types])
                start, *sides = [number() for _ in range(1 + part.ndim)]
                array, size = make_array(part)(context, builder), part.dtype.bitwidth // 8
                strides = [context.get_constant(types.intp, size)]
                for side in sides[:0:-1]:
                    strides.insert(0, builder.mul(strides[0], side))
                data = builder.bitcast(builder.gep(whole, [start]), array.data.type)
                populate_array(array, data, sides, strides, strides[-1], None)
                return array._getvalue()

            return read(kind)

        return kind(words), generate

    return unpack
