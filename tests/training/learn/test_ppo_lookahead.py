"""Looking one action ahead: the candidates, what they lead to, and how much better than their mean they are."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter

import numpy as np
import pytest

from ddz_agents.rules.agent import RulesAgent
from ddz_env import Rules, State
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import CONCEALED, CONCEALED_WORDS, OBSERVATION, observe, write_concealed
from ddz_training.learn.ppo.kernels import NONE, Candidates, add_probes, pick_candidates
from ddz_training.learn.ppo.lookahead import Positions, look_ahead, successor_values
from ddz_training.learn.threads import Threads

AUCTION = dataclasses.replace(Rules.preset("bidding"), doubling=True)
ROOM = 4


def random_policies(seed: int, rows: int = 200) -> np.ndarray:
    """Logarithms of probabilities: some policies sure of themselves, some not, over one legal action to forty."""
    rng = np.random.default_rng(seed)
    found = np.full((rows, NUM_ACTIONS), -np.inf, np.float32)
    for row in found:
        legal = rng.choice(NUM_ACTIONS, rng.integers(1, 41), replace=False)
        weights = np.exp(rng.normal(size=len(legal)) * rng.choice([0.1, 1.0, 4.0]))
        row[legal] = np.log(weights / weights.sum())
    return found


def picked(policies: np.ndarray, least: float, room: int = ROOM) -> Candidates:
    """Candidates in arrays that held something else before."""
    found = Candidates.allocate(len(policies), room)
    found.actions[:], found.probabilities[:] = 7, 0.5
    pick_candidates(policies, least, found.actions, found.probabilities)
    return found


@pytest.mark.parametrize("least", [1e-6, 0.01, 0.1, 0.4, 0.6, 1.0])
@pytest.mark.parametrize("room", [1, 2, 4, 50])
def test_candidates_are_the_likeliest_actions_that_are_likely_enough_if_there_are_two(least: float, room: int) -> None:
    policies = random_policies(0)
    found = picked(policies, least, room)
    for policy, actions, probabilities in zip(policies, found.actions, found.probabilities, strict=True):
        order = np.argsort(-policy)
        likely = [action for action in order.tolist() if policy[action] >= np.log(least)][:room]
        expected = likely if len(likely) > 1 else []
        assert actions.tolist() == expected + [NONE] * (room - len(expected))
        np.testing.assert_allclose(probabilities[: len(expected)], np.exp(policy[expected]), rtol=1e-6)
        assert (probabilities[len(expected) :] == 0).all()
    assert (found.actions != NONE).any() == (room > 1 and least <= 0.5)


def test_an_action_whose_probability_rounds_to_zero_is_no_candidate() -> None:
    """Its ratio would be a division by zero, however small a probability the settings ask for."""
    policies = np.full((1, NUM_ACTIONS), -np.inf, np.float32)
    policies[0, :3] = np.log(0.5), np.log(0.5), -200.0
    found = picked(policies, 1e-100)
    assert sorted(found.actions[0].tolist()) == [NONE, NONE, 0, 1]


def test_a_probe_is_any_other_legal_action_behind_the_candidates_or_behind_the_likeliest() -> None:
    policies = random_policies(3, rows=400)
    wanted, seen = np.arange(len(policies)) % 4 > 0, Counter[str]()
    for seed in range(20):
        found = Candidates.allocate(len(policies), ROOM + 1)
        pick_candidates(policies, 0.1, found.actions[:, :ROOM], found.probabilities[:, :ROOM])
        before = copy.deepcopy(found)
        draws = np.random.default_rng(seed).random(len(policies))
        add_probes(policies, draws, wanted, found.actions, found.probabilities)
        for row, policy in enumerate(policies):
            legal = np.flatnonzero(policy > -np.inf)
            known = [action for action in before.actions[row].tolist() if action != NONE]
            now = [action for action in found.actions[row].tolist() if action != NONE]
            first = known or [int(policy.argmax())]
            if not wanted[row] or len(legal) == len(first):
                seen["none"] += 1
                assert now == known
                continue
            seen["settled" if not known else "contested"] += 1
            assert now[:-1] == first
            assert now[-1] in set(legal.tolist()) - set(first)
            np.testing.assert_allclose(found.probabilities[row, : len(now)], np.exp(policy[now]), rtol=1e-6)
            assert (found.probabilities[row, len(now) :] == 0).all()
    assert min(seen.values()) > 100
    assert len(seen) == 3


def test_every_other_action_is_probed_alike() -> None:
    policies = np.full((3000, NUM_ACTIONS), -np.inf, np.float32)
    policies[:, [3, 50, 70, 399]] = np.log([0.97, 0.01, 0.015, 0.005])
    found = Candidates.allocate(len(policies), 2)
    draws = np.random.default_rng(0).random(len(policies))
    add_probes(policies, draws, np.ones(len(policies), np.bool_), found.actions, found.probabilities)
    assert (found.actions[:, 0] == 3).all()
    counts = Counter(found.actions[:, 1].tolist())
    assert set(counts) == {50, 70, 399}
    assert all(count == pytest.approx(1000, abs=130) for count in counts.values())


LASTING = [one for one in OBSERVATION.features if not one.name.startswith(("move_", "actor_", "last_"))]
"""What an observation says of a position however it came about: all but the recent moves."""
READABLE = np.concatenate([np.arange(feature.size) + OBSERVATION.offsets[feature.name] for feature in LASTING])
WEIGHTS = np.random.default_rng(0).integers(1, 10_000, len(READABLE) + CONCEALED.size)


def fake_critic(observations: np.ndarray, concealed: np.ndarray, against_rules: np.ndarray) -> np.ndarray:
    """A number between -1 and 1 that any byte changes, and who plays."""
    seen = np.concatenate([observations[:, READABLE], concealed], axis=1).astype(np.int64)
    return (((seen @ WEIGHTS + 777 * against_rules) % 2001 - 1000) / 1000).astype(np.float32)


def concealed_of(state: State) -> np.ndarray:
    words = np.empty(CONCEALED_WORDS, np.uint64)
    write_concealed(state.row, state.rule_words, np.uint64(state.seat), words)
    return words.view(np.int8)


def on_one_side(state: State, one: int, other: int) -> bool:
    return one == other or "landlord" not in (state.role(one), state.role(other))


def worth(state: State, action: int, objective: str, seen: Counter[str], *, against_rules: bool = False) -> float:
    """What an action leads to, by stepping a state; counts what happened on the way."""
    if state.role() is None:
        seen["auction"] += 1
        return 0.0
    decider, after = state.seat, state.copy()
    after.step_action(action)
    rules_agent, rng = RulesAgent(), np.random.default_rng(0)
    while not after.is_over:
        if against_rules and not on_one_side(after, decider, after.seat):
            seen["reply"] += 1
            after.step(rules_agent.act(after.view(after.seat), rng))
        elif len(after.legal_actions()) == 1:
            seen["forced"] += 1
            after.step_action(after.legal_actions()[0])
        else:
            break
    if after.is_over:
        seen["won" if on_one_side(after, decider, after.winner or 0) else "lost"] += 1
        returns = after.returns(objective)
        landlord = next(seat for seat in range(after.rules.players) if after.role(seat) == "landlord")
        share = returns[landlord] / (after.rules.players - 1 if objective == "stake" else 1)
        return share if decider == landlord else -share
    seen[after.stage] += 1
    friend = on_one_side(after, decider, after.seat)
    seen["self" if decider == after.seat else "partner" if friend else "enemy"] += 1
    value = float(fake_critic(observe(after)[None], concealed_of(after)[None], np.array([against_rules]))[0])
    return value if friend else -value


def decisions(rules: str | Rules, games: int) -> tuple[list[State], np.ndarray]:
    """The decisions of random games, and for each up to ``ROOM`` random legal actions as candidates."""
    rng, states, candidates = np.random.default_rng(1), list[State](), list[list[int]]()
    for game in range(games):
        state = State.new(2, rules, game)
        while not state.is_over:
            legal = state.legal_actions()
            if len(legal) > 1:
                states.append(state.copy())
                chosen = rng.permutation(legal)[: rng.integers(2, ROOM + 1)].tolist()
                candidates.append(chosen + [NONE] * (ROOM - len(chosen)))
            state.step_action(int(rng.choice(legal)))
    return states, np.array(candidates, np.int16)


def positions(states: list[State]) -> Positions:
    """Games at decisions; the rule agent plays in half of them."""
    rows, seen = np.stack([state.row for state in states]), np.stack([observe(state) for state in states])
    return Positions(rows, seen, np.arange(len(states)) % 2 == 0)


@pytest.mark.parametrize("objective", ["win", "stake"])
@pytest.mark.parametrize("rules", ["standard", "rlcard", "mini", "perfect", "auction"])
def test_a_candidate_is_worth_what_the_critic_says_of_the_next_decision(rules: str, objective: str) -> None:
    """To the side that decides now; and what the game brings where no decision follows.

    Half the games are against the rule agent, whose replies are played before the critic is asked: there the next
    decision is one of the decider's own side.
    """
    preset = AUCTION if rules == "auction" else Rules.preset(rules)
    states, candidates = decisions(preset, 30)
    games = positions(states)
    before = games.rows.copy()
    found = successor_values(games, candidates, preset, objective, fake_critic)
    assert (found.shape, found.dtype) == (candidates.shape, np.float32)
    assert (games.rows == before).all()
    seen = {True: Counter[str](), False: Counter[str]()}
    for state, actions, told, values in zip(states, candidates, games.against_rules.tolist(), found, strict=True):
        expected = [
            0.0 if action == NONE else worth(state, int(action), objective, seen[told], against_rules=told)
            for action in actions
        ]
        assert values.tolist() == pytest.approx(expected, abs=1e-6)
    happened = {"won", "play"} | (set() if rules == "mini" else {"lost", "self", "partner", "kicker"})
    auction = {"auction", "double"} if rules == "auction" else set()
    assert happened | auction | {"forced", "enemy"} <= seen[False].keys(), seen
    assert happened | {"lost", "self", "reply"} <= seen[True].keys(), seen
    assert "enemy" not in seen[True]


def test_where_there_is_nothing_to_ask_the_critic_is_not_asked() -> None:
    def critic(observations: np.ndarray, concealed: np.ndarray, against_rules: np.ndarray) -> np.ndarray:
        raise AssertionError

    state = State.from_hands(["34", "55667", "8899T"], check_sizes=False)
    for move in ("3", "pass", "pass"):
        state.step(move)
    for action, value in ((state.legal_actions()[0], 1.0), (NONE, 0.0)):
        candidates = np.array([[action, NONE]], np.int16)
        assert successor_values(positions([state]), candidates, state.rules, "win", critic).tolist() == [[value, 0.0]]


def considered(actions: np.ndarray) -> Candidates:
    """Candidates with random probabilities; every third decision has none."""
    rng = np.random.default_rng(2)
    found = Candidates.allocate(*actions.shape)
    contested = np.arange(len(actions)) % 3 > 0
    found.actions[contested] = actions[contested]
    found.probabilities[:] = np.where(found.actions == NONE, 0.0, rng.uniform(0.05, 0.25, actions.shape))
    return found


def looked_ahead(games: Positions, actions: np.ndarray, rules: Rules, threads: int = 1) -> Candidates:
    candidates, workers = considered(actions), Threads(threads)
    look_ahead(games, candidates, rules, "win", fake_critic, workers)
    workers.close()
    return candidates


def test_advantages_have_mean_zero_at_every_decision_and_deviation_one_over_all() -> None:
    states, actions = decisions("standard", 40)
    games = positions(states)
    candidates = looked_ahead(games, actions, Rules())
    weights, advantages = candidates.probabilities.astype(np.float64), candidates.advantages.astype(np.float64)
    assert (advantages[candidates.actions == NONE] == 0).all()
    np.testing.assert_allclose((weights * advantages).sum(1), 0, atol=1e-6)
    assert (weights * advantages**2).sum() / weights.sum() == pytest.approx(1, abs=1e-5)
    # What separates two candidates of a decision is what they are worth, in the one unit of all decisions.
    values = successor_values(games, candidates.actions, Rules(), "win", fake_critic)
    both = (candidates.actions[:, :2] != NONE).all(1)
    gaps, worths = np.diff(advantages[both, :2]), np.diff(values[both, :2])
    np.testing.assert_allclose(gaps, worths * (gaps.std() / worths.std()), atol=1e-5)


def test_advantages_do_not_depend_on_the_threads() -> None:
    states, actions = decisions("standard", 40)
    games, every = positions(states * 3), np.tile(actions, (3, 1))  # more than a shard
    assert len(every) > 3000
    one, two = (looked_ahead(games, every, Rules(), threads).advantages for threads in (1, 2))
    assert one.any()
    assert one.tobytes() == two.tobytes()


def test_before_there_is_a_landlord_nothing_is_foreseen_and_the_candidates_are_dropped() -> None:
    """What is foreseen counts instead of what the game brought, which is all that is known of a bid."""
    states, actions = decisions(AUCTION, 20)
    before, candidates = considered(actions), looked_ahead(positions(states), actions, AUCTION)
    bids = np.array([state.role() is None for state in states])
    assert (before.actions[bids] != NONE).any()
    assert (candidates.actions[bids] == NONE).all()
    assert (candidates.probabilities[bids] == 0).all()
    assert (candidates.advantages[bids] == 0).all()
    assert (candidates.actions[~bids] == before.actions[~bids]).all()
    assert (candidates.probabilities[~bids] == before.probabilities[~bids]).all()
    assert candidates.advantages[~bids].any()
