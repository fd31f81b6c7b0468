"""Which moves a sentence names, and how much it says that one of them is played.

A move is stated where it stands alone or after words such as *I play*.  It is open where other words stand beside it,
and a remark where these say that it is not played: *keep*, *would*, *not*, a question.  Counts of cards and parts of
what is longer are no moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

_CARD = r"(?:10|[2-9TJQKABR♠♥♦♣]|大王|小王)"
_SET = rf"{_CARD}+"
_PART = r"(?:[A-Za-z0-9_+%/=~→<>到至带]|-(?!\s))"
"""What makes the cards beside it a part of something longer."""
_COUNTED = r"(?:\s*(?:cards?|points?|solos?|pairs?|moves?)\b|[张个手分])"
_FEW = rf"{_CARD}{{1,4}}(?!{_PART}|{_COUNTED})"
_CARDS = rf"(?:{_FEW}(?:[ ,、]+{_FEW})+|{_SET}(?!{_PART}|{_COUNTED}))"
_BODY = rf"{_SET}(?:[ ,、]+{_SET})*"
_TOKEN = re.compile(
    rf"""(?P<aside>\()|(?P<end>[,:)\[\]{{}}|—–、]|\s-+\s)
    |(?P<move>(?<![A-Za-z0-9_+%/=~→<>到至带.-])(?<![Ss]eat[ ])
        (?!(?<![a-z][ ])A[ ](?!(?:or|and|to|with|plus)\b)[a-z]|[A-Z]:)
        (?:(?i:no[ ](?:bid|call|rob|double|show)|bid[ ]\d+|pass|call|rob|double|show)
        |1\d\d(?!{_COUNTED})
        |{_BODY}(?:\s*\+\s*{_CARDS}){{1,2}}|{_CARDS})(?!{_PART})
        |不出|过|叫[123]分|不叫(?![ ]*[0-9])|叫地主|不抢|抢地主|不?加倍|不?明牌)
    |(?P<count>\d+{_COUNTED})
    |(?P<word>[A-Za-z]+(?![A-Za-z0-9_+])|[A-Za-z0-9_+%=~→<>./-]+|\S)""",
    re.VERBOSE,
)
"""A move has one plus; a second is read to be refused.  Without a limit ``3+ 3+ ...`` takes the square of length."""
_SENTENCE = re.compile(r"[^.!?;。\n]+[.!?;。\n]?")
_QUESTION = "?"

KINDS = {
    **dict.fromkeys(("straight", "sequence", "chain", "顺"), "chain"),
    **dict.fromkeys(("single", "solo", "单"), "solo"),
    **dict.fromkeys(("pair", "pairs", "对"), "pair"),
    **dict.fromkeys(("trio", "triple", "三"), "trio"),
    **{word: word for word in ("bomb", "quad", "plane", "rocket")},
}
"""Words for categories, each with what the name of the category contains."""
_RANK = re.compile(r"(?:ace|king|queen|jack|joker|ten|nine|eight|seven|six|five|four|three|two)s?\Z|.*\d")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ACTS = _set("play lead choose pick select bid go use throw take answer 出 打 选 走 用")
_SELF = _set("i ill im we let me 我")
_PLAIN = _set(
    "a an the my our is it this s will shall am going to with of number option move card action so and or but now "
    "actually wait sorry rather instead hence therefore thus finally first final ok okay well yes please just say "
    "们 就 择 要 决 定 最 终 所 以 那 么 牌 先 手 张 号 第 个 一 来 把 是 的 为 子 弹 机 连 编 这 次 本 轮 吧 "
    '# - > " . ! ? 。'
)
"""Words that leave a statement as it is."""
_LINKS = _set("to through till until with and or plus / 到 至 带 和 或 者 还 是 a an the")
_REMARKS = _set(
    "not no never nor dont wont cant could should would might may if unless when keep keeps keeping hold holds have "
    "has had save saves saving leave leaves leaving left stay stays remain remains reserve later early late next after "
    "risk because since as they their he she his her opponent opponents landlord peasant seat other others beat beats "
    "except than better worse strong weak wait can 不 别 没 留 保 剩 他 她 家 下 太 如 若 果 等 后 再 怕 因 想"
)
_CONDITIONS = _set("if unless when or would")
_KNOWN = _PLAIN | _SELF | _ACTS | KINDS.keys()


class Firmness(IntEnum):
    """How firmly a sentence states that a move is played."""

    REMARK = 0
    OPEN = 1
    ALONE = 2
    STATED = 3


class Named(NamedTuple):
    """Moves that are named in one breath.

    Attributes:
        texts: Each of them; none where a move is stated in words that are not read, as *I play the aces*.
        kinds: Words for categories around them.
        level: How much is said for them.
        sentence: The number of the sentence.
        clause: All that is said there.
        is_first: Whether no words stand in the clauses before it.
    """

    texts: Sequence[str]
    kinds: Sequence[str]
    level: Firmness
    sentence: int
    clause: str
    is_first: bool = False


def is_plain(text: str) -> bool:
    """Whether a text has only words that do not change what a statement says."""
    return all(word in _SELF | _PLAIN for word in _words(text))


def named_moves(text: str) -> Iterator[Named]:
    """All moves that a text names, in its order.

    Args:
        text: Any text, without decoration.

    Example:
        >>> [
        ...     (named.texts, named.level.name)
        ...     for named in named_moves("I play 34567 (5 cards), as 22 would be too early.")
        ... ]
        [(['34567'], 'STATED'), (['22'], 'REMARK')]
    """
    is_first = True
    for number, sentence in enumerate(_SENTENCE.findall(text)):
        asks, context = sentence.endswith(_QUESTION), Firmness.STATED
        for clause, is_aside in _clauses(sentence):
            named = list(_named(clause, number, context, asks, is_aside))
            yield from (each._replace(is_first=is_first and each is named[0]) for each in named)
            is_first = is_first and _PLAIN.issuperset(token.group() for token in clause)
            if not any(each.texts for each in named) and not is_aside:
                context = min(context, _context(clause))


def _words(text: str) -> list[str]:
    return [token.group().lower() for token in _TOKEN.finditer(text) if token.lastgroup in ("word", "move")]


def _clauses(sentence: str) -> Iterator[tuple[list[re.Match[str]], bool]]:
    """The clauses of a sentence (tokens between commas and the like), each with whether it is in brackets."""
    clause: list[re.Match[str]] = []
    is_aside = False
    for token in _TOKEN.finditer(sentence):
        if token.lastgroup not in ("aside", "end"):
            clause.append(token)
            continue
        if clause:
            yield clause, is_aside
            clause = []
        is_aside = token.lastgroup == "aside" or (is_aside and token.group() != ")")
    if clause:
        yield clause, is_aside


def _context(clause: Sequence[re.Match[str]]) -> Firmness:
    """The highest level that a clause without a move allows the moves after it."""
    words = [token.group().lower() for token in clause if token.lastgroup == "word"]
    if words == ["no"] or (_ACTS.intersection(words) and _PLAIN.union(_SELF, _ACTS).issuperset(words[:2])):
        return Firmness.STATED
    if _REMARKS.intersection(words):
        return Firmness.OPEN
    return Firmness.STATED if _KNOWN.issuperset(words) else Firmness.ALONE


def _named(
    clause: Sequence[re.Match[str]], number: int, context: Firmness, asks: bool, is_aside: bool
) -> Iterator[Named]:
    """The moves of a clause; linked ones, as in *3 to 7*, in one breath."""
    said = "".join(f"{token.group()} " for token in clause).strip()
    pieces: list[list[str]] = [[]]
    groups: list[list[str]] = []
    for token in clause:
        if token.lastgroup == "move":
            if groups and _LINKS.issuperset(pieces[-1]):
                groups[-1].append(token.group())
                pieces[-1] = []
            else:
                groups.append([token.group()])
                pieces.append([])
        elif token.lastgroup == "word":
            pieces[-1].append(token.group().lower())
    for index, texts in enumerate(groups):
        before, after = pieces[index], pieces[index + 1]
        level = _aside_level(before, after) if is_aside else _level(texts, before, after)
        if not (_ACTS | _SELF).intersection(before):  # as in: seat 2 will pass
            level = min(level, context)
        context = Firmness.STATED if level == Firmness.STATED else Firmness.OPEN
        kinds = [word for word in (*before, *after) if word in KINDS]
        yield Named(texts, kinds, Firmness.REMARK if asks else level, number, said)
    if not (groups or asks or is_aside) and _is_unread(pieces[0]):
        yield Named([], [], Firmness.STATED, number, said)


def _level(texts: Sequence[str], before: Sequence[str], after: Sequence[str]) -> Firmness:
    around = {*before, *after}
    if _KNOWN.issuperset(before):
        acts = _ACTS.intersection(before) or (texts[0][:1].islower() and _SELF.intersection(before))
        if (acts and not _CONDITIONS.intersection(after)) or (_PLAIN | KINDS.keys()).issuperset(after):
            return Firmness.STATED
    return Firmness.REMARK if _REMARKS & around else Firmness.OPEN


def _aside_level(before: Sequence[str], after: Sequence[str]) -> Firmness:
    """How firmly brackets state their move: in plain words they repeat the sentence's, in others they remark."""
    return Firmness.OPEN if _PLAIN.issuperset((*before, *after)) else Firmness.REMARK


def _is_unread(words: Sequence[str]) -> bool:
    """Whether a clause states a move in words, as *I play the aces* or *pair of threes*."""
    ranks = [word for word in words if _RANK.match(word)]
    if _REMARKS.intersection(words) or not (ranks or KINDS.keys() & set(words)):
        return False
    act = next((index for index, word in enumerate(words) if word in _ACTS), None)
    return (
        bool(ranks) and _KNOWN.issuperset(set(words).difference(ranks))
        if act is None
        else _KNOWN.issuperset(words[:act])
    )
