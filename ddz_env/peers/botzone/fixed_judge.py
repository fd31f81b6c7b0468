"""The judge of ``FightTheLandlord``: seat 0 is the landlord, and a fault ends the game.

Written after the behaviour of the judge that ``ailab-pku/botzone-local`` publishes, down to its words for faults: cards
that are no combination are ``BAD_FORMAT`` there, because it fails on them while it counts weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ddz_env.peers.botzone.combinations import PASS, combination
from ddz_env.peers.botzone.deals import Deal, last_two
from ddz_env.peers.botzone.games import GAMES, SEATS

GAME = GAMES["FightTheLandlord"]
_LOSES, _GAINS = -1, 2.5
"""The landlord's score and the others' where a fault ends the game, or the other way round."""


class _Fault(Exception):
    """What ends the game, in the judge's words."""


def judge_fixed(log: Sequence[Mapping[str, Any]], deal: Deal, seed: str) -> dict[str, Any]:
    """What the judge says to a log.

    Args:
        log: Judge entries and bots' entries in turn; empty at the start.
        deal: The cards.
        seed: What ``initdata`` calls the seed.
    """
    content: dict[str, Any] = {"history": [[], []]}
    moves = len(log) // 2
    if moves < SEATS:
        content = {"own": deal.allocation[moves], "history": [[], []], "publiccard": deal.publiccard}
    if not log:
        display = {"allocation": deal.allocation, "publiccard": deal.publiccard}
        return {
            "command": "request",
            "content": {"0": content},
            "display": display,
            "initdata": {**display, "seed": seed},
        }
    played: list[Any] = []
    turn = [-1]
    try:
        winner = _replay(log, deal, played, turn)
    except _Fault as fault:
        return _forfeit(turn[0], played, str(fault))
    except Exception:  # answers of other types than the judge expects
        return _forfeit(turn[0], played, "BAD_FORMAT")
    event = {"player": turn[0], "action": played[-1]}
    if winner is not None:
        return _finish(played, winner, event)
    content["history"] = last_two(played)
    return {"command": "request", "content": {str(moves % SEATS): content}, "display": {"event": event}}


def _replay(log: Sequence[Mapping[str, Any]], deal: Deal, played: list[Any], turn: list[int]) -> int | None:
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
    combinations = [combination(cards, GAME) for cards in played]
    if None in combinations:
        raise _Fault("BAD_FORMAT")
    last = combinations[-1] or PASS
    before = combinations[-SEATS:-1]
    target = next((found for found in reversed(before) if found and found != PASS), None)
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
    named = {str(seat): score for seat, score in enumerate(scores)}
    return {"command": "finish", "content": named, "display": {"event": event, "errorInfo": reason, **named}}


def _finish(played: Sequence[Sequence[int]], winner: int, event: Mapping[str, Any]) -> dict[str, Any]:
    named = {str(seat): score for seat, score in enumerate(fixed_scores(played, winner))}
    return {"command": "finish", "content": named, "display": {"event": event, **named}}


def fixed_scores(played: Sequence[Sequence[int]], winner: int) -> list[float]:
    """The scores of a finished game: 2 for the winners, and weights; the peasants share theirs equally.

    Args:
        played: The card ids of every move, passes included, from seat 0 on.
        winner: The seat that went out.
    """
    weights = [0] * SEATS
    for place, cards in enumerate(played):
        weights[place % SEATS] += (combination(cards, GAME) or PASS).weight
    scores = [(2 if (seat == 0) == (winner == 0) else 0) + weights[seat] / 100 for seat in range(SEATS)]
    shared = (scores[1] + scores[2]) / 2
    return [scores[0], shared, shared]
