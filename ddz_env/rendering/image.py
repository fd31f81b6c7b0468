"""The card table drawn as a picture with Pillow.

The layout has 960 by 600 units and is scaled to the size of the picture.  The observer (seat 0 where all hands are
shown) sits at the bottom, the next seat in playing order on the right, the last on the left.  Nothing depends on the
system: the letters are Pillow's own scalable font (ASCII only), the cards are in ``cards.png``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont, ImageOps

from ddz_env.core.cards import BLACK_JOKER, NUM_RANKS, RED_JOKER
from ddz_env.rendering.snapshot import SUITS, Card, LastMove, Seat, Snapshot
from ddz_env.support.checks import check_integer
from ddz_env.support.errors import InvalidPictureError, pluralize

WIDTH, HEIGHT = 960, 600
"""The units of the layout."""

_SMALLEST, _LARGEST = (240, 150), (3840, 2400)
_GOLD, _WHITE = (255, 205, 84), (255, 255, 255)
_SOFT, _FADED = (214, 232, 220), (150, 182, 164)
_DARK, _ACTING = (8, 34, 24, 170), (92, 66, 10, 225)
_FELT, _FELT_EDGE, _WOOD, _WOOD_LIGHT = (30, 124, 78), (14, 56, 35), (74, 46, 24), (138, 92, 52)
_FINE = 4
"""Panels are drawn this many times larger, for smooth edges."""
_ASPECT = 1.4

Align = Literal["left", "centre", "right"]
CardPicture = Card | Literal["back", "slot"]
Colour = tuple[int, int, int]
_BACK: list[CardPicture] = ["back"]
_SLOT: list[CardPicture] = ["slot"]
_BELOW_JOKERS = {"back": (BLACK_JOKER, 1), "slot": (RED_JOKER, 1)}


@dataclass(frozen=True)
class SeatPlace:
    """The positions at which the parts of a seat are drawn, on a table of 960 by 600 units.

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


_BOTTOM = SeatPlace(480, "centre", plate=433, hand=476, play_x=480, play=338, card=79, room=900)
_LEFT = SeatPlace(24, "left", plate=98, hand=138, play_x=72, play=214, card=48, room=420)
_RIGHT = SeatPlace(936, "right", plate=98, hand=138, play_x=888, play=214, card=48, room=420)
_TOP = SeatPlace(480, "centre", plate=98, hand=138, play_x=480, play=214, card=48, room=700)
_PLACES = {2: (_BOTTOM, _TOP), 3: (_BOTTOM, _RIGHT, _LEFT)}
_PLAY_CARD = 54.0
_LANDLORD_CARD = 46.0


def draw_snapshot(table: Snapshot, width: int = WIDTH, height: int = HEIGHT) -> npt.NDArray[np.uint8]:
    """Draw a snapshot of a table as an RGB picture, shape ``[height, width, 3]``, uint8.

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
    painter.draw_table(table)
    return np.asarray(painter.picture, dtype=np.uint8).copy()


class _Painter:
    """A painter that draws one table as a picture of a given size.

    Args:
        width: Pixels across.
        height: Pixels down.
    """

    def __init__(self, width: int, height: int) -> None:
        self.picture = _draw_felt(width, height).copy()
        self.pen = ImageDraw.Draw(self.picture)
        self.scale = min(width / WIDTH, height / HEIGHT)
        self.origin = ((width - WIDTH * self.scale) / 2, (height - HEIGHT * self.scale) / 2)

    def draw_table(self, table: Snapshot) -> None:
        """Draw all parts of a table: rules and stake, landlord cards, seats and status."""
        self._draw_facts(table)
        self._draw_landlord_cards(table)
        players = len(table.seats)
        for seat in table.seats:
            place = _PLACES[players][(seat.number - (table.viewer or 0)) % players]
            self._draw_seat(table, seat, place)
        self._draw_status(table)

    # What lies on the table.

    def _draw_facts(self, table: Snapshot) -> None:
        """Draw the rules and the stage on the left, and the stake on the right."""
        self._draw_text(24, 30, "Dou Dizhu", 24, _WHITE, "left")
        stage = {"kicker": "play", "bid": "auction", "double": "doubling", "show": "showing", "over": "game over"}
        self._draw_text(24, 57, f"{table.rules} rules · {stage.get(table.stage, table.stage)}", 15, _SOFT, "left")
        self._draw_text(936, 30, f"Stake {table.stake}", 24, _GOLD, "right")
        facts = f"move {table.moves}" + (f" · {pluralize(table.bombs, 'bomb')}" if table.bombs else "")
        self._draw_text(936, 57, facts, 15, _SOFT, "right")
        self._draw_text(936, 80, f"left out {table.left_out}" if table.left_out else "", 12, _SOFT, "right")

    def _draw_landlord_cards(self, table: Snapshot) -> None:
        """Draw the landlord cards or, under rules without them, the undealt cards."""
        cards: list[CardPicture] = [*table.landlord_cards, *_BACK * table.landlord_backs]
        caption = "landlord cards" if table.landlord is not None else "landlord cards, face down"
        if not cards and table.undealt:
            cards, caption = ["back"] * min(table.undealt, 4), f"{table.undealt} undealt"
        if cards:
            step = _LANDLORD_CARD + 5 if len(cards) <= 3 else 24
            self._draw_card_row(cards, (480, 10), _LANDLORD_CARD, 400, "centre", step)
            self._draw_text(480, 85, caption, 12, _SOFT, "centre")

    def _draw_status(self, table: Snapshot) -> None:
        """Draw the sentence in the middle that says whose turn it is."""
        text = table.status[0].upper() + table.status[1:]
        over = table.stage == "over"
        size, height = (19, 32) if over else (15, 28)
        colour = _GOLD if over else _SOFT
        self._draw_label((480, 315 - height / 2), height, text, size, colour, "centre", margin=18, golden=over)

    # A seat.

    def _draw_seat(self, table: Snapshot, seat: Seat, place: SeatPlace) -> None:
        building = table.building if seat.acting else None
        self._draw_plate(seat, place)
        chosen = set(building.cards) if building else set()
        hand: list[CardPicture] = [*_BACK * seat.unseen, *(card for card in reversed(seat.hand) if card not in chosen)]
        self._draw_card_row(hand, (place.x, place.hand), place.card, place.room, place.align, place.card * 0.52)
        if building is not None:
            cards: list[CardPicture] = [*building.cards, *_SLOT * building.cards_left]
            self._draw_card_row(
                cards, (place.play_x, place.play), _PLAY_CARD, place.room - 60, place.align, _PLAY_CARD * 0.5
            )
        elif seat.play is not None:
            self._draw_last_move(seat.play, place)

    def _draw_plate(self, seat: Seat, place: SeatPlace) -> None:
        """Draw a seat's number, role and card count and, in gold, its doubling and its result."""
        text = " · ".join(filter(None, [f"Seat {seat.number}", seat.role, pluralize(seat.size, "card")]))
        marks = ["x2"] * seat.doubled + ([f"{seat.result:+g}"] if seat.result is not None else [])
        colour = _GOLD if seat.role == "landlord" else _WHITE
        corner = place.x, place.plate
        self._draw_label(corner, 32, text, 16, colour, place.align, marks="   ".join(marks), golden=seat.acting)

    def _draw_last_move(self, play: LastMove, place: SeatPlace) -> None:
        """Draw the last move of a seat: its cards, or the words for a pass, a bid or an answer to doubling."""
        corner, current = (place.play_x, place.play), play.current or play.to_beat
        if play.cards:
            room = place.room - 60
            self._draw_card_row(
                play.cards, corner, _PLAY_CARD, room, place.align, 27, halo=play.to_beat, faded=not current
            )
        else:
            corner, colour = (place.play_x, place.play + 20), _WHITE if play.current else _FADED
            self._draw_label(corner, 34, play.text, 18, colour, place.align, margin=15)

    # Marks on the picture; all lengths are units.

    def _draw_card_row(
        self,
        cards: Sequence[CardPicture],
        corner: tuple[float, float],
        width: float,
        room: float,
        align: Align,
        step: float,
        *,
        halo: bool = False,
        faded: bool = False,
    ) -> None:
        """Draw a row of overlapping cards, which lie closer together when there are many."""
        if not cards:
            return
        x, y = corner
        pixels = self._to_pixels(width)
        if len(cards) > 1:
            step = min(step, (room - width) / (len(cards) - 1))
        total = width + step * (len(cards) - 1)
        left = _left_edge(x, total, align)
        if halo:
            self._draw_panel(left - 5, y - 5, total + 10, width * _ASPECT + 10, golden=True)
        for number, card in enumerate(cards):
            self._paste_picture(_card_picture(card, pixels, faded), left + number * step, y)

    def _draw_label(
        self,
        corner: tuple[float, float],
        height: float,
        text: str,
        size: float,
        colour: Colour,
        align: Align,
        *,
        margin: float = 12,
        marks: str = "",
        golden: bool = False,
    ) -> None:
        """Draw a label on a rounded panel, with any golden marks at its right end."""
        width = self._text_width(f"{text}   {marks}" if marks else text, size) + 2 * margin
        left, middle = _left_edge(corner[0], width, align), corner[1] + height / 2
        self._draw_panel(left, corner[1], width, height, golden=golden)
        self._draw_text(left + margin, middle, text, size, colour, "left")
        self._draw_text(left + width - margin, middle, marks, size, _GOLD, "right")

    def _draw_panel(self, x: float, y: float, width: float, height: float, *, golden: bool = False) -> None:
        fill, outline = (_ACTING, (*_GOLD, 255)) if golden else (_DARK, None)
        size = self._to_pixels(width), self._to_pixels(height), self._to_pixels(min(height / 2, 12))
        self._paste_picture(_draw_rounded_panel(*size, fill, outline), x, y)

    def _paste_picture(self, sprite: Image.Image, x: float, y: float) -> None:
        at = round(self.origin[0] + x * self.scale), round(self.origin[1] + y * self.scale)
        self.picture.paste(sprite, at, sprite)

    def _draw_text(self, x: float, y: float, text: str, size: float, colour: tuple[int, ...], align: Align) -> None:
        anchor = {"left": "lm", "centre": "mm", "right": "rm"}[align]
        at = self.origin[0] + x * self.scale, self.origin[1] + y * self.scale
        self.pen.text(at, text, (*colour, 255), _load_font(self._to_pixels(size)), anchor)

    def _text_width(self, text: str, size: float) -> float:
        return _load_font(self._to_pixels(size)).getlength(text) / self.scale

    def _to_pixels(self, units: float) -> int:
        return max(round(units * self.scale), 1)


@lru_cache(maxsize=64)
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


@lru_cache(maxsize=4)
def _draw_felt(width: int, height: int) -> Image.Image:
    """Draw the green table, lighter in the middle, with a wooden rim."""
    table = ImageOps.colorize(Image.radial_gradient("L").resize((width, height)), _FELT, _FELT_EDGE)
    rim = max(round(min(width / WIDTH, height / HEIGHT) * 6), 1)
    pen = ImageDraw.Draw(table)
    pen.rectangle((0, 0, width - 1, height - 1), outline=_WOOD, width=rim)
    pen.rectangle((rim, rim, width - 1 - rim, height - 1 - rim), outline=_WOOD_LIGHT, width=max(rim // 3, 1))
    return table


@lru_cache(maxsize=64)
def _draw_rounded_panel(
    width: int, height: int, radius: int, fill: tuple[int, ...], outline: tuple[int, ...] | None
) -> Image.Image:
    """Draw an RGBA picture of a panel with smooth, rounded corners."""
    sheet = Image.new("RGBA", (width * _FINE, height * _FINE), (*fill[:3], 0))
    box = (0, 0, sheet.width - 1, sheet.height - 1)
    ImageDraw.Draw(sheet).rounded_rectangle(box, radius * _FINE, fill, outline, 2 * _FINE if outline else 0)
    return sheet.resize((width, height), Image.Resampling.LANCZOS)


@lru_cache(maxsize=1)
def _draw_card_sheet() -> Image.Image:
    """Load the sheet of card pictures: ranks in columns, suits in rows, a back and a slot below the jokers."""
    return Image.open(Path(__file__).with_name("cards.png")).convert("RGBA")


@lru_cache(maxsize=512)
def _card_picture(card: CardPicture, width: int, faded: bool) -> Image.Image:
    """Return the RGBA picture of a card, darkened if it belongs to an earlier trick."""
    column, line = _BELOW_JOKERS[card] if isinstance(card, str) else (card.rank, card.copy)
    w, h = _draw_card_sheet().width // NUM_RANKS, _draw_card_sheet().height // len(SUITS)
    picture = _draw_card_sheet().crop((column * w, line * h, (column + 1) * w, (line + 1) * h))
    picture = picture.resize((width, round(width * _ASPECT)), Image.Resampling.LANCZOS)
    if not faded:
        return picture
    shade = Image.new("RGBA", picture.size, (*_FELT, 255))
    shade.putalpha(picture.getchannel("A"))
    return Image.blend(picture, shade, 0.5)


def _left_edge(x: float, width: float, align: Align) -> float:
    return x - {"left": 0.0, "centre": width / 2, "right": width}[align]
