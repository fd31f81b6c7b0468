"""What a viewer may see of a game, as plain data: a web page or a terminal shows it and nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ddz_env.table.render.table import Table


@dataclass(frozen=True)
class Sight:
    """What a viewer may see.

    Attributes:
        table: The table: seats, cards that lie open or are the viewer's, the move to beat, stake, result.
        players: Who holds each seat.
        history: ``(seat, move)`` of every move of this deal, in notation, in the words of the rules.
        waits_for: ``person``, ``agent`` or ``over``.
        legal: The viewer's legal moves in notation, in the words of the rules, where it is to move.
        decisions: Numbers of the moves that the viewer has decided: where it may go back to.
    """

    table: Table
    players: tuple[str, ...]
    history: tuple[tuple[int, str], ...]
    waits_for: str
    legal: tuple[str, ...]
    decisions: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same in lists, texts and numbers, as JSON has them; a card is its rank and its copy."""
        return asdict(self)
