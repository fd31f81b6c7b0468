"""Why a move is advised: by its chance or its points, by how it was found, and by the cards.

Every sentence is checked against the numbers that are shown beside it, and says no more than they do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ddz_env import Hand, Move, View
from ddz_env.core.actions import BOMB_CATEGORY, KICKER_BASE, MAIN_GROUPS, PASS, ROCKET_CATEGORY, MainGroup
from ddz_env.core.cards import NUM_RANKS, RANK_NAMES
from ddz_env.core.view import role_of
from ddz_env.table.render.table import role_text
from ddz_env.table.session.advice import Advice, RankedMove
from ddz_env.table.texts import Texts

_CLOSE = 2
"""Points of chance below which moves are about as good."""
_CLOSE_POINTS = 0.3
"""Points of a game below which answers are about as good."""
SURE = 0.98
"""The probability from which on a policy is called sure."""
_FEW = 3
"""Replies that are listed one by one."""
_SHORT = 2
"""Cards of a hand that is about to go out."""
_HIGH = NUM_RANKS - 3
"""The first rank that is worth keeping: a 2."""


def explain(advice: Advice, say: Texts, view: View) -> str:
    """Why a move is advised, in a few sentences.

    Args:
        advice: What was compared, the advised move first.
        say: The language.
        view: What the seat to act knows.
    """
    sentences = [_by_numbers(advice, say, view), *_by_source(advice, say)]
    if view.stage == "play" and not view.rules.open_hands and len(advice.options) > 1:
        sentences += _by_cards(advice, view, say)
    return say("between sentences").join(sentences)


def is_searched(option: RankedMove) -> bool:
    """Whether a search has tried a move; a single visit marks a move that was played without a search."""
    return option.visits is not None and option.visits > 1


def _by_numbers(advice: Advice, say: Texts, view: View) -> str:
    """How the advised move compares with the next best one."""
    own, *others = advice.options
    if advice.source == "payoff":
        return _by_points(own, others, say)
    if own.chance is None:
        return say("why unknown")
    if advice.source == "solver":
        return say("why solved" if own.chance == 1 else "why lost")
    if view.hand == advice.move.cards:
        return say("why wins")
    if own.forced:
        return say("why forced")
    known = [option for option in others if option.chance is not None]
    if not known:
        return say("why only" if len(view.legal_moves()) == 1 else "why alone")
    return _by_chance(own, max(known, key=lambda option: option.chance or 0.0), say)


def _by_chance(own: RankedMove, rival: RankedMove, say: Texts) -> str:
    assert own.chance is not None
    assert rival.chance is not None
    if own.chance == rival.chance == 0:
        return say("why beaten")
    points = round(100 * own.chance) - round(100 * rival.chance)
    if abs(points) < _CLOSE:
        return say("why close")
    if points < 0:
        return say("why behind", number=-points)
    certain = own.chance - rival.chance > (rival.noise or 0.0)
    return say("why better" if certain else "why perhaps", number=points)


def _by_points(own: RankedMove, others: list[RankedMove], say: Texts) -> str:
    if own.score is None or not others:
        return say("why unknown")
    lead = own.score - max(option.score or 0.0 for option in others)
    if lead < _CLOSE_POINTS:
        return say("why equal points")
    return say("why more points", number=f"{round(own.score, 1) - round(own.score - lead, 1):.1f}")


def _by_source(advice: Advice, say: Texts) -> Iterator[str]:
    """How the move was found."""
    own = advice.options[0]
    if is_searched(own):
        tries = [option.visits or 0 for option in advice.options]
        if tries[0] == max(tries) and len(tries) > 1:
            yield say("why searched", number=tries[0], total=sum(tries))
    elif own.prior is not None and own.prior >= SURE and len(advice.options) > 1:
        yield say("why sure", number=math.floor(100 * own.prior))


# --- the cards ---


def _by_cards(advice: Advice, view: View, say: Texts) -> Iterator[str]:
    """What the move keeps, what beats it, and who is about to go out."""
    kept = _kept(advice, view.hand)
    if len(kept):
        yield say("why keeps", cards=_named(kept, say))
    if not advice.move.is_pass and view.hand != advice.move.cards:
        yield from _said_of(replies(view, advice.move), view, say)
    for seat, size in enumerate(view.hand_sizes):
        if seat != view.seat and 0 < size <= _SHORT:
            players = view.rules.players
            role = say(role_text(role_of(view.row, seat, players) or "", players))
            yield say("why last card" if size == 1 else "why last cards", role=role, number=size)


def _kept(advice: Advice, hand: Hand) -> Hand:
    """The bombs, jokers and 2s that the next best move would spend and the advised one does not."""
    rival = advice.options[1].move
    spent = advice.move.cards.counts
    if rival is None:
        return Hand((0,) * NUM_RANKS)
    kept = [
        more if more > less == 0 and (rank >= _HIGH or held == 4) else 0
        for rank, (held, less, more) in enumerate(zip(hand.counts, spent, rival.cards.counts, strict=True))
    ]
    return Hand(tuple(kept))


def _said_of(found: list[MainGroup], view: View, say: Texts) -> Iterator[str]:
    if not found:
        yield say("why unbeatable")
    elif len(found) <= _FEW:
        yield say("why rarely beaten", moves=say("or").join(_named(Hand(group.need), say) for group in found))
    elif all(group.category in (BOMB_CATEGORY, ROCKET_CATEGORY) for group in found):
        rocket = found[-1].category == ROCKET_CATEGORY
        yield say("why beaten by bombs or rocket" if rocket else "why beaten by bombs")


def _named(cards: Hand, say: Texts) -> str:
    """Cards as the page writes them: 10 for a T, and names for the jokers."""
    *plain, black, red = cards.counts
    groups = [[name] * count for name, count in zip(RANK_NAMES, plain, strict=False) if count]
    text = " ".join(" ".join(["10"] * len(group)) if "T" in group else "".join(group) for group in groups)
    jokers = {(0, 0): "", (1, 0): "black joker", (0, 1): "red joker", (1, 1): "the rocket"}[black, red]
    return " ".join(filter(None, (text, jokers and say(jokers))))


def replies(view: View, move: Move) -> list[MainGroup]:
    """What an opponent may hold that beats a move, by the cards that the seat cannot see.

    Args:
        view: What the seat knows.
        move: A move of cards.
    """
    size = max(size for seat, size in enumerate(view.hand_sizes) if _opposed(view, seat))
    unseen, played = view.unseen.counts, MAIN_GROUPS[move.main]
    return [
        group
        for group in MAIN_GROUPS[PASS + 1 : KICKER_BASE]
        if group.cards <= size
        and all(need <= held for need, held in zip(group.need, unseen, strict=True))
        and _beats(group, played, view)
    ]


def _opposed(view: View, seat: int) -> bool:
    return seat != view.seat and (view.landlord in (seat, view.seat))


def _beats(group: MainGroup, played: MainGroup, view: View) -> bool:
    rules = view.rules
    if group.category == BOMB_CATEGORY and played.category != BOMB_CATEGORY:
        return rules.bombs and (played.category != ROCKET_CATEGORY or rules.bombs_beat_rocket)
    if group.category == ROCKET_CATEGORY:
        return rules.bombs
    return group.segment == played.segment and group.rank > played.rank
