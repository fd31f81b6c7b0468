"""Seat assignment and deal seeds for games with one person or one language model."""

from __future__ import annotations

from ddz_env.saved_games import PERSON
from ddz_env.support.checks import LARGEST_WORD, check_integer, check_seed
from ddz_training.measure.errors import InvalidArenaError


def assign_seats(agents: str, seat: int, seats: int) -> tuple[str, ...]:
    """Return who holds each seat: the person in the given seat, and the named agents in the others.

    Args:
        agents: The others in playing order after the person, separated by ';'; a single name is used for all.
        seat: The person's seat.
        seats: How many there are.

    Raises:
        InvalidArenaError: If there is no such seat, or not one name for each of the others.

    Example:
        >>> assign_seats("rules;random", 1, 3)
        ('random', 'person', 'rules')
    """
    own = check_integer("--seat", seat, 0, seats - 1, InvalidArenaError)
    names = [name.strip() for name in agents.split(";")]
    if len(names) == 1:
        names *= seats - 1
    if len(names) != seats - 1:
        raise InvalidArenaError(
            f"--agents names {len(names)} agents for {seats - 1} other seats: name one agent, or one for each seat"
        )
    order = [PERSON, *names]
    return tuple(order[(number - own) % seats] for number in range(seats))


def parse_seed(given: object) -> int:
    """Read a deal seed from an integer or from a decimal string, which JavaScript needs for large seeds.

    Raises:
        InvalidDealError: If it is none.
    """
    if isinstance(given, str) and given.isdecimal() and len(given) <= len(str(LARGEST_WORD)):
        given = int(given)
    return check_seed(given)
