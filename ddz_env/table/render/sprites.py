"""Cards, marks and letters as small pictures: drawn once, large, then scaled down and kept.

Nothing depends on the system: the letters are Pillow's own scalable font (ASCII only), suits and crown are polygons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from ddz_env.core.cards import RANK_NAMES
from ddz_env.table.render.table import Card

Colour = tuple[int, int, int]
Point = tuple[float, float]
Picture = Image.Image
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

RED: Colour = (200, 26, 40)
BLACK: Colour = (24, 26, 32)
GOLD: Colour = (255, 205, 84)
WHITE: Colour = (255, 255, 255)

_FINE = 4
"""Sprites are drawn this many times larger."""
_PAPER: Colour = (253, 252, 247)
_EDGE: Colour = (120, 124, 130)
_BACK: Colour = (33, 74, 140)
_BACK_LINES: Colour = (92, 136, 205)
_ASPECT = 1.4


def card_height(width: int) -> int:
    """The height of a card of some width, in pixels."""
    return round(width * _ASPECT)


@lru_cache(maxsize=64)
def font(size: int) -> Font:
    """Pillow's own font, ``size`` pixels tall."""
    return ImageFont.load_default(size)


@lru_cache(maxsize=512)
def face(card: Card, width: int) -> Picture:
    """The face of a card, RGBA, ``width`` by ``card_height(width)``."""
    sheet, pen = _blank_card(width)
    colour = RED if card.is_red else BLACK
    if card.suit:
        _suited_face(sheet, pen, RANK_NAMES[card.rank], card.suit, colour)
    else:
        _joker_face(sheet, pen, colour)
    return _shrink(sheet, width)


@lru_cache(maxsize=16)
def back(width: int) -> Picture:
    """A face-down card, RGBA."""
    sheet, pen = _blank_card(width)
    w, h = sheet.size
    margin = round(w * 0.08)
    frame = (margin, margin, w - margin, h - margin)
    lattice = Image.new("RGBA", sheet.size, (*_BACK, 255))
    lines = ImageDraw.Draw(lattice)
    for offset in range(-h, w + h, max(round(w * 0.16), 4)):
        lines.line((offset, 0, offset + h, h), _BACK_LINES, max(w // 60, 1))
        lines.line((offset + h, 0, offset, h), _BACK_LINES, max(w // 60, 1))
    mask = Image.new("L", sheet.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle(frame, w * 0.06, 255)
    sheet.paste(lattice, (0, 0), mask)
    pen.rounded_rectangle(frame, w * 0.06, outline=_BACK_LINES, width=max(w // 50, 1))
    pen.polygon(_diamond(w / 2, h / 2, w * 0.42), (*_BACK, 255), outline=(*_BACK_LINES, 255), width=max(w // 40, 1))
    return _shrink(sheet, width)


@lru_cache(maxsize=16)
def slot(width: int) -> Picture:
    """The empty place of a card that is still to be chosen, RGBA."""
    sheet, pen = _sheet(width, card_height(width))
    w, h = sheet.size
    box = (2 * _FINE, 2 * _FINE, w - 2 * _FINE, h - 2 * _FINE)
    pen.rounded_rectangle(box, w * 0.1, (20, 88, 56, 255), (*GOLD, 255), 2 * _FINE)
    pen.text((w / 2, h / 2), "?", (*GOLD, 255), font(round(w * 0.6)), "mm")
    return _shrink(sheet, width)


@lru_cache(maxsize=16)
def crown(width: int) -> Picture:
    """The landlord's mark, RGBA, square."""
    sheet, pen = _sheet(width, width)
    side = sheet.width
    spikes = ((0.06, 0.30), (0.28, 0.56), (0.50, 0.14), (0.72, 0.56), (0.94, 0.30), (0.84, 0.86), (0.16, 0.86))
    pen.polygon([(x * side, y * side) for x, y in spikes], (*GOLD, 255))
    for x, y in (spikes[0], spikes[2], spikes[4]):
        _disc(pen, x * side, y * side, side * 0.07, GOLD)
    pen.rectangle((0.16 * side, 0.74 * side, 0.84 * side, 0.80 * side), (168, 112, 16, 255))
    return sheet.resize((width, width), Image.Resampling.LANCZOS)


@lru_cache(maxsize=64)
def panel(width: int, height: int, radius: int, fill: tuple[int, ...], outline: tuple[int, ...] = ()) -> Picture:
    """A rounded panel with smooth edges, RGBA.

    Args:
        width: Pixels.
        height: Pixels.
        radius: Of the corners, in pixels.
        fill: Red, green, blue, alpha.
        outline: The same for a line around it; empty for none.
    """
    sheet, pen = _sheet(width, height, fill)
    box = (0, 0, width * _FINE - 1, height * _FINE - 1)
    pen.rounded_rectangle(box, radius * _FINE, fill, outline or None, 2 * _FINE if outline else 0)
    return sheet.resize((width, height), Image.Resampling.LANCZOS)


@lru_cache(maxsize=64)
def glow(width: int, height: int, radius: int) -> Picture:
    """A golden halo behind cards, RGBA; it reaches ``radius`` pixels beyond ``width`` by ``height``."""
    mask = Image.new("L", (width + 2 * radius, height + 2 * radius), 0)
    edge = round(radius * 0.6)
    box = (edge, edge, width + 2 * radius - edge, height + 2 * radius - edge)
    ImageDraw.Draw(mask).rounded_rectangle(box, radius, 255)
    sheet = Image.new("RGBA", mask.size, (*GOLD, 0))
    sheet.putalpha(mask.filter(ImageFilter.GaussianBlur(radius * 0.22)))
    return sheet


@lru_cache(maxsize=4)
def felt(width: int, height: int) -> Picture:
    """The green table, lighter in the middle, with a wooden rim, RGB."""
    small = Image.new("RGB", (64, 40))
    for y in range(40):
        for x in range(64):
            distance = min(math.hypot((x - 31.5) / 40, (y - 19) / 27), 1.0)
            shade = 1.0 - 0.55 * distance * distance
            small.putpixel((x, y), (round(30 * shade), round(124 * shade), round(78 * shade)))
    table = small.resize((width, height), Image.Resampling.BICUBIC)
    rim = max(round(min(width / 960, height / 600) * 6), 1)
    pen = ImageDraw.Draw(table)
    pen.rectangle((0, 0, width - 1, height - 1), outline=(74, 46, 24), width=rim)
    pen.rectangle((rim, rim, width - 1 - rim, height - 1 - rim), outline=(138, 92, 52), width=max(rim // 3, 1))
    return table


def _blank_card(width: int) -> tuple[Picture, ImageDraw.ImageDraw]:
    sheet, pen = _sheet(width, card_height(width), _EDGE)
    w, h = sheet.size
    pen.rounded_rectangle((0, 0, w - 1, h - 1), w * 0.11, (*_PAPER, 255), (*_EDGE, 255), _FINE)
    return sheet, pen


def _sheet(width: int, height: int, colour: Sequence[int] = (0, 0, 0)) -> tuple[Picture, ImageDraw.ImageDraw]:
    """A large transparent sheet of so many pixels in the end, of a colour that smooth edges fade into."""
    sheet = Image.new("RGBA", (width * _FINE, height * _FINE), (*colour[:3], 0))
    return sheet, ImageDraw.Draw(sheet)


def _shrink(sheet: Picture, width: int) -> Picture:
    return sheet.resize((width, card_height(width)), Image.Resampling.LANCZOS)


def _suited_face(sheet: Picture, pen: ImageDraw.ImageDraw, rank: str, suit: str, colour: Colour) -> None:
    """A rank with its suit below in the corner, and a large suit."""
    w, h = sheet.size
    column = w * 0.215
    _letters(sheet, "10" if rank == "T" else rank, column, h * 0.175, w * 0.36, h * 0.25, colour)
    _suit(pen, suit, column, h * 0.43, w * 0.25, colour)
    _suit(pen, suit, w * 0.62, h * 0.70, w * 0.52, colour)


def _joker_face(sheet: Picture, pen: ImageDraw.ImageDraw, colour: Colour) -> None:
    """The word down the side and a star in a disc."""
    w, h = sheet.size
    for number, letter in enumerate("JOKER"):
        _letters(sheet, letter, w * 0.19, h * (0.13 + 0.175 * number), w * 0.24, h * 0.135, colour)
    x, y, radius = w * 0.64, h * 0.60, w * 0.27
    _disc(pen, x, y, radius, colour)
    _disc(pen, x, y, radius * 0.88, _PAPER)
    _disc(pen, x, y, radius * 0.80, colour)
    pen.polygon(_star(x, y, radius * 0.72), GOLD if colour == RED else WHITE)


def _letters(sheet: Picture, text: str, x: float, y: float, width: float, height: float, colour: Colour) -> None:
    """Bold letters centred on a point, squeezed into a box."""
    face_font = font(round(height * 1.4))
    stroke = max(round(height * 0.035), 1)
    left, top, right, bottom = face_font.getbbox(text, stroke_width=stroke)
    mask = Image.new("L", (math.ceil(right - left), math.ceil(bottom - top)), 0)
    ImageDraw.Draw(mask).text((-left, -top), text, 255, face_font, stroke_width=stroke)
    across = min(width, mask.width * height / mask.height)
    mask = mask.resize((round(across), round(height)), Image.Resampling.LANCZOS)
    sheet.paste((*colour, 255), (round(x - across / 2), round(y - height / 2)), mask)


def _suit(pen: ImageDraw.ImageDraw, suit: str, x: float, y: float, size: float, colour: Colour) -> None:
    """A suit centred on a point."""
    if suit == "♦":
        pen.polygon(_diamond(x, y, size), colour)
    elif suit == "♥":
        pen.polygon(_heart(x, y, size), colour)
    elif suit == "♠":
        pen.polygon(_heart(x, y - size * 0.06, size, -1), colour)
        _stem(pen, x, y, size, colour)
    else:
        for dx, dy in ((0, -0.26), (-0.26, 0.12), (0.26, 0.12)):
            _disc(pen, x + dx * size, y + dy * size, size * 0.23, colour)
        _disc(pen, x, y, size * 0.12, colour)
        _stem(pen, x, y, size, colour)


def _stem(pen: ImageDraw.ImageDraw, x: float, y: float, size: float, colour: Colour) -> None:
    foot, neck = size * 0.2, size * 0.05
    points = [(x - neck, y), (x + neck, y), (x + foot, y + size * 0.5), (x - foot, y + size * 0.5)]
    pen.polygon(points, colour)


def _disc(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
    pen.ellipse((x - radius, y - radius, x + radius, y + radius), (*colour, 255))


def _diamond(x: float, y: float, size: float) -> list[Point]:
    return [(x, y - size * 0.54), (x + size * 0.42, y), (x, y + size * 0.54), (x - size * 0.42, y)]


def _heart(x: float, y: float, size: float, upright: int = 1) -> list[Point]:
    """The heart curve ``16 sin³t, 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t``; -1 turns it over."""
    points = []
    for step in range(120):
        t = step * math.tau / 120
        across = 16 * math.sin(t) ** 3
        up = 13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)
        points.append((x + across * size / 33, y - upright * (up + 2.5) * size / 31))
    return points


def _star(x: float, y: float, radius: float) -> list[Point]:
    points = []
    for corner in range(10):
        reach = radius if corner % 2 == 0 else radius * 0.42
        angle = corner * math.pi / 5
        points.append((x + reach * math.sin(angle), y - reach * math.cos(angle)))
    return points
