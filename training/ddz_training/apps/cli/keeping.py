"""Where games at the table are kept: each in a file from its first decision on, and how one goes on with it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import typer

from ddz_env.core.errors import InvalidDealError, Message, command_line
from ddz_env.core.folders import user_folder
from ddz_training.apps.cli.board import Board
from ddz_training.apps.cli.console import quoted
from ddz_training.apps.cli.lazily import lazily
from ddz_training.apps.cli.options import check_new
from ddz_training.apps.cli.signals import EXIT_INTERRUPTED
from ddz_training.measure.match.one_writer import claim

with lazily():
    from ddz_env.table import session as table_session


def games_folder() -> Path:
    """Where games are kept that name no file: ``DDZ_GAMES_DIR``, or a folder of the user's data."""
    named = os.environ.get("DDZ_GAMES_DIR")
    return Path(named) if named else user_folder("XDG_DATA_HOME", ".local", "share") / "games"


def kept_games(command: str = "") -> list[Path]:
    """The games in :func:`games_folder`, of one command or of all, the last first."""
    files = games_folder().glob(f"{command}-*.txt" if command else "*.txt")
    return sorted(files, key=lambda file: (file.stat().st_mtime, file.name), reverse=True)


def newest_game() -> Path:
    """The game that was last kept.

    Raises:
        RecordError: If there is none.
    """
    files = kept_games()
    if not files:
        raise table_session.RecordError(
            f"no game is kept in {quoted(games_folder())} yet: name a file of 'ddz play' or 'ddz watch', a log of "
            "Botzone or a folder of 'ddz record'"
        )
    return files[0]


def kept_game(command: str, out: Path | None) -> tuple[table_session.Record, Path]:
    """The game to go on with.

    Args:
        command: The command that kept it.
        out: Its file; None for the last unfinished one.

    Raises:
        RecordError: If there is none, or it cannot be read.
    """
    if out is not None:
        return table_session.Record.load(out), out
    for file in kept_games(command):
        try:
            record = table_session.Record.load(file)
        except table_session.RecordError:
            continue
        if not record.deal.state(record.moves).is_over:
            return record, file
    raise table_session.RecordError(
        "there is no unfinished game of {command} in {folder}", command=f"'ddz {command}'", folder=games_folder()
    )


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
            check_new(out, Message("--resume goes on with its game, or name another file"))
        stem = command if viewer is None else "seen"  # --resume looks for games that go on
        self.path = out or games_folder() / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        with contextlib.suppress(OSError):  # whoever saves the game says so
            self._claim = claim(self.path)
        self._board, self._command, self._chosen, self._viewer = board, command, chosen, viewer
        self._saved, self._failed = resumed, False

    def save(self, session: table_session.Session) -> None:
        """Write the game; where that fails, say it once."""
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

    def keep_playing(self, session: table_session.Session, play: Callable[[], bool]) -> None:
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
