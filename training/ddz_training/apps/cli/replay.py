"""``ddz replay``: a recorded game, step by step."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from ddz_training.apps.cli.board import WORDS, Board
from ddz_training.apps.cli.commands import leave_out
from ddz_training.apps.cli.console import quoted, show
from ddz_training.apps.cli.keeping import Keeper, newest_game
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import Natural, OptionalNatural, Seat
from ddz_training.apps.cli.table import Lang
from ddz_training.experiments.experiment import Table

with lazily():
    from ddz_env.peers.botzone import log as botzone_log
    from ddz_env.table import session as table_session
    from ddz_training.data import errors as data_errors
    from ddz_training.data import games as data_games

_NEXT, _BACK, _PLAY = ("", "n", "next", "下"), ("b", "back", "上"), ("play", "接着打")
_WORSE = 0.01
"""How much less a chance of winning makes a decision worse than the best."""


def replay(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument()] = None,
    deal: OptionalNatural = None,
    game: Natural = 0,
    at_move: Annotated[int, typer.Option("--at", min=0)] = 0,
    seat: Seat = None,
    every: Annotated[bool, typer.Option("--all")] = False,
    review: Annotated[str | None, typer.Option(metavar="AGENT")] = None,
    agent: str = "rollout",
    lang: Lang = "en",
) -> None:
    """Step through a recorded game: look into any decision, or play on from it.  Without --deal, check a data set.

    Options:
        file: A game kept by ddz, a log of Botzone, or a data set's folder; by default the last game that was kept.
        deal: Of a data set: the game of this deal; without it all are checked.
        game: With --deal: which of its games.
        at_move: Begin after so many moves.
        seat: Look on from this seat: its cards and thoughts alone; all hands by default.
        every: Print the whole game and ask nothing.
        review: Print what an agent thinks of every decision (of --seat).
        agent: Who answers hint and cards.

    Example:
        ddz replay game.txt
        ddz replay game.txt --at 12 --seat 0
        ddz replay game.txt --all --lang zh
        ddz replay game.txt --review rollout --seat 0
        ddz replay runs/rules-games
        ddz replay runs/rules-games --deal 7
    """
    board = Board(lang, suits=False)
    if file is None:
        file = newest_game()
        board.copied("kept", file=quoted(file))
    if deal is None:
        leave_out(context, "games are counted within a --deal", "--game")
    if deal is None and _is_data_set(file):
        why = f"without --deal the data set {file} is only checked"
        leave_out(context, why, "--at", "--seat", "--all", "--review", "--agent")
        board.line("data set replays", number=_check_data_set(file))
        return
    record = read_game(file) if deal is None else _game_of(file, deal, game)
    with closing(table_session.Replay(record, at_move)) as replay:
        viewer = record.deal.observer if seat is None else seat
        if viewer is not None:
            replay.view(viewer)  # a wrong seat is said now
        if review is not None:
            _review(board, replay, review, viewer)
        elif every:
            _print_all(board, replay, viewer)
        else:
            _Stepping(board, replay, viewer, agent).run()


def _is_data_set(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".jsonl"


def _check_data_set(path: Path) -> int:
    """Replay every game of a data set; how many there are.

    Raises:
        DataSetError: If there is none, or one does not end as it did.
    """
    file = data_games.read_games(path)
    if not file.games:
        raise data_errors.DataSetError(f"{path} has no games")
    for game in file.games:
        game.replay(file.rules)
    return len(file.games)


def _game_of(path: Path, deal: int, number: int) -> table_session.Record:
    """A game of a data set.

    Raises:
        DataSetError: If there is none.
    """
    file = data_games.read_games(path)
    for game in file.games:
        if (game.deal, game.game) == (deal, number):
            return game.record(file.rules, file.agents)
    raise data_errors.DataSetError(f"{path} has no game {number} of deal {deal}")


def read_game(file: Path) -> table_session.Record:
    """A game from a file: a record, or the first match of a log of Botzone.

    Raises:
        RecordError: If it is neither.
        BotzoneLogError: If it is a log whose game cannot be played.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise table_session.RecordError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if text.lstrip()[:1] not in ("{", "["):
        return table_session.Record.load(file)
    log = botzone_log.read_logs(file)[0]
    start = log.deal.state(log.game)
    _, decisions = log.replay()
    hands = [start.hand(seat) for seat in range(3)]
    bottom = start.bottom
    if not log.game.has_auction:
        hands[0] = type(bottom)(tuple(a - b for a, b in zip(hands[0].counts, bottom.counts, strict=True)))
    deal = table_session.Deal.given(log.game.rules, hands, bottom, opener=0 if log.game.has_auction else None)
    return table_session.Record(deal, ("botzone",) * 3, tuple((one.view.acting_seat, one.move) for one in decisions))


def _print_all(board: Board, replay: table_session.Replay, viewer: int | None) -> None:
    """Every move, and the table at both ends."""
    board.position(replay.position(viewer), viewer)
    board.screen.print()
    while (following := replay.next_move) is not None:
        seat, move = following
        board.text(f"{replay.number:>3}  {board.say('seat', seat=seat)}  {board.say.move(replay.worded(move))}")
        replay.go(replay.number + 1)
    board.position(replay.position(viewer), viewer)


def _review(board: Board, replay: table_session.Replay, agent: str, viewer: int | None) -> None:
    """A row a decision: what was played, what the agent would have played, and what that costs."""
    keys = ("seat column", "played column", "chance column", "better column", "chance column", "loss column")
    lines: list[tuple[str, ...]] = []
    worse = []
    for one in replay.review(agent, None if viewer is None else [viewer]):
        loss = one.loss or 0.0
        if loss >= _WORSE:
            worse.append(len(lines))
        chances = ["" if value is None else f"{100 * value:.1f} %" for value in (one.chance, one.advice.chance)]
        move, best = board.say.move(replay.worded(one.move)), board.say.move(replay.worded(one.advice.move))
        better, cost = "" if best == move else best, f"{100 * loss:.1f} %" if loss >= _WORSE else ""
        lines.append((f"{one.number:>3}  {one.seat}", move, chances[0], better, chances[1], cost))
    table = Table("", [board.say(key, agent=agent) for key in keys], lines)
    show(table, screen=board.screen, styles=dict.fromkeys(worse, "red"))
    board.line("review done", count=len(lines), worse=len(worse))


class _Stepping:
    """A person who steps through a game.

    Args:
        board: Where it is shown.
        replay: The game.
        viewer: Whose cards and thoughts are shown; None for everybody's.
        agent: Who answers questions.
    """

    def __init__(self, board: Board, replay: table_session.Replay, viewer: int | None, agent: str) -> None:
        self._board, self._replay, self._viewer, self._agent = board, replay, viewer, agent

    def run(self) -> None:
        """Read what is typed until the person leaves."""
        self._board.line("replay brief", "dim")
        self._show()
        replay, say = self._replay, self._board.say
        self._board.converse(lambda: say("at move", number=replay.number, total=len(replay)), self._answer)

    @property
    def _asked(self) -> int:
        """Whose thoughts are asked for."""
        return self._replay.seat if self._viewer is None else self._viewer

    def _show(self) -> None:
        board, replay = self._board, self._replay
        board.position(replay.position(self._viewer), self._viewer)
        if replay.next_move is not None and self._viewer in (None, replay.seat):
            seat, move = replay.next_move
            board.line("next is", "dim", seat=seat, move=board.say.move(replay.worded(move)))

    def _answer(self, text: str) -> bool:
        """Do what was typed; whether the person leaves."""
        board, replay = self._board, self._replay
        word, _, rest = text.lower().partition(" ")
        if word in WORDS["hint"]:
            board.advice(replay.hint(rest or self._agent, self._viewer))
        elif word in WORDS["cards"]:
            agent, seat = rest or self._agent, self._asked
            board.belief(replay.belief(agent, seat), replay.view(seat), agent)
        elif word in _PLAY:
            self._play_on(rest)
        elif word in ("h", "help", "?", *WORDS["help"][1:]):
            board.line("replay brief", "dim")
        elif word != "q":
            self._go(word)
        return word == "q"

    def _go(self, word: str) -> None:
        """Go where a word or a number says."""
        number = self._replay.number
        if word in (*_NEXT, *_BACK):
            step = 1 if word in _NEXT else -1
            self._replay.go(min(max(number + step, 0), len(self._replay)))
        elif word.isdecimal():
            self._replay.go(int(word))
        else:
            raise table_session.SessionError(self._board.say("replay brief"))
        self._show()

    def _play_on(self, agents: str) -> None:
        """Keep the game up to here as one to play on, with the person in the seat to act, or that looks on.

        Raises:
            HiddenCardsError: If nobody knows what the others hold.
        """
        observer = self._replay.record.deal.observer
        if observer is not None:
            raise table_session.HiddenCardsError(
                f"this table is seen from seat {observer}: nobody can play for the other hands"
            )
        players = [agents or "isuct"] * len(self._replay.record.players)
        players[self._asked] = table_session.PERSON
        keeper = Keeper(self._board, "play", None)
        self._replay.until_here(players).save(keeper.path)
        self._board.copied("kept", file=quoted(keeper.path))
        self._board.copied("resume", command="ddz play --resume")
