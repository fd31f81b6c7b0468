"""Where the time of a run goes: the games, the past selves, SB3's rollouts and SB3's learning."""

from __future__ import annotations

import time
from dataclasses import dataclass

from training.sb3.players import PastSelf
from training.sb3.vec_env import MaskedVecEnv


@dataclass
class TimeSplit:
    """Seconds of training, evaluations and checkpoints not counted.

    Attributes:
        games: Stepping the games, with opponents, masks and the infos that SB3 wants.
        past_self: Forward passes of a past self that plays the opponents.
        rollout: The rest of collecting: SB3's forward passes, distributions and buffers.
        learning: SB3's gradient steps.
    """

    games: float = 0.0
    past_self: float = 0.0
    rollout: float = 0.0
    learning: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.games + self.past_self + self.rollout + self.learning

    def describe(self) -> str:
        """The shares, in words.

        Example:
            >>> TimeSplit(games=1.0, rollout=4.0, learning=5.0).describe()
            'of 10.0 s: games 10.0 %, past self 0.0 %, SB3 rollouts 40.0 %, SB3 learning 50.0 %'
        """
        total = max(self.total, 1e-9)
        parts = {
            "games": self.games,
            "past self": self.past_self,
            "SB3 rollouts": self.rollout,
            "SB3 learning": self.learning,
        }
        shares = ", ".join(f"{name} {100 * seconds / total:.1f} %" for name, seconds in parts.items())
        return f"of {self.total:.1f} s: {shares}"


class Stopwatch:
    """Measures a :class:`TimeSplit`, update by update.

    Args:
        env: The games.
        past: The past self that plays in them, if one does.

    Attributes:
        split: What has been measured so far.
    """

    def __init__(self, env: MaskedVecEnv, past: PastSelf | None) -> None:
        self.split = TimeSplit()
        self._env, self._past = env, past
        self._mark = time.perf_counter()
        self._before = self._inside()

    def _inside(self) -> tuple[float, float]:
        return self._env.seconds, self._past.seconds if self._past else 0.0

    def rollout_begins(self) -> None:
        """Call it right before a rollout."""
        self._mark, self._before = time.perf_counter(), self._inside()

    def rollout_ends(self) -> None:
        """Call it right after a rollout: learning begins."""
        now, inside = time.perf_counter(), self._inside()
        stepping, past = inside[0] - self._before[0], inside[1] - self._before[1]
        self.split.games += stepping - past
        self.split.past_self += past
        self.split.rollout += now - self._mark - stepping
        self._mark = now

    def learning_ends(self) -> None:
        """Call it right after the gradient steps."""
        self.split.learning += time.perf_counter() - self._mark
