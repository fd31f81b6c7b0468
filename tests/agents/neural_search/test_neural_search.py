"""Neural search: the tree, the batches, and what the networks are asked."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural.weights import Weights, save_weights
from ddz_agents.neural_search.agent import ModelSearchAgent, NeuralSearchAgent, SearchOptions
from ddz_agents.neural_search.forest import Forest
from ddz_agents.neural_search.leaves import Evaluator, flattened, leaf_kind
from ddz_agents.tree_search.tree import ROOT, Tree, children
from ddz_agents.worlds.determinize import uniform
from ddz_env import PRESETS, Move, State, View
from ddz_env.core.actions import KICKER_BASE, MAIN_GROUPS
from ddz_env.core.engine.layout import HANDS, SEAT
from ddz_env.core.errors import IllegalMoveError, InvalidAgentOptionError
from ddz_env.core.observation import OBSERVATION, OBSERVATION_WORDS, write_observation
from ddz_env.playing.game import play_game, seat_generators
from ddz_env.playing.registry import agent_options, make_agent
from tests.agents.neural.test_neural_network import small_networks
from tests.oracles import figure_two
from tests.oracles.figure_two import records, statistics_of

_ROLE = OBSERVATION.offsets["role"]


class Uniform:
    """A policy without opinions, and a critic that always sees the same side win.

    Attributes:
        asked: How many leaves it was asked about, call by call.
    """

    def __init__(self, landlord: float = 0.0) -> None:
        self.landlord = landlord
        self.asked: list[int] = []

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.asked.append(len(masks))
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


class Silent(Uniform):
    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        raise AssertionError("the networks were asked")


def after(state: State, moves: int) -> State:
    """The last decision with a choice within so many random moves."""
    rng, found = np.random.default_rng(moves), state.copy()
    for _ in range(moves):
        legal = state.legal_moves()
        state.step(legal[int(rng.integers(len(legal)))])
        if state.stage == "over":
            break
        if len(state.legal_moves()) > 1:
            found = state.copy()
    return found


def planted(
    view: View, model: Uniform, *seeds: int, leaf: str = "value", batch: int = 1, shared: bool = True
) -> Forest:
    forest = Forest(len(seeds), batch, Evaluator(model, leaf, 1.0), exploration=1.0, shared=shared)
    forest.plant(view, [np.uint64(seed) for seed in seeds])
    return forest


def grow(view: View, model: Uniform, iterations: int, seed: int, *, leaf: str = "simulation", batch: int = 1) -> Tree:
    forest = planted(view, model, seed, leaf=leaf, batch=batch, shared=False)
    for _ in range(iterations // batch):
        forest.wave(uniform(), np.full(batch, -1, np.int16))
    return forest.trees[0]


def upper(found: figure_two.Statistics, levels: int) -> figure_two.Statistics:
    """Visits and rewards of the visited nodes in the first levels below the root."""
    return {path: numbers for path, numbers in found.items() if numbers[0] and 0 < len(path) <= levels}


def by_puct(book: figure_two.Book, path: figure_two.Path, usable: list[int], untried: list[int]) -> int | None:
    """R / V + P sqrt(N) / (1 + V), N being the visits of the children and P uniform; None for a move not yet tried."""
    nodes = {action: book[(*path, action)] for action in usable}
    visits = np.float32(sum(node.visits for node in nodes.values()))
    if not visits:
        return None
    scale = np.sqrt(visits) / np.float32(len(usable) + len(untried))
    values: dict[int | None, np.float32] = {}
    if untried:
        values[None] = np.float32(sum(float(node.reward) for node in nodes.values())) / visits + scale
    for action, node in sorted(nodes.items()):  # of equals the lowest action, and before all a move not yet tried
        count = np.float32(node.visits)
        values[action] = node.reward / count + scale / (np.float32(1) + count)
    return max(values, key=lambda action: values[action])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("moves", [0, 5, 12])
def test_with_a_uniform_prior_and_no_value_it_is_plain_puct(seed: int, moves: int) -> None:
    """Where nothing is hidden every node has all its moves at once: number for number the search in plain Python."""
    state = after(State.new(seed, rules="perfect"), moves)
    tree = grow(state.view(), Uniform(), 500, int(figure_two.SEED))
    book = figure_two.grown_by_hand(state, 500, by_puct)
    assert upper(statistics_of(tree), 2) == upper(figure_two.statistics(book), 2)


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("leaf", ["simulation", "value"])
def test_visits_add_up_whatever_is_in_flight(batch: int, leaf: str) -> None:
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


def test_no_reward_is_lost_in_batches() -> None:
    """With a constant value, every node's rewards are its visits times that value, in flight or not."""
    tree = grow(State.new(3).view(), Uniform(0.5), 960, 3, leaf="value", batch=32)
    for visits, reward in upper(statistics_of(tree), 1).values():  # from a full hand, nobody goes out within the tree
        assert reward == pytest.approx(0.75 * visits, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize(("landlord", "expected"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5)])
def test_values_count_for_the_side_that_chose(landlord: float, expected: float) -> None:
    """The observer's value is turned into the landlord's chance, and the peasants share the rest."""
    state = State.new(1)
    decision = ModelSearchAgent(Uniform(landlord), 200).decide(state.view(), np.random.default_rng(0))
    assert set(np.round(list(decision.values.values()), 3)) == {expected}
    while state.seat == 0 or len(state.legal_moves()) < 3:
        state.step(state.legal_moves()[-1 if state.seat == 0 else 0])
    decision = ModelSearchAgent(Uniform(landlord), 200).decide(state.view(), np.random.default_rng(0))
    assert set(np.round(list(decision.values.values()), 3)) == {1.0 - expected}


def test_the_prior_guides_main_groups_and_kickers() -> None:
    state = State.from_hands(["33345689TJK2", "44556677", "8899TTJJ"], check_sizes=False)
    main = next(group.id for group in MAIN_GROUPS if group.name.startswith("trio+solo 333"))
    kicker = KICKER_BASE + 10  # the king
    model, view = Prefers({main, kicker}), state.view()
    decision = ModelSearchAgent(model, 600, root="puct").decide(view, np.random.default_rng(0))
    assert max(decision.visits, key=decision.visits.__getitem__) == main
    for root in ("halving", "puct"):
        assert ModelSearchAgent(model, 600, root=root).act(view, np.random.default_rng(0)) == Move(main, (10,))
        # A visit or two never reach the kickers: there the prior chooses alone.
        few = ModelSearchAgent(model, 1, trees=1, batch=1, root=root)
        assert few.act(view, np.random.default_rng(0)) == Move(main, (10,))


def test_leaves_are_described_with_the_moves_that_led_there() -> None:
    """The policy that plays on from a leaf sees what it would see at the table."""
    state = State.new(6)
    for _ in range(3):
        state.step(state.legal_moves()[-1])
    forest = planted(state.view(), Uniform(), 1, 2, batch=8)
    for _ in range(6):
        forest.wave(uniform(), np.full(8, -1, np.int16))
    descents, seen = forest.descents, np.zeros(OBSERVATION_WORDS, np.uint64)
    waiting = np.flatnonzero(descents.waits)
    assert len(waiting)
    assert max(descents.depth[waiting]) > 1
    for place in waiting:
        row = descents.rows[place]
        write_observation(row, descents.rings[place], state.rule_words, row[SEAT], seen)
        assert seen.tobytes() == descents.observations[place].tobytes()


@pytest.mark.parametrize("root", ["halving", "puct"])
def test_a_win_within_reach_is_found_whatever_the_prior(root: str) -> None:
    """44 wins: nobody holds a higher pair, and the last card goes out; 3 first loses."""
    state = State.from_hands(["344", "7", "9"], check_sizes=False)
    agent = ModelSearchAgent(Uniform(), 400, leaf="simulation", root=root)
    assert str(agent.act(state.view(), np.random.default_rng(0))) == "44"


def test_only_and_finishing_moves_are_played_at_once_and_none_for_others() -> None:
    agent, rng = ModelSearchAgent(Silent(), 100), np.random.default_rng(0)
    assert str(agent.act(State.from_hands(["34567", "9", "T"], check_sizes=False).view(), rng)) == "34567"
    state = State.from_hands(["2B", "3", "4"], check_sizes=False)
    state.step("2")
    assert str(agent.act(state.view(), rng)) == "pass"
    with pytest.raises(IllegalMoveError):
        agent.act(State.new(1).view(1), rng)


def test_a_settled_move_is_played_at_once() -> None:
    """Where the policy is all but sure it alone is asked; kickers are searched for nevertheless."""
    solo, trio = (State.from_hands([hand, "7", "9"], check_sizes=False) for hand in ("345", "33345"))
    lone = solo.legal_actions()[0]
    with_kicker = next(action for action in trio.legal_actions() if MAIN_GROUPS[action].kicker_count == 1)
    for state, preferred, weight, options, at_once in (
        (solo, lone, 20.0, {"settled": 0.9}, True),  # 20 : 1 : 1
        (solo, lone, 20.0, {"settled": 1.0}, False),
        (solo, lone, 1e12, {"settled": 1.0}, False),  # a probability of one, as far as float32 can tell
        (solo, lone, 20.0, {"temperature": 0.05}, False),  # a sharper prior is no surer policy
        (trio, with_kicker, 20.0, {"settled": 0.6}, False),
    ):
        model = Prefers({preferred}, weight)
        agent = ModelSearchAgent(model, 100, particles=0, **options)
        decision = agent.decide(state.view(), np.random.default_rng(0))
        assert (len(model.asked) == 1) == at_once
        assert decision.move.main == preferred or not at_once


@pytest.mark.parametrize(("ahead", "calls"), [(0, 1), (1, 2), (3, 4)])
def test_leaves_of_all_trees_are_evaluated_together(ahead: int, calls: int) -> None:
    """One call for the root, then a few a wave, never about more leaves than there are descents in flight."""
    model = Uniform()
    agent = ModelSearchAgent(model, 640, trees=4, batch=16, root="puct", ahead=ahead)
    agent.decide(State.new(5).view(), np.random.default_rng(0))
    assert model.asked[0] == 1
    assert len(model.asked) == 1 + 10 * calls
    assert max(model.asked) <= 64


def test_halving_compares_the_likeliest_moves_in_the_same_determinizations() -> None:
    """Every candidate of a round gets as many descents as the others, and nothing else is visited."""
    model, state = Uniform(), State.new(5)
    decision = ModelSearchAgent(model, 960, trees=2, batch=16, candidates=8).decide(
        state.view(), np.random.default_rng(0)
    )
    counts = sorted(count for count in decision.visits.values() if count)
    assert len(counts) == 8
    assert len(set(counts[:4])) == len(set(counts[4:6])) == len(set(counts[6:])) == 1
    assert counts[0] < counts[4] < counts[6]
    assert decision.move.main in {action for action, count in decision.visits.items() if count == counts[-1]}


def first_worlds(shared: bool) -> dict[int, list[bytes]]:
    """The hidden cards in which each of four moves of the root was tried, visit by visit."""
    view = State.from_hands(["3456789TJQKA2", "33445566", "778899TR"], check_sizes=False).view()
    forest = planted(view, Uniform(), 3, shared=shared)
    found: dict[int, list[bytes]] = {action: [] for action in (1, 2, 3, 4)}
    for visit in range(12):
        for action in sorted(found, key=lambda a: (a * 7 + visit) % 5):  # in any order
            forest.wave(uniform(), np.array([action], np.int16))
            hands = forest.descents.rows[0, HANDS : HANDS + 3].copy()
            hands[0] = 0  # the searcher's own
            if forest.descents.depth[0] <= 1:  # nobody else has played yet: the hidden hands are those that were dealt
                found[action].append(hands.tobytes())
    return found


def test_the_same_visit_of_every_move_is_in_the_same_determinization() -> None:
    worlds = first_worlds(shared=True)
    assert all(len(hands) >= 1 for hands in worlds.values())
    assert len({hands[0] for hands in worlds.values()}) == 1
    assert len({hands[0] for hands in first_worlds(shared=False).values()}) > 1


@pytest.mark.parametrize(("ahead", "moves"), [(0, 0), (3, 0), (3, 6)])
def test_a_seed_decides_everything_and_hidden_cards_nothing(ahead: int, moves: int) -> None:
    """The same view gives the same search; a deal with other hidden cards gives the same view."""
    one = State.from_hands(["3456789TJQKA2", "33445566", "778899TT"], check_sizes=False)
    other = State.from_hands(["3456789TJQKA2", "778899TT", "33445566"], check_sizes=False)
    for state in (one, other):
        for move in ("A", "pass", "pass", "K", "pass", "pass")[:moves]:
            state.step(move)
    agent = ModelSearchAgent(NetworkPolicy(*small_networks()), 300, ahead=ahead)
    decisions = [agent.decide(state.view(), np.random.default_rng(7)) for state in (one, other, one)]
    assert decisions[0] == decisions[1] == decisions[2]
    assert agent.decide(one.view(), np.random.default_rng(8)) != decisions[0]


def test_leaves_are_valued_by_what_can_value_them(tmp_path: Path) -> None:
    """A critic if there is one.  Stakes are no chances, and the value of what only imitated is that of random weights.

    A file is read by its suffix; old ones do not say what they learned.
    """
    (policy, critic), path = small_networks(), tmp_path / "small.safetensors"
    for model, kind in (
        (NetworkPolicy(policy, critic), "critic"),
        (NetworkPolicy(policy), "value"),
        (Uniform(), "value"),
        (NetworkPolicy(policy, critic, objective="stake"), "simulation"),
        (NetworkPolicy(policy, critic, values_trained=False), "critic"),
    ):
        assert leaf_kind(model, "auto") == kind
        assert leaf_kind(model, "simulation") == "simulation"
    for network, leaf, message in (
        (NetworkPolicy(policy), "critic", "no critic"),
        (NetworkPolicy(policy, critic, objective="stake"), "critic", "trained for objective='stake'"),
        (NetworkPolicy(policy, critic, objective="stake"), "value", "trained for objective='stake'"),
    ):
        with pytest.raises(InvalidAgentOptionError, match=message):
            ModelSearchAgent(network, leaf=leaf)
    save_weights(path, Weights(policy, values_trained=False))
    assert make_agent(f"neural-ismcts:path={path}").leaf == "simulation"
    with pytest.raises(InvalidAgentOptionError, match="these weights learned moves only, by imitation"):
        make_agent(f"neural-ismcts:path={path},leaf=value")
    save_weights(path, Weights(policy))
    agent = make_agent(f"neural-ismcts:path={path},iterations=60,trees=2")
    assert isinstance(agent, NeuralSearchAgent)
    assert agent.leaf == "value"
    assert agent.act(State.new(2).view(), np.random.default_rng(0)) in State.new(2).legal_moves()


@pytest.mark.parametrize("temperature", [0.01, 0.5, 3.0])
def test_a_flattened_prior_sums_to_one_at_every_temperature(temperature: float) -> None:
    """Fifty equal actions, and thrice the chance for one: the powers of the chances, normalized."""
    weights = np.array([3.0] + [1.0] * 49 + [0.0] * 350)
    with np.errstate(divide="ignore"):
        priors = np.exp(flattened(np.log(weights / weights.sum())[None].astype(np.float32), temperature))[0]
    expected = weights ** (1 / temperature)
    assert priors == pytest.approx(expected / expected.sum(), abs=1e-5)


@pytest.mark.parametrize("rules", ["standard", "rlcard", "bidding", "mini", "perfect", "botzone"])
def test_it_plays_whole_games_under_every_preset(rules: str) -> None:
    agent, players = ModelSearchAgent(NetworkPolicy(*small_networks()), 24, trees=2, batch=4), PRESETS[rules].players
    game = play_game(State.new(4, rules), [agent] * players, seat_generators([1, 0], players))
    assert game.winner is not None


def test_inference_and_simulations_can_join() -> None:
    model = NetworkPolicy(*small_networks())
    state = State.new(6)
    state.step(state.legal_moves()[3])
    for agent in (
        ModelSearchAgent(model, 100, particles=50, inference="rules"),
        ModelSearchAgent(model, 100, particles=50, inference="policy", ahead=0),
        ModelSearchAgent(model, 100, leaf="simulation"),
        ModelSearchAgent(model, 100, temperature=2.0),
        ModelSearchAgent(model, milliseconds=30),
    ):
        assert agent.act(state.view(), np.random.default_rng(0)) in state.legal_moves()


def test_under_a_clock_inference_takes_as_many_particles_as_half_of_the_time_pays_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def priced(view: View, rng: np.random.Generator, particles: int, *how: object) -> None:
        nonlocal now
        asked.append(particles)
        assert how == (agent._believed, 2, None)
        now += price / 1000 * particles * len(view.history)

    asked, now = list[int](), 0.0
    monkeypatch.setattr("ddz_agents.neural_search.agent.inferred", priced)
    monkeypatch.setattr("ddz_agents.neural_search.agent.time.perf_counter", lambda: now)
    state, model = State.new(6), NetworkPolicy(*small_networks())
    for _ in range(4):
        state.step(state.legal_moves()[-1])
    clock = ModelSearchAgent(model, milliseconds=41.5, particles=1000, settled=1.0, inference="mixed")
    free = ModelSearchAgent(model, 10, particles=1000, inference="mixed")
    for agent, cost, decisions, expected in (  # the price in milliseconds a particle and move
        (clock, 1.0, 2, [103, 5]),  # 20.75 ms at the price expected at first (0.05), then at the one found
        (clock, 0.0001, 3, [5, 10, 20]),  # the price believed falls by halves
        (clock, 1000.0, 9, [41]),  # one slow moment: nothing is paid for until the price has come down again
        (clock, 0.01, 2, [1, 2]),
        (free, 0.01, 1, [1000]),
    ):
        price = cost
        asked.clear()
        for _ in range(decisions):
            agent._worlds(state.view(), np.random.default_rng(0))
        assert asked == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 1_000_001}, "iterations=1000001 must be a whole number from 1 to 1,000,000"),
        ({"trees": 65}, "trees=65 must be a whole number from 1 to 64"),
        ({"batch": 257}, "batch=257 must be a whole number from 1 to 256"),
        ({"particles": 1e9}, r"particles=1000000000\.0 must be a whole number from 0 to 100,000"),
        ({"ahead": 1001}, "to 1,000"),
        ({"milliseconds": 0}, "milliseconds=0"),
        ({"temperature": 0}, "temperature=0"),
        ({"value_share": 0.5}, "value_share=0.5: this option went, and 1.0 stayed: simulations beside"),
        ({"simulation": "rules"}, "simulation='rules': this option went, and random stayed"),
        ({"final": "value"}, "final='value': this option went, and visits stayed"),
        ({"endgame": "sure"}, "endgame='sure': this option went, and search stayed: no match"),
        ({"mate": "search"}, "mate='search': this option went, and policy stayed"),
        ({"settled": 1.5}, "settled=1.5 must be a number from 0.5 to 1"),
        ({"inference": "oracle"}, "mixed, policy, rules"),
        ({"leaf": "oracle"}, "auto, critic, value, simulation"),
        ({"candidates": 1}, "candidates=1"),
        ({"prior_weight": -0.1}, "prior_weight=-0.1"),
    ],
)
def test_bad_options_have_named_errors(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidAgentOptionError, match=message):
        ModelSearchAgent(Uniform(), **options)


def test_an_agent_has_the_options_of_its_search_and_of_its_file() -> None:
    names = [option.name for option in agent_options("neural-ismcts")]
    assert names[:4] == ["path", "threads", "trust_file", "iterations"]
    assert set(names[3:]) == {option.name for option in SearchOptions.options()}
    assert list(inspect.signature(NeuralSearchAgent).parameters)[:2] == ["path", "iterations"]
    assert all(option.meaning for option in agent_options("neural-ismcts"))
    with pytest.raises(InvalidAgentOptionError, match="iteration"):
        make_agent("neural-ismcts:iteration=5")
    with pytest.raises(InvalidAgentOptionError, match="did you mean 'prior_weight'"):
        ModelSearchAgent(Uniform(), prior_weigth=0.1)


def test_too_large_a_size_is_refused_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddz_agents.neural_search.agent.Forest", None)
    with pytest.raises(InvalidAgentOptionError, match="batch"):
        make_agent("neural-ismcts:batch=1e12")
