"""Complaints about what a person types are in Chinese where the table speaks Chinese."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest

from ddz_env import Hand, Move, Rules, State
from ddz_env.core.errors import DouDizhuError, Message, plural
from ddz_env.core.state import ILLEGAL
from ddz_env.table.session import PERSON, Deal, Record, Replay, Session
from ddz_env.table.texts import Texts, catalogue
from tests.rooms import ROOT

HANDS = ("33445567TTJQKA2BR", "344667889JQKKA22A", "5678899TTJJQQKA29")
LATIN = re.compile(r"[a-z]{3,}")
MAY_STAY = {"standard", "openspiel", "pass", "undo", "line", "landlord", "peasant", "down", "rules", "solver", "ghost"}
"""Names, and what is typed."""


def after(*moves: str, observed: bool = False) -> Session:
    hands = tuple(None if observed and seat else Hand.parse(hand) for seat, hand in enumerate(HANDS))
    game = Session(Record(Deal(Rules(), hands=hands, bottom=Hand.parse("357")), (PERSON,) * 3))
    for move in moves:
        game.play(move)
    return game


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "letter": (lambda: Move.parse("zebra"), "看不懂 'zebra' 中的 'Z'"),
    "hand": (lambda: Hand.parse("33333"), "5 张 3：一副牌只有 4 张"),
    "no move": (lambda: Move.parse("34"), "34' 不成牌型（标准规则）"),
    "kickers": (lambda: Move.parse("333+456"), "'333' 不能带 '456'"),
    "plus": (lambda: Move.parse("333+4+5"), "不止一个 +"),
    "ambiguous": (lambda: Move.parse("333444555666", "openspiel,ambiguous_cards=ask"), "有几种读法"),
    "bid": (lambda: Move.parse("bid 7"), "没有 'bid 7'：可以选 不叫、叫1分、叫2分、叫3分"),
    "missing": (lambda: after().play("9"), "0号位不能出 9：手牌 33344555677TTJQKA2BR 中 9 不够；可选 3、"),
    "leader": (lambda: after().play("pass"), "0号位不能出 不出：先出牌的一方不能不出"),
    "too low": (lambda: after("77").play("44"), "压不过 77；可选 不出、"),
    "few": (lambda: after("BR").play("3"), "压不过 BR；可选 不出"),
    "stage": (lambda: State.new(1, "bidding").step("3"), "现在是叫分阶段；可选 不叫、叫1分"),
    "unseen": (lambda: after("77", observed=True).play("3333"), "那样 3 就有 7 张了"),
    "size": (lambda: Deal.observed(Rules(), 0, Hand.parse("34"), Hand.parse("357")).state(), "您的手牌有 2 张"),
    "undo": (lambda: after().undo(), "没有可以悔的牌"),
    "undo 9": (lambda: after("3").undo(9), "第9手不是您出的：可选 0"),
    "cheat": (lambda: after().hint("solver"), "solver 会看暗牌"),
    "agent": (lambda: after().hint("ghost"), "没有叫 'ghost' 的智能体"),
    "module": (lambda: after().hint("ghost:Agent"), "没有模块 'ghost'"),
    "near": (lambda: after().hint("ruels:Agent"), "没有模块 'ruels'，也没有这样的智能体（是 'rules' 吗？）"),
    "step": (lambda: Replay(after("3").record()).go(9), "没有第 9 手：从 0 到 1"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_typed_wrongly_is_told_in_chinese(wrong: str) -> None:
    do, told = WRONG[wrong]
    with pytest.raises(DouDizhuError) as caught:
        do()
    english, chinese = Texts("en").complaint(caught.value), Texts("zh").complaint(caught.value)
    assert told in chinese
    assert english == str(caught.value)
    known = chinese.partition("known are")[0]  # the names of all agents
    assert set(LATIN.findall(known)) <= {*MAY_STAY, "zebra", "ruels", "bid"}, chinese
    line = Message("{where}: {why}", where=Message("line {number}", number=3), why=caught.value.said)
    assert (line, Texts("zh").complaint(line)) == (f"line 3: {english}", f"第 3 行：{chinese}")


def test_the_texts_are_those_that_are_raised() -> None:
    """Where a message changes its words, its Chinese is not lost unseen; what is not known stays English."""
    folders = (ROOT / folder for folder in ("ddz_env", "training/ddz_training/apps"))
    files = [file for folder in folders for file in folder.rglob("*.py")]
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    written = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    composed = {"move={number} must be an integer in {least}..{most}"}
    composed |= {f"{ILLEGAL}; legal are {{moves}}{more}" for more in ("", " and {number} more")}
    composed |= {plural(number, noun).text for number in (1, 2) for noun in ("card", "landlord card")}
    assert catalogue().messages.keys() - written <= composed <= catalogue().messages.keys()
    assert Texts("zh").complaint("a fault of ddz") == "a fault of ddz"
