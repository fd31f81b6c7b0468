"""Under the preset ``rlcard`` the legal moves are RLCard's, position by position."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rlcard.games.base import Card
from rlcard.games.doudizhu import Game, Judger

from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.env.peers.alongside import Pair, check_games, check_positions, often
from tests.oracles.positions import Deal, Position, rare_positions, row_of

RULES = PRESETS["rlcard"]


def cards(hand: tuple[int, ...]) -> list[Card]:
    """A hand as RLCard's cards, in its order; the suits are immaterial."""
    jokers = {"B": Card("BJ", ""), "R": Card("RJ", "")}
    return [jokers.get(name) or Card("S", name) for name in str(Hand(hand))]


def counts(hand: list[Card]) -> tuple[int, ...]:
    names = Counter(card.rank or card.suit[0] for card in hand)
    return tuple(names[name] for name in RANK_NAMES)


class Peer:
    """RLCard's game; its actions are all cards sorted, the kickers not apart."""

    def __init__(self, seed: int = 0) -> None:
        self.game = Game()
        self.game.np_random = np.random.RandomState(seed)
        self.game.init_game()

    def set_up(self, deal: Deal, leader: int) -> None:
        for player, hand in zip(self.game.players, deal, strict=True):
            player.set_current_hand(cards(hand))
        self.game.judger = Judger(self.game.players, self.game.np_random)
        self.game.round.current_player = leader
        self.game.state = self.game.get_state(leader)

    @property
    def seat(self) -> int:
        return int(self.game.get_player_id())

    @property
    def legal(self) -> list[str]:
        return list(self.game.state["actions"])

    @property
    def is_over(self) -> bool:
        return bool(self.game.is_over())

    def action(self, move: Move) -> str:
        return "pass" if move.is_pass else str(move.cards)

    def play(self, action: str) -> None:
        self.game.step(action)


def dealt(rng: np.random.Generator) -> Pair:
    peer = Peer(int(rng.integers(2**31)))
    return peer, State(row_of(tuple(counts(player.current_hand) for player in peer.game.players), RULES), RULES)


def ended(peer: Peer, state: State) -> None:
    assert state.winner == peer.game.winner_id
    won = peer.game.judger.judge_payoffs(peer.game.round.landlord_id, peer.game.winner_id)
    assert [value > 0 for value in state.returns("win")] == [bool(value) for value in won]


def begun(position: Position) -> Pair:
    peer = Peer()
    peer.set_up(position.deal, position.leader)
    return peer, State(row_of(position.deal, RULES, position.leader), RULES)


@often(300, 3_000)
def test_moves_in_games_of_rlcard(number: int, seed: int) -> None:
    check_games(dealt, ended, number, seed)


@often(300, 3_000)
def test_moves_in_bunched_deals(number: int, seed: int) -> None:
    check_positions(begun, rare_positions(RULES, number, seed), number)
