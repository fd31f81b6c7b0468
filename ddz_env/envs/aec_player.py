"""An adapter through which an agent that chooses whole moves plays in a PettingZoo environment."""

from __future__ import annotations

from typing import Any

from ddz_env.envs.aec import raw_env
from ddz_env.playing.agent import Agent, StagedAdapter, agent_input, close_agent
from ddz_env.playing.game import call_agent, notify_of_game
from ddz_env.playing.generators import make_agent_generator
from ddz_env.playing.registry import make_agent
from ddz_env.support.checks import check_seed
from ddz_env.support.errors import GameOverError, InvalidOptionError, short_repr


class AECPlayer:
    """An adapter that lets an agent play one seat of an AEC environment, action by action.

    Args:
        agent: An agent's text (``"isuct:iterations=500"``, ``"policy"``, ``"mymodule:MyAgent"``) or an object with
            ``act(view, rng)``.
        seed: Of the agent's randomness: the same seed and games give the same actions.

    Raises:
        UnknownAgentError: If there is no such agent (:func:`~ddz_env.playing.registry.make_agent`).
        InvalidAgentOptionError: If an option of the agent is wrong.
        InvalidDealError: If the seed is out of range.

    Example:
        >>> from ddz_env import dou_dizhu_v0
        >>> env = dou_dizhu_v0.env()
        >>> players = {name: dou_dizhu_v0.AECPlayer("rules") for name in env.possible_agents}
        >>> env.reset(seed=42)
        >>> for name in env.agent_iter():
        ...     observation, reward, termination, truncation, info = env.last()
        ...     env.step(None if termination or truncation else players[name].next_action(env))
    """

    def __init__(self, agent: str | Agent, seed: int = 0) -> None:
        self.agent = make_agent(agent)
        self._seed = check_seed(seed)
        self._staged = StagedAdapter(self.agent)
        self._games = 0
        self._beginning: object = None
        self._num_known: int | None = None

    def next_action(self, env: Any) -> int:
        """Return the action id that the agent plays next for the seat to act in a PettingZoo environment.

        The agent chooses a whole move at its first stage; its kickers follow in the next calls.  It learns of a new
        game and of the others' moves here, so it plays one seat of one environment at a time.

        Args:
            env: A ``raw_env`` or anything around one that leaves its actions as they are, with a game that is not over.

        Raises:
            InvalidOptionError: If it is not this package's AEC environment, or has other actions (``flat_action``).
            GameOverError: If no game is running: the first has not begun, or the last has ended.
            AgentFaultError: If the agent raises.
            IllegalAgentMoveError: If its answer is not a legal move.
        """
        game = getattr(env, "unwrapped", env)
        if not isinstance(game, raw_env):
            raise InvalidOptionError(f"env must be an AEC environment of ddz_env, not {short_repr(env)}")
        if not getattr(game, "agents", None) or game.terminations[game.agent_selection]:
            raise GameOverError("no game is running: env.reset() starts the next one")
        state = game.game_state()
        seat = state.seat
        if game.beginning is not self._beginning:
            if env.action_space(game.agent_selection) != game.action_space(game.agent_selection):
                raise InvalidOptionError(
                    "env must have the two-stage actions of dou_dizhu_v0; a wrapper has replaced them"
                )
            self._beginning, self._num_known = game.beginning, None
            self._games += 1
            self._rng = make_agent_generator([self._seed, self._games, seat])
        self._num_known = notify_of_game(self.agent, seat, state.rules, state.history, self._num_known)
        action: int = call_agent(
            self.agent, seat, "act", self._staged.next_action, agent_input(self.agent, state), self._rng
        )
        if state.stage != "kicker":
            call_agent(self.agent, seat, "act", state.step, self._staged.move)  # a copy: is the whole move legal?
        return action

    def close(self) -> None:
        """Release the resources that the agent holds."""
        close_agent(self.agent)
