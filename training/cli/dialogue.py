"""What a person at the table types, and what the table answers: moves as words, help, and the legal moves by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ddz_env import Move, State

LEAVE, HELP, MOVES, HINT = (":q", "quit", "exit"), ("", "h", "help"), ("?", "moves"), ("hint",)
"""Words that are no moves."""

BRIEF = "h helps, ? lists the legal moves, hint gives advice, quit leaves"

_ANSWERS = {
    "play": {"p": "pass", "no": "pass"},
    "bid": {"1": "bid 1", "2": "bid 2", "3": "bid 3", **dict.fromkeys(("0", "no", "p", "pass"), "no bid")},
    "call": {**dict.fromkeys(("y", "yes"), "call"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no call")},
    "rob": {**dict.fromkeys(("y", "yes"), "rob"), **dict.fromkeys(("0", "n", "no", "p", "pass"), "no rob")},
    "show": {**dict.fromkeys(("y", "yes"), "show"), **dict.fromkeys(("n", "no", "p", "pass"), "no show")},
    "double": {**dict.fromkeys(("y", "yes"), "double"), **dict.fromkeys(("n", "no", "p", "pass"), "no double")},
}
"""Short answers by what is asked."""

_EXPLAINED = {
    "play": (
        "Type the cards of your move, or pass:",
        "  3  44  555     a solo, a pair, a trio (T or 10 is ten, B and R are the jokers)",
        "  34567  445566  a chain of five or more, a chain of three pairs or more",
        "  333+4  333+44  a trio with a kicker; 333444+57 a plane with two",
        "  5555  BR       a bomb, the rocket",
    ),
    "bid": ("The auction: type bid 1, bid 2 or bid 3 (or the number alone), or no.",),
    "call": ("The auction: type call to be the landlord, or no.",),
    "rob": ("The auction: type rob to be the landlord for twice the stake, or no.",),
    "show": ("Showing: type show to play with an open hand for twice the stake, or no.",),
    "double": ("Doubling: type double, or no.",),
}


def asked(state: State) -> str:
    """What the seat to act is asked: a stage of the game or, where the landlord is robbed, ``call`` or ``rob``."""
    if state.stage == "bid" and state.rules.bidding == "robbing":
        return "rob" if state.view().highest_bid else "call"
    return state.stage


def help_text(question: str) -> str:
    """What can be typed where something is :func:`asked` (not in the middle of a move)."""
    return "\n".join(
        [
            *_EXPLAINED[question],
            "  ?              the legal moves",
            "  hint           what a good agent would do",
            "  quit or :q     leave the table (Ctrl-D, too); q alone is a queen",
        ]
    )


def read_move(state: State, text: str) -> Move:
    """The legal move that a text means; bare cards mean the one reading that is legal.

    Args:
        state: The game; it stays as it is.
        text: What was typed: notation, or a short answer in the auction and at doubling (``2``, ``no``).

    Raises:
        DouDizhuError: If the text is no move or the move is not legal.
    """
    from ddz_env import Move
    from ddz_env.errors import AmbiguousMoveError

    word = " ".join(text.lower().split())
    text = _ANSWERS[asked(state)].get(word, text)
    try:
        move = Move.parse(text, state.rules)
    except AmbiguousMoveError:
        cards = Move.parse(text, state.rules.replace(ambiguous_cards="longest")).cards
        fitting = [legal for legal in state.legal_moves() if legal.cards == cards]
        if len(fitting) != 1:
            raise
        move = fitting[0]
    state.copy().step(move)
    return move


def say(state: State, move: Move) -> str:
    """A move of the seat to act in the words of the rules."""
    from ddz_env.notation import spoken

    history = [*state.history, (state.seat, move)]
    return spoken(history, len(history) - 1, state.rules)


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
    from ddz_env.cards import RANK_NAMES

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


def moves_table(state: State) -> Table:
    """The legal moves for the screen, a row a category."""
    moves = state.legal_moves()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    numbers = Counter(move.category for move in moves)
    for kind, texts in moves_by_kind(moves, lambda move: say(state, move)).items():
        name = f"{kind} ({numbers[kind]})" if numbers[kind] > 1 else kind
        table.add_row(name, Text("" if texts == [kind] else "  ".join(texts)))
    if any(move.kickers for move in moves):
        legend = "333+[45]: with 4 or 5 (or 44, 55); 2×[456]: two of them"
        table.add_row("", Text(legend, style="dim"))
    return table
