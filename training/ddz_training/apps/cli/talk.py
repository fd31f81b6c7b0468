"""A person at a session: what is typed is answered, until it is a move or a farewell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ddz_training.apps.cli.dialogue import understood, word_typed

if TYPE_CHECKING:
    from ddz_env.table.session import Advice, Session
    from ddz_training.apps.cli.board import Board


class Talk:
    """The talk of one session.

    Args:
        board: Where answers are written.
        session: The game.
        hints: The agent that is asked for hints.
    """

    def __init__(self, board: Board, session: Session, hints: str) -> None:
        self.board, self.session, self.hints = board, session, hints
        self._advice: Advice | None = None

    @property
    def viewer(self) -> int:
        """Whose cards are shown: the observer's at an observed table, elsewhere those of the seat to act."""
        observer = self.session.observer
        return self.session.seat if observer is None else observer

    def move(self, prompt: str) -> bool:
        """Read until a decision has been made or taken back.

        Args:
            prompt: What the person is asked for.

        Returns:
            False if the person leaves.
        """
        from ddz_env.core.errors import DouDizhuError

        while True:
            try:
                text = self.board.ask(prompt)
            except EOFError:
                return False
            try:
                typed = word_typed(text)
                if typed is None:
                    self._play(text)
                    return True
                if typed[0] == "leave":
                    return False
                if self._answer(*typed):
                    return True
            except DouDizhuError as error:
                self.board.complain(error)

    def hint(self, agent: str = "") -> Advice:
        """Show what an agent would do, and remember it."""
        self._advice = self.session.hint(agent or self.hints)
        self.board.advice(self._advice)
        return self._advice

    def _play(self, text: str) -> None:
        session = self.session
        session.play(understood(text, session.question, session.rules, session.can_play))
        self._advice = None

    def _answer(self, word: str, rest: str) -> bool:
        """Answer a word; whether the game has changed."""
        from ddz_env.table.session import SessionError

        board, session = self.board, self.session
        if word == "help":
            board.text(board.say.help(session.question))
        elif word == "board":
            board.position(session.position(self.viewer), self.viewer)
        elif word == "moves":
            board.moves(session)
        elif word == "hint":
            self.hint(rest)
        elif word == "cards":
            agent = rest or self.hints
            board.belief(session.belief(agent, self.viewer), session.view(self.viewer), agent)
        elif word == "undo":
            if rest and not rest.isdecimal():
                raise SessionError(f"undo takes the number of a move, as 'undo 12', not {rest!r}")
            turn = session.undo(int(rest) if rest else None)
            self._advice = None
            board.line("took back", move=board.say.move(session.worded(turn.move)))
            return True
        elif self._advice is None:
            board.line("no hint")
        else:
            session.play(self._advice.move)
            self._advice = None
            return True
        return False
