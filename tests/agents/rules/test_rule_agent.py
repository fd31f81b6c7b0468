"""The rule agent on positions whose answer is known, and its decomposition against brute force."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddz_agents.random import RandomAgent
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.rules.decomposition import hand_price_and_losers, split_hand, write_split
from ddz_agents.rules.prices import set_prices
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.rules.workspace import KICKERS, MAINS, RuleWorkspace, new_rule_workspace
from ddz_env import Hand, Move, Rules, State
from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.core.cards import FULL_DECK, NUM_RANKS
from ddz_env.core.engine.layout import HIDDEN, OWNER, PLAYED, SEAT
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import make_seat_generators, play_game
from tests.oracles.reference import cards_of, category_of, moves_to_play, without
from tests.oracles.splits import Prices, cheapest


def position(hands: Sequence[str | Hand], rules: str = "standard") -> State:
    """An endgame in which every card that no seat holds has been played; seat 0 is the landlord and leads."""
    state = State.from_hands(list(hands), rules=rules, check_sizes=False)
    state.row[PLAYED] = state.row[HIDDEN]
    state.row[HIDDEN] = 0
    return state


def answer(hands: Sequence[str], moves: Sequence[str], leader: int = 0) -> str:
    """What the rule agent plays after some moves, the first of which was the leader's."""
    state = position(hands)
    state.row[SEAT] = state.row[OWNER] = leader
    for move in moves:
        state.step(move)
    return str(RulesAgent().act(state.view(), np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("hands", "moves", "move"),
    [
        # It finishes when it can.
        (("3334", "KK5", "AA6"), (), "333+4"),
        (("334455", "KK5", "AA6"), (), "334455"),
        (("33344456", "KK5", "AA6"), (), "333444+56"),
        (("333345", "KK5", "AA6"), (), "3333+45"),
        (("BR", "KK5", "AA6"), (), "BR"),
        (("47", "5", "AA6"), ("4",), "5"),
        (("337", "44", "AA6"), ("33",), "44"),
        (("337", "4444", "AA6"), ("33",), "4444"),
        (("33369", "4445", "AA6"), ("333+6",), "444+5"),
        # A partner who is winning is not beaten ...
        (("345566TT", "A378JJ", "24589"), ("3", "A"), "pass"),
        (("334556TT", "AA378J", "224589"), ("33", "AA"), "pass"),
        (("3K4556TT", "2378JJ", "A4589"), ("3", "pass", "A", "pass"), "pass"),
        # ... but to win at once: the red joker holds the trick, and the last pair goes out.
        (("3455667", "Q378", "A"), ("3", "Q"), "A"),
        (("3455667", "A378", "R99"), ("3", "A"), "R"),
        # A weak card of the partner is covered when the landlord could go out over it; a lone last card is blocked.
        (("5T", "6378", "2499"), ("5", "6"), "2"),
        (("5T", "62J488", "K499"), ("5",), "2"),
        # Bombs win or save the game: the landlord would go out, the rest goes out behind it.
        (("A6", "4444579", "7788995"), ("A",), "4444"),
        (("A69TJ", "44445", "7788995"), ("A",), "4444"),
        # Kickers are what the hand misses least.
        (("333485JQ", "555677AAJ", "9TTKKQ2"), ("333+4",), "555+6"),
        (("33344JQ", "5558889", "9TTKKQ2"), ("333+44",), "pass"),
        # No low solo to a lone last card, no low pair to two cards.
        (("4669K", "T", "K488"), (), "66"),
        # A sure win begins with its controls.
        (("3R", "499T", "57JJ"), (), "R"),
        (("3KK", "499TA", "57JJQ"), (), "KK"),
    ],
)
def test_it_plays_what_the_situation_asks(hands: Sequence[str], moves: Sequence[str], move: str) -> None:
    assert answer(hands, moves) == move


@pytest.mark.parametrize(
    ("hands", "moves", "move"),
    [
        (("T", "4669", "K488"), (), "66"),
        (("T", "49K", "A488"), (), "K"),
        (("TTJQ", "4899A", "K"), (), "4"),  # the lowest solo to a partner's last card
        (("45JA88", "3355679", "Q"), ("3", "pass"), "A"),  # a lone last card is blocked with the highest
    ],
)
def test_a_peasant_leads_as_the_situation_asks(hands: Sequence[str], moves: Sequence[str], move: str) -> None:
    assert answer(hands, moves, leader=1) == move


@pytest.mark.parametrize(
    ("hands", "moves", "wasted"),
    [
        (("369TJQKKA2AJ", "44445789JQ6", "7788995TTQ"), ("3",), {"4444"}),
        (("A69TJQKK32AJ", "4444578JQ67", "7788995TTQ"), ("A",), {"4444"}),
        (("3A69TJQKK32J", "R457799QQT", "4QKKAA22TT"), ("3",), {"R", "pass"}),
        (("4499JQ", "TT", "K5887"), (), {"44", "99"}),  # a low pair when two cards are left
    ],
)
def test_bombs_high_cards_and_the_lead_are_not_wasted(
    hands: Sequence[str], moves: Sequence[str], wasted: set[str]
) -> None:
    assert answer(hands, moves) not in wasted


@pytest.mark.parametrize("preset", ["mini", "standard"])
def test_it_wins_against_random_from_both_sides(preset: str) -> None:
    rules, uniform = RulesAgent(), RandomAgent()
    wins = games = 0
    for game in range(40):
        for seat in (0, 1):
            agents: list[Agent] = [rules if (s == 0) == (seat == 0) else uniform for s in range(3)]
            state = State.new(8, preset, game)
            play_game(state, agents[: state.rules.players], make_seat_generators([8, game], state.rules.players))
            wins += (state.winner == 0) == (seat == 0)
            games += 1
    assert wins / games >= (0.7 if preset == "mini" else 0.9)


def test_strong_hands_bid_and_double_and_weak_ones_do_neither() -> None:
    strong, weak = "33345678AAA222BR9", "34466889JJQKK5577"
    weak_hand = Hand.parse(weak)
    rest = [a - b - c for a, b, c in zip(FULL_DECK, Hand.parse(strong + "2QK").counts, weak_hand.counts, strict=True)]
    state = State.from_hands([strong, weak_hand, Hand(tuple(rest))], "2QK", "bidding")
    for seat, bid in ((0, "bid 3"), (1, "no bid")):
        state.row[SEAT] = seat
        assert str(RulesAgent().act(state.view(seat), np.random.default_rng(0))) == bid
    doubling = Rules.preset("standard", doubling=True)
    state = State.from_hands([strong, weak_hand, Hand(tuple(rest))], "2QK", doubling)
    for wish in ("double", "no double"):
        move = RulesAgent().act(state.view(), np.random.default_rng(0))
        assert str(move) == wish
        state.step(move)


WORKSPACE = new_rule_workspace()


def moves_of(sure: bool, workspace: RuleWorkspace) -> list[Move]:
    """The moves of a cheapest split that was found last."""
    count, words = write_split(sure, workspace), workspace.scratch.memory
    return [Move.from_words(int(words[MAINS + i]), int(words[KICKERS + i])) for i in range(count)]


def split(hand: tuple[int, ...], rules: Rules) -> list[Move]:
    """The split into the fewest moves: none can be beaten where no card is unseen, and each costs one."""
    set_prices(np.uint64(0), np.uint64(0), rules.words(), WEIGHTS, WORKSPACE)
    _, sure = split_hand(np.uint64(Hand(hand).word), WORKSPACE)
    moves = moves_of(True, WORKSPACE)
    assert sure == len(moves)
    return moves


@cache
def fewest(hand: tuple[int, ...], rules: Rules) -> int:
    """The same by brute force over the reference's moves."""
    if not any(hand):
        return 0
    return 1 + min(fewest(without(hand, cards_of(move)), rules) for move in moves_to_play(hand, None, rules))


@st.composite
def small_hands(draw: st.DrawFn) -> tuple[int, ...]:
    """Up to nine cards, from few neighbouring ranks more often than not."""
    low = draw(st.integers(0, 8))
    ranks = st.integers(low, low + 5) if draw(st.booleans()) else st.integers(0, NUM_RANKS - 1)
    counts = [0] * NUM_RANKS
    for rank in draw(st.lists(ranks, min_size=1, max_size=9)):
        counts[rank] = min(counts[rank] + 1, FULL_DECK[rank])
    return tuple(counts)


@settings(max_examples=150)
@given(small_hands())
def test_the_fewest_tricks_equal_brute_force(hand: tuple[int, ...]) -> None:
    rules = Rules.preset("standard")
    moves = split(hand, rules)
    assert len(moves) == fewest(hand, rules)
    legal = State.from_hands([Hand(hand), "3", "3"], check_sizes=False) if hand[0] < 3 else None
    rest = hand
    for move in moves:
        if legal is not None:
            assert move in legal.legal_moves()
        rest = without(rest, move.cards.counts)
    assert not any(rest)


@pytest.mark.parametrize("preset", ["standard", "botzone"])
def test_both_prices_of_a_hand_are_those_of_the_cheapest_splits_and_of_their_moves(preset: str) -> None:
    """Against an oracle that tries every split, for hands that do and do not follow each other in one memory."""
    rules, workspace, rng = Rules.preset(preset), new_rule_workspace(), np.random.default_rng(7)
    deck = np.repeat(np.arange(NUM_RANKS), FULL_DECK)
    for _ in range(150):
        low = rng.integers(0, 8) if rng.random() < 0.7 else 0
        near = deck[(deck >= low) & (deck < low + 6) | (rng.random(deck.size) < 0.15)]
        shuffled = rng.permutation(near)
        held = np.bincount(shuffled[: rng.integers(1, 15)], minlength=NUM_RANKS)
        if rng.random() < 0.3:  # trios and quads
            held[:] = 0
            held[rng.choice(13, 4, replace=False)] = [3, *rng.integers(2, 5, 3)]
        pool, most = np.minimum(rng.integers(0, 5, NUM_RANKS), FULL_DECK - held), int(rng.integers(1, 21))
        set_prices(np.uint64(Hand(tuple(pool)).word), np.uint64(most), rules.words(), WEIGHTS, workspace)
        word, hand = np.uint64(Hand(tuple(held)).word), tuple(held.tolist())
        both = split_hand(word, workspace)
        assert hand_price_and_losers(word, workspace) == hand_price_and_losers(word, workspace) == both
        for sure in (False, True):
            prices = Prices(tuple(pool.tolist()), most, sure)
            moves = moves_of(sure, workspace)
            assert sum(price_of_move(move, prices) for move in moves) == both[sure] == cheapest(hand, prices, rules)
            assert np.array_equal(sum(np.array(move.cards.counts) for move in moves), held)


def price_of_move(move: Move, prices: Prices) -> int:
    """What the main group of a move costs: its body without kickers, but a quad with kickers is not a bomb."""
    group = MAIN_GROUPS[move.main]
    name = category_of((group.id, ()))
    return prices.of("quad+2 solos" if name.startswith("quad") else name.partition("+")[0], group.rank, group.length)


def test_the_kernels_stay_in_their_integer_types() -> None:
    RulesAgent().act(State.new(1).view(), np.random.default_rng(0))
    split(Hand.parse("345").counts, Rules.preset("standard"))
    for kernel, types in ((rules_move, "uint64"), (split_hand, "int64")):
        results = {str(signature.return_type) for signature in getattr(kernel, "nopython_signatures", ())}
        assert results <= {f"UniTuple({types}, 2)", f"UniTuple({types} x 2)"}
