"""Under the preset ``douzero`` the legal moves are DouZero's, position by position."""

from __future__ import annotations

from typing import Any

import pytest
from douzero.env.game import GameEnv

from ddz_env.core.engine.layout import BOMBS
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.env.peers.alongside import Pair, assert_same_moves, check_games, check_positions, often, play
from tests.oracles.positions import Deal, random_deal, rare_positions, row_of

RULES = PRESETS["douzero"]
SEATS = ("landlord", "landlord_down", "landlord_up")
VALUES = (*range(3, 15), 17, 20, 30)
"""DouZero's number of each rank."""

Cards = tuple[int, ...]


def cards(hand: tuple[int, ...]) -> list[int]:
    return [value for value, count in zip(VALUES, hand, strict=True) for _ in range(count)]


def move_cards(move: Move) -> Cards:
    return tuple(cards(move.cards.counts))


class Peer:
    """DouZero's game, whose agents play the moves that they are given."""

    def __init__(self, deal: Deal, leader: int = 0) -> None:
        self.next_action: list[int] = []
        self.env = GameEnv(dict.fromkeys(SEATS, self))
        hands = {seat: cards(hand) for seat, hand in zip(SEATS, deal, strict=True)}
        self.env.acting_player_position = SEATS[leader - 1] if leader else None
        self.env.card_play_init({**hands, "three_landlord_cards": []})

    def act(self, infoset: Any) -> list[int]:
        return self.next_action

    def action(self, move: Move) -> Cards:
        return move_cards(move)

    def play(self, action: Cards) -> None:
        self.next_action = list(action)
        self.env.step()

    @property
    def seat(self) -> int:
        return SEATS.index(self.env.acting_player_position)

    @property
    def legal(self) -> set[Cards]:
        return {tuple(sorted(action)) for action in self.env.game_infoset.legal_actions}

    @property
    def is_over(self) -> bool:
        return bool(self.env.game_over)


def begun(deal: Deal, leader: int = 0) -> Pair:
    return Peer(deal, leader), State(row_of(deal, RULES, leader), RULES)


def ended(peer: Peer, state: State) -> None:
    assert (peer.env.get_winner() == "landlord") == (state.winner == 0)
    assert int(state.row[BOMBS]) == peer.env.get_bomb_num()
    assert state.returns("stake")[0] == peer.env.num_scores["landlord"]
    assert state.returns("stake")[1] == state.returns("stake")[2] == peer.env.num_scores["farmer"]


@often(300, 3_000)
def test_moves_in_games_of_douzero(number: int, seed: int) -> None:
    check_games(lambda rng: begun(random_deal(RULES, rng)), ended, number, seed)


@often(400, 5_000)
def test_moves_in_bunched_deals(number: int, seed: int) -> None:
    check_positions(lambda one: begun(one.deal, one.leader), rare_positions(RULES, number, seed), number)


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
    move, more = Move.parse(lead, RULES), "3" if lead.endswith("222") else "2"
    deal = ((move.cards + Hand.parse(more)).counts, Hand.parse(reply).counts, Hand.parse("AAAA").counts)
    peer, state = begun(deal)
    for number in range(3):
        ours = assert_same_moves(peer, state)
        action = max(ours, key=lambda action: (len(action), action)) if number else peer.action(move)
        play(peer, state, ours[action])
        if state.is_over:
            return
