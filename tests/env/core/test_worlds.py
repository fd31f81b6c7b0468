"""Worlds: games that agree with what a seat knows, drawn, made of given hands, and played out."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ddz_env import PRESETS, Hand, Rules, State, View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import HIDDEN
from ddz_env.support.errors import DouDizhuError, InconsistentViewError, InvalidDealError

SMALL = Rules.preset("bidding", deck=(1, 1, 1, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0), hand_size=3, bottom=3)
FIXED = SMALL.replace(bidding="fixed")
"""A pack of twelve cards, so that the deals of an auction, and of hands that leave some out, can be counted."""


def after_bids(state: State) -> State:
    """The same game when somebody is the landlord."""
    while state.role() is None:
        state.step_action(state.legal_actions()[-1])
    return state


def near_the_end(rules: str, game: int, most: int = 9) -> State:
    """The first position of a random game with so few cards that the seat to act does not see."""
    state, rng = State.new(11, rules, game), np.random.default_rng(game)
    while len(state.view().unseen) > most:
        state.step_action(int(rng.choice(state.legal_actions())))
    return state


POSITIONS: dict[str, tuple[State, int]] = {
    **{f"standard {game}": (near_the_end("standard", game), game % 3) for game in range(4)},
    "douzero": (near_the_end("douzero", 1), 1),
    "rlcard": (near_the_end("rlcard", 2), 2),
    "mini": (near_the_end("mini", 0), 0),
    "cards in no hand": (State.from_hands(["36", "45", "67"], rules=FIXED, check_sizes=False), 0),
    "auction": (State.new(4, SMALL), 0),
    "after the auction": (after_bids(State.new(4, SMALL)), 1),
}


def cards_of(word: int) -> list[int]:
    """The ranks of the cards of a hand, one entry per card."""
    return [rank for rank, count in enumerate(Hand.from_word(word).counts) for _ in range(count)]


def hand_word(cards: list[int] | tuple[int, ...]) -> int:
    return Hand(tuple(cards.count(rank) for rank in range(NUM_RANKS))).word


def deals(view: View) -> Counter[tuple[int, ...]]:
    """How many deals of *cards* give each world: an enumeration card by card of all that the seat does not see."""
    counted: Counter[tuple[int, ...]] = Counter()
    certain: list[list[int]] = [[], [], []]
    if view.landlord not in (None, view.seat):
        certain[view.landlord] = cards_of(view.known_cards.word)
    pool = cards_of(view.unseen.word)
    for card in itertools.chain(*certain):
        pool.remove(card)
    sizes = [size - len(sure) for size, sure in zip((*view.hand_sizes, 0)[:3], certain, strict=True)]
    sizes[view.seat] = 0
    for places in arrangements(range(len(pool)), sizes):
        words = [hand_word([pool[place] for place in taken] + certain[seat]) for seat, taken in enumerate(places[:3])]
        words[view.seat] = view.hand.word
        counted[(*words, hand_word([pool[place] for place in places[3]]))] += 1
    return counted


def arrangements(places: range, sizes: list[int]) -> list[list[tuple[int, ...]]]:
    """All ways to give each seat so many of the places; what is left over comes last."""
    found: list[list[tuple[int, ...]]] = [[]]
    for size in sizes:
        found = [
            [*taken, chosen]
            for taken in found
            for chosen in itertools.combinations(sorted(set(places) - set(itertools.chain(*taken))), size)
        ]
    return [[*taken, tuple(sorted(set(places) - set(itertools.chain(*taken))))] for taken in found]


@pytest.mark.parametrize("name", POSITIONS)
def test_worlds_are_uniform_over_deals_of_cards(name: str) -> None:
    """100,000 worlds of each position against an enumeration card by card (chi-square, five standard deviations)."""
    state, seat = POSITIONS[name]
    view, count = state.view(seat), 100_000
    expected = deals(view)
    drawn = Counter(map(tuple, view.sample_worlds(count, np.random.default_rng(7)).tolist()))
    assert set(drawn) <= set(expected)
    assert len(expected) > 1
    shares = np.array(list(expected.values())) / sum(expected.values())
    seen = np.array([drawn[world] for world in expected])
    distance = float(((seen - count * shares) ** 2 / (count * shares)).sum())
    freedom = len(expected) - 1
    assert distance < freedom + 5 * (2 * freedom) ** 0.5


def positions(preset: str, games: int = 3) -> list[State]:
    """Positions of random games, from the first decision to the last."""
    found = []
    for game in range(games):
        state, rng = State.new(5, preset, game), np.random.default_rng(game)
        while not state.is_over:
            found.append(state.copy())
            state.step_action(int(rng.choice(state.legal_actions())))
    return found


@pytest.mark.parametrize("preset", PRESETS)
def test_a_world_looks_to_its_seat_as_the_game_does_and_can_be_played_on(preset: str) -> None:
    rng = np.random.default_rng(1)
    for state in positions(preset):
        for seat in range(state.rules.players):
            view = state.view(seat)
            world = State.sample(view, rng)
            assert world.key(seat) == view.key()
            made = State.from_view(view, view.sample_worlds(1, rng)[0])
            assert made.key(seat) == view.key()
            same = State.from_view(view, [state.hand(each) for each in range(state.rules.players)])
            assert [same.hand(each) for each in range(state.rules.players)] == [
                state.hand(each) for each in range(state.rules.players)
            ]
        before = world.row.copy()
        assert len(world.playout(rng)) == state.rules.players
        assert world.playouts(3, rng).shape == (3, state.rules.players)
        assert (world.row == before).all(), "a playout leaves the game as it is"
        assert world.history == state.history


@pytest.mark.parametrize("rules", ["bidding", "bidding,open_hands=true"])
def test_the_landlord_of_a_world_takes_up_the_landlord_cards(rules: str) -> None:
    view, rng = State.new(1, rules).view(), np.random.default_rng(0)
    for world in (State.sample(view, rng), State.from_view(view, view.sample_worlds(1, rng)[0])):
        assert len(world.bottom) == 3
        world.step("bid 3")
        assert [len(world.hand(seat)) for seat in range(3)] == [20 if seat == view.seat else 17 for seat in range(3)]


def test_cards_that_nobody_holds_in_an_auction_stay_undealt() -> None:
    """Of an endgame with bids, in which they are not the landlord cards."""
    state = State.from_hands(["36", "47", "59"], "6", SMALL, check_sizes=False)
    view, rng = state.view(0), np.random.default_rng(0)
    for world in view.sample_worlds(50, rng):
        total = sum(len(Hand.from_word(int(word))) for word in world)
        assert total == sum(FIXED.deck)
        assert State.from_view(view, world).key(0) == view.key() == State.sample(view, rng).key(0)


def test_hidden_cards_change_no_world() -> None:
    """Two games that differ only in what a seat does not see give it the same worlds."""
    one, other = (State.from_hands(["34567", *hands], check_sizes=False) for hands in (("889", "TTJ"), ("TTJ", "889")))
    worlds = [state.view(0).sample_worlds(100, np.random.default_rng(3)) for state in (one, other)]
    assert (worlds[0] == worlds[1]).all()
    assert one.key(0) == other.key(0)
    assert one.key(1) != other.key(1)


def test_playouts_are_those_of_a_random_game() -> None:
    state, rng = State.new(2), np.random.default_rng(0)
    one_by_one = np.array([state.playout(rng) for _ in range(4000)])
    together = state.playouts(4000, rng)
    assert np.abs(one_by_one.mean(axis=0) - together.mean(axis=0)).max() < 0.1
    assert set(together[:, 0]) == {-1.0, 1.0}


VIEW = State.from_hands(["3345", "667", "889"], check_sizes=False).view(0)


@pytest.mark.parametrize(
    ("hands", "error", "message"),
    [
        (["3344", "667", "889"], InconsistentViewError, "seat 0 holds"),
        (["3345", "66", "8879"], InconsistentViewError, "seat 1 has 3 cards, not 2"),
        (["3345", "333", "789"], InconsistentViewError, "more cards of rank 3 than seat 0 has not seen yet"),
        (["3345", "667"], InvalidDealError, "3 seats, got 2 hands"),
        (["3345", "6x7", "889"], DouDizhuError, "x"),
    ],
)
def test_hands_that_contradict_the_view_are_refused(hands: list[str], error: type[DouDizhuError], message: str) -> None:
    with pytest.raises(error, match=message):
        State.from_view(VIEW, hands)


def test_a_view_that_no_deal_agrees_with_is_refused() -> None:
    view, rng = State.from_hands(["3345", "667", "889"], check_sizes=False).view(0), np.random.default_rng(0)
    view.row[HIDDEN] = 0
    for draw in (
        lambda: State.sample(view, rng),
        lambda: view.sample_worlds(2, rng),
        lambda: State.from_view(view, ["3345"] * 3),
    ):
        with pytest.raises(InconsistentViewError):
            draw()
    for draw in (lambda: VIEW.sample_worlds(-1, rng), lambda: State.new(1).playouts(-1, rng)):
        with pytest.raises(InvalidDealError, match="count"):
            draw()


def test_worlds_can_be_drawn_by_weights() -> None:
    """The share of worlds with a card in a seat's hand follows the weights; wrong ones are named."""
    view, rng = State.new(3).view(), np.random.default_rng(0)
    pair = np.uint64(Hand.parse("22").word)

    def likes_pairs(hands: np.ndarray) -> np.ndarray:
        return np.where(hands[:, 1] & pair == pair, 3.0, 1.0)

    def share(worlds: np.ndarray) -> float:
        return float((worlds[:, 1] & pair == pair).mean())

    plain = share(view.sample_worlds(40_000, rng))
    assert 0.1 < plain < 0.5
    expected = 3 * plain / (1 + 2 * plain)
    assert share(view.sample_worlds(40_000, rng, likes_pairs)) == pytest.approx(expected, abs=0.02)
    assert view.sample_worlds(0, rng, likes_pairs).shape == (0, 4)
    for wrong in (lambda hands: hands, lambda hands: np.zeros(len(hands)), lambda hands: -np.ones(len(hands))):
        with pytest.raises(InvalidDealError, match="weights must be"):
            view.sample_worlds(10, rng, wrong)
