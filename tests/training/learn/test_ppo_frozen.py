"""Frozen agents in the batch of a training: they play as they do anywhere, and nobody learns from their decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ddz_env import Move, State, View
from ddz_env.core.engine.layout import MOVES
from ddz_env.core.errors import UnknownAgentError
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.agent import StagedAdapter
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError
from ddz_env.playing.registry import make_agent
from ddz_training.learn.ppo.games import LANDLORD_SIDE, PEASANT_SIDE, Rollout
from ddz_training.learn.ppo.ppo import collect
from tests.training.learn.test_ppo_rollout import collector_of, uniform

HISTORIAN = f"{__name__}:Historian"


class Historian:
    """Chooses by all moves so far, so that it plays otherwise where one is missing."""

    name = "historian"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        assert len(view.history) == int(view.row[MOVES])
        moves = view.legal_moves()
        return moves[sum((seat + 1) * len(str(move)) for seat, move in view.history) * 7 % len(moves)]


class Faulty(Historian):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        raise ValueError("no idea")


class Cheat(Historian):
    def act(self, view: View, rng: np.random.Generator) -> Move:
        return Move.parse("RB") if Move.parse("RB") not in view.legal_moves() else Move.parse("pass")


def frozen_collector(agent: str, games: int = 24, rules: str = "standard", **settings: Any) -> Any:
    batch = SelfPlayBatch(games, rules, seed=5, threads=1, concealed=True)
    return collector_of(batch, frozen=(agent,), frozen_share=1.0, **settings)


@pytest.mark.parametrize("agent", [HISTORIAN, "policy"])
def test_a_frozen_agent_plays_as_it_does_elsewhere_to_every_kicker(agent: str) -> None:
    collector, rollout, player = frozen_collector(agent, 12), Rollout.allocate(130, 12), make_agent(agent)
    sides = collector.sides.copy()
    collect(collector, rollout, uniform, None)
    asked = kickers = 0
    rng = np.random.default_rng(0)
    for game in range(12):
        state, staged = State.new(5, "standard", game), StagedAdapter(player)
        for step in range(130):
            action, choice = int(rollout.actions[step, game]), len(state.legal_actions()) > 1
            theirs = sides[game] == (LANDLORD_SIDE if state.role() == "landlord" else PEASANT_SIDE)
            assert rollout.decides[step, game] == (not theirs and choice)
            if theirs:
                asked, kickers = asked + 1, kickers + (state.stage == "kicker")
                assert staged.action(state.view(), rng) == action
            state.step_action(action)
            if state.is_over:
                break
    assert asked > 100
    assert kickers > 2


def test_random_is_uniform_over_whole_moves() -> None:
    """A trio takes a kicker or not: of the moves that begin with it, most do, and uniform stages would not know."""
    collector, rollout, met, expected = frozen_collector("random", 200), Rollout.allocate(1, 200), [], []
    for _ in range(40):
        states, theirs = [collector.batch.state(game) for game in range(200)], collector.opponent_acts(has_past=False)
        collect(collector, rollout, uniform, None)
        for game in np.flatnonzero(theirs & rollout.begins[0]).tolist():
            moves = states[game].legal_moves()
            expected.append(sum(bool(move.kickers) for move in moves) / len(moves))
            played = int(rollout.actions[0, game])
            met.append(next(bool(move.kickers) for move in moves if move.main == played))
    assert np.mean(met) == pytest.approx(np.mean(expected), abs=4 * np.sqrt(np.mean(expected) / len(met)))


@pytest.mark.parametrize("agent", ["random", "random-staged", HISTORIAN, "policy:temperature=1.0"])
def test_games_go_on_from_the_middle_of_a_frozen_agents_move(agent: str) -> None:
    one, other = (frozen_collector(agent) for _ in range(2))
    first, second, third = (Rollout.allocate(steps, 24) for steps in (1, 25, 25))
    half_built = np.zeros(24, bool)
    for _ in range(60):
        if not half_built.any():
            collect(one, first, uniform, None)
            begun = [one.batch.state(game).stage == "kicker" for game in range(24)]
            half_built = one.opponent_acts(has_past=False) & begun
    assert half_built.any()
    other.load_state_dict(one.state_dict())
    collect(one, second, uniform, None)
    collect(other, third, uniform, None)
    assert (second.actions == third.actions).all()


@pytest.mark.parametrize(("side", "theirs"), [("landlord", PEASANT_SIDE), ("peasants", LANDLORD_SIDE)])
def test_the_learner_may_keep_to_one_side(side: str, theirs: int) -> None:
    collector = frozen_collector("random", learner_side=side)
    rollout = Rollout.allocate(60, 24)
    collect(collector, rollout, uniform, None)
    assert (collector.sides == theirs).all()
    assert ((rollout.roles == 0) == (side == "landlord"))[rollout.decides].all()


def test_a_fault_names_the_agent() -> None:
    for agent, error, message in (
        (f"{__name__}:Faulty", AgentFaultError, "Faulty.*no idea"),
        (f"{__name__}:Cheat", IllegalAgentMoveError, "Cheat"),
        ("nobody", UnknownAgentError, "nobody"),
    ):
        with pytest.raises(error, match=message):
            collect(frozen_collector(agent), Rollout.allocate(5, 24), uniform, None)
