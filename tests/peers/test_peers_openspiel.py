"""Under the preset ``openspiel`` auction, legal moves and returns are OpenSpiel's, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
import pytest

from ddz_env.core.actions import BID_BASE
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.flat import openspiel_action, openspiel_ids
from ddz_env.core.notation import Hand, Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.oracles.positions import Deal, Position, rare_positions

RULES = PRESETS["openspiel"]
GAME = pyspiel.load_game("dou_dizhu")
SEATS = 3
BOTTOM = 3
NOBODY: tuple[int, ...] = (0,) * NUM_RANKS


def move_id(move: Move) -> int:
    """OpenSpiel's id of a move or bid."""
    return move.main - BID_BASE if move.main >= BID_BASE else openspiel_ids()[move.main, move.kickers]


def move_of(action: int, bidding: bool) -> Move:
    """The move or bid that has an id in OpenSpiel (0 is a pass in both stages)."""
    return Move(BID_BASE + action) if bidding else Move(*openspiel_action(action))


def card_of(peer: Any, action: int) -> tuple[int, ...]:
    """The card that a chance action deals."""
    name = peer.action_to_string(pyspiel.PlayerId.CHANCE, action).removeprefix("Deal ")
    return Hand.parse({"(BWJ)": "B", "(CJ)": "R"}.get(name) or name[1:]).counts


def add(hand: tuple[int, ...], card: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(hand, card, strict=True))


def our_state(hands: list[tuple[int, ...]], opener: int) -> State:
    """Our game of a deal before the auction: the opener is drawn, so try seeds until the right one opens."""
    bottom = tuple(
        4 - count if rank < 13 else 1 - count for rank, count in enumerate(map(sum, zip(*hands, strict=True)))
    )
    states = (State.from_hands([Hand(hand) for hand in hands], Hand(bottom), RULES, seed=seed) for seed in range(100))
    return next(state for state in states if state.seat == opener)


def deal_by_chance(rng: np.random.Generator) -> tuple[Any, State]:
    """Let OpenSpiel's chance deal."""
    peer = GAME.new_initial_state()
    peer.apply_action(int(rng.choice(peer.legal_actions())))
    hands, dealt = [NOBODY] * SEATS, 0
    while peer.is_chance_node():
        action = int(rng.choice(peer.legal_actions()))
        hands[dealt % SEATS] = add(hands[dealt % SEATS], card_of(peer, action))
        dealt += 1
        peer.apply_action(action)
    return peer, our_state(hands, peer.current_player())


def deal_hands(deal: Deal, rng: np.random.Generator) -> tuple[Any, State]:
    """Deal given hands through OpenSpiel's chance actions; seat 0 bids three at once and takes three of its cards."""
    landlord = rng.permutation(np.repeat(np.arange(NUM_RANKS), deal[0]))
    before = tuple(np.bincount(landlord[BOTTOM:], minlength=NUM_RANKS).tolist())
    hands = [before, *deal[1:]]
    peer = GAME.new_initial_state()
    peer.apply_action(0)  # the first card lies face up, so seat 0 opens
    left, dealt = list(map(list, hands)), 0
    while peer.is_chance_node():
        hand = left[dealt % SEATS]
        action, rank = next((a, r) for a in peer.legal_actions() if hand[r := card_of(peer, a).index(1)])
        hand[rank] -= 1
        dealt += 1
        peer.apply_action(action)
    state = our_state(hands, 0)
    peer.apply_action(3)
    state.step("bid 3")
    return peer, state


def assert_same_moves(peer: Any, state: State) -> list[int]:
    """Both sides have the same seat to act and the same moves; return OpenSpiel's ids of them."""
    assert peer.current_player() == state.seat
    ours = sorted(map(move_id, state.legal_moves()))
    assert peer.legal_actions() == ours
    return ours


def play(peer: Any, state: State, action: int) -> None:
    state.step(move_of(action, bidding=state.stage == "bid"))
    peer.apply_action(action)


def check_own_games(number: int, seed: int) -> None:
    """Play random games of OpenSpiel; compare before every move until enough positions are compared."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < number:
        peer, state = deal_by_chance(rng)
        while not peer.is_terminal():
            actions = assert_same_moves(peer, state)
            compared += state.stage == "play"
            shy = state.stage == "bid" and rng.random() < 0.5
            play(peer, state, 0 if shy else int(rng.choice(actions)))
        assert state.is_over
        assert list(state.returns()) == peer.returns()


def check_position(position: Position, rng: np.random.Generator) -> bool:
    """Compare one position; return whether it is a lead."""
    peer, state = deal_hands(position.deal, rng)
    for move in position.moves:
        play(peer, state, openspiel_ids()[move])
    return 0 not in assert_same_moves(peer, state)


def check_rare_positions(number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leads = sum(check_position(position, rng) for position in rare_positions(RULES, number, seed, leader=0))
    assert number // 10 < leads < number // 2, "leads and follows must both be common"


def test_moves_in_games_of_openspiel() -> None:
    check_own_games(400, seed=1)


def test_moves_in_bunched_deals() -> None:
    check_rare_positions(300, seed=2)


@pytest.mark.long
def test_moves_in_many_games_of_openspiel() -> None:
    check_own_games(4_000, seed=3)


@pytest.mark.long
def test_moves_in_many_bunched_deals() -> None:
    check_rare_positions(3_000, seed=4)


@pytest.mark.parametrize("bids", ["000", "1000", "0100", "00100", "12", "1200", "010200", "3", "03", "123", "1002"])
def test_auctions(bids: str) -> None:
    """The auction ends when OpenSpiel's ends (the rest of the bids is not made), with the same landlord."""
    peer, state = deal_by_chance(np.random.default_rng(5))
    for bid in map(int, bids):
        if state.stage != "bid":
            break
        assert_same_moves(peer, state)
        play(peer, state, bid)
    assert state.is_over == peer.is_terminal()
    if not state.is_over:
        assert_same_moves(peer, state)


def test_a_bomb_beats_the_rocket() -> None:
    """OpenSpiel looks for bombs under every target but a bomb, the rocket included; a higher bomb may follow."""
    landlord = Hand.parse("3334445556667778BR88").counts
    down, up = Hand.parse("9999TTTJJJQQQKKKA").counts, Hand.parse("2222TJQK3456AAA78").counts
    peer, state = deal_hands((landlord, down, up), np.random.default_rng(0))
    for text in ("BR", "9999", "2222"):
        move = Move.parse(text, RULES)
        assert move_id(move) in peer.legal_actions()
        assert_same_moves(peer, state)
        play(peer, state, move_id(move))
    assert_same_moves(peer, state)
