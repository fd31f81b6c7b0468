"""Explanations of an advised move: how it compares with the next best move, and its effect on the cards.

Every sentence about cards is true of every deal that the seat may be in.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddz_env import Hand, Move, View
from ddz_env.core.actions import BOMB_CATEGORY, ROCKET_CATEGORY, MainGroup
from ddz_env.core.cards import NUM_RANKS, RANK_NAMES
from ddz_env.core.view import role_name
from ddz_env.rendering.snapshot import format_role
from ddz_play.session.advice import CLEARLY_WEAKER_FROM, EQUAL_WITHIN, Advice, RankedMove
from ddz_play.session.forced_wins import FewestMoves, legal_leads, possible_replies
from ddz_play.texts import Texts

_EQUAL_POINTS_WITHIN = 0.3
"""Points of a game below which answers are about as good."""
_MAX_LISTED_REPLIES = 3
"""Replies that are listed one by one."""
_NEARLY_OUT = 2
"""Cards of a hand that is about to go out."""
_MANY_MORE_CARDS = 3
"""Cards more than those of the next best move that are worth a word."""
_FIRST_HIGH_RANK = NUM_RANKS - 3
"""The first rank that is worth keeping: a 2."""
_MAX_SPLIT_CARDS = 10
"""The most cards that are split into the fewest moves; more take long."""


def explain(advice: Advice, texts: Texts, view: View) -> str:
    """Explain in a few sentences why a move is advised.

    Args:
        advice: What was compared, the advised move first.
        texts: The language.
        view: What the seat to act knows.
    """
    sentences = [_compare_with_next(advice, texts, view)]
    decided = advice.options[0].certain or view.hand == advice.move.cards  # its win has been said
    if view.stage == "play" and not view.rules.open_hands and len(advice.options) > 1 and not decided:
        sentences += _explain_cards(advice, view, texts)
    return texts("between sentences").join(sentences)


def _compare_with_next(advice: Advice, texts: Texts, view: View) -> str:
    """Return the sentence that compares the advised move with the next best one by chance, points or proof."""
    own, *others = advice.options
    if advice.source == "payoff":
        return _compare_points(own, others, texts)
    if advice.source == "solver":
        return texts("why solved" if own.chance == 1 else "why lost")
    if view.stage == "play" and view.hand == advice.move.cards:
        return texts("why wins")
    if own.certain:
        return texts("why certain", moves=texts("then").join(_move_text(move, texts) for move in own.line))
    known = [option for option in others if option.chance is not None]
    if not known or own.chance is None:
        return texts("why only" if len(view.legal_moves()) == 1 else "why unknown")
    return _compare_chances(own, max(known, key=lambda option: option.chance or 0.0), advice, texts)


def _compare_chances(own: RankedMove, rival: RankedMove, advice: Advice, texts: Texts) -> str:
    lead, error = (own.chance or 0.0) - (rival.chance or 0.0), max(EQUAL_WITHIN, rival.noise or 0.0)
    if abs(lead) < error:
        key = "why close"
    elif lead < 0:
        key = "why behind"
    else:
        key = "why clearly" if lead >= CLEARLY_WEAKER_FROM else "why slightly"
    return texts(key, move=_option_text(rival, advice, texts))


def _compare_points(own: RankedMove, others: list[RankedMove], texts: Texts) -> str:
    """Compare the advised answer with the next best by expected points; declining before the first bid counts 0."""
    rival = max(others, key=lambda option: option.score or 0.0, default=None)
    if rival is None:
        return texts("why unknown")
    if own.score is None:
        return texts("why decline", number=f"{-(rival.score or 0.0):.1f}")
    if rival.score is None:
        return texts("why bid", number=f"{own.score:.1f}")
    lead = own.score - rival.score
    if lead < _EQUAL_POINTS_WITHIN:
        return texts("why equal points")
    return texts("why more points", number=f"{round(own.score, 1) - round(rival.score, 1):.1f}")


def _option_text(option: RankedMove, advice: Advice, texts: Texts) -> str:
    """Return an option's text for use within a sentence: its cards, or the name of its answer."""
    return (
        _move_text(option.move, texts)
        if option.move and len(option.move.cards)
        else texts.move(advice.option_name(option))
    )


# --- the cards ---


def _explain_cards(advice: Advice, view: View, texts: Texts) -> Iterator[str]:
    """Explain what the move leaves and keeps, what beats it, who plays next, and who is about to go out."""
    move, said = advice.move, [*_explain_own_hand(advice, view, texts)]
    opposed = [seat for seat, size in enumerate(view.hand_sizes) if _is_opponent(view, seat) and size]
    if not move.is_pass:
        beaters = possible_replies(view, move, opposed)
        said += [*_describe_replies(beaters, texts)] or [*_describe_lowest_reply(beaters, view, texts, alone=not said)]
    yield from said
    yield from _explain_partner(view, move, texts)
    for seat, size in enumerate(view.hand_sizes):
        if seat != view.seat and 0 < size <= _NEARLY_OUT:
            players = view.rules.players
            role = texts("the " + format_role(role_name(view.row, seat, players) or "", players))
            stopped = seat in opposed and not move.is_pass and not possible_replies(view, move, [seat])
            yield texts(("why stopped" if stopped else "why last") + f" {size}", role=role)


def _explain_own_hand(advice: Advice, view: View, texts: Texts) -> Iterator[str]:
    """Explain what the move does for the seat's own hand or for its partner."""
    move, rival = advice.move, advice.options[1].move
    partner = None if view.target is None else view.target[0]
    left = [] if move.is_pass else [*_describe_rest_of_hand(view, move, rival, texts)]
    if move.is_pass and partner is not None and view.landlord not in (view.seat, partner):
        left = [texts("why partner")]
    yield from left
    if rival is None or (left and not move.is_pass):  # what it leaves says what it keeps
        return
    kept, whole = _high_cards_kept(advice, view.hand), _sets_kept_together(move, rival, view.hand)
    if len(kept):
        yield texts("why keeps", cards=_cards_text(kept, texts))
    elif move.is_pass and not left:
        yield texts("why saves", cards=_move_text(rival, texts))
    elif len(whole) and not left:
        yield texts("why keeps together", cards=_cards_text(whole, texts))
    elif len(move.cards) >= len(rival.cards) + _MANY_MORE_CARDS:
        yield texts("why many", number=len(move.cards))


def _describe_rest_of_hand(view: View, move: Move, rival: Move | None, texts: Texts) -> Iterator[str]:
    """Name the one or two moves that play out the rest of the hand, or compare how many moves it needs."""
    rest = view.hand - move.cards
    whole = {lead.cards: lead for lead in legal_leads(view, rest)}
    if rest in whole:
        yield texts("why leaves one", first=_move_text(whole[rest], texts))
        return
    first = next((lead for lead in whole.values() if rest - lead.cards in whole), None)
    if first is not None:
        yield texts(
            "why leaves two", first=_move_text(first, texts), second=_move_text(whole[rest - first.cards], texts)
        )
    elif rival is not None and not rival.is_pass:
        yield from _compare_fewest_moves(view, rest, view.hand - rival.cards, texts)


def _compare_fewest_moves(view: View, rest: Hand, other: Hand, texts: Texts) -> Iterator[str]:
    """Say in how few moves the rest of the hand can be played, if the next best move would need more."""
    if max(len(rest), len(other)) <= _MAX_SPLIT_CARDS:
        fewest = FewestMoves(view)
        number, more = fewest.count_moves(rest), fewest.count_moves(other)
        if number < more:
            yield texts("why leaves fewer", number=number, more=more)


def _explain_partner(view: View, move: Move, texts: Texts) -> Iterator[str]:
    """Say that the partner plays next, after a lead or after a pass on a landlord's move."""
    partner = (view.seat + 1) % view.rules.players
    if view.rules.players < 3 or view.landlord in (view.seat, partner, None):
        return
    if not move.is_pass:
        if view.on_lead:
            yield texts("why partner next")
    elif (
        view.target is not None
        and view.target[0] == view.landlord
        and possible_replies(view, view.target[1], [partner])
    ):
        yield texts("why partner may")


def _high_cards_kept(advice: Advice, hand: Hand) -> Hand:
    """Return the bombs, jokers and 2s that the next best move would spend and the advised move keeps."""
    rival, spent = advice.options[1].move, advice.move.cards.counts
    if rival is None:
        return Hand((0,) * NUM_RANKS)
    kept = [
        more if more > less == 0 and (rank >= _FIRST_HIGH_RANK or held == 4) else 0
        for rank, (held, less, more) in enumerate(zip(hand.counts, spent, rival.cards.counts, strict=True))
    ]
    return Hand(tuple(kept))


def _sets_kept_together(move: Move, rival: Move, hand: Hand) -> Hand:
    """Return the pairs and trios that the next best move would break and the advised move leaves whole."""
    spent = zip(hand.counts, move.cards.counts, rival.cards.counts, strict=True)
    return Hand(tuple(held if own == 0 < other < held else 0 for held, own, other in spent))


def _describe_lowest_reply(beaters: list[MainGroup], view: View, texts: Texts, alone: bool) -> Iterator[str]:
    """Describe the lowest reply to the move if that reply costs the landlord much or there is no other reason."""
    bombs = {group.category for group in beaters} & {BOMB_CATEGORY, ROCKET_CATEGORY}
    lowest = min((group for group in beaters if group.category not in bombs), key=lambda group: group.rank)
    costly = view.landlord != view.seat and lowest.rank >= _FIRST_HIGH_RANK - 1
    if costly or alone:
        or_more = texts("or higher", cards=_cards_text(Hand(lowest.need), texts))
        kinds = (("a bomb", BOMB_CATEGORY), ("the rocket", ROCKET_CATEGORY))
        *some, last = (or_more, *(texts(name) for name, kind in kinds if kind in bombs))
        moves = texts("or").join(filter(None, (texts(",").join(some), last)))
        yield texts("why landlord spends" if costly else "why rarely beaten", moves=moves)


def _describe_replies(beaters: list[MainGroup], texts: Texts) -> Iterator[str]:
    if not beaters:
        yield texts("why unbeatable")
    elif len(beaters) <= _MAX_LISTED_REPLIES:
        *some, last = (_cards_text(Hand(group.need), texts) for group in beaters)
        yield texts("why rarely beaten", moves=texts("or").join(filter(None, (texts(",").join(some), last))))
    elif all(group.category in (BOMB_CATEGORY, ROCKET_CATEGORY) for group in beaters):
        rocket = beaters[-1].category == ROCKET_CATEGORY
        yield texts("why beaten by bombs or rocket" if rocket else "why beaten by bombs")


def _move_text(move: Move, texts: Texts) -> str:
    """Format a move's cards, with kickers after a plus sign, as in the web page's list of moves."""
    kickers = Hand(move.kicker_counts)
    return " + ".join(_cards_text(part, texts) for part in (move.cards - kickers, kickers) if len(part))


def _cards_text(cards: Hand, texts: Texts) -> str:
    """Format cards as the web page writes them, with ``10`` for a T and names for the jokers."""
    *plain, black, red = cards.counts
    groups = [[name] * count for name, count in zip(RANK_NAMES, plain, strict=False) if count]
    text = " ".join(" ".join(["10"] * len(group)) if "T" in group else "".join(group) for group in groups)
    jokers = {(0, 0): "", (1, 0): "black joker", (0, 1): "red joker", (1, 1): "the rocket"}[black, red]
    return " ".join(filter(None, (text, jokers and texts(jokers))))


def _is_opponent(view: View, seat: int) -> bool:
    return seat != view.seat and (view.landlord in (seat, view.seat))
