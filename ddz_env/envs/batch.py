"""The self-play batch, which steps thousands of games at once and lets the caller play every seat.

    >>> from ddz_env.batch import SelfPlayBatch
    >>> batch = SelfPlayBatch(num_games=64, seed=1)
    >>> for _ in range(100):
    ...     actions = batch.sample_actions()  # or your policy's, from batch.observation and batch.mask
    ...     batch.step(actions)
    ...     # where batch.done: batch.reward holds the returns of the game that has just ended

Slot ``i`` of a batch of ``n`` games plays the games ``i``, ``i + n``, ``i + 2 n`` ... of the seed, which are the games
``State.new(seed, rules, game)``, or deals of your own (``deals=``); nothing depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.rules import Rules
from ddz_env.envs.deals import CustomDeals, Deal, DealFunction
from ddz_env.envs.games import GameBatch, check_actions, check_num_games, refuse_illegal
from ddz_env.envs.stepping import ACT, DEAL, OBSERVE, draw_actions, seed_action_samplers, step_games
from ddz_env.support.checks import as_array, check_flag, check_seed, describe_array
from ddz_env.support.errors import InvalidOptionError, short_repr
from ddz_env.support.threads import check_threads, exclusive


def _check_saved_state(saved: Any, rules: Rules, arrays: Mapping[str, Any]) -> int:
    """Check that a saved batch has the rules and array shapes of this one, and return its seed.

    Raises:
        InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
        InvalidDealError: If its seed is out of range.
    """
    if not isinstance(saved, Mapping) or not {"rules", "seed", *arrays} <= saved.keys():
        raise InvalidOptionError(f"a saved batch is the dict of state_dict, not {short_repr(saved)}")
    if not np.array_equal(saved["rules"], rules.words()):
        raise InvalidOptionError(
            f"the saved batch has other rules than this batch, which follows the {rules.name} rules: load it into a "
            "batch with the rules with which it was saved"
        )
    for name, array in arrays.items():
        saved_array = as_array(saved[name])
        if saved_array is None or saved_array.shape != array.shape or saved_array.dtype != array.dtype:
            raise InvalidOptionError(
                f"{name} of the saved batch is {describe_array(saved[name])}, not {describe_array(array)}"
            )
    return check_seed(saved["seed"])


class SelfPlayBatch(GameBatch):
    """A batch of many games, stepped in one compiled call, in which the caller plays every seat.

    All arrays are allocated once and written in place by :meth:`step`: copy what you keep.  A step plays one action
    in every game.  Where it ends a game, ``done`` is set, ``reward`` holds that game's returns, and everything else
    already shows the slot's next game (same-step reset).  Elsewhere ``reward`` is zero.  One thread at a time uses a
    batch; a second one gets a :class:`~ddz_env.support.errors.SharedGamesError`.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        seed: Any integer in 0..2**64-1.
        threads: How many threads step; None for one per core.  Results do not depend on it.
        scoring: ``"win"``, ``"stake"`` or ``"botzone"``; the rules' own by default.
        observation: Whether observations are written.
        mask: Whether masks are written as bytes; ``mask_words`` always are.
        concealed: Whether the cards that the seat does not see are written, for critics.
        deals: Deals of your own instead of shuffled ones (:mod:`ddz_env.envs.deals`); each costs some 0.4 ms.

    Attributes:
        seed: As above.
        reward: Returns by seat, shape ``[num_games, 3]``, float32.

    Raises:
        InvalidRulesError: If the preset or the scoring is unknown.
        InvalidOptionError: If ``num_games`` or ``threads`` is out of range.
        InvalidDealError: If the seed is out of range, or a deal of your own does not fit.
    """

    def __init__(
        self,
        num_games: int = 4096,
        rules: str | Rules = "standard",
        seed: int = 0,
        threads: int | None = None,
        *,
        scoring: str | None = None,
        observation: bool = True,
        mask: bool = True,
        concealed: bool = False,
        deals: DealFunction | str | Sequence[Deal] | None = None,
    ) -> None:
        rules = Rules.preset(rules)
        self._deals = None if deals is None else CustomDeals(deals, rules)
        num_games = check_num_games("num_games", num_games)
        super().__init__(
            num_games,
            rules,
            scoring,
            threads=check_threads(threads),
            stride=num_games,
            renews=True,
            observations=check_flag("observation", observation),
            masks=check_flag("mask", mask),
            concealed=check_flag("concealed", concealed),
        )
        self.seed = check_seed(seed)
        self.reward: npt.NDArray[np.float32] = np.zeros((num_games, 3), np.float32)
        self._actions = np.zeros(num_games, np.int64)
        self.reset()

    @property
    def mask_words(self) -> npt.NDArray[np.uint64]:
        """The masks of legal actions as bits, shape ``[num_games, 7]``, uint64."""
        return self.slots.bits

    @property
    def concealed(self) -> npt.NDArray[np.int8]:
        """The cards hidden from the seats to act, shape ``[num_games, 48]``, int8, by the layout ``CONCEALED``."""
        return self.slots.concealed

    @property
    def seat(self) -> npt.NDArray[np.int8]:
        """The seat to act in each game, shape ``[num_games]``, int8."""
        return self.slots.games["seat"]

    @property
    def role(self) -> npt.NDArray[np.int8]:
        """The role of each seat to act, ``[num_games]``, int8: 0 landlord, 1 peasant down, 2 peasant up, 3 none."""
        return self.slots.games["role"]

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """Whether the last step ended each game, shape ``[num_games]``, bool."""
        return self.slots.games["done"]

    @property
    def game(self) -> npt.NDArray[np.uint64]:
        """The number of each game under the batch's seed, shape ``[num_games]``, uint64."""
        return self.slots.games["number"]

    @property
    def rows(self) -> npt.NDArray[np.uint64]:
        """The game-state arrays of all games, including hidden cards, shape ``[num_games, 32]``, uint64."""
        return self.slots.rows

    @exclusive
    def reset(self, seed: int | None = None) -> None:
        """Restart the batch with the first game of every slot, under the old seed or a new one.

        Args:
            seed: A new seed; the old one by default.

        Raises:
            InvalidDealError: If the seed is out of range.
        """
        if seed is not None:
            self.seed = check_seed(seed)
        games = self.slots.games
        games["seed"], games["number"], self.reward[:] = self.seed, np.arange(self.num_games), 0.0
        self.run_orders(DEAL)
        self.place_custom_deals(np.arange(self.num_games))
        seed_action_samplers(self.slots)

    def place_custom_deals(self, games: npt.NDArray[np.intp]) -> None:
        """Replace the cards of newly dealt games with custom deals, if the batch was made with any.

        Args:
            games: Their indices.
        """
        if self._deals is None:
            return
        for index in games.tolist():
            number = int(self.game[index])
            self.set_game_state(index, self._deals.state(self.seed, number, number))
            self.slots.games["order"][index] = OBSERVE
            step_games(index, index + 1, self.slots)

    @exclusive
    def state_dict(self) -> dict[str, Any]:
        """Return the state of the batch as a dict, from which :meth:`load_state_dict` continues identically."""
        saved = {name: array.copy() for name, array in self._arrays_to_save().items()}
        return {"rules": self.rules.words(), "seed": self.seed} | saved

    @exclusive
    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Restore the batch from a dict that :meth:`state_dict` returned.

        Raises:
            InvalidOptionError: If it comes from a batch of another size or of other rules, or lacks a field.
            InvalidDealError: If its seed is out of range.
        """
        arrays = self._arrays_to_save()
        self.seed = _check_saved_state(saved, self.rules, arrays)
        self.slots.games["seed"] = self.seed
        for name, array in arrays.items():
            array[:] = saved[name]
        self.run_orders(OBSERVE)

    def _arrays_to_save(self) -> dict[str, Any]:
        """Return the arrays that :meth:`state_dict` must save, by name."""
        slots = self.slots
        games = {"rows": slots.rows, "rings": slots.rings, "games": self.game, "rewards": self.reward}
        return games | {"done": self.done, "streams": slots.games["stream"]}

    @exclusive
    def step(self, actions: npt.ArrayLike) -> None:
        """Play one action in every game of the batch.

        Args:
            actions: Action ids, shape ``[num_games]``, any integer type.

        Raises:
            InvalidMoveError: If the actions are not integers of that shape, or an id does not exist.
            IllegalMoveError: If an action is not legal.  No game has changed.
        """
        played = check_actions(actions, self.num_games)
        refuse_illegal(played, self.mask_words)
        self.slots.games["action"] = played
        self.run_orders(ACT)
        self.place_custom_deals(self.done.nonzero()[0])
        self.reward[:] = self.slots.returns

    @exclusive
    def sample_actions(self) -> npt.NDArray[np.int64]:
        """Draw a uniformly random legal action for every game, reproducibly from the seed.

        Returns:
            Shape ``[num_games]``, int64; the same array at every call.
        """
        draw_actions(self.slots)
        self._actions[:] = self.slots.games["action"]
        return self._actions
