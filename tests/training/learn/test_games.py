"""What a rollout holds: the games that were played, whose decisions are learned from, past selves and frozen agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.columns import HandValues
from ddz_agents.neural.features import HAND_VALUES
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import Architecture, PolicyNetwork
from ddz_env import Move, State, View
from ddz_env.core.engine.layout import MOVES
from ddz_env.core.errors import UnknownAgentError
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.agent import StagedAdapter
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError
from ddz_env.playing.registry import make_agent
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import LANDLORD_SIDE, NO_SIDE, PEASANT_SIDE, Collector, Rollout, unpack_masks
from ddz_training.learn.ppo.opponents import PastSelves
from ddz_training.learn.ppo.ppo import collect

SMALL = Architecture(width=16, blocks=1, rest_width=8, rest_features=8, critic_width=16, critic_blocks=1, history=2)


def uniform(observations: Bytes, masks: Bytes) -> tuple[Floats, HandValues]:
    """Every legal action alike; the appraisals number the legal actions of each row."""
    with np.errstate(divide="ignore"):
        found = np.log(masks / masks.sum(1, keepdims=True)).astype(np.float32)
    numbers = np.cumsum(masks, axis=1)[masks == 1]
    return found, np.repeat(numbers[:, None], HAND_VALUES, axis=1).astype(np.int16)


def collector_of(batch: SelfPlayBatch, opponent_share: float = 0.0, **settings: Any) -> Collector:
    """A collector of a fixed seed; every decision counts."""
    config = SelfPlayConfig(opponent_share=opponent_share, **{"settled_share": 1.0} | settings)
    return Collector(batch, config, np.random.default_rng(0))


def collected(rules: str = "standard", share: float = 0.0, steps: int = 150, objective: str = "win") -> Rollout:
    batch = SelfPlayBatch(20, rules, seed=5, threads=1, scoring=objective, concealed=True)
    rollout = Rollout.allocate(steps, 20)
    collector = collector_of(batch, share, objective=objective)
    collect(collector, rollout, uniform, uniform if share else None)
    return rollout


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini"])
def test_a_rollout_is_the_games_that_were_played(rules: str) -> None:
    """Replaying the actions in plain states shows every row to be the position of its step."""
    rollout = collected(rules)
    ended = 0
    for game in range(20):
        number, state = game, State.new(5, rules, game)
        for step in range(len(rollout.actions)):
            assert rollout.seats[step, game] == state.seat
            legal = state.legal_actions()
            assert np.flatnonzero(unpack_masks(rollout.masks[step, game : game + 1])[0]).tolist() == legal
            assert rollout.decides[step, game] == (len(legal) > 1)
            assert rollout.begins[step, game] == (state.stage != "kicker")
            if len(legal) > 1:
                assert rollout.log_probabilities[step, game] == pytest.approx(-np.log(len(legal)), abs=1e-5)
                assert rollout.counts[step, game] == 1
                assert rollout.appraisals[step, game][:, 0].tolist() == list(range(1, len(legal) + 1))
            landlord = next((seat for seat in range(state.rules.players) if state.role(seat) == "landlord"), None)
            state.step_action(int(rollout.actions[step, game]))
            assert rollout.done[step, game] == state.is_over
            won = 0.0 if landlord is None or not state.is_over else state.returns("win")[landlord]
            shares = [won if seat == landlord else -won for seat in range(state.rules.players)]
            assert rollout.rewards[step, game].tolist() == [*shares, 0.0][:3]
            if state.is_over:
                ended += 1
                number += 20
                state = State.new(5, rules, number)
    assert ended > 20


def test_settled_decisions_are_sampled() -> None:
    """A policy that is sure of the first legal action at hands of an odd number has settled these decisions."""
    batch = SelfPlayBatch(40, seed=5, threads=1, concealed=True)
    rollout = Rollout.allocate(100, 40)

    def half_sure(observations: Bytes, masks: Bytes) -> tuple[Floats, HandValues]:
        logs, appraisals = uniform(observations, masks)
        sure = observations[:, :15].sum(1) % 2 == 1  # by the cards in hand
        legal = masks.copy()
        legal[np.arange(len(masks)), masks.argmax(1)] = 0
        logs[sure] = np.where(masks[sure] > 0, 0.0, -np.inf)
        logs[sure[:, None] & (legal > 0)] = np.log(0.0099)
        return logs, appraisals

    collect(collector_of(batch, settled_share=0.2), rollout, half_sure, None)
    odd = rollout.observations[:, :, :15].sum(2) % 2 == 1
    contested, settled = rollout.decides & ~odd, rollout.decides & odd
    assert (rollout.counts[contested] == 1).all()
    assert (rollout.counts[~rollout.decides] == 0).all()
    assert set(rollout.counts[settled].tolist()) == {0.0, 5.0}
    assert rollout.counts[settled].mean() == pytest.approx(1, abs=0.2)


def test_stakes_are_those_of_the_game_and_shared() -> None:
    rollout = collected(objective="stake", steps=400)
    stakes = np.abs(rollout.rewards[rollout.done])
    assert set(np.unique(stakes)) <= {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}
    assert len(np.unique(stakes)) > 1
    assert (stakes == stakes[:, :1]).all()


def test_a_past_self_plays_one_side_and_the_learner_does_not_learn_from_it() -> None:
    batch = SelfPlayBatch(60, seed=5, threads=1, concealed=True)
    collector = collector_of(batch, 0.5)
    asked: dict[str, list[np.ndarray]] = {"learner": [], "past": []}

    def player(name: str) -> Callable[[Bytes, Bytes], tuple[Floats, HandValues]]:
        def evaluate(observations: Bytes, masks: Bytes) -> tuple[Floats, HandValues]:
            asked[name].append(observations.copy())
            return uniform(observations, masks)

        return evaluate

    counts, seen_sides = np.zeros(3, int), set()
    for _ in range(200):
        sides, rollout = collector.sides.copy(), Rollout.allocate(1, 60)
        counts += np.bincount(sides, minlength=3)
        for rows in asked.values():
            rows[:] = [np.zeros((0, 512), np.int8)]
        collect(collector, rollout, player("learner"), player("past"))
        choice = unpack_masks(rollout.masks[0]).sum(1) > 1
        past = sides == np.where(rollout.roles[0] == 0, LANDLORD_SIDE, PEASANT_SIDE)
        assert (rollout.decides[0] == (choice & ~past)).all()
        for name, theirs in (("learner", choice & ~past), ("past", choice & past)):
            assert (np.concatenate(asked[name]) == rollout.observations[0][theirs]).all()
        going_on = ~rollout.done[0]
        assert (collector.sides[going_on] == sides[going_on]).all()  # sides change with the game only
        seen_sides |= set(collector.sides[rollout.done[0]].tolist())
    assert seen_sides == {NO_SIDE, LANDLORD_SIDE, PEASANT_SIDE}
    assert counts / counts.sum() == pytest.approx([0.5, 0.25, 0.25], abs=0.1)


def test_without_a_past_self_the_learner_plays_every_side() -> None:
    batch = SelfPlayBatch(60, seed=5, threads=1, concealed=True)
    rollout = Rollout.allocate(30, 60)
    collect(collector_of(batch, 1.0), rollout, uniform, None)
    choice = np.stack([unpack_masks(words).sum(1) > 1 for words in rollout.masks])
    assert (rollout.decides == choice).all()


def test_past_selves_are_a_uniform_sample_of_the_past() -> None:
    network, rng = PolicyNetwork(SMALL), np.random.default_rng(0)
    kept = np.zeros(20)
    for _ in range(300):
        past = PastSelves(4)
        assert not past.draw(PolicyNetwork(SMALL), rng)
        for number in range(20):
            torch.nn.init.constant_(network.value.bias, number)
            past.offer(network, rng)
        kept += np.bincount([int(member["value.bias"][0]) for member in past.members], minlength=20)
    assert kept.sum() == 1200
    assert np.abs(kept - 60).max() < 30
    assert past.draw(network, rng)
    assert int(network.value.bias.item()) in {int(member["value.bias"][0]) for member in past.members}


def test_past_selves_that_are_restored_count_all_that_were_offered() -> None:
    network, past, again = PolicyNetwork(SMALL), PastSelves(2), PastSelves(2)
    for _ in range(9):
        past.offer(network, np.random.default_rng(0))
    again.restore(past.arrays(), {"members": 2, "offered": past.offered}, network, "checkpoint")
    assert (len(again.members), again.offered) == (2, 9)


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


@pytest.mark.parametrize("agent", [HISTORIAN, "policy", "rules"])
def test_a_frozen_agent_plays_as_it_does_elsewhere_to_every_kicker(agent: str) -> None:
    collector, rollout, player = frozen_collector(agent, 12), Rollout.allocate(130, 12), make_agent(agent)
    sides = collector.sides.copy()
    collect(collector, rollout, uniform, None)
    assert (rollout.by_rules[0] == (agent == "rules")).all()
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
