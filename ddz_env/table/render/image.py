"""The table as pixels.

The picture is laid out on 960 by 600 units and scaled to the size asked for.  The observer (seat 0 where all hands are
shown) sits at the bottom, the next seat in playing order on the right, the last on the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ddz_env.core.checks import check_integer
from ddz_env.core.errors import InvalidPictureError, plural
from ddz_env.table.render import sprites
from ddz_env.table.render.sprites import GOLD, WHITE, Picture
from ddz_env.table.render.table import Card, Play, Seat, Snapshot

WIDTH, HEIGHT = 960, 600
"""The units of the layout."""

_SMALLEST, _LARGEST = (240, 150), (3840, 2400)
_SOFT = (214, 232, 220)
_FADED = (150, 182, 164)
_DARK = (8, 34, 24, 170)
_ACTING = (92, 66, 10, 225)

Align = Literal["left", "centre", "right"]
Drawn = Card | Literal["back", "slot"]
_BACK: list[Drawn] = ["back"]
_SLOT: list[Drawn] = ["slot"]


@dataclass(frozen=True)
class Place:
    """Where a seat is drawn, in units.

    Attributes:
        x: The left edge, centre or right edge of plate and hand, by ``align``.
        align: How everything is aligned to ``x``.
        plate: Top of the name plate.
        hand: Top of the hand.
        play_x: The same of the last move, nearer to the middle of the table.
        play: Top of the last move.
        card: Width of a card of the hand.
        room: Width that a hand or a move may take.
    """

    x: float
    align: Align
    plate: float
    hand: float
    play_x: float
    play: float
    card: float
    room: float


_BOTTOM = Place(480, "centre", plate=433, hand=476, play_x=480, play=338, card=79, room=900)
_LEFT = Place(24, "left", plate=98, hand=138, play_x=72, play=214, card=48, room=420)
_RIGHT = Place(936, "right", plate=98, hand=138, play_x=888, play=214, card=48, room=420)
_TOP = Place(480, "centre", plate=98, hand=138, play_x=480, play=214, card=48, room=700)
_PLACES = {2: (_BOTTOM, _TOP), 3: (_BOTTOM, _RIGHT, _LEFT)}
_PLAY_CARD = 54.0
_LANDLORD_CARD = 46.0


def draw_table(table: Snapshot, width: int = WIDTH, height: int = HEIGHT) -> npt.NDArray[np.uint8]:
    """Draw a table.

    Args:
        table: What to draw.
        width: Pixels across, 240..3840.
        height: Pixels down, 150..2400.

    Returns:
        The picture, shape ``[height, width, 3]``, uint8.

    Raises:
        InvalidPictureError: If a size is out of range.
    """
    for name, value, low, high in zip(("width", "height"), (width, height), _SMALLEST, _LARGEST, strict=True):
        check_integer(name, value, low, high, InvalidPictureError)
    painter = _Painter(int(width), int(height))
    painter.table(table)
    return np.asarray(painter.picture, dtype=np.uint8).copy()


class _Painter:
    """Draws one picture.

    Args:
        width: Pixels across.
        height: Pixels down.
    """

    def __init__(self, width: int, height: int) -> None:
        self.picture: Picture = sprites.felt(width, height).copy()
        self.pen = ImageDraw.Draw(self.picture)
        self.scale = min(width / WIDTH, height / HEIGHT)
        self.origin = ((width - WIDTH * self.scale) / 2, (height - HEIGHT * self.scale) / 2)

    def table(self, table: Snapshot) -> None:
        """The whole table."""
        self._facts(table)
        self._landlord_cards(table)
        players = len(table.seats)
        for seat in table.seats:
            place = _PLACES[players][(seat.number - (table.viewer or 0)) % players]
            self._seat(table, seat, place)
        self._status(table)

    # What lies on the table.

    def _facts(self, table: Snapshot) -> None:
        """The rules and the stage on the left, the stake on the right."""
        self._text(24, 30, "Dou Dizhu", 24, WHITE, "left")
        stage = {"kicker": "play", "bid": "auction", "double": "doubling", "show": "showing", "over": "game over"}
        self._text(24, 57, f"{table.rules} rules · {stage.get(table.stage, table.stage)}", 15, _SOFT, "left")
        self._text(936, 30, f"Stake {table.stake}", 24, GOLD, "right")
        facts = f"move {table.moves}" + (f" · {plural(table.bombs, 'bomb')}" if table.bombs else "")
        self._text(936, 57, facts, 15, _SOFT, "right")

    def _landlord_cards(self, table: Snapshot) -> None:
        """The landlord cards, or what was not dealt where the rules have none."""
        cards: list[Drawn] = [*table.landlord_cards, *_BACK * table.landlord_backs]
        caption = "landlord cards" if table.landlord is not None else "landlord cards, face down"
        if not cards and table.undealt:
            cards, caption = ["back"] * min(table.undealt, 4), f"{table.undealt} undealt"
        if cards:
            step = _LANDLORD_CARD + 5 if len(cards) <= 3 else 24
            self._row(cards, (480, 10), _LANDLORD_CARD, 400, "centre", step)
            self._text(480, 85, caption, 12, _SOFT, "centre")

    def _status(self, table: Snapshot) -> None:
        """One sentence in the middle."""
        text = table.status[0].upper() + table.status[1:]
        over = table.stage == "over"
        size, height = (19, 32) if over else (15, 28)
        width = self._length(text, size) + 36
        left, top = 480 - width / 2, 315 - height / 2
        self._panel(left, top, width, height, golden=over)
        self._text(480, 315, text, size, GOLD if over else _SOFT, "centre")

    # A seat.

    def _seat(self, table: Snapshot, seat: Seat, place: Place) -> None:
        building = table.building if seat.acting else None
        self._plate(seat, place)
        chosen = set(building.cards) if building else set()
        hand: list[Drawn] = [*_BACK * seat.unseen, *(card for card in reversed(seat.hand) if card not in chosen)]
        self._row(hand, (place.x, place.hand), place.card, place.room, place.align, place.card * 0.52)
        if building is not None:
            cards: list[Drawn] = [*building.cards, *_SLOT * building.cards_left]
            self._row(cards, (place.play_x, place.play), _PLAY_CARD, place.room - 60, place.align, _PLAY_CARD * 0.5)
        elif seat.play is not None:
            self._play(seat.play, place)

    def _plate(self, seat: Seat, place: Place) -> None:
        """Name, role, cards in hand and the result."""
        texts = [f"Seat {seat.number}"] + [seat.role] * bool(seat.role) + [plural(seat.size, "card")]
        text = " · ".join(texts)
        marks = ["x2"] * seat.doubled + ([f"{seat.result:+g}"] if seat.result is not None else [])
        crowned = 26 if seat.role == "landlord" else 0
        lengths = [self._length(mark, 16) + 12 for mark in marks]
        width = 24 + crowned + self._length(text, 16) + sum(lengths)
        left = _left_edge(place.x, width, place.align)
        self._panel(left, place.plate, width, 32, golden=seat.acting)
        if crowned:
            self._paste(sprites.crown(self._pixels(22)), left + 10, place.plate + 4)
        self._text(left + 12 + crowned, place.plate + 16, text, 16, WHITE, "left")
        right = left + width - 12
        for mark, length in zip(reversed(marks), reversed(lengths), strict=True):
            self._text(right, place.plate + 16, mark, 16, GOLD, "right")
            right -= length

    def _play(self, play: Play, place: Place) -> None:
        """The last move of a seat: its cards, or a pass, a bid or an answer to doubling in words."""
        if not play.cards:
            width = self._length(play.text, 18) + 30
            left = _left_edge(place.play_x, width, place.align)
            self._panel(left, place.play + 20, width, 34)
            self._text(left + width / 2, place.play + 37, play.text, 18, WHITE if play.current else _FADED, "centre")
            return
        corner, faded = (place.play_x, place.play), not play.current and not play.to_beat
        self._row(play.cards, corner, _PLAY_CARD, place.room - 60, place.align, 27, halo=play.to_beat, faded=faded)

    # Marks on the picture; all lengths are units.

    def _row(
        self,
        cards: Sequence[Drawn],
        corner: tuple[float, float],
        width: float,
        room: float,
        align: Align,
        step: float,
        *,
        halo: bool = False,
        faded: bool = False,
    ) -> None:
        """Overlapping cards; many of them lie closer."""
        if not cards:
            return
        x, y = corner
        pixels = self._pixels(width)
        if len(cards) > 1:
            step = min(step, (room - width) / (len(cards) - 1))
        total = width + step * (len(cards) - 1)
        left = _left_edge(x, total, align)
        if halo:
            reach = self._pixels(9)
            aura = sprites.glow(self._pixels(total), sprites.card_height(pixels), reach)
            self._paste(aura, left - reach / self.scale, y - reach / self.scale)
        for number, card in enumerate(cards):
            self._paste(_sprite(card, pixels, faded), left + number * step, y)

    def _panel(self, x: float, y: float, width: float, height: float, *, golden: bool = False) -> None:
        fill, outline = (_ACTING, (*GOLD, 255)) if golden else (_DARK, ())
        size = self._pixels(width), self._pixels(height), self._pixels(min(height / 2, 12))
        self._paste(sprites.panel(*size, fill, outline), x, y)

    def _paste(self, sprite: Picture, x: float, y: float) -> None:
        at = round(self.origin[0] + x * self.scale), round(self.origin[1] + y * self.scale)
        self.picture.paste(sprite, at, sprite)

    def _text(self, x: float, y: float, text: str, size: float, colour: tuple[int, ...], align: Align) -> None:
        anchor = {"left": "lm", "centre": "mm", "right": "rm"}[align]
        at = self.origin[0] + x * self.scale, self.origin[1] + y * self.scale
        self.pen.text(at, text, (*colour, 255), sprites.font(self._pixels(size)), anchor)

    def _length(self, text: str, size: float) -> float:
        return sprites.font(self._pixels(size)).getlength(text) / self.scale

    def _pixels(self, units: float) -> int:
        return max(round(units * self.scale), 1)


def _sprite(card: Drawn, width: int, faded: bool) -> Picture:
    """A card; one of an earlier trick is in the shade."""
    if not isinstance(card, Card):
        return sprites.back(width) if card == "back" else sprites.slot(width)
    sprite = sprites.face(card, width)
    if not faded:
        return sprite
    shade = Image.new("RGBA", sprite.size, (20, 84, 54, 255))
    shade.putalpha(sprite.getchannel("A"))
    return Image.blend(sprite, shade, 0.5)


def _left_edge(x: float, width: float, align: Align) -> float:
    return x - {"left": 0.0, "centre": width / 2, "right": width}[align]
