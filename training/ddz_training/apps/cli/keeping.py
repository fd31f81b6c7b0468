"""Where games are kept while they are played, and how one goes on with them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ddz_env.core.errors import command_line
from ddz_training.apps.cli.console import quoted
from ddz_training.apps.cli.outputs import check_new, output_file
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from ddz_env.table.session import Record, Session
    from ddz_training.apps.cli.board import Board

Keep = Annotated[
    Path | None,
    typer.Option("--out", help="Keep the game in this file as it is played.", callback=output_file()),
]
GOES_ON = "--resume goes on with the game as it is"
"""Why options that make a new game are refused beside it."""
GoOn = Annotated[bool, typer.Option("--resume", help="Go on with the game in --out, or with the last unfinished one.")]


def _speak(context: typer.Context, language: str) -> str:
    """Let the command's errors speak the language, too."""
    context.meta["ddz.language"] = language
    return language


Lang = Annotated[str, typer.Option("--lang", envvar="DDZ_LANG", help="en or zh (中文).", callback=_speak)]


def games_folder() -> Path:
    """Where games are kept that name no file: ``DDZ_GAMES_DIR``, or a folder of the user's data."""
    from ddz_env.core.folders import user_folder

    named = os.environ.get("DDZ_GAMES_DIR")
    return Path(named) if named else user_folder("XDG_DATA_HOME", ".local", "share") / "games"


class Keeper:
    """Keeps one game in a file, from its first decision on; meanwhile no other process goes on with it.

    Args:
        board: Where it says so.
        command: The command that goes on with it.
        out: The file; None for one in :func:`games_folder`.
        chosen: Whether the person has named the file.
        resumed: Whether the game in the file is the one that goes on.
        viewer: The seat that looks on, whose cards alone the file has; None for all hands.

    Raises:
        OutputError: If the file is there, and its game does not go on.
        InUseError: If another process plays the game.
    """

    def __init__(
        self,
        board: Board,
        command: str,
        out: Path | None,
        *,
        chosen: bool = False,
        resumed: bool = False,
        viewer: int | None = None,
    ) -> None:
        if out is not None and not resumed:
            check_new(out, "--resume goes on with its game, or name another file")
        stamp = time.strftime("%Y%m%d-%H%M%S")
        from ddz_training.measure.match.one_writer import claim

        stem = command if viewer is None else "seen"  # --resume looks for games that go on
        self.path = out or games_folder() / f"{stem}-{stamp}-{os.getpid()}.txt"
        with contextlib.suppress(OSError):  # whoever saves the game says so
            self._claim = claim(self.path)
        self._board, self._command, self._chosen, self._viewer = board, command, chosen, viewer
        self._saved, self._failed = resumed, False

    def save(self, session: Session) -> None:
        """Write the game; where that fails, say it once."""
        from ddz_env.core.errors import InvalidDealError

        try:
            session.record(self._viewer).save(self.path)
            self._saved = True
        except OSError as error:
            self._fail(self._board.copied, f"{quoted(self.path)}: {error.strerror or error}")
        except InvalidDealError as error:  # there is no such table
            self._fail(self._board.line, str(error))

    def _fail(self, say: Callable[..., None], reason: str) -> None:
        if not self._failed:
            say("not kept", "red", reason=reason)
        self._saved, self._failed = False, True

    def keep_playing(self, session: Session, play: Callable[[], bool]) -> None:
        """Let a game be played, and say in the end, after Ctrl-C too, how it goes on; the session is closed.

        Args:
            session: The game.
            play: Plays it; False if the person leaves before the end.

        Raises:
            Exit: After Ctrl-C.
        """
        try:
            over = play()
            self.tell(over)
            if not over:
                self._board.line("goodbye")
        except KeyboardInterrupt:
            self._board.text("")
            self.tell(over=False)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        finally:
            session.close()

    def tell(self, over: bool) -> None:
        """Say where the game is, and what to do with it."""
        if not self._saved:
            return
        self._board.copied("kept", file=quoted(self.path))
        if self._viewer is not None:
            self._board.line("seen", seat=self._viewer)
        if over or self._viewer is not None:
            self._board.copied("look", command=command_line("ddz", "replay", self.path))
        else:
            named = ("--out", self.path) if self._chosen else ()
            self._board.copied("resume", command=command_line("ddz", self._command, *named, "--resume"))


def newest_game() -> Path:
    """The game that was last kept in :func:`games_folder`.

    Raises:
        RecordError: If there is none.
    """
    from ddz_env.table.session import RecordError

    files = sorted(games_folder().glob("*.txt"), key=lambda file: (file.stat().st_mtime, file.name))
    if not files:
        raise RecordError(
            f"no game is kept in {quoted(games_folder())} yet: name a file of 'ddz play' or 'ddz watch', a log of "
            "Botzone or a folder of 'ddz record'"
        )
    return files[-1]


def kept_game(command: str, out: Path | None) -> tuple[Record, Path]:
    """The game to go on with.

    Args:
        command: The command that kept it.
        out: Its file; None for the last unfinished one.

    Raises:
        RecordError: If there is none, or it cannot be read.
    """
    from ddz_env.table.session import Record, RecordError

    if out is not None:
        return Record.load(out), out
    folder = games_folder()
    files = sorted(folder.glob(f"{command}-*.txt"), key=lambda file: (file.stat().st_mtime, file.name), reverse=True)
    for file in files:
        try:
            record = Record.load(file)
        except RecordError:
            continue
        if not record.deal.state(record.moves).is_over:
            return record, file
    raise RecordError(f"there is no unfinished game of 'ddz {command}' in {folder}")
