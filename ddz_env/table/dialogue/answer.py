"""The move that an answer of a language model states, or a sentence that says why there is none.

What is marked as the answer (a key of JSON, a tag, ``Answer:``) is final: it is one legal move, or refused by name.
Without a mark the last move that the text states counts (:mod:`ddz_env.table.dialogue.statements`).  Where it stays
open which move is meant, none is taken: to ask again costs less than a move that nobody chose.

Any text may come: the time to read it grows with its length alone, and no sentence about it repeats more than a move's
length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ddz_env import Move, View
from ddz_env.core.spoken import MOST_LISTED, offered, read
from ddz_env.core.state import refusal
from ddz_env.support.errors import DouDizhuError, IllegalMoveError, InvalidMoveError, shown
from ddz_env.table.dialogue.prompt import numbered
from ddz_env.table.dialogue.statements import KINDS, Firmness, Named, is_plain, named_moves
from ddz_env.table.dialogue.words import in_notation

_LONGEST = 60
"""Characters of a move, with blanks or commas between its cards."""
_MOST = 1 << 17
"""Characters of an answer without its reasoning."""
_TAGS = "think|thinking|thought|reasoning"
_THOUGHT = re.compile(rf"(?is)\A.*</(?:{_TAGS})>")
_THINKING = re.compile(rf"(?i)<(?:{_TAGS})>")
_TAG = re.compile(r"(?i)(?:<(?:answer|move|play|action)>|\\boxed\{)([^<{}]*)")
_KEYS = "answer|move|play|action|bid|choice|decision|答案|出牌|选择"
_MARK = re.compile(
    rf"""(?i)(?<![A-Za-z0-9_])(?:(?P<quote>["'])(?:{_KEYS}|cards?|number)(?P=quote)\s*:
    |(?:{_KEYS})\s*(?:[:=]|(?<!play)(?<!bid)\s(?:is|are)\b|[是为]))
    \s*(?=(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>[^\n]{{0,{4 * _LONGEST}}})))""",
    re.VERBOSE,
)
_FIELD = re.compile(r"""[{,]\s*(?:"\w+"|'\w+')\s*:""")


def answered_move(answer: str, view: View) -> Move:
    """The move that an answer states.

    Args:
        answer: Any text.
        view: What the seat to act knows.

    Raises:
        InvalidMoveError: If it states none, or what it states is not a move; the message says what is legal.
        IllegalMoveError: If the move is not legal; the message says why, and what is.

    Example:
        >>> from ddz_env import State
        >>> view = State.from_hands(["3377", "5", "6"], check_sizes=False).view()
        >>> answered_move("Not 33. I lead the sevens: 77.", view), answered_move("number 101", view)
        (Move.parse('77'), Move.parse('3'))
    """
    if not view.legal_moves():
        raise IllegalMoveError("the game is over" if view.stage == "over" else f"seat {view.seat} is not to act")
    reader, text = _Reader(view), _plain(answer)
    if _THINKING.search(text):
        raise reader.refused("the answer ends within its reasoning")
    if len(text) > _MOST:
        raise reader.refused(f"{len(text)} characters are too long for an answer")
    if values := _marked(text):
        return reader.agreed([reader.final(value) for value in values])
    if _FIELD.search(text):
        raise reader.refused("the answer has no key named move")
    return reader.last_stated(text)


def _plain(answer: str) -> str:
    """Strip reasoning, markup and list brackets from a model's answer."""
    text = _THOUGHT.sub("", unicodedata.normalize("NFKC", answer))
    text = re.sub(r"\[([^\[\]]*)\]", lambda brackets: " ".join(re.sub("[\"']", "", brackets[1]).split()), text)
    text = re.sub(r"[*`“”「」『』]|(?<=\w)['’](?=\w)", "", text)
    text = re.sub(r"\(\s*(\+[^()]*)\)", r"\1", text)
    return in_notation(re.sub(r"\b(1\d\d)\.(?!\d)", r"\1:", re.sub(r"(?<=\d)\.(?=\d)", "%", text)))


def _marked(text: str) -> list[str]:
    """The part of a text that is marked as the answer."""
    values = [match[1] for match in _TAG.finditer(text)]
    for match in _MARK.finditer(text):
        before = text[max(0, match.start() - _LONGEST) : match.start()]
        if is_plain(re.split(r"[^\w \"']", before)[-1]):
            values += [value for value in match.group("double", "single", "bare") if value is not None]
    return values


class _Reader:
    """Reads the moves that an answer names, in a position."""

    def __init__(self, view: View) -> None:
        self._view, self._legal = view, offered(view)

    def refused(self, why: str) -> InvalidMoveError:
        """What is wrong with an answer, and what is legal."""
        more = f" and {len(self._legal) - MOST_LISTED} more" if len(self._legal) > MOST_LISTED else ""
        return InvalidMoveError(f"{why}; legal are {', '.join(list(self._legal)[:MOST_LISTED])}{more}")

    def agreed(self, moves: Iterable[Move]) -> Move:
        """The move that some moves agree on.

        Raises:
            InvalidMoveError: If they differ.
        """
        first, *others = dict.fromkeys(moves)
        if others:
            raise self.refused(f"it stays open whether {first} or {others[0]} is meant")
        return first

    def final(self, value: str) -> Move:
        """The move of a marked answer: its whole first clause, which an explanation may follow."""
        first = next((each for each in named_moves(value) if each.level >= Firmness.ALONE), None)
        if first and first.is_first:
            return self._meant(first)
        return self._read(value.strip(" \t\n.!"))

    def last_stated(self, text: str) -> Move:
        """The last move that free text states.

        Raises:
            InvalidMoveError: If it states none, more than one at a time, or names another one behind it.
        """
        named = list(named_moves(text))
        level = max((each.level for each in named), default=Firmness.REMARK)
        if level < Firmness.ALONE:
            raise self.refused("the answer states no move")
        last = max(number for number, each in enumerate(named) if each.level == level)
        chosen = self._meant(named[last])
        rivals = [each for each in named[last + 1 :] if each.level >= Firmness.OPEN]
        for each in named[:last]:
            if each.level == level and (level == Firmness.ALONE or each.sentence == named[last].sentence):
                rivals.append(each)
        return self.agreed([chosen, *(move for each in rivals if (move := self._legal_move(each)))])

    def _legal_move(self, named: Named) -> Move | None:
        try:
            return self._meant(named)
        except DouDizhuError:
            return None

    def _meant(self, named: Named) -> Move:
        """The move that is named, which several texts may name at once: by its number and its cards."""
        if not named.texts:
            raise self.refused(f"{shown(named.clause)} is not understood: name the cards, or a number")
        move = self.agreed([self._read(text) for text in named.texts])
        if not all(KINDS[kind] in move.category for kind in named.kinds):
            raise self.refused(f"{shown(named.clause)} is not understood: {move} is a {move.category}")
        return move

    def _read(self, text: str) -> Move:
        """A legal move from its number, its words or its notation."""
        if len(text) > _LONGEST:
            raise self.refused(f"{len(text)} characters are too long for a move")
        if re.fullmatch(r"1\d\d", text):
            if move := numbered(self._view).get(int(text)):
                return move
            raise self.refused(f"there is no number {text}")
        if text in self._legal:  # which may have several readings, as 333444555666
            return self._legal[text]
        try:
            move = read(text, self._view)
        except InvalidMoveError as error:
            raise self.refused(str(error)) from error
        if move not in self._legal.values():
            raise IllegalMoveError(refusal(self._view, move))
        return move
