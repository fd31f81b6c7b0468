"""The worlds that searches play in: pools, and particles whose weights are those of Bayes' rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ddz_agents.open_cards.information_set import information_set
from ddz_agents.random import RandomAgent
from ddz_agents.rules.agent import RulesAgent
from ddz_agents.worlds.determinize import WorldPool, draw_games
from ddz_agents.worlds.history import (
    InconsistentHistoryError,
    InvalidInferenceOptionError,
    PlayerModel,
    history_log_likelihoods,
    read_public_history,
)
from ddz_agents.worlds.inference import draw_hands, find_informative_decisions, infer
from ddz_agents.worlds.particles import effective_size, fixed_cards, swap_cards
from ddz_agents.worlds.rules_player import (
    ANYTHING,
    FAITHFUL,
    RESPONSES,
    SEARCHER,
    Response,
    RulesPlayer,
    rules_history_log_likelihoods,
)
from ddz_env import Hand, Move, State, View
from ddz_env.core.engine import layout
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN
from ddz_env.core.rules import Rules
from tests.agents.tree_search.test_mcts import assert_fits, drawn
from tests.oracles.figure_two import played

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint64]


RNG = np.random.default_rng


def after(seed: int, moves: int, preset: str = "standard") -> State:
    """A deal played on by the rule agent, but never to its end."""
    state, rng, agent = State.new(seed=seed, rules=preset), RNG(seed), RulesAgent()
    for _ in range(moves):
        ahead = state.copy()
        ahead.step(agent.act(state.view(), rng))
        if ahead.is_over:
            break
        state = ahead
    return state


def true_particle(state: State) -> Rows:
    return np.array([[*state.row[HANDS : HANDS + 3], state.row[HIDDEN]]], np.uint64)


class Recorder:
    """A model that infers nothing (every move is as likely in any deal) and records its calls."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Move, Rows]] = []
        self.rings: list[Rows | None] = []

    def log_likelihood(self, rows: Rows, rules: Rules, seat: int, move: Move, ring: Rows | None = None) -> FloatArray:
        self.asked.append((seat, move, rows.copy()))
        self.rings.append(None if ring is None else ring.copy())
        return np.zeros(len(rows))


class Plain:
    """A model behind the protocol and nothing else, so that the compiled walk cannot be taken; it knows some seats."""

    def __init__(self, model: PlayerModel, *seats: int) -> None:
        self.model, self.seats = model, seats

    def log_likelihood(self, rows: Rows, rules: Rules, seat: int, move: Move, ring: Rows | None = None) -> FloatArray:
        return self.model.log_likelihood(rows, rules, seat, move, ring) if seat in self.seats else np.zeros(len(rows))


@pytest.mark.parametrize(
    "preset", ["standard", "bidding", "botzone", "openspiel", "mini", "half-deck", "half-deck-open"]
)
def test_particles_are_consistent_with_everything_public(preset: str) -> None:
    for seed in range(6):
        state = after(seed, 5 * seed, preset)
        for seat in range(state.rules.players):
            view = state.view(seat)
            known = infer(view, RNG(seed), 50)
            assert len(known) == 50
            for deal in known.hands:
                assert_fits(view, deal)


def test_weights_add_up_to_one_and_the_effective_size_is_theirs() -> None:
    known = infer(after(3, 12).view(), RNG(0), 500)
    assert known.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (known.weights > 0).all(), "no particle dies"
    assert known.ess == pytest.approx(1 / np.square(known.weights).sum())
    assert known.ess < 450, "the moves say something"
    assert known.pool.cumulative[-1] == 1.0
    assert np.diff(known.pool.cumulative, prepend=0.0) == pytest.approx(known.weights, abs=1e-12)
    for preset in ("mini", "standard"):
        equal = infer(after(3, 6, preset).view(), RNG(0), 400, [Recorder()])
        assert (equal.weights == 1 / 400).all()
        assert equal.ess == pytest.approx(400)


def test_weights_are_flattened_until_enough_deals_are_in_play() -> None:
    view = after(3, 11).view()
    sharp, flat = (infer(view, RNG(0), 1000, rounds=0, least_ess=least) for least in (0, 0.5))
    assert sharp.exponent == 1
    assert 0 < flat.exponent < 1
    deals, number = np.unique(flat.hands, axis=0, return_inverse=True)
    share = np.bincount(number.ravel(), flat.weights)
    assert effective_size(share) == pytest.approx(0.5 * len(deals), rel=0.01)
    assert flat.weights == pytest.approx(sharp.weights**flat.exponent / (sharp.weights**flat.exponent).sum())


SHOWN = "robbing,doubling=true,showing=true"


@pytest.mark.parametrize(("preset", "seed"), [("standard", 2), ("bidding", 5), ("botzone", 3), ("mini", 8), (SHOWN, 4)])
def test_the_true_deal_is_set_back_to_the_true_positions(preset: str, seed: int) -> None:
    """Oracle: replay the game itself; compare whole rows (all but the dealer's generator) and the recent moves."""
    state, rng = State.new(seed=seed, rules=preset), RNG(seed)
    rows: list[Rows] = []
    rings: list[Rows] = []
    while not state.is_over and len(rows) < 40:
        in_play = state.stage == "play"
        before, recent = state.row.copy(), state.ring.copy()
        state.step(RandomAgent().act(state.view(), rng))
        if in_play:
            rows.append(before)
            rings.append(recent)
    recorder = Recorder()
    story = read_public_history(state.view(0))
    weighed = np.ones(len(story.moves), np.bool_)
    history_log_likelihoods([recorder], story, true_particle(state), weighed, state.rules)
    plays = [(seat, move) for seat, move in state.history if move.category not in ("bid", "double")]
    assert preset != SHOWN or state.view(0).is_shown
    assert [(seat, move) for seat, move, _ in recorder.asked] == plays
    assert len(rows) == len(plays) > 5
    for row, (_, _, seen) in zip(rows, recorder.asked, strict=True):
        row[layout.RNG] = 0
        assert (seen[0] == row).all()
    assert np.array_equal(recorder.rings, rings)


def test_the_searchers_own_decisions_never_weigh() -> None:
    state = after(3, 13)
    for seat in range(3):
        recorder = Recorder()
        infer(state.view(seat), RNG(0), 5, [recorder])
        assert [mover for mover, _, _ in recorder.asked] == [mover for mover, _ in state.history if mover != seat]
    opened = after(3, 1)
    assert len(set(infer(opened.view(0), RNG(0), 100).weights)) == 1, "only its own lead so far"
    assert len(set(infer(opened.view(1), RNG(0), 100).weights)) > 10, "to the others the lead says something"


@pytest.mark.parametrize("preset", ["bidding,doubling=true", "robbing,doubling=true,showing=true"])
def test_answers_to_doubling_and_the_end_of_a_game_are_no_obstacle(preset: str) -> None:
    state, agent = State.new(seed=3, rules=preset), RulesAgent()
    while not state.is_over:
        state.step("show" if state.stage == "show" else agent.act(state.view(), RNG(0)))
        for seat in range(3):
            assert infer(state.view(seat), RNG(0), 20).weights.sum() == pytest.approx(1)
    assert {move.category for _, move in state.history} > {"bid", "double", "pass"}


def test_open_hands_leave_nothing_to_infer() -> None:
    state = after(3, 8, "perfect")
    known = infer(state.view(), RNG(0), 10)
    assert (known.hands == true_particle(state)).all()
    assert known.weights == pytest.approx(0.1)


def likelihoods(response: Response, state: State) -> dict[Move, float]:
    """Of every legal move of the seat to act."""
    model, moves = RulesPlayer(response), state.legal_moves()
    logs = [model.log_likelihood(state.row[None], state.rules, state.seat, move)[0] for move in moves]
    return dict(zip(moves, np.exp(logs).tolist(), strict=True))


@pytest.mark.parametrize("number", range(len(RESPONSES)))
def test_the_likelihoods_of_all_legal_moves_add_up_to_one(number: int) -> None:
    checked, forced = 0, State.from_hands(["3R", "4", "5"], check_sizes=False)
    for seed in range(12):
        found = likelihoods(RESPONSES[number], after(seed, 3 * seed))
        assert sum(found.values()) == pytest.approx(1, abs=1e-9)
        checked += len(found) > 1 and any(move.kickers for move in found)
    assert checked >= 2
    forced.step("R")
    assert likelihoods(RESPONSES[number], forced) == {Move.parse("pass"): 1}, "a forced move says nothing"


def test_the_rule_agents_move_is_the_likeliest_for_a_follower_and_any_as_likely_for_one_who_plays_anything() -> None:
    for seed in range(8):
        state = after(seed, 2 * seed)
        own, found = RulesAgent().act(state.view(), RNG(0)), likelihoods(FAITHFUL, state)
        assert max(found, key=found.__getitem__) == own
        assert len(found) == 1 or found[own] > 0.8
        chances = list(likelihoods(ANYTHING, state).values())
        assert chances == pytest.approx([1 / len(chances)] * len(chances))


def test_a_pass_on_a_three_by_one_who_could_have_gone_out_speaks_against_high_cards() -> None:
    """Seat 0 has led a 3; seat 1, which holds one card, let it go; 28 cards are undealt."""
    state = State.from_hands(["3TTJJQQKKAA222", "3", "567789T"], check_sizes=False)
    state.step("3")
    state.step("pass")
    known = infer(state.view(2), RNG(0), 2000, [Plain(RulesPlayer(FAITHFUL), 1)], rounds=0, least_ess=0)
    threes = known.hands[:, 1] == np.uint64(Hand.parse("3").word)
    assert 0.02 < threes.mean() < 0.2, "two of the thirty cards that seat 2 does not see"
    assert known.weights[threes].sum() > 0.7
    assert known.weights[threes].min() > 20 * known.weights[~threes].max()


def by_brute_force(state: State, seat: int, models: Sequence[PlayerModel]) -> dict[tuple[int, int], float]:
    """The posterior over (hand of the other seat, undealt cards) of a game of Mini: enumerate, replay, multiply."""
    deals = information_set(state.view(seat).row, seat)
    posterior = {}
    for row, number in zip(deals.rows, deals.deals.tolist(), strict=True):
        hands = []
        for mover in range(2):
            now = np.array(Hand.from_word(int(row[HANDS + mover])).counts)
            hands.append(Hand(tuple((now + state.view(seat).played(mover).counts).tolist())))
        replay = State.from_hands(hands, rules="mini")
        logs = np.zeros(len(models))
        for mover, move in state.history:
            if mover != seat:
                for index, model in enumerate(models):
                    logs[index] += model.log_likelihood(replay.row[None], state.rules, mover, move)[0]
            replay.step(move)
        posterior[int(row[HANDS + 1 - seat]), int(row[HIDDEN])] = number * float(np.exp(logs).mean())
    total = sum(posterior.values())
    return {deal: share / total for deal, share in posterior.items()}


@pytest.mark.parametrize(("seed", "moves"), [(1, 2), (2, 5), (3, 4), (9, 7)])
@pytest.mark.parametrize("responses", [(SEARCHER,), RESPONSES])
def test_weighted_frequencies_are_the_posterior_by_brute_force(
    seed: int, moves: int, responses: tuple[Response, ...]
) -> None:
    """Mini can be enumerated: every deal's summed weight is its posterior, up to how often it was drawn."""
    state = after(seed, moves, "mini")
    seat = state.seat
    models = [RulesPlayer(response) for response in responses]
    expected = by_brute_force(state, seat, models)
    prior = by_brute_force(state, seat, [Recorder()])
    known = infer(state.view(), RNG(seed), 20_000, models, rounds=0, least_ess=0)
    deals = [(int(words[1 - seat]), int(words[3])) for words in known.hands]
    drawn = {deal: deals.count(deal) / len(deals) for deal in set(deals)}
    shares = dict.fromkeys(expected, 0.0)
    for deal, weight in zip(deals, known.weights.tolist(), strict=True):
        shares[deal] += weight
    assert shares == pytest.approx(expected, abs=0.03)
    likelihood = {deal: expected[deal] / prior[deal] for deal in drawn}
    exact = {deal: drawn[deal] * likelihood[deal] for deal in drawn}
    total = sum(exact.values())
    for deal, share in exact.items():
        assert shares[deal] == pytest.approx(share / total, rel=1e-9), "given the draws there is no error at all"


@pytest.mark.parametrize(("seed", "moves"), [(2, 5), (9, 7)])
def test_annealed_particles_have_the_same_posterior(seed: int, moves: int) -> None:
    state = after(seed, moves, "mini")
    models = [RulesPlayer(FAITHFUL)]
    expected = by_brute_force(state, state.seat, models)
    shares = dict.fromkeys(expected, 0.0)
    for number in range(5):
        known = infer(state.view(), RNG(number), 4000, models, rounds=10, least_ess=0)
        assert known.exponent == pytest.approx(1)
        assert known.ess > 1900, "half the sample is left at every step"
        for words, weight in zip(known.hands, known.weights.tolist(), strict=True):
            shares[int(words[1 - state.seat]), int(words[3])] += weight / 5
    prior = by_brute_force(state, state.seat, [Recorder()])
    assert max(abs(prior[deal] - expected[deal]) for deal in prior) > 0.1, "there is something to infer"
    assert shares == pytest.approx(expected, abs=0.03)


def test_swaps_alone_keep_deals_of_cards_uniform() -> None:
    """Oracle: from one and the same deal, many swaps lead to every deal as often as cards can be dealt that way."""
    state = after(4, 9, "mini")
    view = state.view()
    hands = np.repeat(draw_hands(view, RNG(0), 1), 4000, axis=0)
    rng = RNG(3)
    for _ in range(25):
        hands = swap_cards(hands, fixed_cards(view), rng)
    deals = information_set(view.row, view.seat)
    words, counts = np.unique(hands[:, 1 - view.seat], return_counts=True)
    expected = dict(zip(deals.rows[:, HANDS + 1 - view.seat].tolist(), map(float, deals.probabilities), strict=True))
    seen = dict(zip(words.tolist(), (counts / 4000).tolist(), strict=True))
    assert len(expected) > 5
    assert seen == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("preset", ["standard", "bidding", "douzero", "mini"])
def test_the_compiled_walk_equals_the_batched_protocol(preset: str) -> None:
    state = after(7, 15, preset)
    models = [RulesPlayer(response) for response in RESPONSES]
    view = state.view()
    story, hands = read_public_history(view), draw_hands(view, RNG(0), 60)
    weighed = find_informative_decisions(story, view.seat, state.rules)
    compiled = rules_history_log_likelihoods(models, story, hands, weighed, state.rules)
    batched = history_log_likelihoods(models, story, hands, weighed, state.rules)
    assert (compiled == batched).all()
    assert (compiled < 0).any()
    known = infer(view, RNG(0), 60, [Plain(model, 0, 1, 2) for model in models])
    assert (known.weights == infer(view, RNG(0), 60, models).weights).all()


@pytest.mark.parametrize("answer", [np.zeros(3), np.full(20, -np.inf), np.full((20, 1), -1.0)])
def test_a_model_that_answers_with_something_else_is_named(answer: FloatArray) -> None:
    class Wrong:
        def log_likelihood(self, *position: Any) -> FloatArray:
            return answer

    with pytest.raises(InvalidInferenceOptionError, match="Wrong"):
        infer(after(1, 4).view(), RNG(0), 20, [Wrong()])


def changed(view: View, history: Sequence[tuple[int, Move]]) -> View:
    return View(view.row, view.rules, view.rule_words, view.seat, tuple(history), view.ring)


def test_a_history_that_does_not_lead_to_the_table_is_named() -> None:
    """Without one a row is fine only before the first move."""
    view, first = after(3, 10).view(), State.new(seed=1)
    told = list(view.history)
    number = next(index for index, (_, move) in enumerate(told) if move.is_pass)
    assert len(infer(changed(first.view(), ()), RNG(0), 10)) == 10
    first.step("3")
    for known, wrong in [
        (first.view(), []),
        (view, told[1:]),
        (view, told[:number] + told[number + 1 :]),
        (view, [*told, (view.seat, Move.parse("pass"))]),
        (view, [(0, Move.parse("pass")), *told]),
    ]:
        with pytest.raises(InconsistentHistoryError):
            infer(changed(known, wrong), RNG(0), 10)


SEED = np.uint64(2011)


def pool_of(state: State, weights: list[float]) -> WorldPool:
    where = HIDDEN if state.view().landlord is not None else BOTTOM
    rows = [drawn(state, state.seat, number) for number in range(len(weights))]
    hands = np.array([[*row[HANDS : HANDS + 3], row[where]] for row in rows], np.uint64)
    assert len(set(map(bytes, hands))) == len(weights)
    return WorldPool(hands, np.cumsum(np.array(weights) / sum(weights)))


@pytest.mark.parametrize(("moves", "preset"), [(0, "standard"), (9, "standard"), (0, "bidding"), (5, "half-deck")])
def test_a_pool_of_one_is_the_world(moves: int, preset: str) -> None:
    state = played(3, moves, preset)
    expected = drawn(state, state.seat, 0)
    for row in draw_games(state.view(), pool_of(state, [1.0]), 5, SEED):
        assert row[HANDS : HANDS + 3].tolist() == expected[HANDS : HANDS + 3].tolist()
        assert (row[HIDDEN], row[BOTTOM]) == (expected[HIDDEN], expected[BOTTOM])
        game, other = State(row, state.rules), State(expected, state.rules)
        assert game.legal_actions() == other.legal_actions()


def test_draws_follow_the_weights() -> None:
    """Chi-square of 9,000 draws, 2 degrees of freedom; the wrong weights stand out, and no weight is never."""
    state, weights = played(3, 9), np.array([0.6, 0.3, 0.1])
    pool = pool_of(state, [0.0, *weights.tolist()])
    draws = [row[HANDS : HANDS + 3].tolist() for row in draw_games(state.view(), pool, 9000, SEED)]
    never, *often = (draws.count(hands[:3].tolist()) for hands in pool.hands)
    counts = np.array(often)
    assert (never, counts.sum()) == (0, 9000)
    assert ((counts - 9000 * weights) ** 2 / (9000 * weights)).sum() < 20
    assert ((counts - 3000) ** 2 / 3000).sum() > 1000
