"""A Botzone bot that answers the platform's requests with an agent's moves.

What the platform sends to a seat becomes a game of ours with any deal that fits, for a view does not show the rest.  On
standard input and output each message and each answer is one line.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ddz_env import Move, State
from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import NUM_RANKS, cards_to_counts
from ddz_env.core.notation import Hand, list_readings
from ddz_env.core.state import fill_hands
from ddz_env.peers.botzone.games import NEWER, OLDER, SEATS, BotzoneGame, let_seat_0_open
from ddz_env.peers.botzone.judges import MAX_BID
from ddz_env.playing.agent import Agent, agent_input, is_cheating
from ddz_env.playing.game import AgentFaultError, call_agent, notify_of_game, play_agent_move
from ddz_env.playing.generators import make_agent_generator
from ddz_env.support.errors import DouDizhuError, InvalidAgentOptionError, InvalidMoveError

Requests = Sequence[Mapping[str, Any]]

KEEP_RUNNING = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"


class InvalidRequestError(DouDizhuError):
    """Raised when the requests or answers of a match in Botzone's JSON are malformed."""


class SeatKnowledge(NamedTuple):
    """What Botzone's requests tell a seat: a consistent game state, the seat and the card ids that it holds.

    Attributes:
        state: A game in which this seat sees what it knows; the other hands are made up.
        seat: The seat.
        held: The ids of its cards.
    """

    state: State
    seat: int
    held: list[int]


class _PublicHistory(NamedTuple):
    """The public history of a match and a seat's own cards, read from requests and answers.

    Attributes:
        seat: Who has to answer.
        own: The ids dealt to it, without the landlord cards.
        public: The ids of the landlord cards; empty before they are shown.
        landlord: The landlord's seat.
        bids: The bids, as far as known; a bid that the platform does not show is 0.
        played: The ids of every move from the landlord on.
    """

    seat: int
    own: list[int]
    public: list[int]
    landlord: int
    bids: list[int]
    played: list[list[int]]


def read_requests(game: BotzoneGame, requests: Requests, responses: Sequence[Any]) -> SeatKnowledge:
    """Reconstruct the position in which a seat must answer, from its requests and previous answers.

    Args:
        game: The game.
        requests: All requests to the seat, the last one still without an answer.
        responses: Its answers.

    Raises:
        InvalidRequestError: If they are not requests of this game.
        InvalidMoveError: If they contain a move that our rules do not have: a shuttle with one kicker per quad.
    """
    try:
        history = _read_public_history(game, requests, responses)
        state = _make_consistent_state(game, history)
        for bid in history.bids:
            state.step(Move(BID_BASE + bid))
        for cards in history.played:
            state.step(read_move(cards, game))
    except InvalidMoveError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = error if isinstance(error, DouDizhuError) else f"{type(error).__name__}: {error}"
        raise InvalidRequestError(f"these are not requests of {game.name}: {reason}") from error
    held = history.own + (history.public if history.seat == history.landlord else [])
    played = {card for cards in history.played for card in cards}
    return SeatKnowledge(state, history.seat, sorted(card for card in held if card not in played))


def read_move(cards: Sequence[int], game: BotzoneGame) -> Move:
    """Return the move that card ids form under the rules of a Botzone game; no ids are a pass.

    Raises:
        InvalidHandError: If an id does not exist or appears twice.
        InvalidMoveError: If our rules have no such move.
    """
    if not cards:
        return Move(0)
    hand = Hand.from_ids(cards)
    readings = list_readings(hand, game.rules)
    if not readings:
        raise InvalidMoveError(f"{str(hand)!r} is not a move under the {game.rules.name} rules")
    return readings[0]


def choose_card_ids(move: Move, held: Sequence[int]) -> list[int]:
    """Choose the card ids that a seat plays for a move: the lowest ids that it holds of each rank.

    Raises:
        InvalidMoveError: If it does not hold them.
    """
    chosen: list[int] = []
    for rank, count in enumerate(move.cards.counts):
        mine = [card for card in sorted(held) if cards_to_counts([card])[rank]]
        if len(mine) < count:
            raise InvalidMoveError(f"{move} needs cards that are not in the hand")
        chosen += mine[:count]
    return chosen


def _read_public_history(game: BotzoneGame, requests: Requests, responses: Sequence[Any]) -> _PublicHistory:
    first = requests[0]
    if "bid" in first and len(requests) == 1:
        return _PublicHistory(len(first["bid"]), list(first["own"]), [], -1, list(map(int, first["bid"])), [])
    asked = list(requests)
    answers = list(responses)
    exchange = [asked.pop(0), answers.pop(0)] if "bid" in first else None
    first = asked[0]
    before = [cards for cards in first["history"] if cards]
    if game.has_auction:
        seat, landlord, hand = first["pos"], first["landlord"], list(first["own"])
        turns = (seat - landlord) % SEATS
        bids = _known_bids(exchange, seat, landlord, first["finalbid"])
    else:
        landlord, bids = 0, []
        seat = turns = 2 if first["history"][0] else len(before)
        hand = [card for card in first["own"] if card not in first["publiccard"]]
    played = [list(cards) for cards in first["history"][SEATS - 1 - turns :]]
    for answer, request in zip(answers, asked[1:], strict=True):
        played += [list(answer), *map(list, request["history"])]
    return _PublicHistory(seat, hand, list(first["publiccard"]), landlord, bids, played)


def _known_bids(exchange: Sequence[Any] | None, seat: int, landlord: int, final: int) -> list[int]:
    """Return the bids of the auction as far as a seat knows them, with 0 for bids that it has not seen."""
    bids = [*map(int, exchange[0]["bid"]), int(exchange[1])] if exchange else []
    if MAX_BID in bids:
        return bids
    bids += [0] * (SEATS - len(bids))
    known = seat + 1 if exchange else 0
    if landlord >= known:
        bids[landlord] = final
    return bids[: landlord + 1] if bids[landlord] == MAX_BID else bids


def _make_consistent_state(game: BotzoneGame, history: _PublicHistory) -> State:
    """Make a game that agrees with a public history, with made-up cards for the unknown part of other hands."""
    least = np.zeros((SEATS + 1, NUM_RANKS), np.int64)
    for turn, cards in enumerate(history.played):
        least[(history.landlord + turn) % SEATS] += cards_to_counts(cards)
    least[SEATS] = cards_to_counts(history.public)
    if history.landlord >= 0:
        least[history.landlord] = np.maximum(least[history.landlord] - least[SEATS], 0)
    least[history.seat] = cards_to_counts(history.own)
    return let_seat_0_open(fill_hands(least, game.rules))


class BotzonePlayer:
    """A bot that answers Botzone's requests with an agent's moves.

    An answer is always one that the judge allows: where the agent fails, or our rules do not have a move on the table
    (a shuttle with one kicker per quad), it passes, bids nothing, or leads its smallest card, and ``debug`` says why.

    Args:
        agent: The agent.
        game: The game.
        seed: Of the agent's draws.

    Raises:
        InvalidAgentOptionError: If the agent looks at hidden cards, which the platform does not show.
    """

    def __init__(self, agent: Agent, game: BotzoneGame, seed: int = 0) -> None:
        if is_cheating(agent):
            raise InvalidAgentOptionError(f"{agent.name} looks at hidden cards, which Botzone does not show")
        self._agent, self._game, self._seed = agent, game, seed
        self._requests: list[Mapping[str, Any]] = []
        self._responses: list[Any] = []
        self._num_notified: int | None = None

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to one message from the platform: a bid, or the card ids to play.

        Args:
            message: ``{"requests": [...], "responses": [...]}``, or, for a bot that keeps running, the bare next
                request.

        Returns:
            ``{"response": ids}`` or ``{"response": bid}``, with ``debug`` where something went wrong.
        """
        if "requests" in message:
            self._requests, self._responses, self._num_notified = (
                list(message["requests"]),
                list(message["responses"]),
                None,
            )
        else:
            self._requests.append(message)
        answer: dict[str, Any]
        try:
            answer = {"response": self._choose(read_requests(self._game, self._requests, self._responses))}
        except Exception as error:  # a bot that falls silent loses
            answer = {"response": _safe_answer(self._requests, self._responses), "debug": str(error)}
        self._responses.append(answer["response"])
        return answer

    def _choose(self, knowledge: SeatKnowledge) -> int | list[int]:
        state, seat, agent = knowledge.state, knowledge.seat, self._agent
        history = state.history
        self._num_notified = notify_of_game(agent, seat, state.rules, history, self._num_notified)
        if state.seat != seat:
            raise AgentFaultError(agent.name, seat, "act", f"the requests ask seat {state.seat}")
        rng = make_agent_generator([self._seed, seat, len(history)])
        move = play_agent_move(
            state.copy(), agent, call_agent(agent, seat, "act", agent.act, agent_input(agent, state), rng)
        )
        return move.main - BID_BASE if state.stage == "bid" else choose_card_ids(move, knowledge.held)


def _safe_answer(requests: Requests, responses: list[Any]) -> int | list[int]:
    """Return an answer that is always legal: a pass, no bid or, on lead, the lowest card."""
    last = requests[-1]
    if "history" not in last:
        return 0
    if any(last["history"]):
        return []
    first = next(request for request in requests if "history" in request)
    held = {*first["own"], *(first["publiccard"] if first.get("landlord", -1) == first.get("pos") else [])}
    answered = {card for response in responses if isinstance(response, list) for card in response}
    return sorted(held - answered)[:1]


def answer_messages(
    agent: Agent, lines: Iterable[str], write_line: Callable[[str], None], seed: int = 0, stay: bool = True
) -> None:
    """Answer the platform's messages, one JSON line each, until the input ends.

    What the agent itself prints goes to standard error.

    Args:
        agent: The agent.
        lines: The input.
        write_line: Takes the output, a line at a time.
        seed: Of the agent's draws.
        stay: Whether to stay for more messages; otherwise there is one answer.

    Raises:
        InvalidRequestError: If a line is not JSON, or the first message names no game.
        InvalidAgentOptionError: If the agent looks at hidden cards.
    """
    player: BotzonePlayer | None = None
    for number, line in enumerate(filter(str.strip, lines), 1):
        try:
            message = json.loads(line)
        except ValueError as error:
            raise InvalidRequestError(f"message {number} is not a line of JSON: {error}") from error
        with contextlib.redirect_stdout(sys.stderr):
            if player is None:
                player = BotzonePlayer(agent, game_of_first_message(message), seed)
            answer = player.answer(message)
        write_line(json.dumps(answer))
        if not stay:
            return
        write_line(KEEP_RUNNING)


def game_of_first_message(message: Mapping[str, Any]) -> BotzoneGame:
    """Return the Botzone game of a match, inferred from the keys of its first request.

    Raises:
        InvalidRequestError: If it belongs to none.
    """
    try:
        first = message["requests"][0]
        if "own" in first:
            return NEWER if {"bid", "finalbid"} & set(first) else OLDER
    except (LookupError, TypeError):
        pass
    raise InvalidRequestError('a first message is {"requests": [{"own": ...}], "responses": []}')
