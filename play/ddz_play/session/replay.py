"""A replay of a recorded game, which can go to any move, be played on from there, and be reviewed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ddz_env import Move
from ddz_env.saved_games.saved_game import PERSON, SavedGame
from ddz_env.support.checks import check_integer
from ddz_play.session.advice import Advice, AdviserPool
from ddz_play.session.errors import SessionError
from ddz_play.session.session import Session


class ReviewedMove(NamedTuple):
    """A recorded move, with an agent's advice that is based on the seat's view alone.

    Attributes:
        number: The number of the move.
        seat: Who decided.
        move: What was played.
        advice: What the agent says.
        chance: The chance of winning that it gives to what was played; None if it does not say.
    """

    number: int
    seat: int
    move: Move
    advice: Advice
    chance: float | None

    @property
    def loss(self) -> float | None:
        """The difference between the best winning chance and that of the move played; None if unknown."""
        known = [option.chance for option in self.advice.options if option.chance is not None]
        return None if self.chance is None or not known else max(known) - self.chance


class Replay(Session):
    """A session that steps through a recorded game, with a person in every seat and all hands visible.

    Args:
        record: The game.
        number: How many of its moves have been made.
        advisers: As of a session.

    Attributes:
        game: The whole game.

    Raises:
        SessionError: If the game is shorter.

    Example:
        >>> from ddz_env import Rules
        >>> from ddz_env.saved_games import Deal
        >>> game = Session(SavedGame(Deal(Rules(), seed=1), ("random",) * 3))
        >>> turns = game.let_agents_play()
        >>> replay = Replay(game.to_saved_game())
        >>> replay.go_to(len(replay))
        >>> replay.seat_view(None).waits_for
        'over'
    """

    def __init__(self, record: SavedGame, number: int = 0, *, advisers: AdviserPool | None = None) -> None:
        super().__init__(SavedGame(record.deal, (PERSON,) * len(record.players)), shown=True, advisers=advisers)
        self.game = record
        self._first = len(record.moves) - len(record.deal.state(record.moves).history)  # of the last deal
        self.go_to(number)

    def __len__(self) -> int:
        return len(self.game.moves)

    @property
    def number(self) -> int:
        """The number of moves made so far."""
        return len(self._moves)

    def go_to(self, number: int) -> None:
        """Go to the position after a given number of moves.

        Raises:
            SessionError: If the game is shorter.
        """
        number = check_integer("move", number, 0, len(self), SessionError)
        if number < self.number:
            self.undo(number)
        for seat, move in self.game.moves[self.number : number]:
            self.play(move, seat)

    def _future_moves(self) -> Sequence[tuple[int, Move]]:
        return self.game.moves[self.number :] if self.number >= self._first else ()

    def branch_here(self, players: Sequence[str]) -> SavedGame:
        """Return the game up to this position with other players, so that it can be played on from here."""
        return SavedGame(self.deal, tuple(players), self.moves)

    def review(self, agent: str, seats: Sequence[int] | None = None) -> Iterator[ReviewedMove]:
        """Ask an agent about every recorded decision with more than one legal move, until the end of the game.

        Args:
            agent: Its name.
            seats: Whose decisions; everybody's by default.

        Raises:
            HiddenCardsError: If the agent looks at hidden cards, or a seat's cards are not known.
            UnknownAgentError: If there is no such agent.
            AgentFaultError: If it fails.
        """
        for number, (seat, move) in enumerate(self.game.moves):
            self.go_to(number)
            if (seats is not None and seat not in seats) or len(self.view(seat).legal_moves()) == 1:
                continue
            advice = self.hint(agent)
            yield ReviewedMove(number, seat, move, advice, _chance_of(advice, move))


def _chance_of(advice: Advice, move: Move) -> float | None:
    """Return the winning chance that the advice gives to a move, or else to its main group."""
    whole = [option.chance for option in advice.options if option.move == move]
    group = [option.chance for option in advice.options if option.move is None and option.main == move.main]
    return next(iter(whole + group), None)
