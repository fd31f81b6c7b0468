"""Games with one learner each: the core of the Gymnasium environments.

The single environment is a table of one game, the vector environment a table of many, so they cannot differ.  The
compiled part plays the compiled opponents until the learner must decide; the others are asked in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env.core.checks import check_choice, check_seed
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.layout import HISTORY_WORDS, LANDLORD, NO_SEAT, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.random import advance, below, key, mix
from ddz_env.core.engine.score import write_returns
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.errors import GameOverError, InvalidRulesError
from ddz_env.core.observation import OBSERVATION_SIZE, mask_bytes, write_mask, write_observation
from ddz_env.core.owned import own
from ddz_env.core.rules import R_PLAYERS, Rules
from ddz_env.core.state import State
from ddz_env.core.view import ROLES
from ddz_env.envs import stepping
from ddz_env.envs.opponents import ASKED, Opponents, play_randomly, play_whole_move
from ddz_env.envs.outputs import WIDTH, write_info
from ddz_env.envs.stepping import acting_role, begin_game, is_playable, play_action
from ddz_env.envs.threads import run_chunks

LEARNER_TURN, OPPONENT_TURN, FINISHED = 0, 1, 2
"""What a game waits for: the learner, an opponent who is asked, a new deal."""

WAIT, DEAL, BEGIN, ACT, ANSWER, RESUME = 0, 1, 2, 3, 4, 5
"""What :func:`run_orders` does first in a game."""

RANDOM_ROLE = 3
ILLEGAL_REWARD = -1.0

_OPPONENT_STREAM = np.uint64(0x4F50504F4E454E54)
_NO_SEAT = np.uint64(NO_SEAT)
_STAGE_OVER = np.uint64(STAGE_OVER)


class LearnerSlots(NamedTuple):
    """The arrays of ``n`` games with a learner, as kernels take them.

    Attributes:
        rows: The games, shape ``[n, 32]``, uint64.
        rings: Their recent moves, shape ``[n, 16, 2]``, uint64.
        logs: All their moves, shape ``[n, 256, 2]``, uint64, or ``[n, 0, 2]`` where nobody reads them.
        seeds: Seed of each game, shape ``[n]``, uint64.
        episodes: Its number under that seed, shape ``[n]``, uint64.
        streams: State of the opponents' generator, shape ``[n]``, uint64.
        learners: The learner's seat, shape ``[n]``, int8.
        status: ``LEARNER_TURN``, ``OPPONENT_TURN`` or ``FINISHED``, shape ``[n]``, int8.
        bits: Masks as bits, shape ``[n, 7]``, uint64.
        masks: Masks as bytes, shape ``[n, 50]``, uint64.
        observations: Shape ``[n, OBSERVATION_WORDS]``, uint64.
        infos: By the table ``INFOS`` of :mod:`ddz_env.envs.outputs`, shape ``[n, WIDTH]``, int64.
        rewards: The learner's reward of the last step, shape ``[n]``, float64.
        illegal: Whether the last action was illegal, shape ``[n]``, bool.
    """

    rows: stepping.Rows
    rings: stepping.Rings
    logs: Annotated[Any, np.uint64, 0, HISTORY_WORDS]
    seeds: stepping.Words
    episodes: stepping.Words
    streams: stepping.Words
    learners: stepping.Bytes
    status: stepping.Bytes
    bits: stepping.Bits
    masks: stepping.Masks
    observations: stepping.Observations
    infos: Annotated[Any, np.int64, WIDTH]
    rewards: Annotated[Any, np.float64]
    illegal: stepping.Flags


class LearnerRules(NamedTuple):
    """What stays the same, as kernels take it.

    Attributes:
        rules: The rules array, shape ``[17]``, uint64.
        kinds: How each role's opponent is played (``ASKED``, ``UNIFORM``, ``STAGED``), shape ``[players]``, int64.
        role: The learner's role 0..2, or ``RANDOM_ROLE``.
        scoring: The engine's number of the scoring.
        peasant_reward: See :class:`~ddz_env.Rules`.
    """

    rules: Any
    kinds: Any
    role: int
    scoring: int
    peasant_reward: float


@pure_kernel
def seat_learner(index: int, tables: LearnerSlots, setting: LearnerRules, stay: bool) -> None:
    """Seed the opponents' generator of a game that begins, and choose the learner's seat; a random one may stay."""
    row, rules = tables.rows[index], setting.rules
    state = advance(key(tables.seeds[index] ^ _OPPONENT_STREAM, tables.episodes[index]))
    tables.streams[index] = state
    if setting.role == RANDOM_ROLE or row[LANDLORD] == _NO_SEAT:
        seat = np.uint64(tables.learners[index]) if stay else below(mix(state), rules[R_PLAYERS])
    else:
        seat = row[LANDLORD] + np.uint64(setting.role)
        if seat >= rules[R_PLAYERS]:
            seat -= rules[R_PLAYERS]
    tables.learners[index] = np.int8(seat)
    tables.rewards[index] = 0.0
    tables.illegal[index] = False


@pure_kernel
def show(index: int, tables: LearnerSlots, setting: LearnerRules) -> None:
    """Write what the learner sees, or the opponent who is asked.

    A game that is over offers action 0, which changes nothing: a distribution over no actions at all does not exist,
    and policies are asked about such a game before it is dealt anew.
    """
    row, status = tables.rows[index], tables.status[index]
    seat = row[SEAT] if status == OPPONENT_TURN else np.uint64(tables.learners[index])
    write_observation(row, tables.rings[index], setting.rules, seat, tables.observations[index])
    write_info(row, tables.rings[index], setting.rules, seat, tables.infos[index])
    if status == FINISHED:
        tables.bits[index][:] = U0
        tables.masks[index][:] = U0
        tables.bits[index][0] = tables.masks[index][0] = U1
    else:
        write_mask(row, setting.rules, tables.bits[index], tables.masks[index])


@kernel
def play_opponents(index: int, tables: LearnerSlots, setting: LearnerRules) -> None:
    """Play the compiled opponents until the learner, an opponent who is asked or nobody is to act."""
    row, ring, log = tables.rows[index], tables.rings[index], tables.logs[index]
    status = FINISHED
    while row[STAGE] != _STAGE_OVER:
        if row[SEAT] == np.uint64(tables.learners[index]):
            status = LEARNER_TURN
            break
        role = acting_role(row, setting.rules)
        kind = setting.kinds[role if role < 3 else 0]  # in an auction all opponents are the same
        if kind == ASKED:
            status = OPPONENT_TURN
            break
        tables.streams[index] = play_randomly(row, ring, log, setting.rules, kind, tables.streams[index])
    tables.status[index] = status
    if status == FINISHED:
        returns = np.empty(3, np.float64)
        write_returns(row, setting.rules, setting.scoring, setting.peasant_reward, returns)
        tables.rewards[index] = returns[np.int64(tables.learners[index])]


@pure_kernel
def play_learner(index: int, action: int, tables: LearnerSlots, setting: LearnerRules) -> bool:
    """Play the learner's action; an illegal one ends the game, and False is returned."""
    tables.rewards[index] = 0.0
    if not is_playable(action, tables.bits[index]):
        tables.illegal[index] = True
        tables.rewards[index] = ILLEGAL_REWARD
        tables.status[index] = FINISHED
        return False
    play_action(tables.rows[index], tables.rings[index], tables.logs[index], np.uint64(action), setting.rules)
    return True


@kernel
def run_orders(
    first: int,
    stop: int,
    orders: np.ndarray,
    actions: np.ndarray,
    answers: np.ndarray,
    tables: LearnerSlots,
    setting: LearnerRules,
) -> None:
    """Carry out one order in each of the games ``first..stop-1``, then play on.  One entry point: it compiles once.

    Args:
        first: The first game.
        stop: The end.
        orders: ``WAIT``, ``DEAL``, ``BEGIN`` (the row is dealt already), ``RESUME`` (likewise, and the learner keeps a
            random seat), ``ACT`` or ``ANSWER``, shape ``[n]``, int8.
        actions: The learners' actions, shape ``[n]``, int64.
        answers: What opponents answered, a main id and kickers or the action id of a single stage and 0, shape
            ``[n, 2]``, uint64; empty where nobody is asked.
        tables: The games.
        setting: What stays the same.
    """
    for index in range(first, stop):
        order = orders[index]
        if order == WAIT or (order == ACT and tables.status[index] == FINISHED):
            continue
        row, ring, log = tables.rows[index], tables.rings[index], tables.logs[index]
        continues = True
        if order == DEAL:
            begin_game(row, ring, tables.seeds[index], tables.episodes[index], setting.rules)
        if order == ACT:
            continues = play_learner(index, actions[index], tables, setting)
        elif order == ANSWER:
            play_whole_move(row, ring, log, answers[index, 0], answers[index, 1], setting.rules)
        else:
            seat_learner(index, tables, setting, order == RESUME)
        if continues:
            play_opponents(index, tables, setting)
        show(index, tables, setting)


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


class Endings(NamedTuple):
    """How games ended that were dealt anew within the same step, shapes ``[n]``.

    Attributes:
        ended: Whether the game ended.
        rewards: The learners' rewards.
        illegal: Whether the learner's last action was illegal.
        infos: The last infos, shape ``[n, WIDTH]``, int64.
        observations: What the learners saw last, shape ``[n, OBSERVATION_SIZE]``, int8.
    """

    ended: stepping.Flags
    rewards: Annotated[Any, np.float64]
    illegal: stepping.Flags
    infos: Annotated[Any, np.int64, WIDTH]
    observations: Annotated[Any, np.int8, OBSERVATION_SIZE]


class LearnerGames:
    """``n`` games, each with one learner and opponents who play by themselves.

    Args:
        count: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.
        opponents: An opponent for all seats or a dict by role (:mod:`ddz_env.envs.opponents`).
        role: ``"landlord"``, ``"peasant_down"``, ``"peasant_up"`` or ``"random"``.
        scoring: The rules' own by default.
        threads: How many threads step.
        log: Whether all moves are kept even if no opponent reads them (for pictures and infos).
        renew: Whether a game that ends is dealt anew at once, within the step that ends it (:attr:`endings`).  A game
            that ends before its learner has decided anything (possible in the half-deck game) is passed over.

    Attributes:
        observations: What each learner sees, shape ``[n, OBSERVATION_SIZE]``, int8, overwritten by every step.
        masks: Legal actions, shape ``[n, 400]``, int8, likewise; action 0 alone when the game is over.
        tables: All arrays.
        seeded: Which games have had a seed, shape ``[n]``, bool.
        endings: With ``renew``: how the games ended that the last step ended.

    Raises:
        InvalidRulesError: If preset, scoring or role does not exist under the rules.
        InvalidOptionError: If an option is out of range.
        UnknownAgentError: If an opponent cannot be found.
    """

    def __init__(
        self,
        count: int,
        rules: str | Rules,
        opponents: Any,
        role: str,
        scoring: str | None,
        *,
        threads: int = 1,
        log: bool = False,
        renew: bool = False,
    ) -> None:
        self.count = count
        self.rules = Rules.preset(rules)
        role_number = check_role(role, self.rules)
        self._opponents = Opponents(opponents, role, self.rules, count)
        score = stepping.choose_scoring(self.rules, scoring), self.rules.peasant_reward
        self._setting = LearnerRules(self.rules.words(), self._opponents.kinds, role_number, *score)
        self._threads = threads
        logs = np.zeros((count, stepping.LOG_MOVES * (log or self._opponents.read_moves), HISTORY_WORDS), np.uint64)
        self.tables = stepping.allocate(LearnerSlots, count)._replace(logs=logs)
        self.tables.status[:] = FINISHED
        self.endings = stepping.allocate(Endings, count if renew else 0)
        self._renew = renew
        self.seeded = np.zeros(count, np.bool_)
        self._decided = np.zeros(count, np.bool_)
        self._actions = np.zeros(count, np.int64)
        self._answers = np.zeros((count if self._opponents.asked else 0, 2), np.uint64)
        self._name_bytes()

    def _name_bytes(self) -> None:
        self.observations: npt.NDArray[np.int8] = self.tables.observations.view(np.int8)
        self.masks: npt.NDArray[np.int8] = mask_bytes(self.tables.masks)

    def __getstate__(self) -> dict[str, Any]:
        saved = {name: value for name, value in self.__dict__.items() if name not in ("observations", "masks")}
        return saved | {"tables": tuple(self.tables), "_setting": tuple(self._setting)}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        saved = own(saved)
        self.__dict__.update(saved)
        self.tables, self._setting = LearnerSlots(*saved["tables"]), LearnerRules(*saved["_setting"])
        self._name_bytes()  # a copied view would no longer share the words

    def begin(
        self,
        chosen: npt.NDArray[np.bool_],
        seeds: list[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Deal the chosen games.

        Args:
            chosen: Which, shape ``[n]``, bool.
            seeds: One a game; a seed starts its game 0, None (and no list at all) the next game of the last seed.
            options: A deal for all chosen games (:func:`ddz_env.envs.stepping.dealt_state`).

        Raises:
            InvalidDealError: If a seed or the deal does not fit.
            InvalidOptionError: If an option is unknown.
        """
        for seed in seeds or ():
            if seed is not None:
                check_seed(seed)
        self._start(chosen, seeds, stepping.dealt_state(options, self.rules, 0), BEGIN)

    def resume(self, chosen: npt.NDArray[np.bool_], given: State, seed: int) -> None:
        """Put a position into the chosen games; what follows is drawn from a seed.

        Args:
            chosen: Which, shape ``[n]``, bool.
            given: The position.
            seed: Of the opponents' draws, and of the games that follow.

        Raises:
            InvalidOptionError: If it is no :class:`~ddz_env.State`, or follows other rules.
            InvalidDealError: If the seed is out of range.
        """
        position = stepping.dealt_state({"deal": stepping.check_position(given)}, self.rules, 0)
        self._start(chosen, [check_seed(seed)] * self.count, position, np.where(self.seeded, RESUME, BEGIN))

    def _start(
        self, chosen: npt.NDArray[np.bool_], seeds: list[int | None] | None, given: State | None, order: Any
    ) -> None:
        """Give the chosen games their numbers, and deal them, or carry out an order on a given position."""
        self._number(chosen, seeds)
        if given is not None:
            for index in np.flatnonzero(chosen):
                stepping.lay_out(given, self.tables.rows[index], self.tables.rings[index], self.tables.logs[index])
        self._run(np.where(chosen, DEAL if given is None else order, WAIT))

    def _number(self, chosen: npt.NDArray[np.bool_], seeds: list[int | None] | None = None) -> None:
        """Give the chosen games their seeds and numbers; a game that never had a seed draws one."""
        self._decided[chosen] = False
        self._opponents.begin(chosen)
        self.tables.episodes[chosen] += np.uint64(1)
        if seeds is None and bool(self.seeded[chosen].all()):
            return
        for index in np.flatnonzero(chosen).tolist():
            seed = None if seeds is None else seeds[index]
            if seed is None and self.seeded[index]:
                continue
            self.tables.seeds[index] = np.uint64(stepping.random_seed() if seed is None else seed)
            self.tables.episodes[index] = np.uint64(0)
            self.seeded[index] = True

    def check(self, actions: npt.ArrayLike, chosen: npt.NDArray[np.bool_], *, refuse: bool) -> npt.NDArray[np.int64]:
        """Check the learner's actions.

        Args:
            actions: Action ids, shape ``[n]``.
            chosen: The games that they are for.
            refuse: Whether illegal ones raise.

        Raises:
            InvalidMoveError: If they are not integers of that shape.
            IllegalMoveError: If one is illegal and ``refuse`` is set.  No game has changed.
            GameOverError: If a chosen game is over.  One that ended before its learner could act is not: a step must
                tell its reward.
        """
        checked = stepping.check_actions(actions, self.count)
        over = np.flatnonzero(chosen & (self.tables.status == FINISHED))
        if len(over) and len(over := over[self._decided[over] | ~self.seeded[over]]):
            raise GameOverError(f"game {over[0]} is over: call reset")
        if refuse:
            where = np.flatnonzero(chosen)
            wrong = int(stepping.first_illegal(checked[where], self.tables.bits[where]))
            if wrong >= 0:
                index = int(where[wrong])
                stepping.refuse_action(f"game {index}", int(checked[index]), np.flatnonzero(self.masks[index]).tolist())
        return checked

    def step(self, actions: npt.NDArray[np.int64], chosen: npt.NDArray[np.bool_]) -> None:
        """Play checked actions in the chosen games, and the opponents' replies.

        In a game that ended before its learner could act any action plays nothing and brings the reward.
        """
        self._actions = actions
        self._decided |= chosen
        for array in self.endings[:3]:
            array[:] = 0
        self._run(np.where(chosen, ACT, WAIT))

    def outcome(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Which games the last step ended, the learners' rewards and whether their actions were illegal; copies."""
        if self._renew:
            return self.endings.ended.copy(), self.endings.rewards.copy(), self.endings.illegal.copy()
        ended = (self.tables.status == FINISHED) & self._decided
        return ended, np.where(ended, self.tables.rewards, 0.0), self.tables.illegal.copy()

    def _run(self, orders: npt.NDArray[Any] | None) -> None:
        """Carry out orders, then deal games anew and ask opponents until every game waits for its learner."""
        while orders is not None:
            given = orders.astype(np.int8), self._actions, self._answers
            run_chunks(run_orders, self.count, self._threads, *given, self.tables, self._setting)
            if self.count == 1:
                self._opponents.tell(self.state)
            orders = self._renewed() if self._renew else None
            if orders is None and self._opponents.asked:
                orders = self._answered()

    def _answered(self) -> npt.NDArray[Any] | None:
        """Ask the opponents in all games that wait for one; None if no game does."""
        waiting = self.tables.status == OPPONENT_TURN
        if not waiting.any():
            return None
        self._opponents.answer(np.flatnonzero(waiting), self.tables, self.state, self._answers)
        return np.where(waiting, ANSWER, WAIT)

    def _renewed(self) -> npt.NDArray[Any] | None:
        """Note the games that have ended and number the next ones; None if no game has ended."""
        tables, endings = self.tables, self.endings
        over = (tables.status == FINISHED) & self.seeded
        if not over.any():
            return None
        ended = over & self._decided
        endings.ended[ended] = True
        for kept in ("rewards", "illegal", "infos"):
            getattr(endings, kept)[ended] = getattr(tables, kept)[ended]
        endings.observations[ended] = self.observations[ended]
        self._number(over)
        return np.where(over, DEAL, WAIT)

    def state(self, index: int) -> State:
        """One game as a :class:`~ddz_env.State` of its own."""
        return stepping.restore_state(
            self.tables.rows[index], self.tables.rings[index], self.tables.logs[index], self.rules
        )

    def close(self) -> None:
        """Close the opponents that can be closed."""
        self._opponents.close()
