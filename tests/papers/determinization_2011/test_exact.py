"""Exact search against plain recursion on ``State``, information sets against counted deals, agents by name."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ddz_agents.open_cards.information_set import enumerate_deals, information_set
from ddz_env import PRESETS, Move, Rules, State, View
from ddz_env.core.cards import FULL_DECK
from ddz_env.core.engine.layout import HANDS, PLAYED
from ddz_env.core.engine.words import add_hand
from ddz_env.core.notation import Hand, word_to_counts
from ddz_env.playing.agent import agent_input
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError, InconsistentViewError
from ddz_papers.determinization_2011.agents import (
    CheatingMinimaxAgent,
    DeterminizedMinimaxAgent,
    ExactAgent,
    InformationSetExpectimaxAgent,
    SharedSolvers,
)
from ddz_papers.determinization_2011.expectimax import EPSILON as EXPECTIMAX_EPSILON
from ddz_papers.determinization_2011.expectimax import ExpectimaxSolver
from ddz_papers.determinization_2011.inference import History
from ddz_papers.determinization_2011.mini_experiments import list_mini_deals
from ddz_papers.determinization_2011.minimax import EPSILON, MinimaxSolver, NotSolvableError, SearchLimitError

MINI = PRESETS["mini"]
SHARED = SharedSolvers(table_bits=20)


def endgame(rng: np.random.Generator, rules: Rules, sizes: Sequence[int], ranks: Sequence[int]) -> State:
    """Random hands of given sizes from a few ranks, all four cards of each (so that bombs and trios are common)."""
    cards = rng.permutation([rank for rank in ranks for _ in range(rules.deck[rank])])
    hands, start = [], 0
    for size in sizes:
        counts = np.bincount(cards[start : start + size], minlength=15)
        hands.append(Hand(tuple(int(count) for count in counts)))
        start += size
    return State.from_hands(hands, rules=rules, check_sizes=False)


def after(state: State, move: Move) -> State:
    twin = state.copy()
    twin.step(move)
    return twin


def brute_values(state: State, epsilon: float) -> list[float]:
    """What every legal move is worth for the side to act: equation (1), written down word by word."""
    landlord, values = state.role() == "landlord", []
    for move in state.legal_moves():
        child = after(state, move)
        if child.is_over:
            values.append(1.0)
        else:
            sign = 1 if (child.role() == "landlord") == landlord else -1
            values.append(sign * brute_value(child, epsilon))
    return values


def brute_value(state: State, epsilon: float) -> float:
    return combine(brute_values(state, epsilon), epsilon)


def combine(values: list[float], epsilon: float) -> float:
    return max(values) + epsilon * sum(values) / len(values)


FAMILIES = [
    ("mini", (2, 2), (0, 1, 2, 3, 13, 14), 600),
    ("mini", (3, 3), (0, 1, 2, 13, 14), 100),
    ("mini", (4, 3), (0, 1, 2), 25),
    ("standard", (2, 1, 2), (0, 1, 2), 800),
    ("standard", (5, 1, 1), (0, 1), 250),
    ("douzero", (2, 2, 1), (3, 12, 13, 14), 400),
    ("openspiel", (1, 2, 2), (4, 5, 6), 150),
]
"""Preset, hand sizes, ranks and how many endgames."""


@pytest.mark.parametrize(("preset", "sizes", "ranks", "number"), FAMILIES)
def test_minimax_equals_brute_force(preset: str, sizes: tuple[int, ...], ranks: tuple[int, ...], number: int) -> None:
    rules = PRESETS[preset].replace(bidding="fixed")
    rng = np.random.default_rng(number)
    solvers = {epsilon: MinimaxSolver(rules, epsilon, table_bits=14) for epsilon in (0.0, EPSILON)}
    for index in range(number):
        state = endgame(rng, rules, sizes, ranks)
        epsilon = EPSILON if index % 3 else 0.0
        moves, values = solvers[epsilon].move_values(state.row)
        assert moves == state.legal_moves()
        brute = brute_values(state, epsilon)
        assert values.tolist() == pytest.approx(brute, abs=1e-12)
        assert solvers[epsilon].value(state.row) == pytest.approx(combine(brute, epsilon), abs=1e-12)


def test_the_better_of_two_wins_and_of_two_losses_by_equation_1() -> None:
    """4 and B both win against 3 6; after 4 the leader may still pass a six wrongly, after B nothing can go wrong.

    Equation (1) by hand, after B: the lead of the last card is worth 1 + ε, the forced pass before it -(1 + ε)².
    With 4 5 5 against 6 6 all is lost, but after 55 the opponent errs with one of its two moves, and after 4 it can win
    by two ways of three: passing, or a six and then the other.
    """
    solver = MinimaxSolver(MINI)
    plain = MinimaxSolver(MINI, epsilon=0)
    won = State.from_hands(["4 B", "3 6"], check_sizes=False, rules=MINI)
    assert plain.move_values(won.row)[1].tolist() == [1, 1]
    assert solver.move_values(won.row)[1][1] == pytest.approx((1 + EPSILON) ** 2, abs=1e-12)
    assert str(CheatingMinimaxAgent(SHARED).act(won)) == "B"
    lost = State.from_hands(["4 5 5", "6 6"], check_sizes=False, rules=MINI)
    assert set(plain.move_values(lost.row)[1].tolist()) == {-1}
    assert str(CheatingMinimaxAgent(SHARED).act(lost)) == "55"


def test_equation_1_never_overrules_minimax_and_a_small_table_changes_nothing() -> None:
    plain, solver, narrow = MinimaxSolver(MINI, epsilon=0), MinimaxSolver(MINI), MinimaxSolver(MINI, table_bits=4)
    for seed in range(40):
        row = State.new(seed, MINI).row
        exact, valued = plain.move_values(row)[1], solver.move_values(row)[1]
        assert (np.sign(valued) == exact).all()
    row = State.from_hands(["3 3 4 5 B", "4 4 5 6"], check_sizes=False, rules=MINI).row
    assert (solver.move_values(row)[1] == narrow.move_values(row)[1]).all()


def counted(view: View) -> dict[tuple[int, ...], Fraction]:
    """The probability of each tuple of other hands (as words), by dealing single cards in every way there is."""
    known, landlord = view.known_cards.counts, view.landlord
    unseen = word_to_counts(int(view.row[3]))  # the cards that the observer cannot place
    pool = [(rank, copy) for rank, n in enumerate(unseen) for copy in range(n)]
    others = [seat for seat in range(view.rules.players) if seat != view.seat]
    sizes = [view.hand_sizes[seat] - (sum(known) if seat == landlord else 0) for seat in others]
    dealt: Counter[tuple[int, ...]] = Counter()
    for first in itertools.combinations(pool, sizes[0]):
        rest = [card for card in pool if card not in first]
        for second in itertools.combinations(rest, sizes[1]) if len(sizes) > 1 else [()]:
            words = []
            for seat, cards in zip(others, (first, second), strict=False):
                counts = np.bincount([rank for rank, _ in cards], minlength=15)
                counts += np.array(known) if seat == landlord else 0
                words.append(Hand(tuple(int(count) for count in counts)).word)
            dealt[tuple(words)] += 1
    total = sum(dealt.values())
    return {hands: Fraction(count, total) for hands, count in dealt.items()}


def enumerated(view: View) -> dict[tuple[int, ...], Fraction]:
    states = information_set(view.row, view.seat)
    others = [seat for seat in range(view.rules.players) if seat != view.seat]
    found = {
        tuple(int(row[HANDS + seat]) for seat in others): probability
        for row, probability in zip(states.rows, states.probabilities, strict=True)
    }
    assert len(found) == len(states)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_mini_information_set_has_the_exact_probabilities(seed: int) -> None:
    state = State.new(seed, MINI)
    for _ in range(4):
        for seat in range(2):
            view = state.view(seat)
            assert enumerated(view) == counted(view)
            assert tuple(int(state.row[HANDS + other]) for other in range(2) if other != seat) in enumerated(view)
        child = after(state, state.legal_moves()[-1])
        if child.is_over:
            break
        state = child


def test_an_endgame_of_three_with_a_known_landlord_card_has_the_exact_probabilities() -> None:
    deck = tuple(4 if rank in (0, 3, 8, 12) else 0 for rank in range(15))
    rules = PRESETS["standard"].replace(deck=deck, hand_size=5, bottom=1)
    state = State.from_hands(["2 6", "3", "6 6"], bottom="2", check_sizes=False, rules=rules)
    for seat in range(3):
        assert enumerated(state.view(seat)) == counted(state.view(seat))


class PlainExpectimax:
    """Section III.E word for word, on ``State``; every information set is enumerated from the seat's view.

    With inference, ``priors`` has the weight of each state at the root, by its hands together with the cards played.
    """

    def __init__(self, seat: int, priors: dict[tuple[int, ...], int] | None = None) -> None:
        self.seat, self.priors = seat, priors
        self._known: dict[bytes, float] = {}

    def value(self, state: State) -> float:
        if state.is_over:
            return 1.0 if self._ours(state, int(state.winner or 0)) else -1.0
        key = state.view(self.seat).row.tobytes()
        if key not in self._known:
            self._known[key] = self._own(state) if state.seat == self.seat else self._others(state)
        return self._known[key]

    def _own(self, state: State) -> float:
        return combine([self.value(after(state, move)) for move in state.legal_moves()], EXPECTIMAX_EPSILON)

    def _others(self, state: State) -> float:
        states = information_set(state.view(self.seat).row, self.seat)
        sign = 1 if self._ours(state, state.seat) else -1
        total, mass = 0.0, 0
        for row, weight in zip(states.rows, states.deals.tolist(), strict=True):
            possible = State(row.copy(), state.rules)
            if self.priors is not None:
                weight = self.priors.get(dealt_hands(row), 0)
            if not weight:
                continue
            values = [sign * self.value(after(possible, move)) for move in possible.legal_moves()]
            total += weight * sign * combine(values, EXPECTIMAX_EPSILON)
            mass += weight
        return total / mass

    def _ours(self, state: State, seat: int) -> bool:
        return (state.role(seat) == "landlord") == (state.role(self.seat) == "landlord")


def dealt_hands(row: npt.NDArray[np.uint64]) -> tuple[int, ...]:
    """Every seat's hand with what it has played."""
    return tuple(int(add_hand(row[HANDS + seat], row[PLAYED + seat])) for seat in range(3))


@pytest.mark.parametrize("inferred", [False, True])
@pytest.mark.parametrize(
    ("rules", "sizes", "number"),
    [
        (MINI, (2, 2), 10),
        (MINI, (3, 2), 4),
        (MINI, (2, 3), 4),
        (PRESETS["standard"].replace(deck=FULL_DECK), (2, 1, 1), 1),
    ],
)
def test_expectimax_equals_plain_recursion(rules: Rules, sizes: tuple[int, ...], number: int, inferred: bool) -> None:
    rng = np.random.default_rng(7)
    solver = ExpectimaxSolver(rules, table_bits=12)
    for _ in range(number):
        state = endgame(rng, rules, sizes, (0, 1, 2, 3, 13, 14))
        states = information_set(state.view().row, state.seat)
        kept, weights, priors = slice(None), states.deals, None
        if inferred:  # some states are struck out, and the others have weights of their own
            kept, weights = slice(0, None, 2), rng.integers(1, 9, len(states.deals[::2]))
            priors = dict(zip(map(dealt_hands, states.rows[kept]), weights.tolist(), strict=True))
        moves, values = solver.move_values(states.rows[kept], weights.astype(np.float64), inferred=inferred)
        plain = PlainExpectimax(state.seat, priors)
        assert moves == state.legal_moves()
        assert values.tolist() == pytest.approx([plain.value(after(state, move)) for move in moves], abs=1e-12)


def test_expectimax_with_one_state_is_minimax() -> None:
    solver, plain = ExpectimaxSolver(MINI), MinimaxSolver(MINI, epsilon=EXPECTIMAX_EPSILON)
    for seed in range(10):
        state = State.new(seed, MINI)
        _, values = solver.move_values(state.row[None], np.ones(1), inferred=True)
        assert values.tolist() == pytest.approx(plain.move_values(state.row)[1].tolist(), abs=1e-12)


@pytest.mark.parametrize(("hands", "best"), [(["4 B", "3 6"], "B"), (["3 R", "4 5"], "R"), (["3 4 R", "5 6"], "4")])
def test_expectimax_breaks_ties_by_equation_1(hands: list[str], best: str) -> None:
    """Of moves of equal value, the one after which more of the others' moves are errors; it is not the first."""
    state = State.from_hands(hands, check_sizes=False, rules=MINI)
    decision = InformationSetExpectimaxAgent(solvers=SHARED).decide(state.view())
    values = decision.values.values()
    assert str(decision.move) == best
    assert sum(value > max(values) - 1e-5 for value in values) > 1


def family(solvers: SharedSolvers) -> list[ExactAgent]:
    return [
        CheatingMinimaxAgent(solvers),
        DeterminizedMinimaxAgent(solvers=solvers),
        InformationSetExpectimaxAgent(solvers=solvers),
        DeterminizedMinimaxAgent(solvers, "correct", "expectimax"),
        DeterminizedMinimaxAgent(solvers, "incorrect", "cheating-minimax"),
        InformationSetExpectimaxAgent(solvers, "correct", "determinized-minimax"),
    ]


def play(state: State, agents: Sequence[ExactAgent]) -> tuple[tuple[int, Move], ...]:
    while not state.is_over:
        state.step(agents[state.seat].act(agent_input(agents[state.seat], state)))  # raises if it is illegal
    return state.history


def test_agents_are_legal_and_deterministic_whatever_they_searched_before() -> None:
    used, fresh = family(SHARED), family(SharedSolvers(table_bits=18))
    games = [(0, 0, 2), (1, 3, 1), (0, 4, 5)]  # a deal, and who plays each seat
    first = {key: play(State.new(key[0], MINI), (used[key[1]], used[key[2]])) for key in games}
    again = {key: play(State.new(key[0], MINI), (fresh[key[1]], fresh[key[2]])) for key in reversed(games)}
    assert first == again


def would_play(model: ExactAgent, start: npt.NDArray[np.uint64], story: History, seat: int) -> bool:
    """Whether the model, in the seat's place from the first lead on, would have made all the moves of a story."""
    state = State(start.copy(), MINI)
    for mover, move in story:
        if move not in state.legal_moves():
            return False
        if mover == seat and model.act(agent_input(model, state)) != move:
            return False
        state.step(move)
    return True


@pytest.mark.parametrize("opponent", ["cheating-minimax", "determinized-minimax", "expectimax"])
@pytest.mark.parametrize("seat", [0, 1])
def test_correct_inference_keeps_exactly_the_deals_that_the_model_agrees_with(opponent: str, seat: int) -> None:
    agent = DeterminizedMinimaxAgent(SHARED, "correct", opponent)
    model = agent.model
    for deal in list_mini_deals()[11::4500]:
        state, hand = State(deal.row.copy(), MINI), deal.row[HANDS + seat]
        alike = [other for other in list_mini_deals() if other.row[HANDS + seat] == hand]
        while not state.is_over:
            mover = agent if state.seat == seat else model
            if state.seat == seat:
                story = tuple(state.history)
                kept = agent.states(state.view().row, story, MINI)
                expected = [other for other in alike if would_play(model, other.row, story, 1 - seat)]
                hands = [int(row[HANDS + 1 - seat]) for row in kept.rows]
                played = int(state.view().played(1 - seat).word)
                assert int(state.row[HANDS + 1 - seat]) in hands
                assert len(hands) == len(expected)
                shares = sorted(float(p) for p in kept.probabilities)
                mass = sum(other.probability for other in expected)
                assert shares == pytest.approx(sorted(other.probability / mass for other in expected))
                assert all(hand.bit_count() + played.bit_count() == 7 for hand in hands)
            state.step(mover.act(agent_input(mover, state)))


def test_a_move_that_no_remaining_state_allows_begins_anew() -> None:
    """The model strikes out the true state; when its cards appear, all deals that fit what was played come back."""
    agent = DeterminizedMinimaxAgent(SHARED, "incorrect", "expectimax")
    for deal in list_mini_deals()[::1500]:
        state = State(deal.row.copy(), MINI)
        rng = np.random.default_rng(deal.number)
        while not state.is_over:
            if state.seat == 0:
                kept = agent.states(state.view().row, tuple(state.history), MINI)
                assert 0 < len(kept) <= 66
                state.step(agent.act(state.view()))
            else:
                legal = state.legal_moves()
                state.step(legal[int(rng.integers(len(legal)))])


def test_named_errors() -> None:
    mini, large = State.new(1, MINI), State.new(1)
    for call, error, message in (
        (lambda: MinimaxSolver(MINI, node_limit=10).value(mini.row), SearchLimitError, "node_limit"),
        (lambda: DeterminizedMinimaxAgent().act(large.view()), SearchLimitError, "states"),
        (lambda: CheatingMinimaxAgent().act(State.new(1, "bidding")), NotSolvableError, "between two whole moves"),
        (lambda: MinimaxSolver(MINI, epsilon=0.5), NotSolvableError, "epsilon"),
        (lambda: ExpectimaxSolver(PRESETS["openspiel"]), NotSolvableError, "chain_from_quad"),
        (lambda: InformationSetExpectimaxAgent().act(mini.view(1)), IllegalMoveError, "turn"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_states_are_counted_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    views = [State.new(2, MINI).view(), State.from_hands(["2 6", "3", "6"], bottom="2", check_sizes=False).view(1)]
    for view in views:
        states = len(information_set(view.row, view.seat))
        enumerate_deals.cache_clear()
        with monkeypatch.context() as patched:
            patched.setattr("ddz_agents.open_cards.information_set.MAX_STATES", states - 1)
            with pytest.raises(SearchLimitError, match=f"has {states:,} states"):
                information_set(view.row, view.seat)


def test_a_view_without_its_history_is_refused() -> None:
    state = State.new(1, MINI)
    state.step(state.legal_moves()[0])
    state.step(state.legal_moves()[-1])
    view = state.view()
    bare = View(view.row, view.rules, view.rule_words, view.seat, (), view.ring)
    assert DeterminizedMinimaxAgent(solvers=SHARED).act(bare) in view.legal_moves()
    with pytest.raises(InconsistentViewError, match="history"):
        DeterminizedMinimaxAgent(SHARED, "correct").act(bare)


KINDS = {
    "cheating-minimax": CheatingMinimaxAgent,
    "determinized-minimax": DeterminizedMinimaxAgent,
    "expectimax": InformationSetExpectimaxAgent,
}


@pytest.mark.parametrize("name", KINDS)
def test_a_name_makes_the_agent_that_infers_nothing_and_refuses_the_full_game(name: str) -> None:
    agent: Any = make_agent(name)
    assert type(agent) is KINDS[name]
    assert getattr(agent, "model", None) is None
    agent.solvers = SharedSolvers(node_limit=10_000)  # the default needs 15 seconds to find out
    with pytest.raises(SearchLimitError, match=r"too (large|many)"):
        agent.act(agent_input(agent, State.new(seed=1)))


@pytest.mark.parametrize(
    ("options", "model"),
    [
        ("inference=correct", "InformationSetExpectimaxAgent()"),  # expectimax is the opponent unless it is named
        ("inference=correct,opponent=cheating-minimax", "CheatingMinimaxAgent"),
        ("inference=incorrect,opponent=cheating-minimax", "InformationSetExpectimaxAgent()"),
        ("inference=determinized-minimax", "DeterminizedMinimaxAgent()"),
        ("inference=rules", "rules"),
    ],
)
@pytest.mark.parametrize("name", ["determinized-minimax", "expectimax"])
def test_options_choose_whom_it_infers_from(name: str, options: str, model: str) -> None:
    agent = make_agent(f"{name}:{options}")
    assert agent.model.name == model  # type: ignore[attr-defined]
    assert model in agent.name
