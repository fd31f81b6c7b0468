"""What a person at the table types: words, moves in several notations, and the legal moves by kind."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ddz_env import Move, Rules, State
    from ddz_env.table.texts import Texts

WORDS = {
    "leave": (":q", "quit", "exit", "退出", "离开"),
    "help": ("", "h", "help", "帮助"),
    "moves": ("?", "moves", "可出"),
    "hint": ("hint", "提示"),
    "ok": ("ok", "好"),
    "cards": ("cards", "猜牌"),
    "undo": ("undo", "悔牌", "悔棋", "撤销"),
    "board": ("board", "牌面"),
}
"""What can be typed that is no move."""

_ANSWERS = {
    "play": {**dict.fromkeys(("p", "no", "要不起"), "pass"), **dict.fromkeys(("王炸", "rocket"), "BR")},
    "bid": {
        **{f"{form}": f"bid {bid}" for bid in (1, 2, 3) for form in (bid, f"叫{bid}分", f"{bid}分")},
        **dict.fromkeys(("0", "no", "p", "pass", "不叫"), "no bid"),
    },
    "call": {**dict.fromkeys(("y", "yes"), "call"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no call")},
    "rob": {**dict.fromkeys(("y", "yes"), "rob"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no rob")},
    "show": {**dict.fromkeys(("y", "yes"), "show"), **dict.fromkeys(("n", "no", "p", "pass"), "no show")},
    "double": {
        **dict.fromkeys(("y", "yes", "加倍"), "double"),
        **dict.fromkeys(("n", "no", "p", "pass", "不加倍"), "no double"),
    },
}
"""Short answers by stage."""

_JOKERS = str.maketrans({"x": "b", "d": "r", "X": "B", "D": "R"})
"""Other letters of the jokers (小 and 大)."""


def word_typed(text: str) -> tuple[str, str] | None:
    """A key of :data:`WORDS` and what stands behind the word; None where a text begins with none of them."""
    first, _, rest = unicodedata.normalize("NFKC", text).strip().partition(" ")
    known = (key for key, words in WORDS.items() if first.lower() in words)
    key = next(known, None)
    return None if key is None else (key, rest.strip())


def read_move(state: State, text: str) -> Move:
    """The legal move that a text means (:func:`understood`).

    Args:
        state: The game; it stays as it is.
        text: What was typed.

    Raises:
        DouDizhuError: If the text is no move or the move is not legal.
    """
    from ddz_env.core.notation import question

    legal = state.legal_moves()
    move = understood(text, question(state.history, state.stage, state.rules), state.rules, legal.__contains__)
    state.copy().step(move)
    return move


def understood(text: str, asked: str, rules: Rules, playable: Callable[[Move], bool]) -> Move:
    """The move that a text means; bare cards mean the one reading that can be played.

    Args:
        text: What was typed: notation, or a short answer in the auction and at doubling (``2``, ``no``).
        asked: What the seat to act is asked (:func:`ddz_env.core.notation.question`).
        rules: The rules.
        playable: Whether a move can be played; asked where cards can be read as several.

    Raises:
        DouDizhuError: If the text is no move.
    """
    from ddz_env import Hand, Move
    from ddz_env.core.errors import AmbiguousMoveError
    from ddz_env.core.notation import readings_of

    plain = unicodedata.normalize("NFKC", text)
    word = " ".join(plain.lower().split())
    plain = _ANSWERS[asked].get(word, plain)
    if asked == "play" and not word.startswith(("bid", "double", "no ")):
        plain = plain.translate(_JOKERS)
    try:
        return Move.parse(plain, rules)
    except AmbiguousMoveError:
        fitting = [move for move in readings_of(Hand.parse(plain), rules) if playable(move)]
        if len(fitting) != 1:
            raise
        return fitting[0]


def moves_by_kind(moves: Iterable[Move], write: Callable[[Move], str] = str) -> dict[str, list[str]]:
    """Legal moves, shortly: the bodies by category, each with the ranks that may be its kickers.

    Args:
        moves: Legal moves, in their order.
        write: Writes those without kickers.

    Example:
        >>> from ddz_env import State
        >>> moves_by_kind(State.from_hands(["333456", "7", "8"], check_sizes=False).legal_moves())
        {'solo': ['3', '4', '5', '6'], 'pair': ['33'], 'trio': ['333'], 'trio+solo': ['333+[456]']}
    """
    from ddz_env import Hand
    from ddz_env.core.cards import RANK_NAMES

    kickers: dict[Move, set[int]] = {}
    for move in moves:
        first = next((known for known in kickers if known.main == move.main), move)
        kickers.setdefault(first, set()).update(move.kickers)
    kinds: dict[str, list[str]] = {}
    for move, ranks in kickers.items():
        text = write(move)
        if move.group is not None and ranks:
            number = f"{len(move.kickers)}×" if len(move.kickers) > 1 else ""
            text = f"{Hand(move.group.need)}+{number}[{''.join(RANK_NAMES[rank] for rank in sorted(ranks))}]"
        kinds.setdefault(move.category, []).append(text)
    return kinds


def moves_table(moves: Sequence[Move], say: Texts | None = None, write: Callable[[Move], str] = str) -> Table:
    """The legal moves for the screen, a row a category, in English or the language of the texts."""
    from ddz_env.table.texts import Texts

    say = say or Texts()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    numbers = Counter(move.category for move in moves)
    for kind, texts in moves_by_kind(moves, write).items():
        name = f"{say(kind)} ({numbers[kind]})" if numbers[kind] > 1 else say(kind)
        table.add_row(name, Text("" if texts == [kind] else "  ".join(map(say.move, texts))))
    if any(move.kickers for move in moves):
        table.add_row("", Text(say("kicker legend"), style="dim"))
    return table
