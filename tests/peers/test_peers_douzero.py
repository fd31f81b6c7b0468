"""Under the preset ``douzero`` the legal moves are DouZero's, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from douzero.env.game import GameEnv

from ddz_env.core.engine.layout import BOMBS
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.oracles.positions import Deal, Position, random_deal, rare_positions, row_of

RULES = PRESETS["douzero"]
SEATS = ("landlord", "landlord_down", "landlord_up")
VALUES = (*range(3, 15), 17, 20, 30)
"""DouZero's number of each rank."""

Cards = tuple[int, ...]


def cards(hand: tuple[int, ...]) -> list[int]:
    """A hand as DouZero's numbers, ascending."""
    return [value for value, count in zip(VALUES, hand, strict=True) for _ in range(count)]


def move_cards(move: Move) -> Cards:
    """A move as DouZero's numbers; a pass has none."""
    return tuple(cards(move.cards.counts))


class Puppet:
    """An agent of DouZero's game that plays what it is told."""

    def __init__(self) -> None:
        self.next_action: list[int] = []

    def act(self, infoset: Any) -> list[int]:
        return self.next_action


class Peer:
    """DouZero's game with three puppets.

    Args:
        deal: The hands of the seats.
        leader: The seat that leads.
    """

    def __init__(self, deal: Deal, leader: int = 0) -> None:
        self.puppet = Puppet()
        self.env = GameEnv(dict.fromkeys(SEATS, self.puppet))
        hands = {seat: cards(hand) for seat, hand in zip(SEATS, deal, strict=True)}
        self.env.acting_player_position = SEATS[leader - 1] if leader else None
        self.env.card_play_init({**hands, "three_landlord_cards": []})

    def play(self, action: Cards) -> None:
        self.puppet.next_action = list(action)
        self.env.step()

    @property
    def seat(self) -> int:
        return SEATS.index(self.env.acting_player_position)

    @property
    def legal(self) -> set[Cards]:
        return {tuple(sorted(action)) for action in self.env.game_infoset.legal_actions}


def assert_same_moves(peer: Peer, state: State) -> dict[Cards, Move]:
    """Both sides have the same seat to act and the same moves; return them by their cards."""
    moves = state.legal_moves()
    ours = {move_cards(move): move for move in moves}
    assert len(ours) == len(moves), "two moves share their cards"
    assert peer.seat == state.seat
    assert peer.legal == set(ours)
    return ours


def check_own_games(number: int, seed: int) -> None:
    """Step DouZero's game through random games; compare before every move until enough positions are compared."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < number:
        deal = random_deal(RULES, rng)
        peer, state = Peer(deal), State(row_of(deal, RULES), RULES)
        while not peer.env.game_over:
            ours = assert_same_moves(peer, state)
            compared += 1
            action = sorted(ours)[int(rng.integers(len(ours)))]
            peer.play(action)
            state.step(ours[action])
        assert (peer.env.get_winner() == "landlord") == (state.winner == 0)
        assert state.is_over
        assert int(state.row[BOMBS]) == peer.env.get_bomb_num()
        assert state.returns("stake")[0] == peer.env.num_scores["landlord"]
        assert state.returns("stake")[1] == state.returns("stake")[2] == peer.env.num_scores["farmer"]


def check_position(position: Position) -> bool:
    """Compare one position; return whether it is a lead."""
    peer = Peer(position.deal, position.leader)
    for move in position.moves:
        peer.play(move_cards(Move(*move)))
    return () not in assert_same_moves(peer, State(position.row(), RULES))


def check_rare_positions(number: int, seed: int) -> None:
    leads = sum(check_position(position) for position in rare_positions(RULES, number, seed))
    assert number // 10 < leads < number // 2, "leads and follows must both be common"


def test_moves_in_games_of_douzero() -> None:
    check_own_games(300, seed=1)


def test_moves_in_bunched_deals() -> None:
    check_rare_positions(400, seed=2)


@pytest.mark.long
def test_moves_in_many_games_of_douzero() -> None:
    check_own_games(3_000, seed=3)


@pytest.mark.long
def test_moves_in_many_bunched_deals() -> None:
    check_rare_positions(5_000, seed=4)


@pytest.mark.parametrize(
    ("lead", "reply"),
    [
        ("444555666+333", "777888999TTT"),  # read as a plane of four
        ("333444555+888", "999TTTJJJQQQ"),  # compared by its highest trio
        ("333444555+888", "666777888999"),  # and so is the reply
        ("333444555666+7778", "999TTTJJJQQQ"),  # no category at all
        ("333444555666+7777", "999TTTJJJJQQQQ"),
        ("QQQKKKAAA+222", "333444555666"),
        ("3333+BR", "444455"),
    ],
)
def test_replies_to_odd_planes(lead: str, reply: str) -> None:
    move = Move.parse(lead, RULES)
    leader = tuple(a + b for a, b in zip(move.cards.counts, Hand.parse("2").counts, strict=True))
    if lead.endswith("222"):
        leader = tuple(a + b for a, b in zip(move.cards.counts, Hand.parse("3").counts, strict=True))
    deal = (leader, Hand.parse(reply).counts, Hand.parse("AAAA").counts)
    peer, state = Peer(deal), State(row_of(deal, RULES), RULES)
    ours = assert_same_moves(peer, state)
    peer.play(move_cards(move))
    state.step(ours[move_cards(move)])
    for _ in range(2):
        ours = assert_same_moves(peer, state)
        best = max(ours, key=lambda action: (len(action), action))
        peer.play(best)
        state.step(ours[best])
        if state.is_over:
            break
