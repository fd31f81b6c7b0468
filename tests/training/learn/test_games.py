"""What a rollout holds: the games that were played, whose decisions are learned from, past selves and frozen agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ddz_agents.neural.feature_table import DECISION_BYTES
from ddz_agents.neural.network import Architecture, PolicyNetwork
from ddz_env import Move, State, View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import MOVES
from ddz_env.core.observation import OBSERVATION, observe
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.playing.agent import StagedAdapter
from ddz_env.playing.game import AgentFaultError, IllegalAgentMoveError
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import UnknownAgentError
from ddz_training.learn.dmc import sample_epsilon_greedy
from ddz_training.learn.input_layers import GpuInputLayer
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import LANDLORD_SIDE, PEASANT_SIDE, RolloutGames
from ddz_training.learn.ppo.ppo import ActionSampler, Choice, Rollout, RolloutPolicies, collect_rollout, sample_actions
from ddz_training.learn.ppo.selfplay import SnapshotPool
from ddz_training.learn.threads import Threads

SMALL = Architecture(width=16, blocks=1, rest_width=8, rest_features=8, critic_width=16, critic_blocks=1, history=2)


CPU, AGAINST_RULES = torch.device("cpu"), DECISION_BYTES["against_rules"]


def uniform(logits: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> Choice:
    """Every legal action alike."""
    assert not logits.requires_grad  # nothing is kept for a gradient
    return sample_actions(torch.zeros_like(logits), rows, count, generator)


class NotedGames(RolloutGames):
    """Games that note the actions of every step, the opponents' too."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.noted: list[np.ndarray] = []

    def set_actions(self, actions: np.ndarray) -> None:
        super().set_actions(actions)
        self.noted.append(self.batch.slots.games["action"].copy())


def games_of(count: int, rules: str = "standard", opponent_share: float = 0.0, **settings: Any) -> NotedGames:
    """Games of a fixed seed."""
    config = SelfPlayConfig(rules=rules, opponent_share=opponent_share, **settings)
    batch = SelfPlayBatch(count, rules, seed=5, threads=1, scoring=config.objective, concealed=True)
    return NotedGames(batch, config, np.random.default_rng(0))


def collected(
    games: RolloutGames,
    steps: int,
    choose: ActionSampler = uniform,
    policy: PolicyNetwork | None = None,
    past: PolicyNetwork | None = None,
) -> Rollout:
    """Play games on; every decision counts."""
    threads, generator = Threads(1), torch.Generator().manual_seed(1)
    players = RolloutPolicies(GpuInputLayer(SMALL, CPU), policy or PolicyNetwork(SMALL), choose, past)
    rollout = collect_rollout([games], [generator], steps, players, threads)
    threads.close()
    return rollout


def masks_of(rollout: Rollout) -> np.ndarray:
    """The legal actions of its decisions, shape ``[n, 400]``, int8."""
    masks = np.zeros((len(rollout.seen), NUM_ACTIONS), np.int8)
    masks[np.repeat(np.arange(len(masks)), rollout.sizes), rollout.legal_actions] = 1
    return masks


@pytest.mark.parametrize("rules", ["standard", "bidding", "mini"])
def test_a_rollout_is_the_games_that_were_played(rules: str) -> None:
    """Replaying the choices in plain states shows every decision to be the position of its step."""
    rollout = collected(games_of(20, rules), 150)
    played, masks, ended = rollout.played, masks_of(rollout), 0
    for game in range(20):
        number, state = game, State.new(5, rules, game)
        for step in range(150):
            row, legal = int(played.rows[step, game]), state.legal_actions()
            action = legal[0]
            assert played.seats[step, game] == state.seat
            assert played.begins[step, game] == (state.stage != "kicker")
            assert (row >= 0) == (len(legal) > 1)
            if row >= 0:
                assert np.flatnonzero(masks[row]).tolist() == legal
                assert (rollout.seen[row, : OBSERVATION.size].numpy() == observe(state)).all()
                place, chance, counts = (part[row].item() for part in rollout.choice)
                assert (chance, counts) == (pytest.approx(-np.log(len(legal)), abs=1e-5), 1)
                action = legal[int(place)]
            landlord = next((seat for seat in range(state.rules.players) if state.role(seat) == "landlord"), None)
            state.step_action(action)
            assert played.done[step, game] == state.is_over
            won = 0.0 if landlord is None or not state.is_over else state.returns("win")[landlord]
            shares = [won if seat == landlord else -won for seat in range(state.rules.players)]
            assert played.rewards[step, game].tolist() == [*shares, 0.0][:3]
            if state.is_over:
                ended += 1
                number += 20
                state = State.new(5, rules, number)
    assert ended > 20
    assert np.sort(played.rows[played.decides]).tolist() == list(range(len(rollout.seen)))


def test_stakes_are_those_of_the_game_and_shared() -> None:
    played = collected(games_of(20, objective="stake"), 400).played
    stakes = np.abs(played.rewards[played.done])
    assert set(np.unique(stakes)) <= {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}
    assert len(np.unique(stakes)) > 1
    assert (stakes == stakes[:, :1]).all()


def that_prefers(preferences: Tensor) -> PolicyNetwork:
    """A policy whose logits are these in every decision."""
    network = PolicyNetwork(SMALL)
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    network.logits.bias.data[:] = preferences
    return network


def best(logits: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> Choice:
    return sample_epsilon_greedy(logits, rows, count, generator, 0.0)


def test_a_past_self_plays_one_side_and_the_learner_does_not_learn_from_it() -> None:
    """The learner takes the first legal action, its past self the last."""
    games, ids = games_of(60, opponent_share=0.5), torch.arange(400.0)
    counts = np.bincount(games.sides, minlength=3)  # of the games that have begun
    for _ in range(100):
        sides, masks, observations = games.sides.copy(), games.batch.mask.copy(), games.batch.observation.copy()
        rollout = collected(games, 1, best, that_prefers(-ids), that_prefers(ids))
        played = rollout.played
        past = sides == np.where(played.roles[0] == 0, LANDLORD_SIDE, PEASANT_SIDE)
        mine = (masks.sum(1) > 1) & ~past
        assert (played.decides[0] == mine).all()
        assert (rollout.seen[:, : OBSERVATION.size].numpy() == observations[mine]).all()
        assert (games.noted[-1] == np.where(past, 399 - masks[:, ::-1].argmax(1), masks.argmax(1))).all()
        going_on = ~played.done[0]
        assert (games.sides[going_on] == sides[going_on]).all()  # sides change with the game only
        counts += np.bincount(games.sides[played.done[0]], minlength=3)
    assert counts / counts.sum() == pytest.approx([0.5, 0.25, 0.25], abs=0.1)


def test_without_a_past_self_the_learner_plays_every_side() -> None:
    games = games_of(60, opponent_share=1.0)
    for _ in range(30):
        choice = games.batch.mask.sum(1) > 1
        assert (collected(games, 1).played.decides[0] == choice).all()


def test_past_selves_are_a_uniform_sample_of_the_past() -> None:
    network, rng = PolicyNetwork(SMALL), np.random.default_rng(0)
    kept = np.zeros(20)
    for _ in range(300):
        past = SnapshotPool(4)
        assert not past.load_random(network, rng)
        for number in range(20):
            torch.nn.init.constant_(network.value.bias, number)
            past.add(network, rng)
        kept += np.bincount([int(member["value.bias"][0]) for member in past.members], minlength=20)
    assert kept.sum() == 1200
    assert np.abs(kept - 60).max() < 30
    assert past.load_random(network, rng)
    assert int(network.value.bias.item()) in {int(member["value.bias"][0]) for member in past.members}


def test_past_selves_that_are_restored_count_all_that_were_offered() -> None:
    network, past, again = PolicyNetwork(SMALL), SnapshotPool(2), SnapshotPool(2)
    for _ in range(9):
        past.add(network, np.random.default_rng(0))
    again.restore(past.to_arrays(), {"members": 2, "offered": past.offered}, network, "checkpoint")
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


def frozen_games(agent: str, count: int = 24, **settings: Any) -> NotedGames:
    return games_of(count, frozen=(agent,), frozen_share=1.0, **settings)


@pytest.mark.parametrize("agent", [HISTORIAN, "policy", "rules"])
def test_a_frozen_agent_plays_as_it_does_elsewhere_to_every_kicker(agent: str) -> None:
    games, player = frozen_games(agent, 12), make_agent(agent)
    sides = games.sides.copy()
    rollout = collected(games, 130)
    assert (rollout.seen[:, AGAINST_RULES] == (agent == "rules")).all()
    asked = kickers = 0
    rng = np.random.default_rng(0)
    for game in range(12):
        state, staged = State.new(5, "standard", game), StagedAdapter(player)
        for step in range(130):
            action, choice = int(games.noted[step][game]), len(state.legal_actions()) > 1
            theirs = sides[game] == (LANDLORD_SIDE if state.role() == "landlord" else PEASANT_SIDE)
            assert rollout.played.decides[step, game] == (not theirs and choice)
            if theirs:
                asked, kickers = asked + 1, kickers + (state.stage == "kicker")
                assert staged.next_action(state.view(), rng) == action
            state.step_action(action)
            if state.is_over:
                break
    assert asked > 100
    assert kickers > 2


def test_random_is_uniform_over_whole_moves() -> None:
    """A trio takes a kicker or not: of the moves that begin with it, most do, and uniform stages would not know."""
    games, met, expected = frozen_games("random", 200), [], []
    for _ in range(40):
        states, theirs = [games.batch.state(game) for game in range(200)], games.is_opponent_to_act(has_past=False)
        played = collected(games, 1).played
        for game in np.flatnonzero(theirs & played.begins[0]).tolist():
            moves = states[game].legal_moves()
            expected.append(sum(bool(move.kickers) for move in moves) / len(moves))
            met.append(next(bool(move.kickers) for move in moves if move.main == int(games.noted[-1][game])))
    assert np.mean(met) == pytest.approx(np.mean(expected), abs=4 * np.sqrt(np.mean(expected) / len(met)))


@pytest.mark.parametrize("agent", ["random", "random-staged", HISTORIAN, "policy:temperature=1.0"])
def test_games_go_on_from_the_middle_of_a_frozen_agents_move(agent: str) -> None:
    one, other = (frozen_games(agent) for _ in range(2))
    half_built = np.zeros(24, bool)
    for _ in range(60):
        if not half_built.any():
            collected(one, 1)
            begun = [one.batch.state(game).stage == "kicker" for game in range(24)]
            half_built = one.is_opponent_to_act(has_past=False) & begun
    assert half_built.any()
    other.load_state_dict(one.state_dict())
    for games in (one, other):
        collected(games, 25)
    assert (np.stack(one.noted[-25:]) == np.stack(other.noted)).all()


@pytest.mark.parametrize(("side", "theirs"), [("landlord", PEASANT_SIDE), ("peasants", LANDLORD_SIDE)])
def test_the_learner_may_keep_to_one_side(side: str, theirs: int) -> None:
    games = frozen_games("random", learner_side=side)
    played = collected(games, 60).played
    assert (games.sides == theirs).all()
    assert ((played.roles == 0) == (side == "landlord"))[played.decides].all()


def test_a_fault_names_the_agent() -> None:
    for agent, error, message in (
        (f"{__name__}:Faulty", AgentFaultError, "Faulty.*no idea"),
        (f"{__name__}:Cheat", IllegalAgentMoveError, "Cheat"),
        ("nobody", UnknownAgentError, "nobody"),
    ):
        with pytest.raises(error, match=message):
            collected(frozen_games(agent), 5)
