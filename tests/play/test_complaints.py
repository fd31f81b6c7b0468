"""Complaints about what a person types are in Chinese where the table speaks Chinese."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator

import pytest

from ddz_env import Move, Rules
from ddz_env.core.refusals import ILLEGAL_MOVE_TEXT
from ddz_env.saved_games import PERSON, Deal, SavedGame
from ddz_env.support.errors import DouDizhuError, Message, pluralize
from ddz_play.session import Replay, Session
from ddz_play.texts import Texts, load_catalogue
from tests.packages import ROOT

LATIN = re.compile(r"[a-z]{3,}")


def wrong_moves() -> Iterator[Callable[[], object]]:
    """What a person may type, and what may be wrong about it."""
    for text in ("zebra", "33333", "34", "333+456", "333+4+5", "bid 7"):
        yield functools.partial(Move.parse, text)
    game = Session(SavedGame(Deal(Rules(), seed=7), (PERSON,) * 3))
    yield from (functools.partial(game.play, text) for text in ("333", "pass", "bid 1"))
    yield from (game.undo, functools.partial(game.undo, 9), functools.partial(Replay(game.to_saved_game()).go_to, 9))


def test_what_is_typed_wrongly_is_said_in_chinese() -> None:
    for do in wrong_moves():
        with pytest.raises(DouDizhuError) as caught:
            do()
        english, chinese = Texts("en").error_text(caught.value), Texts("zh").error_text(caught.value)
        assert english == str(caught.value)
        assert set(LATIN.findall(chinese)) <= {"standard", "zebra", "bid", "pass"}, chinese
        line = Message("{where}: {why}", where=Message("line {number}", number=3), why=caught.value.message)
        assert (line, Texts("zh").error_text(line)) == (f"line 3: {english}", f"第 3 行：{chinese}")


def test_the_texts_are_those_that_are_raised() -> None:
    """Where a message changes its words, its Chinese is not lost unseen; what is not known stays English."""
    folders = (ROOT / folder for folder in ("ddz_env", "play/ddz_play"))
    files = [file for folder in folders for file in folder.rglob("*.py")]
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    written = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    composed = {"move={number} must be an integer in {least}..{most}"}
    composed |= {f"{ILLEGAL_MOVE_TEXT}; legal are {{moves}}{more}" for more in ("", " and {number} more")}
    composed |= {pluralize(number, noun).text for number in (1, 2) for noun in ("card", "landlord card")}
    assert load_catalogue().messages.keys() - written <= composed <= load_catalogue().messages.keys()
    assert Texts("zh").error_text("a fault of ddz") == "a fault of ddz"
