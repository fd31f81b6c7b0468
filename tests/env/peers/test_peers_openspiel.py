"""Under the preset ``openspiel`` auction, legal moves and returns are OpenSpiel's, position by position."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest

from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.env.peers.alongside import Pair, assert_same_moves, check_games, check_positions, often, play
from tests.oracles.positions import Deal, rare_positions

RULES = PRESETS["openspiel"]
GAME = pyspiel.load_game("dou_dizhu")
SEATS = 3
BOTTOM = 3


@functools.cache
def ids_by_text() -> dict[str, int]:
    """OpenSpiel's id of every move but a bid, by what it writes for it."""
    state = GAME.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return {state.action_to_string(0, number): number for number in (0, *range(4, GAME.num_distinct_actions()))}


def text_of(move: Move) -> str:
    """A move as OpenSpiel writes it: the kickers of planes behind a dash, other cards sorted, jokers in words."""
    if move.is_pass:
        return "Pass"
    text = str(move).replace("+", "-") if move.category.startswith("plane+") else str(move.cards)
    return text.replace("B", "(BWJ)").replace("R", "(CJ)")


class Peer:
    """A state of OpenSpiel's game; an action is its id."""

    def __init__(self) -> None:
        self.state = GAME.new_initial_state()

    def action(self, move: Move) -> int:
        return move.main - BID_BASE if move.main >= BID_BASE else ids_by_text()[text_of(move)]

    def play(self, action: int) -> None:
        self.state.apply_action(action)

    @property
    def seat(self) -> int:
        return int(self.state.current_player())

    @property
    def legal(self) -> list[int]:
        return list(self.state.legal_actions())

    @property
    def is_over(self) -> bool:
        return bool(self.state.is_terminal())


def rank_of(peer: Peer, action: int) -> int:
    name = peer.state.action_to_string(pyspiel.PlayerId.CHANCE, action).removeprefix("Deal ")
    return Hand.parse({"(BWJ)": "B", "(CJ)": "R"}.get(name) or name[1:]).counts.index(1)


def our_state(hands: Sequence[Sequence[int]], opener: int) -> State:
    """Our game of a deal before the auction: the opener is drawn, so try seeds until the right one opens."""
    dealt = [Hand(tuple(hand)) for hand in hands]
    bottom = Hand(tuple(most - sum(held) for most, *held in zip(RULES.deck, *hands, strict=True)))
    states = (State.from_hands(dealt, bottom, RULES, seed=seed) for seed in range(100))
    return next(state for state in states if state.seat == opener)


def deal_by_chance(rng: np.random.Generator) -> Pair:
    peer, hands = Peer(), np.zeros((SEATS, NUM_RANKS), int)
    peer.play(int(rng.choice(peer.legal)))
    for dealt in itertools.count():
        if not peer.state.is_chance_node():
            return peer, our_state(hands.tolist(), peer.seat)
        action = int(rng.choice(peer.legal))
        hands[dealt % SEATS, rank_of(peer, action)] += 1
        peer.play(action)
    raise AssertionError


def deal_hands(deal: Deal, rng: np.random.Generator) -> Pair:
    """Deal given hands through OpenSpiel's chance actions; seat 0 bids three at once and takes three of its cards."""
    landlord = rng.permutation(np.repeat(np.arange(NUM_RANKS), deal[0]))
    hands = [np.bincount(landlord[BOTTOM:], minlength=NUM_RANKS).tolist(), *deal[1:]]
    peer, left = Peer(), np.array(hands)
    peer.play(0)  # the first card lies face up, so seat 0 opens
    for seat in itertools.cycle(range(SEATS)):
        if not peer.state.is_chance_node():
            break
        action = next(action for action in peer.legal if left[seat, rank_of(peer, action)])
        left[seat, rank_of(peer, action)] -= 1
        peer.play(action)
    state = our_state(hands, 0)
    play(peer, state, Move.parse("bid 3"))
    return peer, state


def ended(peer: Peer, state: State) -> None:
    assert list(state.returns()) == peer.state.returns()


@often(400, 4_000)
def test_moves_in_games_of_openspiel(number: int, seed: int) -> None:
    check_games(deal_by_chance, ended, number, seed)


@often(300, 3_000)
def test_moves_in_bunched_deals(number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_positions(lambda one: deal_hands(one.deal, rng), rare_positions(RULES, number, seed, leader=0), number)


@pytest.mark.parametrize("bids", ["000", "1000", "0100", "00100", "12", "1200", "010200", "3", "03", "123", "1002"])
def test_auctions(bids: str) -> None:
    """The auction ends when OpenSpiel's ends (the rest of the bids is not made), with the same landlord."""
    peer, state = deal_by_chance(np.random.default_rng(5))
    for bid in map(int, bids):
        if state.stage != "bid":
            break
        assert_same_moves(peer, state)
        play(peer, state, Move(BID_BASE + bid))
    assert state.is_over == peer.is_over
    if not state.is_over:
        assert_same_moves(peer, state)


def test_a_bomb_beats_the_rocket() -> None:
    """OpenSpiel looks for bombs under every target but a bomb, the rocket included; a higher bomb may follow."""
    landlord = Hand.parse("3334445556667778BR88").counts
    down, up = Hand.parse("9999TTTJJJQQQKKKA").counts, Hand.parse("2222TJQK3456AAA78").counts
    peer, state = deal_hands((landlord, down, up), np.random.default_rng(0))
    for text in ("BR", "9999", "2222"):
        move = Move.parse(text, RULES)
        assert move in assert_same_moves(peer, state).values()
        play(peer, state, move)
    assert_same_moves(peer, state)
