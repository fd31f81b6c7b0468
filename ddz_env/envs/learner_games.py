"""Games with one learner each: the core of the Gymnasium environments.

The single environment holds one game, the vector environment many, so they cannot differ.  The compiled part plays the
compiled opponents until the learner must decide; the others answer in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.observation import mask_bytes
from ddz_env.core.rules import Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES
from ddz_env.envs import slots as at
from ddz_env.envs.deals import Deals
from ddz_env.envs.games import GameBatch, check_actions, check_position, dealt_state, random_seed, refuse_illegal
from ddz_env.envs.opponents import Opponents
from ddz_env.envs.stepping import ACT, ANSWER, BEGIN, DEAL, FINISHED, LOOK, OPPONENT_TURN, RANDOM_ROLE, RESUME, WAIT
from ddz_env.support.checks import check_choice, check_seed
from ddz_env.support.errors import GameOverError, InvalidRulesError

Chosen = npt.NDArray[np.bool_]
"""Which of the games, shape ``[num_games]``, bool."""


def check_role(role: str, rules: Rules) -> int:
    """The number of a learner's role.

    Raises:
        InvalidOptionError: If the role does not exist under the rules.
        InvalidRulesError: If an auction decides on the roles.
    """
    if check_choice("role", role, (*ROLES[: rules.players], "random")) == "random":
        return RANDOM_ROLE
    if rules.bidding != "fixed":
        raise InvalidRulesError(f"the auction of the {rules.name} rules decides who is {role}: use role='random'")
    return ROLES.index(role)


class LearnerGames(GameBatch):
    """Games, each with one learner and opponents who play by themselves.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        opponents: An opponent for all seats or a dict by role (:mod:`ddz_env.envs.opponents`).
        role: ``"landlord"``, ``"peasant_down"``, ``"peasant_up"`` or ``"random"``.
        scoring: The rules' own by default.
        threads: How many threads step.
        log: Whether all moves are kept even if no opponent reads them (for pictures and infos).
        renews: Whether the step that ends a game deals the next one.  A game that ends before its learner has decided
            anything (possible in the half-deck game) is passed over.
        hands_out: Whether every step writes what the learners see into new arrays, the caller's own.
        deals: Deals of one's own (:mod:`ddz_env.envs.deals`); no step deals the next game then.

    Attributes:
        handed: What each learner sees, shape ``[num_games, OBSERVATION_SIZE]``, int8, and its legal actions, shape
            ``[num_games, 400]``, int8, action 0 alone when the game is over.  Steps that hand nothing out overwrite
            ``observation`` and ``mask``.
        seeded: Which games have had a seed, shape ``[num_games]``, bool.
        renews: Whether the step that ends a game deals the next one.

    Raises:
        InvalidRulesError: If preset, scoring or role does not exist under the rules.
        InvalidOptionError: If an option is out of range.
        UnknownAgentError: If an opponent cannot be found.
    """

    def __init__(
        self,
        num_games: int,
        rules: str | Rules,
        opponents: Any,
        role: str,
        scoring: str | None,
        *,
        threads: int = 1,
        log: bool = False,
        renews: bool = False,
        hands_out: bool = False,
        deals: Any = None,
    ) -> None:
        rules = Rules.preset(rules)
        self._deals = None if deals is None else Deals(deals, rules)
        self.renews = renews and deals is None
        number = check_role(role, rules)
        self._opponents = players = Opponents(opponents, role, rules, num_games, threads)
        extras: dict[str, Any] = {"logs": log or players.read_moves, "last": renews}
        shown: dict[str, Any] = dict.fromkeys(("masks", "observations", "infos"), 1)
        setting: dict[str, Any] = {"threads": threads, "role": number, "kinds": players.kinds, "renews": self.renews}
        super().__init__(num_games, rules, scoring, **setting, **shown, **extras)
        self.seeded = np.zeros(num_games, np.bool_)
        self._hands_out = hands_out

    def begin(
        self, chosen: Chosen, seeds: list[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Deal the chosen games.

        Args:
            chosen: Which.
            seeds: One per game; a seed starts its game 0, None (and no list at all) the next game of the last seed.
            options: A deal for all chosen games (:func:`ddz_env.envs.games.dealt_state`).

        Raises:
            InvalidDealError: If a seed or the deal does not fit.
            InvalidOptionError: If an option is unknown.
        """
        for seed in seeds or ():
            if seed is not None:
                check_seed(seed)
        self._start(chosen, seeds, dealt_state(options, self.rules, 0), BEGIN)

    def resume(self, chosen: Chosen, state: State, seed: int) -> None:
        """Put a position into the chosen games; what follows is drawn from a seed.

        Args:
            chosen: Which.
            state: The position.
            seed: Of the opponents' draws, and of the games that follow.

        Raises:
            InvalidOptionError: If it is not a :class:`~ddz_env.State`, or its rules differ.
            InvalidDealError: If the seed is out of range.
        """
        position = check_position(state, self.rules)
        self._start(chosen, [check_seed(seed)] * self.num_games, position, np.where(self.seeded, RESUME, BEGIN))

    def _start(self, chosen: Chosen, seeds: list[int | None] | None, position: State | None, order: Any) -> None:
        """Give the chosen games their numbers, and deal them, or carry out an order on a given position."""
        self._number(chosen, seeds)
        if position is not None:
            for index in np.flatnonzero(chosen).tolist():
                self.lay_out(index, position)
        self._opponents.begin(chosen)
        self._play(
            np.where(chosen, self._deal(chosen) if position is None else order, np.where(self.seeded, LOOK, WAIT))
        )
        for part in self.handed:
            part[~self.seeded] = 0

    def _number(self, chosen: Chosen, seeds: list[int | None] | None) -> None:
        """Give the chosen games their seeds and numbers; a game that never had a seed draws one."""
        keys = self.slots.keys
        keys[chosen, at.NUMBER] += np.uint64(1)
        if seeds is None and bool(self.seeded[chosen].all()):
            return
        for index in np.flatnonzero(chosen).tolist():
            seed = None if seeds is None else seeds[index]
            if seed is None and self.seeded[index]:
                continue
            keys[index, at.SEED] = random_seed() if seed is None else seed
            keys[index, at.NUMBER] = 0
            self.seeded[index] = True

    def _deal(self, chosen: Chosen) -> int:
        """Lay deals of one's own into the chosen games if there are any; returns the order that begins the games."""
        if self._deals is None:
            return DEAL
        for index in np.flatnonzero(chosen).tolist():
            seed, game = self.slots.keys[index, [at.SEED, at.NUMBER]].tolist()
            self.lay_out(index, self._deals.state(seed, game, game * self.num_games + index))
        return BEGIN

    def check(self, actions: npt.ArrayLike, chosen: Chosen, *, refuse: bool) -> npt.NDArray[np.int64]:
        """Check the learner's actions.

        Args:
            actions: Action ids, shape ``[num_games]``.
            chosen: The games that they are for.
            refuse: Whether illegal ones raise.

        Raises:
            InvalidMoveError: If they are not integers of that shape.
            IllegalMoveError: If one is illegal and ``refuse`` is set.  No game has changed.
            GameOverError: If a chosen game is over.  One that ended before its learner could act is not: a step must
                bring its reward.
        """
        checked = check_actions(actions, self.num_games)
        cells = self.slots.cells
        over = chosen & (cells[:, at.STATUS] == FINISHED)
        if over.any() and (over := over & ((cells[:, at.DECIDED] > 0) | ~self.seeded)).any():
            raise GameOverError(f"game {over.argmax()} is over: call reset")
        if refuse:
            indices = np.flatnonzero(chosen)
            refuse_illegal(checked[indices], self.slots.bits[indices], lambda wrong: f"game {indices[wrong]}")
        return checked

    def step(self, actions: npt.NDArray[np.int64], chosen: Chosen) -> None:
        """Play checked actions in the chosen games, deal the next in the others, and let the opponents reply.

        In a game that ended before its learner could act any action plays nothing and brings the reward.
        """
        orders: Any = ACT
        if not chosen.all():
            self._number(~chosen, None)
            orders = np.where(chosen, ACT, self._deal(~chosen))
            self._opponents.begin(~chosen)
        self.slots.cells[:, at.ACTION] = actions
        self._play(orders)

    def outcome(self) -> tuple[Chosen, npt.NDArray[np.float64], Chosen]:
        """Which games the last step ended, the learners' rewards and whether their actions were illegal; copies."""
        ended = self.slots.cells[:, at.ENDED] > 0
        return ended, np.where(ended, self.slots.returns[:, at.OWN], 0.0), self.slots.cells[:, at.ILLEGAL] > 0

    def _play(self, orders: Any) -> None:
        """Carry out orders, then ask opponents until every game waits for its learner."""
        out, self.handed = (self.slots.observations, self.slots.masks), (self.observation, self.mask)
        if self._hands_out:
            out = np.empty_like(out[0]), np.empty_like(out[1])
            self.handed = out[0].view(np.int8), mask_bytes(out[1])
        while orders is not None:
            self.run(orders, *out)
            self._opponents.tell(self.state)
            orders = self._answered() if self._opponents.in_python else None

    def _answered(self) -> npt.NDArray[Any] | None:
        """Ask the opponents in all games that wait for one; None if no game does."""
        waiting = self.slots.cells[:, at.STATUS] >= OPPONENT_TURN
        if not waiting.any():
            return None
        self._opponents.answer(waiting.nonzero()[0], self.slots, self.state)
        return np.where(waiting, ANSWER, WAIT)

    def close(self) -> None:
        """Close the opponents that can be closed."""
        self._opponents.close()
