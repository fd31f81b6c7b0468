"""``python_ddz``: our game in OpenSpiel, with its own tests, against our own game and against a brute force."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest

from ddz_agents.open_cards.information_set import enumerate_deals
from ddz_env.core.engine.layout import HIDDEN
from ddz_env.core.notation import Hand, Move
from ddz_env.core.observation import OBSERVATION, observe
from ddz_env.core.rules import PRESETS, Rules
from ddz_env.core.state import State
from ddz_env.core.view import View
from ddz_env.peers.openspiel.dealing import PartialDeal
from ddz_env.peers.openspiel.game import DouDizhuGame, DouDizhuState, rules_from_text
from ddz_env.peers.openspiel.observers import max_answers
from ddz_env.peers.openspiel.policies import Situation, estimate_tabular_policy, list_information_states
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError, InvalidOptionError, InvalidRulesError

TINY = "micro,hand_size=2"
"""Micro with two cards each: small enough to be solved in a test."""
LONG = pytest.mark.long
HISTORIES = 14_860
"""Histories of micro: 87 of chance, 139 deals and what follows them."""

PRIVATE = pyspiel.IIGObservationType(perfect_recall=True, public_info=False)


def load(rules: str) -> DouDizhuGame:
    game: DouDizhuGame = pyspiel.load_game("python_ddz", {"rules": rules})
    return game


def deals_of(rules: Rules) -> Iterator[tuple[PartialDeal, float]]:
    waiting = [(PartialDeal.start(rules), 1.0)]
    while waiting:
        deal, probability = waiting.pop()
        if deal.is_done:
            yield deal, probability
        else:
            waiting += [(deal.apply_chance_action(action), probability * share) for action, share in deal.outcomes]


def random_states(game: DouDizhuGame, seed: int) -> Iterator[DouDizhuState]:
    """The states of a random game after the deal, the last one included."""
    rng, state = np.random.default_rng(seed), game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            actions, probabilities = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(actions, p=probabilities)))
        else:
            yield state
            state.apply_action(int(rng.choice(state.legal_actions())))
    yield state


@pytest.mark.parametrize(
    ("rules", "scoring", "games"),
    [
        *((rules, "", 1) for rules in ("micro", "mini", "standard", "bidding,doubling=true")),
        *(
            pytest.param(rules, scoring, 10, marks=LONG)
            for rules, scoring in itertools.product(PRESETS, ("win", "stake", "botzone"))
            if not PRESETS[rules].half_deck
        ),
    ],
)
def test_openspiel_s_own_test_of_games(rules: str, scoring: str, games: int) -> None:
    game = pyspiel.load_game("python_ddz", {"rules": rules, "scoring": scoring})
    pyspiel.random_sim_test(game, num_sims=games, serialize=True, verbose=False)


@pytest.mark.parametrize("rules", ["standard", "bidding", "robbing,showing=true", "douzero", "mini"])
def test_a_game_is_the_same_game_of_ours(rules: str) -> None:
    game, ours = load(rules), None
    for state in random_states(game, seed=4):
        assert state.game is not None
        if ours is None:
            hands, players = state.deal.hands(), game.rules.players
            bottom = hands[players] if game.rules.bottom else ""
            openers = (State.from_hands(hands[:players], bottom, game.rules, seed=seed) for seed in itertools.count())
            ours = next(opened for opened in openers if opened.seat == state.game.seat)
        else:
            ours.step_action(state.history()[-1])
        assert state.is_terminal() == ours.is_over
        assert state.legal_actions() == ours.legal_actions()
        assert state.is_terminal() or state.current_player() == ours.seat
        assert state.returns() == list(ours.returns())
    assert ours is not None
    assert ours.is_over


@pytest.mark.parametrize(("rules", "number"), [("micro", 139), pytest.param("mini", 8_832, marks=LONG)])
def test_chance_deals_every_deal_once_with_its_probability(rules: str, number: int) -> None:
    preset = PRESETS[rules]
    exact = dict(enumerate_deals(preset.deck, (preset.hand_size, preset.hand_size)))
    dealt = {(deal.hands()[0].word, deal.hands()[1].word): probability for deal, probability in deals_of(preset)}
    assert len(dealt) == number
    total = sum(exact.values())
    assert dealt == pytest.approx({hands: ways / total for hands, ways in exact.items()})


@pytest.mark.parametrize("bidding", ["fixed", "once", "until-passed", "robbing"])
def test_the_longest_auction_has_as_many_bids_as_the_tensor_has_places(bidding: str) -> None:
    longest, waiting = 0, [State.new(0, Rules.preset("bidding", bidding=bidding, all_decline="end"))]
    while waiting:
        state = waiting.pop()
        if state.stage == "bid":
            waiting += [after(state, action) for action in state.legal_actions()]
        else:
            longest = max(longest, len(state.history))
    assert longest == max_answers(state.rules)


def test_the_parameters_are_kept() -> None:
    game = pyspiel.load_game("python_ddz", {"rules": "bidding,doubling=true", "scoring": "win"})
    for same in (game, pickle.loads(pickle.dumps(game)), pyspiel.load_game(str(game))):
        assert same.rules == Rules.preset("bidding,doubling=true").replace(scoring="win", all_decline="end")
    assert pyspiel.load_game("python_ddz").rules == PRESETS["standard"]
    assert load("botzone").get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM
    assert load("bidding").get_type().utility == pyspiel.GameType.Utility.ZERO_SUM


@pytest.mark.parametrize(
    ("do", "error"),
    [
        *(
            (functools.partial(rules_from_text, rules), InvalidRulesError)
            for rules in ("minni", "standard,unshuffled=true")
        ),
        (lambda: DouDizhuGame({"rules": "half-deck"}), InvalidRulesError),
        (lambda: load("mini").make_py_observer(PRIVATE), InvalidRulesError),
        (lambda: next(random_states(load("mini"), 0)).apply_action(0), IllegalMoveError),
        (lambda: estimate_tabular_policy({}, make_agent("cheating-minimax")), InvalidOptionError),
        (lambda: estimate_tabular_policy({}, make_agent("random"), samples=0), InvalidOptionError),
    ],
)
def test_what_cannot_be_is_refused(do: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        do()


def walk(game: DouDizhuGame) -> list[DouDizhuState]:
    states, waiting = [], [game.new_initial_state()]
    while waiting:
        states.append(state := waiting.pop())
        waiting += [state.child(action) for action in state.legal_actions()]
    return states


@pytest.mark.parametrize(
    ("rules", "histories", "information_states"),
    [(TINY, 1_319, 174), pytest.param("micro", HISTORIES, 3_247, marks=LONG)],
)
def test_an_information_state_is_the_hand_and_the_moves(rules: str, histories: int, information_states: int) -> None:
    """Of all histories: equal strings where hand and moves are equal, and nowhere else."""
    told: dict[str, set[Any]] = defaultdict(set)
    known: dict[Any, set[str]] = defaultdict(set)
    states = walk(load(rules))
    for state in states:
        if state.current_player() >= 0:
            player = state.current_player()
            moves = tuple(pair.action for pair in state.full_history() if pair.player >= 0)
            knowledge = player, state.deal.hands()[player], moves
            told[state.information_state_string()].add(knowledge)
            known[knowledge].add(state.information_state_string())
    assert len(states) == histories
    assert len(told) == len(known) == information_states
    assert max(map(len, told.values())) == max(map(len, known.values())) == 1


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini", "perfect"])
def test_other_deals_that_a_player_cannot_tell_apart(rules: str) -> None:
    """Resampled states look the same to the player, and differ in what it does not see."""
    rng, different = np.random.default_rng(1), 0
    for number, state in enumerate(random_states(load(rules), seed=2)):
        if state.is_terminal() or number % 7 or "..." in str(state):  # a half-built move is not in sight
            continue
        for player in range(state.num_players()):
            twin = state.resample_from_infostate(player, rng.random)
            assert twin.information_state_string(player) == state.information_state_string(player)
            assert twin.information_state_tensor(player) == state.information_state_tensor(player)
            assert twin.observation_tensor(player) == state.observation_tensor(player)
            if player == state.current_player():
                assert twin.legal_actions() == state.legal_actions()
            different += str(twin) != str(state)
    assert (different == 0) == (rules == "perfect")


def test_resampling_is_uniform_over_cards() -> None:
    """The second hand of micro holds each unseen rank as often as its number of cards says."""
    state, rng = next(random_states(load("micro"), seed=0)), np.random.default_rng(3)
    assert state.game is not None
    pool = Hand.from_word(int(state.game.view(0).row[HIDDEN])).counts
    number, seen = 300, np.zeros(15)
    for _ in range(number):
        twin = state.resample_from_infostate(0, rng.random)
        assert twin.game is not None
        seen += twin.game.hand(1).counts
    expected = np.array(pool) / sum(pool) * 3
    assert abs(seen / number - expected).max() < 5 * (0.7 / number) ** 0.5


def test_half_a_move_is_seen_by_its_player_alone() -> None:
    for seed in range(20):
        before: list[str] = []
        for state in random_states(load("standard"), seed):
            assert state.game is not None
            strings = [state.information_state_string(player) for player in range(3)]
            if state.game.stage == "kicker" and before:
                changed = [player for player in range(3) if strings[player] != before[player]]
                assert changed == [state.current_player()]
                return
            before = strings
    pytest.fail("no move with kickers was played")


def test_observations_are_those_of_the_environments() -> None:
    for state in random_states(load("standard"), seed=5):
        for player in range(3):
            scaled = np.array(state.observation_tensor(player), np.float32) * np.maximum(OBSERVATION.high, 1)
            assert scaled.round().tolist() == observe(state.game, player).tolist()


def best_response(items: Sequence[tuple[State, float]], player: int) -> float:
    """What a player wins who answers uniform play as well as possible, from states that look alike to him."""
    state = items[0][0]
    if state.is_over:
        return sum(weight * state.returns()[player] for state, weight in items)
    if state.seat == player:
        return max(best_response([(after(s, a), w) for s, w in items], player) for a in state.legal_actions())
    legal = {action for state, _ in items for action in state.legal_actions()}
    replies = (
        [(after(s, a), w / len(s.legal_actions())) for s, w in items if a in s.legal_actions()] for a in sorted(legal)
    )
    return sum(best_response(left, player) for left in replies)


def after(state: State, action: int) -> State:
    twin = state.copy()
    twin.step_action(action)
    return twin


def test_the_exploitability_of_uniform_play_is_that_of_a_brute_force() -> None:
    game = load(TINY)
    tree = pyspiel.convert_to_cached_tree(game)
    won = 0.0
    for player in (0, 1):
        by_hand = defaultdict(list)
        for deal, probability in deals_of(game.rules):
            hands = deal.hands()
            by_hand[hands[player]].append((State.from_hands(hands[:2], rules=game.rules), probability))
        won += sum(best_response(items, player) for items in by_hand.values())
    assert pyspiel.nash_conv(tree, pyspiel.UniformRandomPolicy(tree), True) == pytest.approx(won)


@pytest.mark.parametrize(
    ("rules", "iterations", "most"), [(TINY, 30, 0.01), pytest.param("micro", 200, 2e-4, marks=LONG)]
)
def test_cfr_converges(rules: str, iterations: int, most: float) -> None:
    tree = pyspiel.convert_to_cached_tree(load(rules))
    solver = pyspiel.CFRPlusSolver(tree)
    assert pyspiel.nash_conv(tree, solver.average_policy(), True) > 0.5
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    assert pyspiel.nash_conv(tree, solver.average_policy(), True) < most
    if rules == "micro":
        value, _ = pyspiel.expected_returns(tree.new_initial_state(), solver.average_policy(), -1, False)
        assert value == pytest.approx(0.475, abs=1e-4)


@pytest.mark.parametrize("name", ["rules", "expectimax"])
def test_the_table_of_an_agent_plays_as_the_agent(name: str) -> None:
    """Its return against random play as player 1, over all deals: by OpenSpiel and by walking through our game."""
    game, agent = load(TINY), make_agent(name)
    situations = list_information_states(game)
    table = estimate_tabular_policy(situations, agent, samples=2)
    assert set(table.policy_table()) == set(situations)
    uniform = pyspiel.UniformRandomPolicy(game)
    expected = pyspiel.expected_returns(game.new_initial_state(), [table, uniform], -1, False)[0]

    def value(state: State) -> float:
        if state.is_over:
            return state.returns()[0]
        moves = [agent.act(state.view(), np.random.default_rng(0))] if state.seat == 0 else state.legal_moves()
        return float(np.mean([value(after(state, move.main)) for move in moves]))

    ours = sum(
        probability * value(State.from_hands(deal.hands()[:2], rules=game.rules))
        for deal, probability in deals_of(game.rules)
    )
    assert expected == pytest.approx(ours)


class Choosing:
    """Plays the first two of some moves in the ratio of one to two."""

    name, cheats = "choosing", False

    def __init__(self, moves: Sequence[Move]) -> None:
        self._moves = itertools.cycle((moves[0], moves[1], moves[1]))

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return next(self._moves)


def test_kickers_have_their_share_among_the_moves_with_the_same_body() -> None:
    states = (next(random_states(load("standard"), seed)) for seed in itertools.count())
    legal = ((state, state.game.legal_moves()) for state in states if state.game is not None)
    trios = ((state, [move for move in moves if move.category == "trio+solo"]) for state, moves in legal)
    state, moves = next((state, moves[:2]) for state, moves in trios if moves)
    kickers = state.child(moves[0].main)
    assert moves[0].main == moves[1].main
    before = state.information_state_string(), moves[0].main
    situations = {before[0]: Situation(state, None), kickers.information_state_string(): Situation(kickers, before)}
    table = estimate_tabular_policy(situations, Choosing(moves), samples=3).policy_table()
    assert {action: share for action, share in table[before[0]] if share} == {moves[0].main: 1}
    told = {action: share for action, share in table[kickers.information_state_string()] if share}
    assert told == pytest.approx({moves[0].actions[1]: 1 / 3, moves[1].actions[1]: 2 / 3})


def test_openspiel_s_environment_for_learners() -> None:
    rl_environment = pytest.importorskip("open_spiel.python.rl_environment")
    environment = rl_environment.Environment(load("bidding"))
    rng, step = np.random.default_rng(0), environment.reset()
    while not step.last():
        player = step.observations["current_player"]
        assert len(step.observations["info_state"][player]) == environment.observation_spec()["info_state"][0]
        step = environment.step([int(rng.choice(step.observations["legal_actions"][player]))])
    assert sum(step.rewards) == 0
