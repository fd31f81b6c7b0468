"""What a person at the table has typed wrongly, in Chinese.

Errors speak English wherever they are raised, and callers may rely on their words.  This is what those that a game can
raise say in Chinese, by the English text with the names of its values (:class:`ddz_env.core.errors.Message`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ddz_env.core.errors import Message
from ddz_env.core.notation import Move

CHINESE = {
    # --- inside other messages ---
    "the stage is {stage}": "现在是{stage}阶段",
    "play": "出牌",
    "kicker": "选带牌",
    "bid": "叫分",
    "double": "加倍",
    "show": "明牌",
    "over": "结束",
    "the hand {hand} has not enough {ranks}": "手牌 {hand} 中 {ranks} 不够",
    "the leader of a trick cannot pass": "先出牌的一方不能不出",
    "it does not beat {move}": "压不过 {move}",
    "the {rules} rules do not allow it now": "{rules}规则此时不允许",
    "there is no such seat": "没有这个座位",
    "the game is over": "牌局已经结束",
    "it is seat {seat}'s turn": "轮到{seat}号位",
    "{where}: {why}": "{where}：{why}",
    "line {number}": "第 {number} 行",
    "the moves cannot be played": "这些手无法出",
    # --- cards and moves ---
    "cannot read {letter} in {text}: cards are written 3 4 5 6 7 8 9 T (or 10) J Q K A 2 B (black joker) "
    "R (red joker)": ("看不懂 {text} 中的 {letter}：牌写作 3 4 5 6 7 8 9 T（或 10）J Q K A 2 B（小王）R（大王）"),
    "{number} cards of rank {rank}: the pack has {most}": "{number} 张 {rank}：一副牌只有 {most} 张",
    "{cards} is no move under the {rules} rules; write solos 3, pairs 33, trios 333 or 333+4, bombs 3333, "
    "chains 34567, planes 333444+57, or pass": (
        "{cards} 不成牌型（{rules}规则）：单张 3，对子 33，三张 333 或 333+4，炸弹 3333，顺子 34567，"
        "飞机 333444+57，不出 pass"
    ),
    "{body} with kickers {kickers} is no move under the {rules} rules": "{body} 不能带 {kickers}（{rules}规则）",
    "{text} has more than one '+': write body+kickers, as 333444+57": (
        "{text} 中不止一个 +：请写成“主体+带牌”，如 333444+57"
    ),
    "{cards} can be read as {readings}: separate the kickers by '+'": "{cards} 有几种读法：{readings}。请用 + 分开",
    "there is no {word}: the bids are {moves}": "没有 {word}：可以选 {moves}",
    "{move} is not legal for seat {seat}: {why}; legal are {moves} and {number} more": (
        "{seat}号位不能出 {move}：{why}；可选 {moves}，另有 {number} 种"
    ),
    "{move} is not legal for seat {seat}: {why}; legal are {moves}": "{seat}号位不能出 {move}：{why}；可选 {moves}",
    "{move} is not legal for seat {seat}: {why}": "{seat}号位不能出 {move}：{why}",
    "the game is over: start a new one": "牌局已经结束，请重新开局",
    "it is not your turn": "还没轮到您",
    # --- a table of which one hand is known ---
    "1 card": "1 张",
    "{number} cards": "{number} 张",
    "1 landlord card": "底牌有 1 张",
    "{number} landlord cards": "底牌有 {number} 张",
    "your hand has {cards}; {rules} deals {most}": "您的手牌有 {cards}；{rules}规则发 {most} 张",
    "{cards}; {rules} has {most}": "{cards}；{rules}规则是 {most} 张",
    "the landlord's {number} cards have the landlord cards among them": "地主的 {number} 张牌应包括底牌",
    "that would be {number} cards of rank {rank}, yours and the landlord cards included; the deck has {most}": (
        "那样 {rank} 就有 {number} 张了（包括您的手牌和底牌）：一副牌只有 {most} 张"
    ),
    "seat {seat} would have played more cards than it was dealt": "{seat}号位出的牌比发到的还多",
    "move {number}, {move} of seat {seat}: {why}": "第{number}手，{seat}号位 {move}：{why}",
    " (did you mean {near}?)": "（是 {near} 吗？）",
    # --- other words ---
    "there is nothing to take back": "没有可以悔的牌",
    "move {number} is no decision of yours: choose from {numbers}": "第{number}手不是您出的：可选 {numbers}",
    "{agent} looks at hidden cards: ask another": "{agent} 会看暗牌：请换一个",
    "{agent} looks at hidden cards, and at this table nobody knows them": "{agent} 会看暗牌，而这张桌上没有人知道暗牌",
    "no agent is called {name}{near}; {names}": "没有叫 {name} 的智能体{near}；{names}",
    "there is no module {name} in the current folder or on the path, and no such agent{near}": (
        "当前文件夹和搜索路径中没有模块 {name}，也没有这样的智能体{near}"
    ),
    "move={number} must be an integer in {least}..{most}": "没有第 {number} 手：从 {least} 到 {most}",
    "{file} is there already: {advice}": "{file} 已经存在：{advice}",
    # --- the page in the browser ---
    "{agent} on seat {seat} failed; the server's terminal says why": "{seat}号位的 {agent} 出错了；原因见服务器的终端",
    "{agent} failed; the server's terminal says why": "{agent} 出错了；原因见服务器的终端",
    "the game has gone on: this page shows it now": "牌局已有变化：本页现已更新",
    "the game cannot be kept: {reason}": "牌局无法保存：{reason}",
    "all hands are shown at the end of the game": "牌局结束后才能看到所有手牌",
    "there is no such game: it may have expired": "没有这局牌：可能已经过期",
    "the file of this game cannot be read any more": "这局牌的文件已无法读取",
    "a record begins with the line {line}, not {text}": "牌谱的第一行应是 {line}，而不是 {text}",
    "puzzles are numbered from 1 to {most}": "残局的编号从 1 到 {most}",
    # --- rules ---
    "standard": "标准",
    "bidding": "叫地主",
    "robbing": "抢地主",
    "perfect": "明牌",
    "mini": "迷你",
    "micro": "微型",
    "half-deck": "半副牌",
}


def in_chinese(message: str, write: Callable[[Move | str], str]) -> str:
    """A message in Chinese; one that is not known stays as it is.

    Args:
        message: The English message, with its values if it is a :class:`~ddz_env.core.errors.Message`.
        write: Writes a move (a pass, a bid) in Chinese.

    Example:
        >>> in_chinese(Message("{number} cards of rank {rank}: the pack has {most}", number=4, rank="B", most=1), str)
        '4 张 B：一副牌只有 1 张'
    """
    said = message if isinstance(message, Message) else Message(message)
    chinese = CHINESE.get(said.text)
    return str(said) if chinese is None else chinese.format(**{n: _value(v, write) for n, v in said.values.items()})


def _value(value: Any, write: Callable[[Move | str], str]) -> Any:
    """A value of a message, which may be moves, or a message itself."""
    if isinstance(value, Message):
        return in_chinese(value, write)
    if isinstance(value, list):
        return "、".join(str(_value(part, write)) for part in value)
    return write(value) if isinstance(value, Move) else value
