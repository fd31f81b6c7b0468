"""A chart of lines of text, for terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MARKS = "●○◆◇"

_LABEL = 7


def percent_chart(series: Mapping[str, Sequence[float]], width: int = 60, height: int = 11) -> list[str]:
    """Draw shares between 0 and 1 as percentages, evenly spaced from left to right.

    Args:
        series: Name to values; where two would stand in one place, the earlier series shows.
        width: Characters of the drawing, behind the labels.
        height: Its lines, 2 at least.

    Returns:
        Lines of text: the drawing, its base line and the key.

    Example:
        >>> for line in percent_chart({"a": [0.0, 0.5, 1.0]}, width=9, height=3):
        ...     print(line)
        100 % ┤        ●
         50 % ┤    ●
          0 % ┤●
              └─────────
               ● a
    """
    rows = [[" "] * width for _ in range(height)]
    for mark, values in reversed(list(zip(MARKS, series.values(), strict=False))):
        for place, value in enumerate(values):
            column = round(place * (width - 1) / max(1, len(values) - 1))
            rows[round((1 - value) * (height - 1))][column] = mark
    labels = (f"{100 * (height - 1 - row) / (height - 1):.0f} %" for row in range(height))
    lines = [f"{label:>{_LABEL - 2}} ┤{''.join(row)}".rstrip() for label, row in zip(labels, rows, strict=True)]
    key = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS, series, strict=False))
    return [*lines, " " * (_LABEL - 1) + "└" + "─" * width, " " * _LABEL + key]
