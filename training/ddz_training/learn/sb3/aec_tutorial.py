"""MaskablePPO on the PettingZoo environment: PettingZoo's tutorial "SB3: Action Masked PPO", with its rewards mended.

``python -m ddz_training.learn.sb3.aec_tutorial`` (or ``ddz train sb3-aec``) trains on ``dou_dizhu_v0`` and measures the
result against random play.  It is here to be read; ``ddz train sb3`` does the same many times faster.

**The tutorial's pattern.**  A wrapper lets an AEC environment pass for a Gymnasium one: ``step`` plays the action of
whoever is to act and returns the observation of whoever is to act *next*.  One policy plays all seats, and SB3 sees a
single stream: my decision, the next player's, the one after that.  For legal moves this is enough.  For learning it is
not, because a stream like this has two owners at every step, and SB3 adds up what belongs to different players:

- *The reward belongs to another seat.*  The tutorial's first version returned the reward of ``last()``, which is that
  of the *next* agent: when the landlord goes out, the winning move is paid with a peasant's loss (PettingZoo issue
  1147).  Since then it returns the reward of the one who acted (pull request 1203), which mends the last step only.
- *Only the last mover is paid.*  The others' returns come when it is no longer their turn; the stream ends there, and
  nobody ever tells a losing seat that it has lost.
- *The value ahead is another seat's.*  PPO credits a move with what follows it in the stream, and that is the next
  player's value and, at the end, the last mover's reward.  A blunder that lets the next player win is followed by +1,
  so it is learned as a good move.  With two players of a zero-sum game one could flip the sign at each step; with
  three it depends on who is next (the other peasant is a partner), and in Dou Dizhu a seat also acts several times in
  a row, for a main group and each kicker, where no sign changes at all.

**The mended pattern.**  A seat's decision is followed by *its own* next decision, and everything that it is paid in
between belongs to it.  So :class:`LearnerSeat` has one learner a game, whose seat rotates from game to game; ``step``
plays the others on, by a frozen copy of the policy, until the learner is to act again or its game is over, and returns
the sum of the *learner's* rewards on the way.  Acting twice in a row needs no special case: nobody else plays in
between.  With γ = 1 (SB3's default is 0.99) a move with kickers is then worth as much as one without.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from ddz_agents.neural.agent import choose_actions
from ddz_agents.neural.sb3_policy import Purpose, SB3Policy
from ddz_env import dou_dizhu_v0
from ddz_env.core.rules import Rules
from ddz_training.learn.sb3.run import save_model
from ddz_training.learn.strength import measure_strength
from ddz_training.measure.match.one_writer import writing
from ddz_training.measure.match.statistics import AgentResult

Play = Callable[[npt.NDArray[Any], npt.NDArray[np.int8], np.random.Generator], int]
"""Chooses an action from an observation, a mask and a generator."""

NUM_ENVS = 8
N_STEPS = 256


def play_randomly(observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> int:
    """A uniform legal action."""
    return int(rng.choice(np.flatnonzero(mask)))


class LearnerSeat(gymnasium.Env[npt.NDArray[Any], "np.int64"]):
    """One seat of an AEC environment as a Gymnasium environment; the seat rotates from game to game.

    Args:
        aec: The environment; its observations are dicts of ``observation`` and ``action_mask``, and all seats' spaces
            are alike.
        others: Plays the other seats.
        first: The learner's seat in the first game.

    Attributes:
        others: The same; may be replaced between games.
        learner: The learner's name in this game.
    """

    def __init__(self, aec: Any, others: Play = play_randomly, first: int = 0) -> None:
        self.aec = aec
        self.others = others
        self.learner = aec.possible_agents[first % len(aec.possible_agents)]
        self.observation_space = aec.observation_space(self.learner)["observation"]
        self.action_space = aec.action_space(self.learner)
        self._next = first

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        """Begin a game in the next seat, and let the others play until the learner must decide."""
        super().reset(seed=seed)
        self.aec.reset(seed=seed, options=options)
        self.learner = self.aec.possible_agents[self._next % len(self.aec.possible_agents)]
        self._next += 1
        self._play_others()
        return self._observation(), {}

    def step(self, action: np.int64 | int) -> tuple[npt.NDArray[Any], SupportsFloat, bool, bool, dict[str, Any]]:
        """Play the learner's action, and the others until it must decide again; the reward is the learner's own."""
        earned = self._act(int(action)) + self._play_others()
        over = bool(self.aec.terminations[self.learner]), bool(self.aec.truncations[self.learner])
        return self._observation(), earned, *over, {}

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The learner's legal actions, for sb3-contrib."""
        return np.asarray(self.aec.observe(self.learner)["action_mask"], np.bool_)

    def _observation(self) -> npt.NDArray[Any]:
        return np.asarray(self.aec.observe(self.learner)["observation"])

    def _act(self, action: int | None) -> float:
        """One step of the AEC environment; what the learner got by it, whoever acted."""
        self.aec.step(action)
        return float(self.aec.rewards.get(self.learner, 0.0))

    def _play_others(self) -> float:
        """Play until the learner must decide or is out of the game; what it got on the way."""
        aec, earned = self.aec, 0.0
        while not self._is_out(self.learner) and aec.agent_selection != self.learner:
            if self._is_out(aec.agent_selection):
                aec.step(None)  # PettingZoo takes leave of a dead agent so; its rewards were counted when it died
                continue
            seen = aec.observe(aec.agent_selection)
            earned += self._act(self.others(seen["observation"], seen["action_mask"], self.np_random))
        return earned

    def _is_out(self, agent: str) -> bool:
        return bool(self.aec.terminations[agent] or self.aec.truncations[agent])


class FrozenSelf(BaseCallback):
    """Lets a copy of the policy play the other seats, and copies it anew before every rollout."""

    def __init__(self) -> None:
        super().__init__()
        self._copy: SB3Policy | None = None

    def _on_rollout_start(self) -> None:
        policy: Any = self.model.policy
        if self._copy is None:
            self._copy = SB3Policy(copy.deepcopy(policy))
            for seat in self.training_env.get_attr("unwrapped"):
                seat.others = self._play
        else:
            self._copy.policy.load_state_dict(policy.state_dict())

    def _play(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8], rng: np.random.Generator) -> int:
        if np.count_nonzero(mask) == 1 or self._copy is None:
            return play_randomly(observation, mask, rng)
        table = self._copy.log_probabilities(observation[None], mask[None])
        return int(choose_actions(table, 1.0, [rng])[0])

    def _on_step(self) -> bool:
        return True


def train_on_aec(timesteps: int, *, rules: str = "standard", seed: int = 0) -> MaskablePPO:
    """Train by self-play on the PettingZoo environment.

    Args:
        timesteps: The learner's decisions.
        rules: A preset's name.
        seed: Seed of deals, actions and weights.

    Raises:
        InvalidRulesError: If the preset is unknown.
    """
    chosen = Rules.preset(rules, peasant_reward=1.0)

    def seat(first: int) -> Callable[[], Monitor[Any, Any]]:
        return lambda: Monitor(LearnerSeat(dou_dizhu_v0.env(rules=chosen, scoring="win"), first=first))

    model = MaskablePPO(
        "MlpPolicy",
        DummyVecEnv([seat(first) for first in range(NUM_ENVS)]),
        n_steps=N_STEPS,
        batch_size=256,
        n_epochs=4,
        learning_rate=5e-4,
        gamma=1.0,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [128, 128]},
        seed=seed,
        device="cpu",
    )
    return model.learn(timesteps, FrozenSelf())


def run_tutorial(
    timesteps: int = 40_000, *, rules: str = "standard", seed: int = 0, deals: int = 100, path: Path | None = None
) -> AgentResult:
    """Train, save if a path is given, and measure the result against random play on duplicate deals.

    Args:
        timesteps: The learner's decisions.
        rules: A preset's name.
        seed: Seed of deals, actions and weights.
        deals: Duplicate deals of the measurement.
        path: File for the model.

    Raises:
        InUseError: If another process writes the file.
    """
    with nullcontext() if path is None else writing(path) as file:
        model = train_on_aec(timesteps, rules=rules, seed=seed)
        if file is not None:
            save_model(file, model, Purpose(rules, "win"))
    return measure_strength(SB3Policy(model.policy), ["random"], deals, rules=rules, seed=seed)[0]


def summary(found: AgentResult, deals: int) -> str:
    """A measurement in words."""
    wins = found.wins
    return f"wins {wins.text()} % (95 %: {wins.span()}) of {deals} duplicate deals against random"


def main(
    timesteps: int = 40_000, deals: int = 100, rules: str = "standard", seed: int = 0, out: Path | None = None
) -> None:
    """Learn with MaskablePPO on the PettingZoo environment, as PettingZoo's tutorial does, with its rewards mended."""
    print(summary(run_tutorial(timesteps, rules=rules, seed=seed, deals=deals, path=out), deals))


if __name__ == "__main__":
    import typer

    typer.run(main)
