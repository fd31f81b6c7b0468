"""The agent ``botzone:./bot``, which plays with any program that speaks Botzone's JSON."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_agents.external.botzone.program import BotProgram, Limits, build_command
from ddz_agents.external.botzone.session import BotSession
from ddz_env import Move, Rules, View
from ddz_env.peers.botzone.games import game_for_rules
from ddz_env.support.options import Options, Range, takes_options


@dataclass(frozen=True)
class BotzoneOptions(Options):
    """The options of ``botzone``: which program plays, and its limits of time and memory.

    Attributes:
        path: The bot: an executable, or a `.py` or `.zip` file for this Python.
        seconds: Time for an answer, the start of its process included.
        megabytes: Address space of each of its processes, in MiB.
        kilobytes: Output for an answer, in KiB.
        keep_running: Whether it may stay alive between answers. With false its input ends after each request, which
            bots need that read to the end.
    """

    path: str | Path
    _: KW_ONLY
    seconds: Annotated[float, Range(0, above=True)] = 6.0
    megabytes: Annotated[int, Range(1)] = 2048
    kilobytes: Annotated[int, Range(1)] = 1024
    keep_running: bool = True


class BotzoneAgent:
    """Plays with a bot, a program of the user's own: ``botzone:./bot``.

    Under rules with a fixed landlord requests are those of ``FightTheLandlord``, with an auction those of
    ``FightTheLandlord2``.  A crash, a time-out, too much output, no JSON and cards that it does not hold are errors,
    and lose the game in an arena.

    Raises:
        InvalidAgentOptionError: If there is no such program, or an option's value is not allowed.
    """

    name = "botzone"
    main_option = "path"

    @takes_options(BotzoneOptions)
    def __init__(self, options: BotzoneOptions) -> None:
        self.options = options
        self._command = build_command(options.path)
        self._limits = Limits(options.seconds, options.megabytes, options.kilobytes)
        self._seats: dict[int, tuple[BotSession, BotProgram]] = {}
        self._globaldata: Any = None

    def reset(self, seat: int, rules: Rules) -> None:
        """End any processes that are left from the seat's last game.

        Raises:
            InvalidRulesError: If the platform has no game with the rules.
        """
        game_for_rules(rules)
        self._end_bot(seat)

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Send the seat's view to the bot as a request, and return the move in the bot's answer.

        Raises:
            BotFaultError: If it does not answer within its limits.
            BotAnswerError: If the answer is not a move.
        """
        seat = view.seat
        if seat in self._seats and not self._seats[seat][0].is_of_deal(view):
            self._end_bot(seat)
        if seat not in self._seats:
            self._seats[seat] = BotSession(view), BotProgram(self._command, self._limits, self.options.keep_running)
        session, program = self._seats[seat]
        answer = program.ask(session.make_message(view, program.is_running, self._globaldata))
        move, globaldata = session.parse_answer(answer.text, view)
        self._globaldata = globaldata if globaldata is not None else self._globaldata
        return move

    def close(self) -> None:
        """End the bot's processes."""
        for seat in list(self._seats):
            self._end_bot(seat)

    def _end_bot(self, seat: int) -> None:
        if seat in self._seats:
            self._seats.pop(seat)[1].end()
