"""Files of deals (``--deal-file``): hands or numbers of deals, one deal per line.

A line of hands has each seat's cards as dealt, in playing order, and behind them the landlord cards, separated by
``/``.  Under a fixed landlord the first hand is the landlord's::

    4456789TTTJJKKKKR / 333677789TJJQQAA2 / 4455668899QQAA22B / 352

A line of numbers has the number of a deal under the seed.  ``#`` begins a remark.  A file of results of ``ddz study
tendency`` counts as a file of numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ddz_env import Hand, Rules, State
from ddz_env.support.errors import DouDizhuError, shown
from ddz_training.measure.errors import InvalidDealFileError
from ddz_training.measure.store import DATABASES, holds_results
from ddz_training.measure.tendency import deals_of_file

_LONGEST_NUMBER = 18
"""Digits of a number of a deal."""


class DealFile(NamedTuple):
    """The deals of a file.

    Attributes:
        numbers: Their numbers: under the seed, or in ``hands``.
        hands: The hands of each deal; empty where the numbers are of the seed's deals.
        path: The file.
    """

    numbers: list[int]
    hands: tuple[str, ...]
    path: Path

    def chosen(self, count: int, first: int = 0) -> list[int]:
        """The numbers of the first deals of the file.

        Args:
            count: How many at most.
            first: The smallest number that is played.

        Raises:
            InvalidDealFileError: If there are none.
        """
        numbers = [number for number in self.numbers if number >= first][:count]
        if not numbers:
            raise InvalidDealFileError(f"{self.path} has no such deal from number {first} on")
        return numbers


def read_deals(path: Path, rules: Rules, seed: int | None, tendency: str | None = None) -> DealFile:
    """Read a file of deals.

    Args:
        path: The file.
        rules: The rules that they will be played by.
        seed: The seed that numbered deals will be dealt from; None where another list numbers them.
        tendency: Only the deals that lean so, of a file of :func:`~ddz_training.measure.tendency.judge_deals`.

    Raises:
        FileNotFoundError: If there is no such file.
        InvalidDealFileError: If a line is no deal of these rules; the message has its number.
        ResultsFileError: If it holds other results than tendencies.
        InvalidArenaError: If it has no deal that leans so, or deals of other rules or another seed.
    """
    if path.suffix in DATABASES or holds_results(path):
        return DealFile(deals_of_file(path, tendency, rules, seed), (), path)
    if tendency is not None:
        raise InvalidDealFileError(f"{path} does not say what its deals lean to: leave out --tendency")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDealFileError(f"{path} is not text in UTF-8") from error
    lines = {number: line.partition("#")[0].strip() for number, line in enumerate(text.splitlines(), 1)}
    deals = {number: line for number, line in lines.items() if line}
    if not deals:
        raise InvalidDealFileError(f"{path} has no deals: write one per line, a number, or hands separated by '/'")
    if any("/" in line for line in deals.values()):
        hands = tuple(_hands(f"{path}:{number}", line, rules) for number, line in deals.items())
        return DealFile(list(range(len(hands))), hands, path)
    for number, line in deals.items():
        if not (line.isascii() and line.isdecimal() and len(line) <= _LONGEST_NUMBER):
            raise InvalidDealFileError(f"{path}:{number}: {shown(line)} is no number of a deal, nor hands between '/'")
    return DealFile(sorted({int(line) for line in deals.values()}), (), path)


def _hands(where: str, line: str, rules: Rules) -> str:
    """The hands of a deal, each in the order of its ranks."""
    parts = line.split("/")
    if len(parts) != rules.players + 1:
        raise InvalidDealFileError(
            f"{where}: {shown(line)} must be {rules.players} hands as dealt and the landlord cards, separated by '/'"
        )
    try:
        *hands, bottom = (Hand.parse(part) for part in parts)
        State.from_hands(hands, bottom, rules)
    except DouDizhuError as error:
        raise InvalidDealFileError(f"{where}: {error}") from error
    return " / ".join(map(str, (*hands, bottom)))
