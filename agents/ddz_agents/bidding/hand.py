"""Construction of a seat's view before any cards are played, from its hand alone."""

from __future__ import annotations

from ddz_env import Hand, Rules, State, View
from ddz_env.core.cards import FULL_DECK, NUM_RANKS
from ddz_env.core.view import ROLES
from ddz_env.support.checks import check_choice, check_integer
from ddz_env.support.errors import InvalidDealError, InvalidRulesError

_ROBBED = (["call", "no rob", "no rob"], ["call", "rob", "no rob", "rob"], ["call", "rob", "rob", "rob"])
"""Auctions that the caller wins, by how often it is robbed."""
_HYPHENED = tuple(role.replace("_", "-") for role in ROLES if "_" in role)


def hand_view(
    hand: str | Hand,
    rules: str | Rules = "bidding,doubling=true",
    bottom: str | Hand = "",
    role: str = "landlord",
    bid: int = 0,
) -> View:
    """Build the view of a seat that holds a given hand and is about to bid, or to show its hand or double.

    Args:
        hand: The cards dealt, without the landlord cards.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        bottom: The face-up landlord cards; empty before the auction.
        role: A name of :data:`ddz_env.core.view.ROLES` (a hyphen will do), where the landlord cards are given.
        bid: The highest bid: in the auction, that of the seat before; later, the landlord's.  When robbing 1 is a
            call; 2 is, in the auction, that the seat before has robbed the one before it; later 2 and 3 are a landlord
            that called and robbed its place back from one, and from both.

    Raises:
        InvalidRulesError: If the rules are not for three players, have no auction, or no doubling to answer.
        InvalidDealError: If the cards are too few or too many, or the bid ends the auction.
        InvalidHandError: If they cannot be read.

    Example:
        >>> hand_view("3344567TJQQKA22BR").stage
        'bid'
        >>> hand_view("3344567TJQQKA22BR", bottom="357", role="peasant-up").role
        'peasant_up'
    """
    rules = Rules.preset(rules)
    dealt = hand if isinstance(hand, Hand) else Hand.parse(hand)
    landlord_cards = bottom if isinstance(bottom, Hand) else Hand.parse(bottom)
    role = check_choice("role", role, (*ROLES, *_HYPHENED), InvalidDealError).replace("-", "_")
    if rules.players != 3 or rules.half_deck:
        raise InvalidRulesError(f"stakes are for three players and the full deck, not the {rules.name} rules")
    if len(landlord_cards) and not (rules.doubling or (rules.showing and role == "landlord")):
        raise InvalidRulesError(
            f"landlord cards are seen after the auction, and {rules.name} has neither showing nor doubling: omit them"
        )
    if not len(landlord_cards) and rules.bidding == "fixed":
        raise InvalidRulesError(f"{rules.name} has no auction: give the landlord cards, or rules with bidding")
    bid = check_integer("bid", bid, 0, 3 if len(landlord_cards) else 2, InvalidDealError)
    robbing = rules.bidding == "robbing"
    before = ROLES.index(role) if len(landlord_cards) else bid if robbing else min(bid, 1)
    opener = _deal_state(dealt, landlord_cards, rules, 0).seat
    state = _deal_state(dealt, landlord_cards, rules, (opener + before) % 3)
    if len(landlord_cards) and rules.bidding != "fixed":
        _answer_stage(state, _ROBBED[max(bid, 1) - 1] if robbing else [f"bid {max(bid, 1)}", "no bid", "no bid"])
    elif bid and not len(landlord_cards):
        _answer_stage(state, ["call", "rob"][:bid] if robbing else [f"bid {bid}"])
    if len(landlord_cards) and before:
        _answer_stage(state, ["no show"] if rules.showing else [])
        _answer_stage(state, ["no double"] * before)
    return state.view()


def _deal_state(dealt: Hand, landlord_cards: Hand, rules: Rules, seat: int) -> State:
    """Deal a game with a given hand for one seat and the remaining cards, in order, for the other seats."""
    held = [a + b for a, b in zip(dealt.counts, landlord_cards.counts, strict=True)]
    ranks = [rank for rank, most in enumerate(FULL_DECK) for _ in range(most - held[rank])]
    size = rules.hand_size
    parts = [Hand(tuple(map(part.count, range(NUM_RANKS)))) for part in (ranks[:size], ranks[size : 2 * size])]
    undealt = Hand(tuple(map(ranks[2 * size :].count, range(NUM_RANKS))))
    parts.insert(seat, dealt)
    return State.from_hands(parts, landlord_cards if len(landlord_cards) else undealt, rules)


def _answer_stage(state: State, moves: list[str]) -> None:
    """Play the given bids or answers in turn until the game leaves its current stage."""
    stage = state.stage
    for move in moves:
        if state.stage == stage:
            state.step(move)
