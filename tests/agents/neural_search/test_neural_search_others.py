"""Seats that are searched as the rule agent, and positions that are asked about once."""

from __future__ import annotations

import numpy as np
import pytest

from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural_search import evaluation_cache
from ddz_agents.neural_search.agent import ModelSearchAgent
from ddz_agents.neural_search.evaluation_cache import CachedModel
from ddz_agents.neural_search.forest import Forest
from ddz_agents.neural_search.leaves import Evaluator, play_on
from ddz_agents.neural_search.opponent_model import OpponentModel, nobody, recognized
from ddz_agents.worlds.determinize import draw_game, uniform
from ddz_env import State
from ddz_env.core.engine.layout import SEAT
from ddz_env.core.observation import action_mask, observe
from ddz_env.playing.registry import make_agent
from tests.agents.neural_search.test_neural_playing_on import waiting
from tests.agents.neural_search.test_neural_search import Prefers, Uniform, after

RULES = make_agent("rules")


class Counted(Uniform):
    """A policy and a critic that note every row they are asked about, and answer by what stands in it."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[bytes] = []

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.rows += [row.tobytes() for row in observations]
        logs, _ = super().evaluate(observations, masks)
        return logs, observations.sum(axis=1, dtype=np.float32)

    def value_of_games(self, observations: Bytes, masks: Bytes, concealed: Bytes) -> Floats:
        self.rows += [row.tobytes() for row in np.concatenate([observations, concealed], axis=1)]
        return observations.sum(axis=1, dtype=np.float32) + 100 * concealed.sum(axis=1, dtype=np.float32)


def positions(count: int) -> tuple[Bytes, Bytes, Bytes]:
    """Observations, masks and concealed cards, with repetitions."""
    rng, states = np.random.default_rng(0), [after(State.new(game), 3 * game) for game in range(count)]
    drawn = [states[int(rng.integers(count))] for _ in range(3 * count)]
    concealed = rng.integers(0, 2, (len(drawn), 80)).astype(np.int8)
    return np.stack([observe(one) for one in drawn]), np.stack([action_mask(one) for one in drawn]), concealed


def test_a_position_is_asked_about_once_until_all_is_forgotten() -> None:
    plain, model = Counted(), Counted()
    cached, (observations, masks, concealed) = CachedModel(model), positions(12)
    concealed = concealed[:, : 8 * evaluation_cache.CONCEALED_WORDS]
    for _ in range(2):
        for part in (slice(0, 20), slice(10, 36)):
            given = observations[part], masks[part]
            for found, expected in zip(cached.evaluate(*given), plain.evaluate(*given), strict=True):
                assert found.tobytes() == expected.tobytes()
    assert len(model.rows) == len(set(model.rows)) == len(set(plain.rows)) < len(plain.rows) / 2
    cached.forget()
    cached.evaluate(observations, masks)
    assert len(model.rows) == 2 * len(set(model.rows))
    games = observations, masks, concealed
    assert cached.value_of_games(*games).tobytes() == plain.value_of_games(*games).tobytes()
    asked = len(model.rows)
    cached.value_of_games(*games)
    assert len(model.rows) == asked


def test_more_positions_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all are forgotten, and a batch that never fits is passed on."""
    monkeypatch.setattr(evaluation_cache, "ROOM", 8)
    plain, model = Counted(), Counted()
    cached, (observations, masks, _) = CachedModel(model), positions(12)
    for part in (slice(0, 6), slice(6, 12), slice(12, 18), slice(0, 30), slice(0, 8)):
        expected = plain.evaluate(observations[part], masks[part])
        assert cached.evaluate(observations[part], masks[part])[1].tobytes() == expected[1].tobytes()


class Breaks(Uniform):
    """A policy that fails so many questions after it was told to."""

    left = -1

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return super().evaluate(observations, masks)


def test_a_decision_that_was_broken_off_leaves_no_answers_behind() -> None:
    view = after(State.new(5), 12).view()
    model = Breaks()
    agents = [ModelSearchAgent(one, 30, inference="mixed", particles=20, leaf="value") for one in (model, Uniform())]
    model.left = 2  # the first is about the root, the second about what the others have played
    with pytest.raises(KeyboardInterrupt):
        agents[0].decide(view, np.random.default_rng(0))
    found, expected = (agent.believe(view, np.random.default_rng(0)).chances for agent in agents)
    assert found.tobytes() == expected.tobytes()


def test_a_seat_is_recognized_among_those_whose_moves_are_known() -> None:
    """The rule agent rather than the policy; how likely other kinds are says nothing about either."""
    kinds = np.array([[0.1, 0.1, 0.2], [0.3, 0.3, 0.2], [0.6, 0.6, 0.6]])
    assert recognized(kinds, 0, 1, seat=0).tolist() == [0, 1, 0]
    assert recognized(kinds, 1, 0, seat=0).tolist() == [0, 0, 0]


def everybody_but(seat: int) -> OpponentModel:
    faithful = np.ones(3, np.uint8)
    faithful[seat] = 0
    return nobody()._replace(faithful=faithful)


def worlds(count: int) -> list[State]:
    """Decisions of landlords in games whose other hands are drawn."""
    found = []
    for game in range(count):
        state = after(State.new(game), 7)
        row = np.empty_like(state.row)
        draw_game(state.view().row, state.seat, state.rule_words, np.uint64(game), row)
        found.append(State(row, state.rules))
    return found


def test_where_the_rule_agent_is_known_its_moves_are_played() -> None:
    """The policy decides for the searcher alone; all others are the rule agent, move by move and kicker by kicker."""
    model, rng = Prefers({0}, 3.0), np.random.default_rng(0)
    for state in worlds(30):
        games, seat, hand = waiting([state]), state.seat, state.copy()
        logs, _ = model.evaluate(observe(state)[None], action_mask(state)[None])
        played = play_on(model, games, logs, 3, state.rule_words, opponents=everybody_but(seat))
        own = 0
        while not hand.is_over:
            legal = hand.legal_actions()
            if len(legal) == 1:
                hand.step_action(legal[0])
            elif hand.seat != seat:
                move = RULES.act(hand.view(), rng)
                for action in move.actions:
                    hand.step_action(action)
            elif own == 3:
                break
            else:
                own += 1
                answer, _ = model.evaluate(observe(hand)[None], action_mask(hand)[None])
                hand.step_action(int(answer[0].argmax()))
        assert bool(len(played.places)) == (not hand.is_over)
        if hand.is_over:
            assert played.values[0] == np.sign(hand.returns("win")[seat])
        else:
            assert (played.descents.rows[0] == hand.row).all()


def test_the_tree_passes_through_its_moves() -> None:
    """Every descent stops at the searcher's own decisions; on the way the others have moved as the rule agent does."""
    state, rng = after(State.new(4, rules="perfect"), 6), np.random.default_rng(0)
    view, checked = state.view(), 0
    forest = Forest(1, 8, Evaluator(Uniform(), "value", 1.0), exploration=1.0, simulation=0)
    forest.plant(view, [np.uint64(1)])
    forest.recognize(everybody_but(view.seat).faithful)
    for _ in range(20):
        forest.wave(uniform(), np.full(8, -1, np.int16))
        found = forest.descents
        for index in np.flatnonzero(found.waits):
            assert found.rows[index, SEAT] == view.seat
            game, plan = state.copy(), list[int]()
            for action in found.path[index, : found.depth[index]].tolist():
                if game.seat != view.seat and len(game.legal_actions()) > 1:
                    plan = plan if game.stage == "kicker" else list(RULES.act(game.view(), rng).actions)
                    assert action == plan.pop(0)
                    checked += 1
                game.step_action(action)
    assert checked > 100


@pytest.mark.parametrize("root", ["halving", "rollouts"])
def test_a_search_counts_what_the_moves_of_a_seat_have_told(root: str) -> None:
    """Where they are the rule agent's, it is likelier the rule agent than one that passes whenever it may."""
    state = State.new(3)
    rng = np.random.default_rng(0)
    while (not state.is_over and len(state.history) < 18) or len(state.legal_moves()) == 1:
        state.step(RULES.act(state.view(), rng))
    agent = ModelSearchAgent(Prefers({0}, 100.0), 30, inference="mixed", particles=20, root=root, leaf="value")
    assert agent._worlds(state.view(), rng)[1].tolist() == [seat != state.seat for seat in range(3)]
    assert agent.act(state.view(), rng) in state.legal_moves()
    for inference in ("policy", "rules"):  # where it cannot be told, nobody is
        other = ModelSearchAgent(Uniform(), 30, particles=5, inference=inference, leaf="value")
        assert not other._worlds(state.view(), rng)[1].any()
