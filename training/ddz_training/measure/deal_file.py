"""Deal files (``--deal-file``): hands or deal numbers, one deal per line, or a function that deals.

A line of hands is one of :func:`ddz_env.envs.deals.parse_deal`::

    4456789TTTJJKKKKR / 333677789TJJQQAA2 / 4455668899QQAA22B / 352

A line of numbers has the number of a deal under the seed.  ``#`` begins a remark.  A file of results of ``ddz study
tendency`` counts as a file of numbers.  ``module:function`` is the file that its deals would make.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ddz_env import Rules
from ddz_env.envs.deals import CustomDeals, format_deal, parse_deal
from ddz_env.support.atomic_files import read_text
from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_training.measure.errors import InvalidDealFileError
from ddz_training.measure.store import DATABASES, is_results_file
from ddz_training.measure.tendency_file import deals_of_file

_LONGEST_NUMBER = 18
"""Digits of a number of a deal."""


class DealFile(NamedTuple):
    """The deals that a deal file names, by number, with the hands if the file gives hands.

    Attributes:
        numbers: Their numbers: under the seed, or in ``hands``.
        hands: The hands of each deal; empty where the numbers are of the seed's deals.
        path: The file.
    """

    numbers: list[int]
    hands: tuple[str, ...]
    path: Path

    def select_numbers(self, count: int, first: int = 0) -> list[int]:
        """Return the numbers of at most ``count`` deals in the file, from deal number ``first`` on.

        Args:
            count: How many at most.
            first: The smallest number that is played.

        Raises:
            InvalidDealFileError: If there are none.
        """
        numbers = [number for number in self.numbers if number >= first][:count]
        if not numbers:
            raise InvalidDealFileError(
                f"{self.path} has {len(self.numbers)} of the chosen deals, but none from number {first} on"
            )
        return numbers


def read_deal_file(
    path: Path, rules: Rules, seed: int | None, tendency: str | None = None, *, deals: int = 1
) -> DealFile:
    """Read deal numbers or hands from a deal file, or call the function that deals them.

    Args:
        path: The file, or ``module:function``.
        rules: The rules that they will be played by.
        seed: The seed that numbered deals will be dealt from; None where another list numbers them.
        tendency: Only the deals that lean so, of a file of ``ddz study tendency``.
        deals: How many a function deals.

    Raises:
        FileNotFoundError: If there is no such file.
        InvalidDealFileError: If a line is no deal of these rules; the message has its number.
        ResultsFileError: If it holds other results than tendencies.
        InvalidArenaError: If it has no deal that leans so, or deals of other rules or another seed.
        InvalidDealError: If there is no such function, or a deal of it does not fit.
    """
    if ":" in path.name and not path.exists():
        source = CustomDeals(str(path), rules)
        states = (source.state(seed or 0, number, number) for number in range(deals))
        hands = tuple(
            _normalize_hands(f"deal {number} of {path}", format_deal(state), rules)
            for number, state in enumerate(states)
        )
        return DealFile(list(range(deals)), hands, path)
    if path.suffix in DATABASES or is_results_file(path):
        return DealFile(deals_of_file(path, tendency, rules, seed), (), path)
    if tendency is not None:
        raise InvalidDealFileError(f"{path} has no tendencies, which ddz study tendency writes: leave out --tendency")
    try:
        text = read_text(path)
    except UnicodeDecodeError as error:
        raise InvalidDealFileError(f"{path} is not text in UTF-8") from error
    lines = {number: line.partition("#")[0].strip() for number, line in enumerate(text.splitlines(), 1)}
    written = {number: line for number, line in lines.items() if line}
    if not written:
        raise InvalidDealFileError(f"{path} has no deals: write one per line, a number, or hands separated by '/'")
    if any("/" in line for line in written.values()):
        hands = tuple(_normalize_hands(f"{path}:{number}", line, rules) for number, line in written.items())
        return DealFile(list(range(len(hands))), hands, path)
    for number, line in written.items():
        if not (line.isascii() and line.isdecimal() and len(line) <= _LONGEST_NUMBER):
            raise InvalidDealFileError(
                f"{path}:{number}: {short_repr(line)} is neither the number of a deal nor hands separated by '/'"
            )
    return DealFile(sorted({int(line) for line in written.values()}), (), path)


def _normalize_hands(where: str, line: str, rules: Rules) -> str:
    """Check a line of hands, and format it in normal form with each hand sorted by rank."""
    try:
        return format_deal(parse_deal(line, rules))
    except DouDizhuError as error:
        raise InvalidDealFileError(f"{where}: {error}") from error
