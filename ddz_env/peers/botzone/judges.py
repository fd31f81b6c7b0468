"""Botzone's judges: stateless functions that map the log of a match to the judge's next output.

Modelled on the judges that ``ailab-pku/botzone-local`` publishes, down to their wording of faults.

``FightTheLandlord`` seats the landlord at 0, and a fault ends the game.  Cards that do not form a combination
are ``BAD_FORMAT`` there, because that judge fails on them while it counts weights.

``FightTheLandlord2`` has an auction and plays on in place of a bot at fault: the fault is noted under ``errored``, the
move counts as a pass, or on lead as the smallest card, and the bot gets no more requests.  When all three have failed,
each scores -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddz_env.peers.botzone import games
from ddz_env.peers.botzone.games import NEWER, OLDER, PASS, SEATS, BotzoneDeal, BotzoneGame, Combination

MAX_BID = 3
_LOSES, _GAINS = -1, 2.5
"""The older game: the landlord's score and the others' where a fault ends it, or the other way round."""

Log = Sequence[Mapping[str, Any]]


def next_output(
    game: BotzoneGame, log: Log, initdata: Any = "", rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """Return the judge's next output, a request or the final scores, for the log of a match.

    Args:
        game: The game.
        log: What was said so far: the judge's entries (``{"output": ...}``) and the bots' (``{"0": {"verdict": ...,
            "response": ...}}``) in turn; empty at the start.
        initdata: The deal, as the judge's first word has it; text or an object.  None or empty: deal one.
        rng: Deals where ``initdata`` does not.

    Returns:
        ``command`` (``request`` or ``finish``), ``content`` (a request by seat, or the scores by seat) and ``display``;
        at the start ``initdata``, too.

    Raises:
        InvalidDealError: If ``initdata`` is not a deal of the game.
    """
    deal = games.parse_initdata(initdata, game) or games.shuffle_and_deal(game, rng or np.random.default_rng())
    output = _judge_bidding(log, deal) if game.has_auction else _judge_fixed(log, deal)
    if not log:
        seed = str(initdata.get("seed", "0")) if isinstance(initdata, Mapping) else "0"
        output["initdata"] = {**deal._asdict(), "seed": seed}
    return output


def _make_request(seat: int, content: Mapping[str, Any], display: Mapping[str, Any]) -> dict[str, Any]:
    return {"command": "request", "content": {str(seat): content}, "display": display}


def _final_output(scores: Sequence[float], before: Mapping[str, Any], **after: Any) -> dict[str, Any]:
    """Make the judge's final output, which consists of the scores by seat and the display data."""
    named = {str(seat): score for seat, score in enumerate(scores)}
    return {"command": "finish", "content": named, "display": {**before, **named, **after}}


def _combination_or_pass(cards: Sequence[int], game: BotzoneGame) -> Combination:
    """Return the combination that cards form, or a pass if they form none."""
    return games.recognize_combination(cards, game) or PASS


class _MatchTable:
    """The cards of a match, both as dealt and as played so far.

    Args:
        game: The game.
        deal: The deal.
        landlord: The landlord's seat.

    Attributes:
        dealt: The cards that each seat began with.
        played: The cards of every move, passes included, from the landlord on.
    """

    def __init__(self, game: BotzoneGame, deal: BotzoneDeal, landlord: int) -> None:
        self._game, self._landlord = game, landlord
        self.dealt = [list(hand) for hand in deal.allocation]
        self.dealt[landlord] += deal.publiccard * game.has_auction
        self.played: list[list[int]] = []
        self._played_cards: set[int] = set()

    def play(self, cards: list[int]) -> None:
        """Play cards for the seat to act; an empty list of cards is a pass."""
        self.played.append(cards)
        self._played_cards.update(cards)

    @property
    def seat_to_act(self) -> int:
        """The seat to act (0, 1 or 2)."""
        return (self._landlord + len(self.played)) % SEATS

    @property
    def remaining_cards(self) -> list[int]:
        """The cards that the seat to act still holds."""
        return [card for card in self.dealt[self.seat_to_act] if card not in self._played_cards]

    @property
    def event(self) -> dict[str, Any]:
        """The last move in the judge's display format; empty before the first move."""
        return {"event": {"player": self._last_seat, "action": self.played[-1]}} if self.played else {}

    @property
    def is_over(self) -> bool:
        """Whether the match is over because a seat has played all its cards."""
        return bool(self.played) and set(self.dealt[self._last_seat]) <= self._played_cards

    @property
    def target(self) -> list[int] | None:
        """The cards that must be beaten, or None on lead."""
        return next((cards for cards in reversed(self.played[-2:]) if cards), None)

    def find_fault(self, answer: Mapping[str, Any]) -> str:
        """Return the judge's error code for an answer, or an empty string if the answer may be played."""
        response, newer = answer.get("response"), self._game.has_auction
        if answer["verdict"] != "OK" or (newer and not isinstance(response, list)):
            return f"INVALID_INPUT_VERDICT_{answer['verdict']}"
        dealt, cards = self.dealt[self.seat_to_act], list(response)  # type: ignore[arg-type]  # TypeError: the older judge's BAD_FORMAT
        for index, card in enumerate(cards):
            if card not in dealt or (newer and isinstance(card, float)):
                return "MISSING_CARD"
            if card in self._played_cards or card in cards[:index]:
                return "REPEATED_CARD"
        reading = games.recognize_combination(cards, self._game)
        if reading is None:
            return "INVALID_CARDTYPE" if newer else "BAD_FORMAT"
        if reading == PASS:
            return "" if self.target else "INVALID_PASS"
        return reading.refusal_code(_combination_or_pass(self.target, self._game)) if self.target else ""

    @property
    def _last_seat(self) -> int:
        return (self.seat_to_act - 1) % SEATS


# --- the older game: seat 0 is the landlord ---


def _judge_fixed(log: Log, deal: BotzoneDeal) -> dict[str, Any]:
    table = _MatchTable(OLDER, deal, 0)
    for entry in log[1::2]:
        answer = entry.get(str(table.seat_to_act), {})
        try:
            reason = table.find_fault(answer)
        except Exception:  # answers of other types than the judge expects
            reason = "BAD_FORMAT"
        if reason:
            return _end_by_fault(table, answer, reason)
        table.play(sorted(answer["response"]))
    if table.is_over:
        return _final_output(score_fixed_game(table.played, (table.seat_to_act - 1) % SEATS), table.event)
    content: dict[str, Any] = {"history": games.last_two_moves(table.played)}
    if len(table.played) < SEATS:
        content = {"own": deal.allocation[table.seat_to_act], **content, "publiccard": deal.publiccard}
    return _make_request(table.seat_to_act, content, table.event or deal._asdict())


def _end_by_fault(table: _MatchTable, answer: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Make the output that ends a match after a fault; an unreadable first answer is charged to seat -1."""
    turn, response = table.seat_to_act, answer.get("response")
    action: Any = table.played[-1] if table.played else []
    if not table.played and (reason.startswith("INVALID_INPUT") or not hasattr(response, "__len__")):
        turn = -1
    elif not reason.startswith("INVALID_INPUT"):
        action = response if reason in ("MISSING_CARD", "REPEATED_CARD") else _sort_cards(response)
    scores = [_LOSES, _GAINS, _GAINS] if turn <= 0 else [_GAINS, _LOSES, _LOSES]
    return _final_output(scores, {"event": {"player": turn, "action": action}, "errorInfo": reason})


def _sort_cards(response: Any) -> Any:
    """Return cards in sorted order, or return the value unchanged if it cannot be sorted."""
    try:
        return sorted(response)
    except TypeError:
        return response


def score_fixed_game(played: Sequence[Sequence[int]], winner: int) -> list[float]:
    """Score a finished ``FightTheLandlord`` match: 2 for a win plus combination points; peasants get their mean.

    Args:
        played: The card ids of every move, passes included, from seat 0 on.
        winner: The seat that went out.
    """
    weights = [0] * SEATS
    for turn, cards in enumerate(played):
        weights[turn % SEATS] += _combination_or_pass(cards, OLDER).weight
    scores = [(2 if (seat == 0) == (winner == 0) else 0) + weights[seat] / 100 for seat in range(SEATS)]
    shared = (scores[1] + scores[2]) / 2
    return [scores[0], shared, shared]


# --- the newer game: an auction, and faults that do not end it ---


Errors = list["str | None"]
"""The first fault of each seat."""


def _judge_bidding(log: Log, deal: BotzoneDeal) -> dict[str, Any]:
    errors: Errors = [None] * SEATS
    bids, landlord = read_bids(log, errors)
    if landlord is None:
        seat = len(bids)
        return _make_request(seat, {"own": deal.allocation[seat], "bid": bids}, {**deal._asdict(), "bid": bids})
    table = _MatchTable(NEWER, deal, landlord)
    for entry in log[2 * len(bids) + 1 :: 2]:
        table.play(_cards_that_count(table, entry, errors))
    if all(errors):
        return _final_output([-1] * SEATS, {}, errored=errors)
    if table.is_over:
        return _final_output(score_bidding_game(table.played, bids, landlord), table.event, landlord=landlord)
    seat = table.seat_to_act
    content: dict[str, Any] = {"history": games.last_two_moves(table.played)}
    if len(table.played) < SEATS:
        content |= {"own": deal.allocation[seat], "publiccard": deal.publiccard, "landlord": landlord}
        content |= {"pos": seat, "finalbid": max(1, *bids)}
    output = _make_request(seat, content, {"landlord": landlord, "bid": bids, "errored": errors, **table.event})
    return {**output, "content": {}} if errors[seat] else output


def _cards_that_count(table: _MatchTable, entry: Mapping[str, Any], errors: Errors) -> list[int]:
    """Return the cards that an answer plays; after a fault, return a pass or, on lead, the lowest card."""
    answer = entry.get(str(table.seat_to_act), {"verdict": "OK", "response": []})
    if reason := table.find_fault(answer):
        errors[table.seat_to_act] = errors[table.seat_to_act] or reason
        return [] if table.target else [min(table.remaining_cards)]
    return sorted(answer["response"])


def read_bids(log: Log, errors: Errors) -> tuple[list[int], int | None]:
    """Return the bids in a log so far, and the landlord's seat once the auction is over (else None).

    An invalid bid counts as 0, and is entered among the faults.
    """
    bids: list[int] = []
    for seat, entry in enumerate(log[1 : 2 * SEATS : 2]):
        bid = _parse_bid(entry.get(str(seat), {}).get("response"))
        if bid is None or (bid != 0 and not max(bids, default=0) < bid <= MAX_BID):
            errors[seat] = "INVALID_BID"
            bid = 0
        bids.append(bid)
        if bid == MAX_BID:
            break
    over = len(bids) == SEATS or MAX_BID in bids
    return bids, bids.index(max(bids)) if over else None


def _parse_bid(response: Any) -> int | None:
    try:
        return int(response)
    except (TypeError, ValueError, OverflowError):
        return None


def score_bidding_game(played: Sequence[Sequence[int]], bids: Sequence[int], landlord: int) -> list[int]:
    """Score a finished ``FightTheLandlord2`` match: the bid, doubled by bombs, the rocket, spring and anti-spring.

    Args:
        played: The card ids of every move, passes included, from the landlord on.
        bids: The bids from seat 0 on.
        landlord: The landlord's seat.
    """
    doublings = sum(_combination_or_pass(cards, NEWER).category in games.PRIORITIES for cards in played)
    landlord_won = len(played) % SEATS == 1
    peasants = [cards for turn, cards in enumerate(played) if turn % SEATS]
    landlord_moves = [cards for cards in played[::SEATS] if cards]
    doublings += not any(peasants) if landlord_won else len(landlord_moves) == 1
    stake = max(1, *bids) << doublings
    sign = 1 if landlord_won else -1
    return [sign * stake * (2 if seat == landlord else -1) for seat in range(SEATS)]
