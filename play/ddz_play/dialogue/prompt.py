"""The text that describes a position: what a seat knows, and its numbered legal moves.

A number cannot be taken for cards: the numbers run from 101 to 199, and no move is written with a 1 (a ten alone may
be written 10).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from ddz_env import Hand, Move, Rules, View
from ddz_env.core.actions import CATEGORIES, MAIN_GROUPS, Category
from ddz_env.core.cards import NUM_RANKS, RANK_NAMES
from ddz_env.core.move_names import kind_of_decision, move_name, past_move_name
from ddz_env.rendering.snapshot import Seat, Snapshot, take_snapshot
from ddz_env.support.errors import pluralize

FIRST_NUMBER = 101
MAX_NUMBERED = 99
"""Of 27,817 decisions of the rule agent and of random play under five presets, 0.7 % had more legal moves (up to 437);
without kickers there were at most 59."""

_AUCTION = {
    "once": "Before the play every seat speaks once: it declines, or bids more than those before it (1, 2 or 3).",
    "until-passed": "Before the play seats bid 1, 2 or 3, always more than before, until two in a row decline.",
    "robbing": "Before the play seats call the landlord's place, or decline, until one calls; then the others may rob "
    "it, and the caller may rob it back. Each rob doubles the stake.",
}
_SCORING = {
    "win": "The landlord wins or loses 1, each peasant {share:g}.",
    "stake": "The stake is the highest bid (1 without one), doubled by every bomb and rocket{spring}. The landlord "
    "wins it from each peasant, or pays it to each.",
    "botzone": "Each winner gets 2 points, and every seat some hundredths for the combinations that it plays.",
}
_SPRING = " and if the peasants play no card, or the landlord only its first move"


# --- rules ---


def rules_text(rules: Rules) -> str:
    """Describe the rules briefly: who plays whom, the combinations in notation, and the scoring.

    Args:
        rules: The rules.

    Example:
        >>> print(rules_text(Rules.preset("micro")).splitlines()[1])
        Ranks from low to high, with their cards: 3x2 4x2 5x2 Bx1 Rx1. B is the black and R the red joker; T is the ten.
    """
    return "\n".join(_rules_lines(rules))


def _rules_lines(rules: Rules) -> Iterator[str]:
    opponents = "two peasants, who win or lose together" if rules.players == 3 else "one peasant"
    yield f"Dou Dizhu ({rules.name} rules): a landlord against {opponents}. Who is first without cards wins."
    ranks = f"Ranks from low to high, with their cards: {_format_card_count(Hand(rules.deck))}."
    yield f"{ranks} B is the black and R the red joker; T is the ten."
    stronger = ", or a bomb or the rocket" if rules.bombs and "rocket" in rules.categories else ""
    beats = f"a higher move of the same category, length and kind of kickers{stronger}"
    yield f"In turn each seat plays {beats}, or passes. If all others pass, the last to play leads any move."
    examples = (_example_of(category) for category in CATEGORIES[1:] if category.name in rules.categories)
    yield f"Moves: {', '.join(examples)}."
    if any(category.kicker_size for category in CATEGORIES if category.name in rules.categories):
        yield f"Cards behind + are kickers: {_kicker_rule(rules)}."
    if rules.bidding != "fixed":
        yield _AUCTION[rules.bidding]
    if rules.showing:
        yield "The landlord may then show its hand, which doubles the stake."
    if rules.doubling:
        yield "Then each seat may double what it plays for."
    share = 1 if rules.players == 2 else rules.peasant_reward
    yield _SCORING[rules.scoring].format(share=share, spring=_SPRING * rules.spring)


def _example_of(category: Category) -> str:
    """Describe a category of moves by its name, with its lowest move as an example."""
    group = next(group for group in MAIN_GROUPS if CATEGORIES[group.category] is category)
    others = [rank for rank in range(NUM_RANKS) if not group.need[rank]]
    longer = " (or longer, up to A)" if len(category.lengths) > 1 else ""
    return f"{category.name} {Move(group.id, tuple(others[: group.kicker_count]))}{longer}"


def _kicker_rule(rules: Rules) -> str:
    differ = "of other ranks than the body"
    if rules.kicker_repeat == 1:
        differ += " and than each other"
    return differ if rules.two_jokers else f"{differ}, at most one joker among them"


# --- a position ---


def numbered_moves(view: View) -> dict[int, Move]:
    """Number a seat's legal moves from 101 on, leaving out moves with kickers if there are more than 99."""
    legal = view.legal_moves()
    if len(legal) > MAX_NUMBERED:
        legal = [move for move in legal if not move.kickers][:MAX_NUMBERED]
    return dict(enumerate(legal, start=FIRST_NUMBER))


def position_text(view: View) -> str:
    """Describe as text what a seat knows and the moves that it may choose from.

    Args:
        view: What the seat knows; the text says nothing else.

    Example:
        >>> from ddz_env import State
        >>> print(position_text(State.from_hands(["34", "5", "6"], check_sizes=False).view()))
        You are seat 0.
        seat 0: landlord, 2 cards: 34 (you)
        seat 1: peasant down, 1 card
        seat 2: peasant up, 1 card
        Landlord cards: none. Stake: 1.
        Unseen cards (52, 50 of them undealt): 3x3 4x3 5x4 6x4 7x4 8x4 9x4 Tx4 Jx4 Qx4 Kx4 Ax4 2x4 Bx1 Rx1
        Moves so far: none
        seat 0 leads
        Your legal moves:
        101 3
        102 4
        Answer with JSON: {"move": 101} with the number of one move, or with its cards in quotes.
    """
    return "\n".join([*_knowledge_lines(view), *_choice_lines(view)])


def _knowledge_lines(view: View) -> Iterator[str]:
    table = take_snapshot(view)
    yield f"You are seat {view.seat}."
    yield from (_seat_line(seat, view) for seat in table.seats)
    yield f"Landlord cards: {_landlord_cards_text(table)}. Stake: {table.stake}."
    if table.left_out:
        yield f"Left out of the game: {table.left_out}"
    hidden = f", {table.undealt} of them undealt" if table.undealt else ""
    yield f"Unseen cards ({len(view.unseen)}{hidden}): {_format_card_count(view.unseen)}"
    said = (f"{seat} {past_move_name(view.history, at, view.rules)}" for at, (seat, _) in enumerate(view.history))
    yield f"Moves so far: {', '.join(said) or 'none'}"
    owner = f"; seat {view.target[0]} played it" if view.target and table.acting else ""
    yield f"{table.status}{owner}"


def _seat_line(seat: Seat, view: View) -> str:
    """Describe one seat in a line, with those of its cards that are open or belong to the viewer."""
    cards = "".join(RANK_NAMES[card.rank] for card in seat.hand)
    shown = f"{': ' if len(seat.hand) == seat.size else ', among them '}{cards}" if cards else ""
    doubled = ", doubled" if seat.doubled else ""
    own = " (you)" if seat.number == view.seat else ""
    result = "" if seat.result is None else f", return {seat.result:+g}"
    cards = pluralize(seat.size, "card")
    return f"seat {seat.number}: {seat.role or 'no role yet'}, {cards}{shown}{doubled}{result}{own}"


def _landlord_cards_text(table: Snapshot) -> str:
    if table.landlord_backs:
        return f"{table.landlord_backs}, face down"
    return "".join(RANK_NAMES[card.rank] for card in table.landlord_cards) or "none"


def _choice_lines(view: View) -> Iterator[str]:
    if not (legal := view.legal_moves()):
        return
    listed, wanted = numbered_moves(view), kind_of_decision(view.history, view.stage, view.rules)
    yield "Your legal moves:"
    yield from (f"{number} {move_name(move, wanted)}" for number, move in listed.items())
    if len(listed) < len(legal):
        yield "And with kickers, which you write yourself:"
        kickers = (move for move in legal if move.kickers)
        yield from (_kicker_line(list(moves)) for _, moves in groupby(kickers, lambda move: move.main))
    yield 'Answer with JSON: {"move": 101} with the number of one move, or with its cards in quotes.'


def _kicker_line(moves: list[Move]) -> str:
    """Describe in one line the moves that differ only in their kickers."""
    group = MAIN_GROUPS[moves[0].main]
    ranks = [RANK_NAMES[rank] for rank in sorted({rank for move in moves for rank in move.kickers})]
    kind = pluralize(group.kicker_count, "solo" if group.kicker_size == 1 else "pair")
    return f"{group.name.split()[-1]} with {kind} of {' '.join(ranks)}: {pluralize(len(moves), 'move')}, as {moves[0]}"


def _format_card_count(cards: Hand) -> str:
    """Format cards as each rank with its count, for example ``3x2 4x1``."""
    counts = [f"{name}x{count}" for name, count in zip(RANK_NAMES, cards.counts, strict=True) if count]
    return " ".join(counts) or "none"
