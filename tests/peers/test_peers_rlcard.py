"""Under the preset ``rlcard`` the legal moves are RLCard's, position by position."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from rlcard.games.base import Card
from rlcard.games.doudizhu import Game, Judger

from ddz_env.core.cards import RANK_NAMES
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.oracles.positions import Deal, Position, rare_positions, row_of
from tests.oracles.reference import PASS_MOVE

RULES = PRESETS["rlcard"]


def cards(hand: tuple[int, ...]) -> list[Card]:
    """A hand as RLCard's cards, in its order; the suits are immaterial."""
    jokers = {"B": Card("BJ", ""), "R": Card("RJ", "")}
    return [jokers.get(name) or Card("S", name) for name in str(Hand(hand))]


def counts(hand: list[Card]) -> tuple[int, ...]:
    """RLCard's cards as a hand."""
    names = Counter(card.rank or card.suit[0] for card in hand)
    return tuple(names[name] for name in RANK_NAMES)


def text(move: Move) -> str:
    """A move as RLCard writes it: all cards sorted, the kickers not apart."""
    return "pass" if move.is_pass else str(move.cards)


def game_of(deal: Deal, leader: int) -> Game:
    """RLCard's game in which the seats hold these hands and a seat leads."""
    game = Game()
    game.np_random = np.random.RandomState(0)
    game.init_game()
    for player, hand in zip(game.players, deal, strict=True):
        player.set_current_hand(cards(hand))
    game.judger = Judger(game.players, game.np_random)
    game.round.current_player = leader
    game.state = game.get_state(leader)
    return game


def assert_same_moves(game: Any, state: State) -> dict[str, Move]:
    """Both sides have the same seat to act and the same moves; return them by RLCard's text."""
    moves = state.legal_moves()
    ours = {text(move): move for move in moves}
    assert len(ours) == len(moves), "two moves share their cards"
    assert game.get_player_id() == state.seat
    assert sorted(game.state["actions"]) == sorted(ours)
    return ours


def check_own_games(number: int, seed: int) -> None:
    """Let RLCard deal and play random games; compare before every move until enough positions are compared."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < number:
        game = Game()
        game.np_random = np.random.RandomState(seed + compared)
        game.init_game()
        state = State(row_of(tuple(counts(player.current_hand) for player in game.players), RULES), RULES)
        while not game.is_over():
            ours = assert_same_moves(game, state)
            compared += 1
            action = sorted(ours)[int(rng.integers(len(ours)))]
            game.step(action)
            state.step(ours[action])
        assert state.winner == game.winner_id
        won = game.judger.judge_payoffs(game.round.landlord_id, game.winner_id)
        assert [value > 0 for value in state.returns("win")] == [bool(value) for value in won]


def check_position(position: Position) -> bool:
    """Compare one position; return whether it is a lead."""
    game = game_of(position.deal, position.leader)
    for move in position.moves:
        game.step(text(Move(*move)))
    ours = assert_same_moves(game, State(position.row(), RULES))
    return text(Move(*PASS_MOVE)) not in ours


def check_rare_positions(number: int, seed: int) -> None:
    leads = sum(check_position(position) for position in rare_positions(RULES, number, seed))
    assert number // 10 < leads < number // 2, "leads and follows must both be common"


def test_moves_in_games_of_rlcard() -> None:
    check_own_games(300, seed=1)


def test_moves_in_bunched_deals() -> None:
    check_rare_positions(300, seed=2)


@pytest.mark.long
def test_moves_in_many_games_of_rlcard() -> None:
    check_own_games(3_000, seed=3)


@pytest.mark.long
def test_moves_in_many_bunched_deals() -> None:
    check_rare_positions(3_000, seed=4)
