"""A search of parts: worlds, a prior, a value and players of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddz_agents.neural.model import Floats
from ddz_agents.neural_search import trees
from ddz_agents.neural_search.agent import ModelSearchAgent, ModelSearchOptions
from ddz_agents.neural_search.leaf_games import LeafBatch
from ddz_agents.neural_search.priors import PolicyPrior, uniform_prior
from ddz_agents.neural_search.search import Search, SearchOptions, search
from ddz_agents.neural_search.values import PolicyValue, random_playouts
from ddz_agents.worlds.determinize import WorldPool, uniform_pool
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import HANDS, MOVES
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import DouDizhuError, InconsistentViewError, InvalidAgentOptionError
from tests.agents.neural.test_networks import small_networks
from tests.agents.neural_search.test_neural_search import Distinct, after, firsts_of
from tests.oracles.network_policy import NetworkPolicy
from tests.programs import program


def any_worlds(view: View, rng: np.random.Generator) -> WorldPool:
    return uniform_pool()


def python_prior(leaves: LeafBatch) -> Floats:
    """A prior as a user writes it, position by position: low actions first."""
    logs = np.full((len(leaves), 400), -np.inf, np.float32)
    for index, mask in enumerate(leaves.action_masks):
        legal = np.flatnonzero(mask)
        logs[index, legal] = -np.log(len(legal)) - legal / 400
    return logs


def python_value(leaves: LeafBatch, rng: np.random.Generator) -> Floats:
    """A value as a user writes it: by playouts of states."""
    return np.array([np.sign(state.playout(rng)[state.seat]) for state in leaves.states()], np.float32)


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini"])
def test_parts_in_plain_python_are_searched_with(rules: str) -> None:
    """Every part of a user's own; equal generators give equal decisions, and each legal action may be compared."""
    view = after(State.new(2, rules=rules), 4).view()
    decisions = [
        search(
            view,
            worlds=lambda view, rng: WorldPool.of(view.sample_worlds(16, rng)),
            prior=python_prior,
            value=python_value,
            iterations=128,
            rng=np.random.default_rng(5),
            options=SearchOptions(trees=2, batch=8, candidates=400),
        )
        for _ in range(2)
    ]
    assert decisions[0] == decisions[1]
    assert set(decisions[0].visits) == set(view.legal_actions())
    assert all(decisions[0].visits.values())
    assert all(0 <= value <= 1 for value in decisions[0].values.values())


def test_the_agent_is_a_search_of_its_parts() -> None:
    """Move, visits and values; with a policy's critic and without."""
    view, model = after(State.new(5), 3).view(), NetworkPolicy(*small_networks())
    for leaf, value in (("critic", PolicyValue(model, "critic", 2)), ("playout", random_playouts)):
        options = ModelSearchOptions(200, particles=0, skip_search_above=1.0, leaf=leaf, leaf_policy_steps=2)
        parts: dict[str, Any] = {"worlds": any_worlds, "prior": PolicyPrior(model), "value": value}
        alone = search(view, **parts, iterations=200, rng=np.random.default_rng(1))
        assert alone == ModelSearchAgent(model, options).decide(view, np.random.default_rng(1))


def test_a_search_draws_the_worlds_that_it_is_given() -> None:
    """With a single world, the hands of that one at every leaf."""
    state = after(State.new(4), 6)
    view, rng, seen = state.view(), np.random.default_rng(0), list[bytes]()
    world = view.sample_worlds(1, rng)

    def value(leaves: LeafBatch, rng: np.random.Generator) -> Floats:
        for game in leaves.states():
            for seat in range(3):
                held = int(game.row[HANDS + seat])
                assert held & int(world[0, seat]) == held  # what has been played since is missing
            seen.append(game.row.tobytes())
        return random_playouts(leaves, rng)

    search(view, worlds=lambda view, rng: WorldPool.of(world), prior=uniform_prior, value=value, rng=rng)
    assert seen


@pytest.mark.parametrize("count", [1, 2])
def test_a_seat_that_an_agent_plays_is_not_searched(count: int) -> None:
    """Every descent stops at seats that are searched; on the way the others have moved as their agent does."""
    state, rng = after(State.new(4, rules="perfect"), 6), np.random.default_rng(0)
    rule_agent, prior, checked = make_agent("rules"), PolicyPrior(Distinct()), 0
    played = [seat for seat in range(3) if seat != state.seat][:count]
    options = SearchOptions(trees=2, batch=8)
    searched = Search(any_worlds, prior, random_playouts, dict.fromkeys(played, rule_agent), options)
    searched.begin(state.view(), rng)
    descents = searched.parallel.descents
    for part in np.split(firsts_of(state.view(), 160), 20):
        searched.iterate(part, rng)
        for index in np.flatnonzero(descents.games.waits):
            game, plan = state.copy(), list[int]()
            for action in descents.path[index, : descents.depth[index]].tolist():
                if game.seat in played:
                    plan = plan or list(rule_agent.act(game.view(), rng).actions)
                    assert action == plan.pop(0)
                    checked += 1
                game.step_action(action)
            assert game.seat not in played
            hands = slice(HANDS, HANDS + 3)
            assert (game.row[hands] == descents.games.rows[index, hands]).all()
    assert checked > 100


def test_answers_in_the_wrong_form_are_named() -> None:
    view = after(State.new(5), 3).view()
    rng, right = np.random.default_rng(0), {"worlds": any_worlds, "prior": uniform_prior, "value": random_playouts}
    for wrong, told in (
        ({"prior": lambda leaves: np.zeros(400)}, r"the prior must return numbers of shape \[1, 400\]"),
        (
            {"prior": lambda leaves: np.zeros((len(leaves), 400))},
            "finite for legal actions, minus infinity for all others",
        ),
        ({"prior": lambda leaves: np.full((len(leaves), 400), -np.inf)}, "finite for legal actions"),
        ({"value": lambda leaves, rng: np.full(len(leaves), np.nan)}, "the value must return numbers, not NaN"),
        ({"worlds": lambda view, rng: WorldPool.of(np.zeros((0, 4), np.uint64))}, "a pool needs at least one world"),
        ({"worlds": lambda view, rng: view.sample_worlds(3, rng)}, "worlds must return a WorldPool"),
        ({"players": {view.seat: make_agent("rules")}}, "players must be given for seats among"),
        ({"players": {7: make_agent("rules")}}, "players must be given for seats among"),
    ):
        with pytest.raises(InvalidAgentOptionError, match=told):
            search(view, **{**right, **wrong}, iterations=8, rng=rng)  # type: ignore[arg-type]
    for iterations in (0, -5):
        with pytest.raises(InvalidAgentOptionError, match="iterations"):
            search(view, **right, iterations=iterations, rng=rng)  # type: ignore[arg-type]
    elsewhere = {**right, "worlds": lambda view, rng: WorldPool.of(State.new(8).view().sample_worlds(3, rng))}
    with pytest.raises(InconsistentViewError, match="must keep the hand of seat"):
        search(view, **elsewhere, iterations=8, rng=rng)  # type: ignore[arg-type]
    with pytest.raises(DouDizhuError, match="turn"):
        search(State.new(5).view((view.seat + 1) % 3), **right, iterations=8, rng=rng)  # type: ignore[arg-type]


def test_what_is_forced_or_ends_the_game_is_played_at_once() -> None:
    view = State.from_hands(["33", "7", "9"], check_sizes=False).view()
    decision = search(view, worlds=any_worlds, prior=uniform_prior, value=random_playouts, rng=np.random.default_rng(0))
    assert decision.move == Move.parse("33")
    assert not decision.visits


def test_the_program_that_measures_compositions_prints_a_row_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    program("composed_search")["main"](iterations=8)
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 6
    assert all(int(row.split("|")[2]) > 0 for row in rows)


class Remembering:
    """Plays the first legal move, and notes what it is told."""

    name = "remembering"

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View, rng: np.random.Generator) -> Move:
        self.views.append(view)
        return view.legal_moves()[0]


def test_a_player_is_told_the_moves_before() -> None:
    """Those of the game so far, and those of the descent: so that it can say what it has to beat."""
    state, player = after(State.new(4), 6), Remembering()
    others = dict.fromkeys((seat for seat in range(3) if seat != state.seat), player)
    parts: dict[str, Any] = {"worlds": any_worlds, "prior": uniform_prior, "value": random_playouts}
    search(state.view(), **parts, players=others, iterations=64, rng=np.random.default_rng(0))
    assert len(player.views) >= 64
    for view in player.views:
        told = list(view.history)
        assert told[: len(state.history)] == state.history
        assert len(told) == view.row[MOVES]
        assert (view.target is None) == view.on_lead
    assert any(view.target for view in player.views)


def test_a_full_tree_grows_under_the_moves_of_players(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision is the same, however little room the trees had at first."""
    view = after(State.new(4), 6).view()
    others = dict.fromkeys((seat for seat in range(3) if seat != view.seat), make_agent("rules"))
    decisions = []
    for room in (1 << 14, 1 << 9):
        monkeypatch.setattr(trees, "_FIRST_ROOM", room)
        searched = Search(any_worlds, uniform_prior, random_playouts, others)
        decisions.append(searched.decide(view, np.random.default_rng(0), 2000))
    assert decisions[0] == decisions[1]


def test_an_auction_counts_for_the_landlord_that_it_comes_to() -> None:
    """With playouts from the root on, a bid is worth what its bidder wins: as landlord, or as a peasant."""
    state = State.new(3, rules="bidding")
    view, options = state.view(), SearchOptions(trees=1, batch=16, candidates=400)
    searched = Search(any_worlds, uniform_prior, random_playouts, options=options)
    rng = np.random.default_rng(0)
    searched.begin(view, rng)
    expected = dict.fromkeys(view.legal_actions(), 0.0)
    for _ in range(40):
        firsts = np.resize(np.array(view.legal_actions(), np.int16), 16)
        leaves = searched.parallel.select(firsts, rng)
        landlords, chances = searched._landlord_values(leaves, rng)
        searched.parallel.backpropagate(uniform_prior(leaves), landlords, chances)
        descents = searched.parallel.descents
        for path, landlord, chance in zip(descents.path, landlords, chances, strict=True):
            expected[int(path[0])] += chance if landlord == view.seat else 1 - chance
    found = searched.parallel.root_statistics()
    assert found.rewards == pytest.approx(expected)
    assert len({*landlords.tolist()}) > 1
