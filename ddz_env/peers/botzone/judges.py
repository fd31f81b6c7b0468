"""The judges as the platform calls them: the log of a match in, the next word out; nothing is remembered in between.

Written after the behaviour of the judges that ``ailab-pku/botzone-local`` publishes, down to their words for faults.

``FightTheLandlord`` seats the landlord at 0, and a fault ends the game.  Cards that are no combination are
``BAD_FORMAT`` there, because that judge fails on them while it counts weights.

``FightTheLandlord2`` has an auction and plays on itself for a bot at fault: the fault is noted under ``errored``, the
move counts as a pass, or on lead as the smallest card, and the bot is asked no more.  When all three have failed, each
scores -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddz_env.peers.botzone import games
from ddz_env.peers.botzone.games import PASS, SEATS, BotzoneGame, Combination, Deal

FIXED, BIDDING = games.GAMES["FightTheLandlord"], games.GAMES["FightTheLandlord2"]
MOST_BID = 3
_LOSES, _GAINS = -1, 2.5
"""The older game: the landlord's score and the others' where a fault ends it, or the other way round."""

Log = Sequence[Mapping[str, Any]]


def judge(game: BotzoneGame, log: Log, initdata: Any = "", rng: np.random.Generator | None = None) -> dict[str, Any]:
    """What the judge of a game says next.

    Args:
        game: The game.
        log: What was said so far: the judge's entries (``{"output": ...}``) and the bots' (``{"0": {"verdict": ...,
            "response": ...}}``) in turn; empty at the start.
        initdata: The deal, as the judge's first word has it; text or an object.  None or empty: deal one.
        rng: Deals where ``initdata`` does not.

    Returns:
        ``command`` (``request`` or ``finish``), ``content`` (whom it asks what, or the scores by seat) and ``display``;
        at the start ``initdata``, too.

    Raises:
        InvalidDealError: If ``initdata`` is no deal of the game.
    """
    deal = games.read_deal(initdata, game) or games.deal_cards(game, rng or np.random.default_rng())
    said = _judge_bidding(log, deal) if game.has_auction else _judge_fixed(log, deal)
    if not log:
        seed = str(initdata.get("seed", "0")) if isinstance(initdata, Mapping) else "0"
        said["initdata"] = {**deal._asdict(), "seed": seed}
    return said


def _request(seat: int, content: Mapping[str, Any], display: Mapping[str, Any]) -> dict[str, Any]:
    return {"command": "request", "content": {str(seat): content}, "display": display}


def _finish(scores: Sequence[float], before: Mapping[str, Any], **after: Any) -> dict[str, Any]:
    """The last word: the scores by seat, which are displayed among other things."""
    named = {str(seat): score for seat, score in enumerate(scores)}
    return {"command": "finish", "content": named, "display": {**before, **named, **after}}


def _combination(cards: Sequence[int], game: BotzoneGame) -> Combination:
    """What cards mean; a pass where they are nothing."""
    return games.combination(cards, game) or PASS


# --- the older game: seat 0 is the landlord ---


class _Fault(Exception):
    """What ends the game, in the judge's words."""


def _judge_fixed(log: Log, deal: Deal) -> dict[str, Any]:
    content: dict[str, Any] = {"history": [[], []]}
    moves = len(log) // 2
    if moves < SEATS:
        content = {"own": deal.allocation[moves], "history": [[], []], "publiccard": deal.publiccard}
    if not log:
        return _request(0, content, deal._asdict())
    played: list[Any] = []
    turn = [-1]
    try:
        winner = _check_all(log, deal, played, turn)
    except _Fault as fault:
        return _forfeit(turn[0], played, str(fault))
    except Exception:  # answers of other types than the judge expects
        return _forfeit(turn[0], played, "BAD_FORMAT")
    event = {"event": {"player": turn[0], "action": played[-1]}}
    if winner is not None:
        return _finish(fixed_scores(played, winner), event)
    content["history"] = games.last_two(played)
    return _request(moves % SEATS, content, event)


def _check_all(log: Log, deal: Deal, played: list[Any], turn: list[int]) -> int | None:
    """Check every answer, and the last one against the table; the winner if the game is over."""
    _check_verdict(log[1]["0"])
    if len(log[1]["0"]["response"]) == 0:
        turn[0] = 0
        played.append([])
        raise _Fault("INVALID_PASS")
    down: set[int] = set()
    for place, entry in enumerate(log[1::2]):
        seat = turn[0] = place % SEATS
        answer = entry[str(seat)]
        _check_verdict(answer)
        played.append(answer["response"])
        for card in answer["response"]:
            if card not in deal.allocation[seat]:
                raise _Fault("MISSING_CARD")
            if card in down:
                raise _Fault("REPEATED_CARD")
            down.add(card)
        played[-1] = sorted(played[-1])
    combinations = [games.combination(cards, FIXED) for cards in played]
    if None in combinations:
        raise _Fault("BAD_FORMAT")
    last = combinations[-1] or PASS
    target = next((found for found in reversed(combinations[-SEATS:-1]) if found and found != PASS), None)
    if target is None and last == PASS:
        raise _Fault("INVALID_PASS")
    if target is not None and last != PASS and (reason := last.refusal(target)):
        raise _Fault(reason)
    return turn[0] if set(deal.allocation[turn[0]]) <= down else None


def _check_verdict(answer: Mapping[str, Any]) -> None:
    if answer["verdict"] != "OK":
        raise _Fault(f"INVALID_INPUT_VERDICT_{answer['verdict']}")


def _forfeit(turn: int, played: Sequence[Any], reason: str) -> dict[str, Any]:
    scores = [_LOSES, _GAINS, _GAINS] if turn <= 0 else [_GAINS, _LOSES, _LOSES]
    event = {"player": turn, "action": played[-1] if played else []}
    return _finish(scores, {"event": event, "errorInfo": reason})


def fixed_scores(played: Sequence[Sequence[int]], winner: int) -> list[float]:
    """The scores of a finished game: 2 for the winners, and weights; the peasants share theirs equally.

    Args:
        played: The card ids of every move, passes included, from seat 0 on.
        winner: The seat that went out.
    """
    weights = [0] * SEATS
    for place, cards in enumerate(played):
        weights[place % SEATS] += _combination(cards, FIXED).weight
    scores = [(2 if (seat == 0) == (winner == 0) else 0) + weights[seat] / 100 for seat in range(SEATS)]
    shared = (scores[1] + scores[2]) / 2
    return [scores[0], shared, shared]


# --- the newer game: an auction, and faults that do not end it ---


class _AllErred(Exception):
    """All three bots have failed."""


class _Errors(list["str | None"]):
    """The first fault of each seat."""

    def note(self, seat: int, reason: str) -> None:
        self[seat] = self[seat] or reason
        if all(self):
            raise _AllErred


def _judge_bidding(log: Log, deal: Deal) -> dict[str, Any]:
    errors = _Errors([None] * SEATS)
    for entry in log[::2]:
        errors[:] = entry["output"].get("display", {}).get("errored", errors)
    try:
        bids, landlord = read_bids(log, errors)
        if landlord is None:
            seat = len(bids)
            return _request(seat, {"own": deal.allocation[seat], "bid": bids}, {**deal._asdict(), "bid": bids})
        played = _counted(log[2 * len(bids) :], deal, landlord, errors)
    except _AllErred:
        return _finish([-1] * SEATS, {}, errored=list(errors))
    turn = (landlord + len(played) - 1) % SEATS
    event = {"event": {"player": turn, "action": played[-1]}} if played else {}
    if played and not _rest(deal, landlord, played, turn):
        return _finish(bidding_scores(played, bids, landlord), event, landlord=landlord)
    seat = (turn + 1) % SEATS
    content: dict[str, Any] = {"history": games.last_two(played)}
    if len(played) < SEATS:
        content |= {"own": deal.allocation[seat], "publiccard": deal.publiccard, "landlord": landlord}
        content |= {"pos": seat, "finalbid": max(1, *bids)}
    said = _request(seat, content, {"landlord": landlord, "bid": bids, "errored": list(errors), **event})
    return {**said, "content": {}} if errors[seat] else said


def read_bids(log: Log, errors: _Errors | None = None) -> tuple[list[int], int | None]:
    """The bids of a log so far, and the landlord once the auction is over; a bid that is none counts as 0."""
    errors = _Errors([None] * SEATS) if errors is None else errors
    bids: list[int] = []
    for seat, entry in enumerate(log[1 : 2 * SEATS : 2]):
        bid = _bid(entry.get(str(seat), {}).get("response"))
        if bid is None or (bid != 0 and not max(bids, default=0) < bid <= MOST_BID):
            errors.note(seat, "INVALID_BID")
            bid = 0
        bids.append(bid)
        if bid == MOST_BID:
            break
    over = len(bids) == SEATS or MOST_BID in bids
    return bids, bids.index(max(bids)) if over else None


def _bid(response: Any) -> int | None:
    try:
        return int(response)
    except (TypeError, ValueError, OverflowError):
        return None


def _counted(plays: Log, deal: Deal, landlord: int, errors: _Errors) -> list[list[int]]:
    """The moves as they count: those that the judge has shown, and the last one after it is checked."""
    played: list[list[int]] = []
    for place, entry in enumerate(plays[1::2]):
        seat = (landlord + place) % SEATS
        after = plays[2 * place + 2]["output"]["display"] if 2 * place + 2 < len(plays) else {}
        if "event" in after:
            played.append(sorted(after["event"]["action"]))
            continue
        held = _rest(deal, landlord, played, seat)
        answer = entry.get(str(seat), {"verdict": "OK", "response": []})
        cards, reason = _checked(answer, held, played, _dealt(deal, landlord, seat))
        if reason:
            errors.note(seat, reason)
            cards = [] if _target(played) else [min(held)]
        played.append(cards)
    return played


def _checked(
    answer: Mapping[str, Any], held: Sequence[int], played: Sequence[Sequence[int]], dealt: Sequence[int]
) -> tuple[list[int], str]:
    """The cards of an answer, and the judge's word for what is wrong with them."""
    response = answer.get("response")
    if answer["verdict"] != "OK" or not isinstance(response, list):
        return [], f"INVALID_INPUT_VERDICT_{answer['verdict']}"
    for place, card in enumerate(response):
        if isinstance(card, float) or card not in dealt:
            return [], "MISSING_CARD"
        if card not in held or card in response[:place]:
            return [], "REPEATED_CARD"
    found = games.combination(response, BIDDING)
    if found is None:
        return [], "INVALID_CARDTYPE"
    target = _target(played)
    if found == PASS:
        return [], "" if target else "INVALID_PASS"
    return sorted(response), found.refusal(_combination(target, BIDDING)) if target else ""


def _target(played: Sequence[Sequence[int]]) -> Sequence[int] | None:
    """What must be beaten; None on lead."""
    return next((cards for cards in reversed(played[-2:]) if cards), None)


def _dealt(deal: Deal, landlord: int, seat: int) -> list[int]:
    """The cards that a seat began with."""
    return [*deal.allocation[seat], *(deal.publiccard if seat == landlord else [])]


def _rest(deal: Deal, landlord: int, played: Sequence[Sequence[int]], seat: int) -> list[int]:
    """The cards that a seat still holds."""
    gone = {card for cards in played for card in cards}
    return [card for card in _dealt(deal, landlord, seat) if card not in gone]


def bidding_scores(played: Sequence[Sequence[int]], bids: Sequence[int], landlord: int) -> list[int]:
    """The scores of a finished game: the bid, doubled by every bomb, the rocket, spring and anti-spring.

    Args:
        played: The card ids of every move, passes included, from the landlord on.
        bids: The bids from seat 0 on.
        landlord: The landlord's seat.
    """
    doublings = sum(_combination(cards, BIDDING).category in games.PRIORITIES for cards in played)
    landlord_won = len(played) % SEATS == 1
    peasants = [cards for place, cards in enumerate(played) if place % SEATS]
    own = [cards for cards in played[::SEATS] if cards]
    doublings += not any(peasants) if landlord_won else len(own) == 1
    stake = max(1, *bids) << doublings
    sign = 1 if landlord_won else -1
    return [sign * stake * (2 if seat == landlord else -1) for seat in range(SEATS)]
