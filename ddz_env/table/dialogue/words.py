"""Cards in words as notation: *a pair of sevens* and 对七 are ``77``, *straight 3 to 7* is ``34567``.

Only whole phrases are rewritten.  What they state, keep or ask for is read from what stands around them, as for cards.
"""

from __future__ import annotations

import re

from ddz_env.core.cards import RANK_NAMES

_NAMES = "three four five six seven eight nine ten jack queen king ace two"
_RANKS = dict(zip(_NAMES.split(), RANK_NAMES, strict=False)) | dict(zip("三四五六七八九十", RANK_NAMES, strict=False))
_RANKS |= {"二": "2", "10": "T"}
_RANK = rf"(?:(?i:{'|'.join(_RANKS)})|[2-9TJQKA])"
_AFTER = r"(?![A-Za-z0-9_+%/=~-]|\s*(?i:cards?|points?)\b|[号家分])"
_SIZES = {
    1: (r"(?:single|solo)", "one", "单张?"),
    2: (r"pair(?: of)?", "two", "(?<![不绝相面针反])一?对|两[张个]"),
    3: (r"(?:trio|triple)(?: of)?", "three", "三[张个]"),
    4: (r"(?:bomb|quad)(?: of)?", "four", "四[张个]|炸弹"),
}
"""How groups of so many equal cards begin: before a rank, before its plural, and in Chinese."""
_GROUPS = {
    size: re.compile(
        rf"(?<![A-Za-z0-9_+])(?:(?i:{kind}) ({_RANK})(?i:e?s)?|(?i:{number}) ({_RANK})(?i:e?s)"
        rf"|(?:{chinese})({_RANK})){_AFTER}"
    )
    for size, (kind, number, chinese) in _SIZES.items()
}
_CHAIN = re.compile(
    rf"(?:(?i:straight|sequence)(?i: from)? |顺子)({_RANK})(?: to | through |[-~到至])({_RANK}){_AFTER}"
    rf"|(?<![A-Za-z0-9_+])({_RANK})[到至]({_RANK})的?顺子"
)
_KICKERS = re.compile(
    rf"(?<![A-Za-z0-9_+])(([2-9TJQKA])\2\2)(?: with (?:an? |the )?|带(?:一[张个])?)([2-9TJQKA]{{2}}|{_RANK})"
    r"(?=\s*(?:[.,;:!?)\"'。\n]|$))"
)


def in_notation(text: str) -> str:
    """Write the cards that a text has in words as cards.

    Args:
        text: Any text, of ordinary width.

    Example:
        >>> in_notation("I play three kings with a pair of fours, not the straight from 3 to 7. 出对七")
        'I play KKK+44, not the 34567. 出77'
    """
    text = _CHAIN.sub(_chain, text)
    for size, group in _GROUPS.items():
        text = group.sub(lambda named, size=size: size * _rank(named[named.lastindex or 0]), text)
    return _KICKERS.sub(lambda named: f"{named[1]}+{_rank(named[3])}", text)


def _rank(name: str) -> str:
    return _RANKS.get(name.lower(), name)


def _chain(named: re.Match[str]) -> str:
    low, high = (RANK_NAMES.index(_rank(name)) for name in named.groups() if name)
    return RANK_NAMES[low : high + 1] or named[0]
