"""Neural search: the tree, the batches, and the calls of the networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.model import Bytes, Floats, LeafValue, PolicyModel
from ddz_agents.neural.weights import Weights, save_weights
from ddz_agents.neural_search.agent import ModelSearchAgent, ModelSearchOptions, NeuralSearchAgent, NeuralSearchOptions
from ddz_agents.neural_search.beliefs import Beliefs
from ddz_agents.neural_search.priors import PolicyPrior
from ddz_agents.neural_search.search import Search, SearchOptions
from ddz_agents.neural_search.values import PolicyValue, random_playouts
from ddz_agents.tree_search.tree import ROOT, Tree, children
from ddz_agents.worlds.determinize import WorldPool, uniform_pool
from ddz_agents.worlds.inference import infer_if_possible
from ddz_agents.worlds.learned_player import LearnedPlayer
from ddz_env import Move, State, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import HANDS, SEAT
from ddz_env.core.observation import OBSERVATION, OBSERVATION_WORDS, action_mask, observe, write_observation
from ddz_env.core.view import list_legal_actions
from ddz_env.playing.agent import Agent
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError
from tests.agents.neural.test_networks import small_networks
from tests.oracles import figure_two
from tests.oracles.figure_two import records, statistics_of
from tests.oracles.network_policy import NetworkPolicy

_ROLE = OBSERVATION.offsets["role"]


class Uniform:
    """A policy without opinions, and a critic that always sees the same side win.

    Attributes:
        sizes: The number of leaves of each call.
    """

    leaf: LeafValue = "value"

    def __init__(self, landlord: float = 0.0) -> None:
        self.landlord = landlord
        self.sizes: list[int] = []

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.sizes.append(len(masks))
        with np.errstate(divide="ignore"):
            priors = np.log(masks / masks.sum(axis=1, keepdims=True, dtype=np.float32))
        is_landlord = observations[:, _ROLE] == 1
        return priors.astype(np.float32), np.where(is_landlord, self.landlord, -self.landlord).astype(np.float32)


class Prefers(Uniform):
    def __init__(self, actions: set[int], weight: float = 20.0) -> None:
        super().__init__()
        self.actions, self.weight = actions, weight

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        _, values = super().evaluate(observations, masks)
        weights = np.where(np.isin(np.arange(400), list(self.actions)), self.weight, 1.0) * masks
        with np.errstate(divide="ignore"):
            return np.log(weights / weights.sum(axis=1, keepdims=True)).astype(np.float32), values


def after(state: State, moves: int) -> State:
    """The last decision with a choice within a number of random moves."""
    rng, found = np.random.default_rng(moves), state.copy()
    for _ in range(moves):
        legal = state.legal_moves()
        state.step(legal[int(rng.integers(len(legal)))])
        if state.stage == "over":
            break
        if len(state.legal_moves()) > 1:
            found = state.copy()
    return found


def searching(
    model: PolicyModel,
    *,
    trees: int = 1,
    leaf: LeafValue = "value",
    batch: int = 1,
    steps: int = 4,
    exploration: float = 1.0,
    players: Mapping[int, Agent] | None = None,
) -> Search:
    """A search with a policy, in uniform worlds."""
    value = random_playouts if leaf == "playout" else PolicyValue(model, leaf, steps)
    options = SearchOptions(trees=trees, batch=batch, exploration=exploration)
    return Search(lambda view, rng: uniform_pool(), PolicyPrior(model), value, players, options)


def firsts_of(view: View, count: int) -> np.ndarray:
    """The root's moves in turn, ``count`` of them."""
    legal = np.array(list_legal_actions(view.row, view.rule_words), np.int16)
    return np.resize(legal, count)


def grow(view: View, model: PolicyModel, iterations: int, seed: int, *, batch: int = 1, **how: Any) -> Tree:
    """A tree whose root's moves take turns."""
    search, rng = searching(model, batch=batch, **how), np.random.default_rng(seed)
    search.begin(view, rng)
    for part in np.split(firsts_of(view, iterations), iterations // batch):
        search.iterate(part, rng)
    return search.parallel.trees[0]


def upper(found: figure_two.Statistics, levels: int) -> figure_two.Statistics:
    """Visits and rewards of the visited nodes in the first levels below the root."""
    return {path: numbers for path, numbers in found.items() if numbers[0] and 0 < len(path) <= levels}


class Distinct(Uniform):
    """Priors of which no two in a row are alike, and values that depend on what is seen."""

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        weights = (1 + (np.arange(400) * 7919) % 401) * masks
        with np.errstate(divide="ignore"):
            logs = np.log((weights / weights.sum(axis=1, keepdims=True)).astype(np.float32))
        return logs, np.sin(observations @ np.arange(observations.shape[1])).astype(np.float32)


class Node:
    """A node of the plain search: prior, visits and reward by action, and the nodes below."""

    def __init__(self, state: State, model: PolicyModel) -> None:
        logs, values = model.evaluate(observe(state)[None], action_mask(state)[None])
        legal = state.legal_actions()
        steps = np.round(np.exp(logs[0, legal]) * np.float32(len(legal)) * 4096) / 4096
        self.priors = dict(zip(legal, steps.tolist(), strict=True))
        self.visits, self.rewards = dict.fromkeys(legal, 0), dict.fromkeys(legal, 0.0)
        self.below: dict[int, Node] = {}
        self.landlord_chance = (1 + float(values[0]) * (1 if state.role() == "landlord" else -1)) / 2

    def select(self, exploration: float) -> int:
        """PUCT, in which moves without visits have the mean reward of all; at first the move with the highest prior."""
        visits = sum(self.visits.values())
        if not visits:
            return max(self.priors, key=self.priors.__getitem__)
        mean, scale = sum(self.rewards.values()) / visits, exploration * visits**0.5 / sum(self.priors.values())
        values = {
            action: (self.rewards[action] / count if (count := self.visits[action]) else mean)
            + scale * prior / (1 + count)
            for action, prior in self.priors.items()
        }
        return max(values, key=values.__getitem__)


def plain_search(state: State, model: PolicyModel, firsts: np.ndarray, exploration: float) -> Node:
    """The same search in plain Python, for a game without hidden cards: one descent at a time, nothing played on."""
    root = Node(state, model)
    for first in firsts.tolist():
        game, node, path = state.copy(), root, list[tuple[Node, int, bool]]()
        action = first
        while True:
            path.append((node, action, game.role() == "landlord"))
            node.visits[action] += 1
            game.step_action(action)
            if game.is_over:
                chance = float(game.winner == "landlord")
                break
            if action not in node.below:
                node.below[action] = Node(game, model)
                if len(game.legal_actions()) > 1:
                    chance = node.below[action].landlord_chance
                    break
            node = node.below[action]
            action = node.select(exploration)
        for above, taken, is_landlord in path:
            above.rewards[taken] += chance if is_landlord else 1 - chance
    return root


@pytest.mark.parametrize(("seed", "exploration"), [(0, 1.0), (1, 1.0), (2, 0.25), (3, 4.0)])
@pytest.mark.parametrize("moves", [0, 5, 12])
def test_where_nothing_is_hidden_it_is_the_plain_search(seed: int, exploration: float, moves: int) -> None:
    """Number for number, down to the third level."""
    state, model = after(State.new(seed, rules="perfect"), moves), Distinct()
    root = plain_search(state, model, firsts_of(state.view(), 600), exploration)
    tree = grow(state.view(), model, 600, seed, steps=0, exploration=exploration)
    expected, level = dict[tuple[int, ...], tuple[int, float]](), {(): root}
    for _ in range(3):
        for path, node in level.items():
            expected |= {(*path, a): (count, node.rewards[a]) for a, count in node.visits.items() if count}
        level = {(*path, a): below for path, node in level.items() for a, below in node.below.items()}
    found = upper(statistics_of(tree), 3)
    assert {path: visits for path, (visits, _) in found.items()} == {
        path: visits for path, (visits, _) in expected.items()
    }
    for path, (_, reward) in found.items():
        assert reward == pytest.approx(expected[path][1], abs=1e-3)


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("leaf", ["playout", "value"])
def test_visits_add_up_whatever_is_in_flight(batch: int, leaf: LeafValue) -> None:
    """After the last wave no virtual loss is left: rewards lie between nothing and all."""
    for seed in range(5):
        tree = grow(State.new(seed).view(), Uniform(0.5), 480, seed, leaf=leaf, batch=batch)
        assert tree.visits[ROOT] == 480
        for node in records(tree).values():
            block = children(tree, node)
            assert tree.visits[block].sum() <= tree.visits[node]
            assert (tree.reward[block] >= -1e-3).all()
            assert (tree.reward[block] <= tree.visits[block] + 1e-3).all()
            assert len(set(tree.action[block].tolist())) == tree.used[node]
        assert tree.visits[children(tree)].sum() == 480


def test_the_prior_guides_main_groups_and_kickers() -> None:
    state = State.from_hands(["33345689TJK2", "44556677", "8899TTJJ"], check_sizes=False)
    main = next(group.id for group in MAIN_GROUPS if group.name.startswith("trio+solo 333"))
    kicker = KICKER_BASE + 10  # the king
    model, view = Prefers({main, kicker}), state.view()
    assert ModelSearchAgent(model, ModelSearchOptions(600)).act(view, np.random.default_rng(0)) == Move(main, (10,))
    # A visit or two never reach the kickers: there the prior chooses alone.
    few = ModelSearchAgent(model, ModelSearchOptions(1, trees=1, batch=1))
    assert few.act(view, np.random.default_rng(0)) == Move(main, (10,))


def test_leaves_are_described_with_the_moves_that_led_there() -> None:
    """The policy that plays on from a leaf sees what it would see at the table."""
    state = State.new(6)
    for _ in range(3):
        state.step(state.legal_moves()[-1])
    search, rng = searching(Uniform(), trees=2, batch=8), np.random.default_rng(0)
    search.begin(state.view(), rng)
    for part in np.split(firsts_of(state.view(), 48), 6):
        search.iterate(part, rng)
    descents, seen = search.parallel.descents, np.zeros(OBSERVATION_WORDS, np.uint64)
    games = descents.games
    waiting = np.flatnonzero(games.waits)
    assert len(waiting)
    assert max(descents.depth[waiting]) > 1
    for index in waiting:
        row = games.rows[index]
        write_observation(row, games.rings[index], state.rule_words, row[SEAT], seen)
        assert seen.tobytes() == games.observations[index].tobytes()


def test_a_settled_move_is_played_at_once() -> None:
    """Where the policy is all but sure, it decides alone; kickers are searched for nevertheless.

    A uniform prior is never sure, of one of two moves neither.
    """
    duo, solo, trio = (State.from_hands([hand, "7", "9"], check_sizes=False) for hand in ("34", "345", "33345"))
    lone = solo.legal_actions()[0]
    with_kicker = next(action for action in trio.legal_actions() if MAIN_GROUPS[action].kicker_count == 1)
    for state, preferred, weight, options, at_once in (
        (solo, lone, 20.0, {"skip_search_above": 0.9}, True),  # 20 : 1 : 1
        (solo, lone, 20.0, {"skip_search_above": 1.0}, False),
        (solo, lone, 1e12, {"skip_search_above": 1.0}, False),  # a probability of one in float32
        (trio, with_kicker, 20.0, {"skip_search_above": 0.6}, False),
        (duo, lone, 20.0, {"skip_search_above": 0.5, "prior": "uniform"}, False),
    ):
        model = Prefers({preferred}, weight)
        agent = ModelSearchAgent(model, ModelSearchOptions(100, particles=0, **options))
        agent.decide(after(State.new(5), 3).view(), np.random.default_rng(0))
        model.sizes.clear()
        decision = agent.decide(state.view(), np.random.default_rng(0))
        assert (agent.candidates(state.view()) == []) == at_once  # none of the decision before
        assert (len(model.sizes) == 1) == at_once
        assert decision.move.main == preferred or not at_once


@pytest.mark.parametrize(("steps", "calls"), [(1, 2), (4, 5)])
def test_leaves_of_all_trees_are_evaluated_together(steps: int, calls: int) -> None:
    """One call for the root, then a few a wave, never about more leaves than there are descents in flight."""
    model = Uniform()
    agent = ModelSearchAgent(model, ModelSearchOptions(600, trees=4, batch=15, particles=0, leaf_policy_steps=steps))
    agent.decide(State.new(5).view(), np.random.default_rng(0))
    assert model.sizes[0] == 1
    assert 1 + 10 * calls <= len(model.sizes) <= 1 + 12 * calls
    assert max(model.sizes) <= 60


def test_halving_compares_the_likeliest_moves_in_the_same_determinizations() -> None:
    """Every candidate of a round gets as many descents as the others, and nothing else is visited."""
    model, state = Uniform(), State.new(5)
    decision = ModelSearchAgent(model, ModelSearchOptions(960, trees=2, batch=16, candidates=8)).decide(
        state.view(), np.random.default_rng(0)
    )
    counts = sorted(count for count in decision.visits.values() if count)
    assert len(counts) == 8
    assert len(set(counts[:4])) == len(set(counts[4:6])) == len(set(counts[6:])) == 1
    assert counts[0] < counts[4] < counts[6]
    assert decision.move.main in {action for action, count in decision.visits.items() if count == counts[-1]}


@pytest.mark.parametrize("weight", [0.0, 0.3, 1e6])
def test_the_root_weighs_values_against_the_prior(weight: float) -> None:
    """The move is the best of the last round; with all the weight on the prior, it is the policy's favourite."""
    state = after(State.new(5), 3)
    model = Prefers({state.legal_actions()[-1]}, 2.0)
    agent = ModelSearchAgent(model, ModelSearchOptions(300, particles=0, leaf="playout", prior_weight=weight))
    decision = agent.decide(state.view(), np.random.default_rng(0))
    log_priors = model.evaluate(observe(state)[None], action_mask(state)[None])[0][0]
    worth = {
        action: decision.values[action] + weight * float(log_priors[action]) / count**0.5
        for action, count in decision.visits.items()
        if count == max(decision.visits.values())
    }
    assert decision.move.main == max(worth, key=worth.__getitem__)
    assert weight < 1e6 or decision.move.main == log_priors.argmax()


def test_the_same_visit_of_every_move_is_in_the_same_determinization() -> None:
    """The first of each of four moves of the root, in which no other seat has played yet."""
    view = State.from_hands(["3456789TJQKA2", "33445566", "778899TR"], check_sizes=False).view()
    search, rng, found = searching(Uniform()), np.random.default_rng(3), dict[int, list[bytes]]()
    search.begin(view, rng)
    for visit in range(12):
        for action in sorted((1, 2, 3, 4), key=lambda a: (a * 7 + visit) % 5):  # in any order
            search.iterate(np.array([action], np.int16), rng)
            hands = search.parallel.descents.games.rows[0, HANDS : HANDS + 3].copy()
            hands[0] = 0  # the searcher's own
            if search.parallel.descents.depth[0] <= 1:
                found.setdefault(action, []).append(hands.tobytes())
    assert len(found) == 4
    assert len({hands[0] for hands in found.values()}) == 1


def test_prior_and_leaves_can_be_taken_apart() -> None:
    """A uniform prior is that of a policy without opinions and compares all moves; playouts ask no network more."""
    view = State.new(5).view()

    def visits(model: PolicyModel, **options: Any) -> Mapping[int, int]:
        return (
            ModelSearchAgent(model, ModelSearchOptions(480, particles=0, **options))
            .decide(view, np.random.default_rng(0))
            .visits
        )

    for leaf in (None, "playout"):
        assert visits(Uniform(), leaf=leaf, prior="uniform") == visits(Uniform(), leaf=leaf, candidates=400)
    opinions = Prefers({list_legal_actions(view.row, view.rule_words)[-1]})
    assert visits(opinions, leaf="playout") != visits(Uniform(), leaf="playout")
    assert opinions.sizes
    opinions.sizes.clear()
    apart = {"leaf": "playout", "prior": "uniform"}
    assert visits(opinions, **apart) == visits(Uniform(), **apart)
    assert opinions.sizes == []


def test_a_critic_is_used_where_there_is_one() -> None:
    view = after(State.new(5), 4).view()
    decided = [
        ModelSearchAgent(NetworkPolicy(*small_networks()), ModelSearchOptions(60, leaf=leaf)).decide(
            view, np.random.default_rng(0)
        )
        for leaf in (None, "critic")
    ]
    assert decided[0] == decided[1]
    with pytest.raises(InvalidAgentOptionError, match="needs a policy with a critic"):
        ModelSearchAgent(Uniform(), ModelSearchOptions(leaf="critic"))


def test_worlds_are_weighed_by_whom_the_option_names() -> None:
    state, model = after(State.new(3), 9), Prefers({0}, 3.0)

    def drawn(**options: Any) -> WorldPool:
        agent = ModelSearchAgent(model, ModelSearchOptions(30, particles=50, **options))
        return agent.options.make_beliefs(model)(state.view(), np.random.default_rng(0))

    alone = infer_if_possible(state.view(), np.random.default_rng(0), 50, [LearnedPlayer(model)], 2)
    assert alone is not None
    for worlds, expected in (("particles", alone.pool), ("uniform", uniform_pool())):
        for found, wanted in zip(drawn(worlds=worlds), expected, strict=True):
            assert np.array_equal(found, wanted)
    assert not np.array_equal(drawn()[0], drawn(worlds="particles")[0])
    names = {worlds: len(NeuralSearchOptions(worlds=worlds).files()) for worlds in ("belief", "particles", "uniform")}
    assert names["belief"] == names["particles"] + 1 == names["uniform"] + 1


@pytest.mark.parametrize(("particles", "milliseconds", "decisions"), [(0, 50.0, 1100), (5, 1e308, 1)])
def test_no_particles_and_endless_time_are_no_obstacle(particles: int, milliseconds: float, decisions: int) -> None:
    """The price of a particle halves where none is drawn: without particles it once fell to zero."""
    beliefs = Beliefs(Uniform(), particles, None, milliseconds=milliseconds)
    view, rng = after(State.new(3), 9).view(), np.random.default_rng(0)
    for _ in range(decisions):
        known = beliefs.infer(view, rng)
        assert (0 if known is None else len(known)) == particles


def test_leaves_are_valued_by_what_can_value_them(tmp_path: Path) -> None:
    """By a critic if there is one.  Stakes are not chances, and a policy that only imitated has an untrained value.

    A file is read by its suffix; old ones do not say what they learned.
    """
    (policy, critic), path = small_networks(), tmp_path / "small.safetensors"
    for weights, leaf in (
        (Weights.of(policy, critic), "critic"),
        (Weights.of(policy, critic, values_trained=False), "critic"),
        (Weights.of(policy), "value"),
        (Weights.of(policy, critic, objective="stake"), "playout"),
        (Weights.of(policy, values_trained=False), "playout"),
    ):
        save_weights(path, weights)
        agent = make_agent(f"neural-ismcts:path={path},iterations=60,trees=2")
        assert isinstance(agent, NeuralSearchAgent)
        assert agent.model.leaf == leaf
        assert agent.act(State.new(2).view(), np.random.default_rng(0)) in State.new(2).legal_moves()
