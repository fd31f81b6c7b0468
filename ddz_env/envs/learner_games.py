"""Games with one learner each against automatic opponents, as used by the Gymnasium environments.

The single environment holds one game, the vector environment many, so they cannot differ.  The compiled part plays the
compiled opponents until the learner must decide; the others answer in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import LANDLORD, NO_SEAT, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, nth_legal, write_legal_mask
from ddz_env.core.engine.moves import draw_move
from ddz_env.core.engine.random import advance, mix, scale_below, stream_state
from ddz_env.core.engine.words import U0
from ddz_env.core.rules import R_PLAYERS, Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES, role_number
from ddz_env.envs.deals import CustomDeals
from ddz_env.envs.games import (
    GameBatch,
    check_actions,
    check_position,
    draw_random_seed,
    refuse_illegal,
    state_from_options,
)
from ddz_env.envs.opponents import STAGED, UNIFORM, Opponents
from ddz_env.envs.stepping import (
    ACT,
    ANSWER,
    BEGIN,
    DEAL,
    FINISHED,
    ILLEGAL_REWARD,
    LEARNER_TURN,
    OBSERVE,
    OPPONENT_TURN,
    RANDOM_ROLE,
    RENEW,
    RESUME,
    WAIT,
    Slots,
    clear_outcome,
    deal_game,
    is_action_legal,
    play_action,
    play_whole_move,
    write_outcome,
    write_outputs,
)
from ddz_env.support.checks import check_choice, check_seed
from ddz_env.support.compiling import part_kernel, pure_kernel
from ddz_env.support.errors import GameOverError, InvalidRulesError
from ddz_env.support.threads import run_chunks

GameMask = npt.NDArray[np.bool_]
"""Which of the games, shape ``[num_games]``, bool."""

_OPPONENT_STREAM = np.uint64(0x4F50504F4E454E54)
_NO_SEAT = np.uint64(NO_SEAT)
_STAGE_OVER = np.uint64(STAGE_OVER)


# --- Kernels ----------------------------------------------------------------------------------------------------------


@part_kernel
def _assign_learner_seat(row: np.ndarray, game: Any, role: int, rules: np.ndarray) -> None:
    """Choose the learner's seat in a new game, and seed the generator of its opponents."""
    game["decided"] = False
    game["stream"] = advance(stream_state(game["seed"] ^ _OPPONENT_STREAM, game["number"]))
    if role != RANDOM_ROLE and row[LANDLORD] != _NO_SEAT:
        seat = row[LANDLORD] + np.uint64(role)
        game["learner"] = np.int64(seat if seat < rules[R_PLAYERS] else seat - rules[R_PLAYERS])
    elif game["order"] != RESUME:
        game["learner"] = np.int64(scale_below(mix(game["stream"]), rules[R_PLAYERS]))


@part_kernel
def _carry_out_order(index: int, slots: Slots) -> bool:
    """Carry out a game's pending instruction, such as a deal or an action; return whether the game then goes on."""
    row, ring, log, game = slots.rows[index], slots.rings[index], slots.logs[index], slots.games[index]
    order = game["order"]
    if order == ANSWER:
        play_whole_move(row, ring, log, game["main"], game["kickers"], slots.rules)
    elif order == ACT:
        clear_outcome(game, slots.returns[index])
        game["decided"] = True
        if not is_action_legal(game["action"], slots.bits[index]):
            game["reward"] = slots.illegal_reward
            game["illegal"] = True
            game["done"] = True
            game["status"] = FINISHED
            return False
        play_action(row, ring, log, np.uint64(game["action"]), slots.rules)
    else:
        if order != RENEW:
            clear_outcome(game, slots.returns[index])
        if order in (DEAL, RENEW):
            deal_game(row, ring, game, slots.bits[index], slots.rules)
        _assign_learner_seat(row, game, slots.role, slots.rules)
    return True


@part_kernel
def _play_opponents(index: int, slots: Slots) -> None:
    """Play for compiled opponents until the learner or a Python agent must decide, or until the game is over."""
    row, ring, log, game = slots.rows[index], slots.rings[index], slots.logs[index], slots.games[index]
    bits, learner = slots.bits[index], np.uint64(game["learner"])
    while row[STAGE] != _STAGE_OVER:
        if row[SEAT] == learner:
            game["status"] = LEARNER_TURN
            return
        role = role_number(row, row[SEAT], slots.rules)
        kind = slots.kinds[role if role < 3 else 0]  # in an auction all opponents are the same
        if kind != STAGED and kind != UNIFORM:
            game["status"] = OPPONENT_TURN
            return
        game["stream"] = advance(game["stream"])
        if kind == UNIFORM:
            main, kickers = draw_move(row, slots.rules, bits, mix(game["stream"]))
        else:
            write_legal_mask(row, slots.rules, bits)
            main, kickers = nth_legal(bits, scale_below(mix(game["stream"]), count_legal(bits))), U0
        play_whole_move(row, ring, log, main, kickers, slots.rules)
    game["status"] = FINISHED
    if game["decided"] or not slots.renews:
        write_outcome(row, game, slots.scoring, slots.peasant_reward, slots.returns[index], slots.rules)


@pure_kernel
def _copy_row(source: np.ndarray, target: np.ndarray) -> None:
    for index in range(target.shape[0]):  # an assignment would allocate
        target[index] = source[index]


@pure_kernel
def step_learner_games(first: int, stop: int, slots: Slots, observations: np.ndarray, masks: np.ndarray) -> None:
    """Step the games ``first..stop-1``: carry out instructions, play for opponents and write the outputs.

    Where the step that ends a game deals the next one, what the learner saw last is kept, and games that end before the
    learner has decided anything are passed over.

    Args:
        first: The first game.
        stop: The end.
        slots: The games.
        observations: Output: what the learners see, as in :class:`~ddz_env.envs.stepping.Slots`.
        masks: Output, likewise.
    """
    for index in range(first, stop):
        game = slots.games[index]
        if game["order"] == WAIT:
            continue
        plays = game["order"] != OBSERVE
        if game["order"] == ACT and game["status"] == FINISHED:  # over before its learner could act
            game["decided"] = True
            game["done"] = True
            plays = False
        while True:
            if plays and _carry_out_order(index, slots):
                _play_opponents(index, slots)
            over = game["status"] == FINISHED
            if game["status"] != OPPONENT_TURN and (game["decided"] or not (over and slots.renews)):
                write_outputs(index, slots, np.uint64(game["learner"]), over, observations, masks)
            if not (plays and over and slots.renews):
                break
            if game["decided"]:
                _copy_row(observations[index], slots.last_observations[index])
                _copy_row(slots.infos[index, 0], slots.last_infos[index])
            game["number"] += np.uint64(slots.stride)
            game["order"] = RENEW


# --- The games --------------------------------------------------------------------------------------------------------


def parse_role(role: str, rules: Rules) -> int:
    """Check the name of the learner's role, and return the role's number.

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
    """A batch of games, each with one learner and with opponents that play automatically.

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
        new_arrays: Whether every step writes what the learners see into new arrays, the caller's own.
        deals: Deals of one's own (:mod:`ddz_env.envs.deals`); no step deals the next game then.

    Attributes:
        learner_outputs: What each learner sees, shape ``[num_games, OBSERVATION_SIZE]``, int8, and its legal actions,
            shape ``[num_games, 400]``, int8, action 0 alone when the game is over.  Without ``new_arrays`` steps
            overwrite them.
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
        new_arrays: bool = False,
        deals: Any = None,
        illegal_reward: float = ILLEGAL_REWARD,
    ) -> None:
        rules = Rules.preset(rules)
        self._deals = None if deals is None else CustomDeals(deals, rules)
        number = parse_role(role, rules)
        self._opponents = players = Opponents(opponents, role, rules, num_games, threads)
        self.renews = renews and deals is None and not players.follow_game
        super().__init__(
            num_games,
            rules,
            scoring,
            threads=threads,
            role=number,
            kinds=players.kinds,
            illegal_reward=illegal_reward,
            renews=self.renews,
            masks=True,
            observations=True,
            infos=1,
            logs=log or players.read_moves,
            last=renews,
        )
        self.seeded = np.zeros(num_games, np.bool_)
        self._new_arrays = new_arrays

    def begin(
        self, chosen: GameMask, seeds: list[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Deal new games in the chosen slots of the batch.

        Args:
            chosen: Which.
            seeds: One per game; a seed starts its game 0, None (and no list at all) the next game of the last seed.
            options: A deal for all chosen games (:func:`ddz_env.envs.games.state_from_options`).

        Raises:
            InvalidDealError: If a seed or the deal does not fit.
            InvalidOptionError: If an option is unknown.
        """
        for seed in seeds or ():
            if seed is not None:
                check_seed(seed)
        self._start_games(chosen, seeds, state_from_options(options, self.rules, 0), BEGIN)

    def resume(self, chosen: GameMask, state: State, seed: int) -> None:
        """Continue the chosen games from a given position, with all later draws determined by a seed.

        Args:
            chosen: Which.
            state: The position.
            seed: Of the opponents' draws, and of the games that follow.

        Raises:
            InvalidOptionError: If it is not a :class:`~ddz_env.State`, or its rules differ.
            InvalidDealError: If the seed is out of range.
        """
        position = check_position(state, self.rules)
        self._start_games(chosen, [check_seed(seed)] * self.num_games, position, np.where(self.seeded, RESUME, BEGIN))

    def _start_games(
        self, chosen: GameMask, seeds: list[int | None] | None, position: State | None, order: Any
    ) -> None:
        """Assign seeds to the chosen games, then deal them or start them at a given position."""
        self._assign_seeds(chosen, seeds)
        if position is not None:
            for index in np.flatnonzero(chosen).tolist():
                self.set_game_state(index, position)
        self._opponents.begin(chosen)
        self._play_to_learners(
            np.where(
                chosen,
                self._place_custom_deals(chosen) if position is None else order,
                np.where(self.seeded, OBSERVE, WAIT),
            )
        )
        for part in self.learner_outputs:
            part[~self.seeded] = 0

    def _assign_seeds(self, chosen: GameMask, seeds: list[int | None] | None) -> None:
        """Assign seeds and numbers to the chosen games; a game that has never had a seed draws one."""
        games = self.slots.games
        games["number"][chosen] += np.uint64(1)
        if seeds is None and bool(self.seeded[chosen].all()):
            return
        for index in np.flatnonzero(chosen).tolist():
            seed = None if seeds is None else seeds[index]
            if seed is None and self.seeded[index]:
                continue
            games["seed"][index] = draw_random_seed() if seed is None else seed
            games["number"][index] = 0
            self.seeded[index] = True

    def _place_custom_deals(self, chosen: GameMask) -> int:
        """Put any custom deals into the chosen games, and return the instruction with which the games begin."""
        if self._deals is None:
            return DEAL
        for index in np.flatnonzero(chosen).tolist():
            seed, game = int(self.slots.games["seed"][index]), int(self.slots.games["number"][index])
            self.set_game_state(index, self._deals.state(seed, game, game * self.num_games + index))
        return BEGIN

    def check(self, actions: npt.ArrayLike, chosen: GameMask, *, refuse: bool) -> npt.NDArray[np.int64]:
        """Check the learners' actions for type, shape and legality, and return them as int64.

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
        games = self.slots.games
        over = chosen & (games["status"] == FINISHED)
        if over.any() and (over := over & (games["decided"] | ~self.seeded)).any():
            what = "is over" if self.seeded[over.argmax()] else "has not begun"
            raise GameOverError(f"{'the game' if self.num_games == 1 else f'game {over.argmax()}'} {what}: call reset")
        if refuse:
            indices = np.flatnonzero(chosen)
            refuse_illegal(checked[indices], self.slots.bits[indices], lambda wrong: f"game {indices[wrong]}")
        return checked

    def step(self, actions: npt.NDArray[np.int64], chosen: GameMask) -> None:
        """Play checked actions in the chosen games, deal new games in the others, and let the opponents reply.

        In a game that ended before its learner could act any action plays nothing and brings the reward.
        """
        orders: Any = ACT
        if not chosen.all():
            self._assign_seeds(~chosen, None)
            orders = np.where(chosen, ACT, self._place_custom_deals(~chosen))
            self._opponents.begin(~chosen)
        self.slots.games["action"] = actions
        self._play_to_learners(orders)

    def get_outcome(self) -> tuple[GameMask, npt.NDArray[np.float64], GameMask]:
        """Return copies of the last step's end flags, rewards and illegal-action flags."""
        games = self.slots.games
        ended = games["done"].copy()
        return ended, np.where(ended, games["reward"], 0.0), games["illegal"].copy()

    def _play_to_learners(self, orders: Any) -> None:
        """Carry out instructions, then let opponents play until every game waits for its learner or is over."""
        observations, masks = self.slots.observations, self.slots.masks
        if self._new_arrays:
            observations, masks = np.empty_like(observations), np.empty_like(masks)
        self.learner_outputs = observations, masks[:, :NUM_ACTIONS]
        while orders is not None:
            self.slots.games["order"] = orders
            run_chunks(step_learner_games, self.num_games, self.threads, self.slots, observations, masks)
            self._opponents.notify_of_moves(self.state, int(self.slots.games["learner"][0]))
            orders = self._request_opponent_moves() if self._opponents.in_python else None

    def _request_opponent_moves(self) -> npt.NDArray[Any] | None:
        """Ask Python opponents for their moves; return each game's next instruction, or None if no game waits."""
        waiting = self.slots.games["status"] == OPPONENT_TURN
        if not waiting.any():
            return None
        self._opponents.choose_moves(waiting.nonzero()[0], self.slots)
        return np.where(waiting, ANSWER, WAIT)

    def close(self) -> None:
        """Close all opponents that have a ``close`` method."""
        self._opponents.close()
