"""The judge of ``FightTheLandlord2``: an auction, and a bot at fault is played on by the judge itself.

Written after the behaviour of the judge that ``ailab-pku/botzone-local`` publishes.  A fault is noted under
``errored``; the move counts as a pass, or on lead as the smallest card, and the bot is asked no more.  When all three
have failed, each scores -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ddz_env.peers.botzone.combinations import PASS, PRIORITIES, combination
from ddz_env.peers.botzone.deals import Deal, last_two
from ddz_env.peers.botzone.games import GAMES, SEATS

GAME = GAMES["FightTheLandlord2"]
MOST_BID = 3


class _AllErred(Exception):
    """All three bots have failed."""


class _Errors(list["str | None"]):
    """The first fault of each seat."""

    def note(self, seat: int, reason: str) -> None:
        self[seat] = self[seat] or reason
        if all(self):
            raise _AllErred


def judge_bidding(log: Sequence[Mapping[str, Any]], deal: Deal, seed: str) -> dict[str, Any]:
    """The judge's answer to a log; arguments as for :func:`ddz_env.peers.botzone.fixed_judge.judge_fixed`."""
    errors = _Errors([None] * SEATS)
    for entry in log[::2]:
        errors[:] = entry["output"].get("display", {}).get("errored", errors)
    try:
        return _judge(log, deal, seed, errors)
    except _AllErred:
        named = {str(seat): -1 for seat in range(SEATS)}
        return {"command": "finish", "content": named, "display": {**named, "errored": list(errors)}}


def _judge(log: Sequence[Mapping[str, Any]], deal: Deal, seed: str, errors: _Errors) -> dict[str, Any]:
    bids, landlord = read_bids(log, errors)
    if landlord is None:
        return _ask_for_bid(bids, deal, seed)
    plays = log[2 * len(bids) :]
    played = _replay(plays, deal, landlord, errors)
    count = len(played)
    turn = (landlord + count - 1) % SEATS
    event = {"player": turn, "action": played[-1]} if played else None
    if played and not _rest(deal, landlord, played, turn):
        scores = bidding_scores(played, bids, landlord)
        named = {str(seat): score for seat, score in enumerate(scores)}
        return {"command": "finish", "content": named, "display": {"event": event, **named, "landlord": landlord}}
    seat = (landlord + count) % SEATS
    content: dict[str, Any] = {"history": last_two(played)}
    if count < SEATS:
        content |= {"own": deal.allocation[seat], "publiccard": deal.publiccard, "landlord": landlord}
        content |= {"pos": seat, "finalbid": max(1, *bids)}
    display = {"landlord": landlord, "bid": bids, "errored": list(errors)}
    if event:
        display["event"] = event
    asked = {} if errors[seat] else {str(seat): content}
    return {"command": "request", "content": asked, "display": display}


def read_bids(log: Sequence[Mapping[str, Any]], errors: _Errors | None = None) -> tuple[list[int], int | None]:
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


def _ask_for_bid(bids: list[int], deal: Deal, seed: str) -> dict[str, Any]:
    seat = len(bids)
    cards = {"allocation": deal.allocation, "publiccard": deal.publiccard}
    content = {str(seat): {"own": deal.allocation[seat], "bid": bids}}
    said: dict[str, Any] = {"command": "request", "content": content, "display": {**cards, "bid": bids}}
    return said if seat else {**said, "initdata": {**cards, "seed": seed}}


def _replay(plays: Sequence[Mapping[str, Any]], deal: Deal, landlord: int, errors: _Errors) -> list[list[int]]:
    """The moves as they count: those that the judge has shown, and the last one after it is checked."""
    played: list[list[int]] = []
    for place, entry in enumerate(plays[1::2]):
        seat = (landlord + place) % SEATS
        after = plays[2 * place + 2]["output"]["display"] if 2 * place + 2 < len(plays) else {}
        if "event" in after:
            played.append(sorted(after["event"]["action"]))
            continue
        held = _rest(deal, landlord, played, seat)
        cards, reason = _checked(entry.get(str(seat), {"verdict": "OK", "response": []}), held, played, deal, landlord)
        if reason:
            errors.note(seat, reason)
            cards = [] if _target(played) else [min(held)]
        played.append(cards)
    return played


def _checked(
    answer: Mapping[str, Any], held: Sequence[int], played: Sequence[Sequence[int]], deal: Deal, landlord: int
) -> tuple[list[int], str]:
    """The cards of an answer, and the judge's word for what is wrong with them."""
    response = answer.get("response")
    if answer["verdict"] != "OK" or not isinstance(response, list):
        return [], f"INVALID_INPUT_VERDICT_{answer['verdict']}"
    dealt = (landlord + len(played)) % SEATS
    mine = [*deal.allocation[dealt], *(deal.publiccard if dealt == landlord else [])]
    seen: set[int] = set()
    for card in response:
        if isinstance(card, float) or card not in mine:
            return [], "MISSING_CARD"
        if card not in held or card in seen:
            return [], "REPEATED_CARD"
        seen.add(card)
    found = combination(response, GAME)
    if found is None:
        return [], "INVALID_CARDTYPE"
    target = _target(played)
    if found == PASS:
        return [], "" if target else "INVALID_PASS"
    reason = target and (combination(response, GAME) or PASS).refusal(combination(target, GAME) or PASS)
    return sorted(response), reason or ""


def _target(played: Sequence[Sequence[int]]) -> Sequence[int] | None:
    """What must be beaten; None on lead."""
    return next((cards for cards in reversed(played[-2:]) if cards), None)


def _rest(deal: Deal, landlord: int, played: Sequence[Sequence[int]], seat: int) -> list[int]:
    """The cards that a seat still holds."""
    gone = {card for cards in played for card in cards}
    held = [*deal.allocation[seat], *(deal.publiccard if seat == landlord else [])]
    return [card for card in held if card not in gone]


def bidding_scores(played: Sequence[Sequence[int]], bids: Sequence[int], landlord: int) -> list[int]:
    """The scores of a finished game: the bid, doubled by every bomb, the rocket, spring and anti-spring.

    Args:
        played: The card ids of every move, passes included, from the landlord on.
        bids: The bids from seat 0 on.
        landlord: The landlord's seat.
    """
    doublings = sum((combination(cards, GAME) or PASS).category in PRIORITIES for cards in played)
    landlord_won = len(played) % SEATS == 1
    peasants = [cards for place, cards in enumerate(played) if place % SEATS]
    own = [cards for cards in played[::SEATS] if cards]
    doublings += not any(peasants) if landlord_won else len(own) == 1
    stake = max(1, *bids) << doublings
    sign = 1 if landlord_won else -1
    return [sign * stake * (2 if seat == landlord else -1) for seat in range(SEATS)]
