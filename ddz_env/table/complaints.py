"""What a person at the table has typed wrongly, in Chinese.

Errors speak English wherever they are raised, and callers may rely on their words.  Here stands what each of those that
a game can raise is called in Chinese: a pattern of the English text, and the Chinese one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

_PARTS = {
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
    "--resume goes on with its game, or name another file": "用 --resume 继续其中的牌局，或换一个文件",
}
_WHOLE = {
    "line {number}: {whole}": "第 {number} 行：{whole}",
    # --- cards and moves ---
    "cannot read {letter} in {text}: cards are written {rest}": (
        "看不懂 {text} 中的 {letter}：牌写作 3 4 5 6 7 8 9 T（或 10）J Q K A 2 B（小王）R（大王）"
    ),
    "{number} cards of rank {rank}: the pack has {most}": "{number} 张 {rank}：一副牌只有 {most} 张",
    "{cards} is no move under the {rules} rules; write {rest}": (
        "{cards} 不成牌型（{rules}规则）：单张 3，对子 33，三张 333 或 333+4，炸弹 3333，顺子 34567，"
        "飞机 333444+57，不出 pass"
    ),
    "{body} with kickers {kickers} is no move under the {rules} rules": "{body} 不能带 {kickers}（{rules}规则）",
    "{text} has more than one '+': write body+kickers, as 333444+57": (
        "{text} 中不止一个 +：请写成“主体+带牌”，如 333444+57"
    ),
    "{cards} can be read as {readings}: separate the kickers by '+'": "{cards} 有几种读法：{readings}。请用 + 分开",
    "there is no {word}: the bids are {moves}": "没有 {word}：可以选 {moves}",
    "{move} is not legal for seat {seat}: {part}; legal are {moves} and {number} more": (
        "{seat}号位不能出 {move}：{part}；可选 {moves}，另有 {number} 种"
    ),
    "{move} is not legal for seat {seat}: {part}; legal are {moves}": "{seat}号位不能出 {move}：{part}；可选 {moves}",
    "{move} is not legal for seat {seat}: {part}": "{seat}号位不能出 {move}：{part}",
    "the game is over: start a new one": "牌局已经结束，请重新开局",
    "it is not your turn": "还没轮到您",
    # --- a table of which one hand is known ---
    "{number} cards, {cards}; the {rules} rules deal {most}": "{cards} 是 {number} 张；{rules}规则发 {most} 张",
    "your hand has {number} cards; {rules} deals {most}": "您的手牌有 {number} 张；{rules}规则发 {most} 张",
    "{number} landlord cards; {rules} has {most}": "底牌有 {number} 张；{rules}规则是 {most} 张",
    "the landlord's {number} cards have the landlord cards among them": "地主的 {number} 张牌应包括底牌",
    "that would be {number} cards of rank {rank}, yours and {rest}; the deck has {most}": (
        "那样 {rank} 就有 {number} 张了（包括您的手牌和底牌）：一副牌只有 {most} 张"
    ),
    "seat {seat} would have played more cards than it was dealt": "{seat}号位出的牌比发到的还多",
    "move {number}, {move} of seat {seat}: {part}": "第{number}手，{seat}号位 {move}：{part}",
    "{move} is no bid: {part}": "{move} 不是叫牌：{part}",
    "everybody declined: the next deal is another game": "无人叫牌：下一副牌是另一局",
    "the landlord cards have been turned up: tell them before the next move": "底牌已经翻开：请先输入底牌",
    "unknown role {text}; choose from {names}": "没有角色 {text}：可选 {names}",
    "unknown role {text} (did you mean {near}?); choose from {names}": (
        "没有角色 {text}（是 {near} 吗？）：可选 {names}"
    ),
    # --- other words ---
    "there is nothing to take back": "没有可以悔的牌",
    "move {number} is no decision of yours: choose from {numbers}": "第{number}手不是您出的：可选 {numbers}",
    "undo takes the number of a move, as 'undo 12', not {text}": "undo 后面写第几手，如 undo 12，而不是 {text}",
    "{agent} looks at hidden cards: ask another": "{agent} 会看暗牌：请换一个",
    "{agent} looks at hidden cards, and at this table nobody knows them": "{agent} 会看暗牌，而这张桌上没有人知道暗牌",
    "no agent is called {text}; {names}": "没有叫 {text} 的智能体；{names}",
    "no agent is called {text} (did you mean {near}?); {names}": "没有叫 {text} 的智能体（是 {near} 吗？）",
    "there is no module {text} in {rest} such agent (did you mean {near}?)": (
        "当前文件夹和搜索路径中没有模块 {text}，也没有这样的智能体（是 {near} 吗？）"
    ),
    "there is no module {text} in {rest} such agent": "当前文件夹和搜索路径中没有模块 {text}，也没有这样的智能体",
    "move={number} must be an integer in {least}..{most}": "没有第 {number} 手：从 {least} 到 {most}",
    "there is no unfinished game of {command} in {folder}": "{folder} 中没有 {command} 未打完的牌局",
    "{file} is there already: {part}": "{file} 已经存在：{part}",
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
}

_RULES = {
    "standard": "标准",
    "bidding": "叫地主",
    "robbing": "抢地主",
    "perfect": "明牌",
    "mini": "迷你",
    "micro": "微型",
    "half-deck": "半副牌",
}


def in_chinese(message: str, write: Callable[[str], str]) -> str:
    """A message of an error in Chinese; one that is not known stays as it is.

    Args:
        message: The English message.
        write: Writes a move (a pass, a bid) in Chinese.

    Example:
        >>> in_chinese("4 cards of rank B: the pack has 1", str)
        '4 张 B：一副牌只有 1 张'
    """
    return _found(message, _WHOLE, write)


def _found(message: str, known: dict[str, str], write: Callable[[str], str]) -> str:
    for english, chinese in known.items():
        match = _pattern(english).fullmatch(message)
        if match is not None:
            return chinese.format(**{name: _value(name, text, write) for name, text in match.groupdict().items()})
    return message


@functools.lru_cache
def _pattern(english: str) -> re.Pattern[str]:
    """What a text matches whose values stand in braces; of a number of cards, one card too."""
    numbers = re.sub(r"\\{(number|least|most|seat)\\}", r"(?P<\1>\\d+)", re.escape(english))
    numbers = re.sub(r"(?<=\\d\+\)\\ )((?:landlord\\ )?card)s", r"\1s?", numbers)
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", numbers), re.DOTALL)


def _value(name: str, text: str, write: Callable[[str], str]) -> str:
    """A value of a message, which may be a move, moves, or a message itself."""
    if name == "whole":
        return in_chinese(text, write)
    if name in ("part", "stage"):
        return _found(text, _PARTS, write)
    if name == "move":
        return write(text)
    if name == "moves":
        return "、".join(map(write, text.split(", ")))
    if name == "rules":
        return _RULES.get(text, f"{text} ")
    return "、".join(text.split(" or ")) if name == "readings" else text
