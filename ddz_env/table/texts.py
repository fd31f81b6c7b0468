"""What people read at the table, in English and in Chinese: one line a text, both languages beside each other."""

from __future__ import annotations

import unicodedata

from ddz_env.core.checks import check_choice
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.notation import Move
from ddz_env.table.complaints import in_chinese

LANGUAGES = ("en", "zh")
"""English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    # --- the table ---
    "move number": ("move {number}", "第{number}手"),
    "stake": ("stake {stake}", "倍数 {stake}"),
    "bombs": ("bombs {number}", "炸弹 {number}"),
    "undealt": ("{number} undealt", "未发 {number} 张"),
    "landlord cards": ("landlord cards", "底牌"),
    "face down": ("(face down)", "（未翻开）"),
    "none": ("none", "无"),
    "seat": ("seat {seat}", "{seat}号位"),
    "landlord": ("landlord", "地主"),
    "peasant down": ("peasant down", "农民（下家）"),
    "peasant up": ("peasant up", "农民（上家）"),
    "peasant": ("peasant", "农民"),
    "bidder": ("bidder", "叫牌者"),
    "doubled": ("doubled", "已加倍"),
    "earlier": ("(earlier)", "（上一轮）"),
    # --- what the table waits for ---
    "bids first": ("seat {seat} bids, nobody has bid yet", "{seat}号位叫分，还没有人叫"),
    "bids": ("seat {seat} bids, {bid} is bid", "{seat}号位叫分，目前 {bid} 分"),
    "may call": ("seat {seat} may call", "{seat}号位可以叫地主"),
    "may rob": ("seat {seat} may rob, the stake is {stake}", "{seat}号位可以抢地主，倍数 {stake}"),
    "may show": ("seat {seat} may show its hand", "{seat}号位可以明牌"),
    "may double": ("seat {seat} may double", "{seat}号位可以加倍"),
    "choosing": ("seat {seat} chooses {kickers} for a {category}", "{seat}号位为{category}选带牌，还差 {number} 个"),
    "leads": ("seat {seat} leads", "{seat}号位出牌"),
    "must beat": ("seat {seat} must beat {move} or pass", "{seat}号位要压过 {move}，或者不出"),
    "must beat last": ("seat {seat} must beat the last move or pass", "{seat}号位要压过上一手，或者不出"),
    "no game": ("nobody bid: no game", "无人叫分：流局"),
    "landlord wins": ("the landlord wins: seat {seat} went out{spring}", "地主胜：{seat}号位出完{spring}"),
    "peasants win": ("the peasants win: seat {seat} went out{spring}", "农民胜：{seat}号位出完{spring}"),
    "peasant wins": ("the peasant wins: seat {seat} went out{spring}", "农民胜：{seat}号位出完{spring}"),
    "spring": (", spring", "，春天"),
    # --- why a move is advised ---
    "why unknown": ("The adviser does not say why.", "没有说明理由。"),
    "why only": ("The rules allow no other move.", "只有这一种出法。"),
    "why wins": ("It goes out and wins.", "出完就赢了。"),
    "why solved": ("It wins whatever the others play.", "不管对方怎么出，都能赢。"),
    "why lost": ("No move wins here if the others make no mistake.", "只要对方不出错，怎么出都赢不了。"),
    "why better": (
        "It wins about {number} more games in 100 than the next best move.",
        "比第二好的出法，每一百局大约多赢{number}局。",
    ),
    "why close": ("The next best move is about as good.", "第二好的出法也差不多。"),
    "why deeper": (
        "The search looked further ahead and prefers it, though another move seems to win {number} more games in 100.",
        "往后多算了几步，还是这手好，虽然另一手看上去每一百局能多赢{number}局。",
    ),
    "why liked": (
        "Strong players mostly play it here, though another move seems to win {number} more games in 100.",
        "高手在这里多半这样出，虽然另一手看上去每一百局能多赢{number}局。",
    ),
    # --- moves ---
    "pass": ("pass", "不出"),
    "bid 1": ("bid 1", "叫1分"),
    "bid 2": ("bid 2", "叫2分"),
    "bid 3": ("bid 3", "叫3分"),
    "no bid": ("no bid", "不叫"),
    "call": ("call", "叫地主"),
    "no call": ("no call", "不叫"),
    "rob": ("rob", "抢地主"),
    "no rob": ("no rob", "不抢"),
    "show": ("show", "明牌"),
    "no show": ("no show", "不明牌"),
    "double": ("double", "加倍"),
    "no double": ("no double", "不加倍"),
    "bid": ("bid", "叫分"),
    "solo": ("solo", "单张"),
    "pair": ("pair", "对子"),
    "trio": ("trio", "三张"),
    "trio+solo": ("trio+solo", "三带一"),
    "trio+pair": ("trio+pair", "三带一对"),
    "bomb": ("bomb", "炸弹"),
    "rocket": ("rocket", "王炸"),
    "quad+2 solos": ("quad+2 solos", "四带二"),
    "quad+2 pairs": ("quad+2 pairs", "四带两对"),
    "solo chain": ("solo chain", "顺子"),
    "pair chain": ("pair chain", "连对"),
    "plane": ("plane", "飞机"),
    "plane+solos": ("plane+solos", "飞机带单"),
    "plane+pairs": ("plane+pairs", "飞机带对"),
    "shuttle": ("shuttle", "航天飞机"),
    "shuttle+solos": ("shuttle+solos", "航天飞机带单"),
    "shuttle+pairs": ("shuttle+pairs", "航天飞机带对"),
    # --- a game in the terminal ---
    "your move": ("your move", "请出牌"),
    "seed": ("seed {seed}", "种子 {seed}"),
    "made": ("seat {seat} {role} ({player}): {move}", "{seat}号位 {role}（{player}）：{move}"),
    "redealt": ("Everybody declined: new cards.", "无人叫分，重新发牌。"),
    "kept": ("The game is kept in {file}", "牌局保存在 {file}"),
    "would play": ("{agent} would play {move}", "{agent} 建议 {move}"),
}
"""Every text by its key: English, Chinese.  Braces stand for values."""


class Texts:
    """The texts of a language.

    Args:
        language: ``en`` or ``zh``.

    Raises:
        InvalidOptionError: If there is no such language.

    Example:
        >>> Texts("en")("seat", seat=2), Texts("zh")("seat", seat=2)
        ('seat 2', '2号位')
    """

    def __init__(self, language: str = "en") -> None:
        self.language = check_choice("language", language, LANGUAGES)
        self._place = LANGUAGES.index(self.language)

    def __call__(self, key: str, **values: object) -> str:
        """A text with its values filled in."""
        return TEXTS[key][self._place].format(**values)

    def move(self, move: Move | str) -> str:
        """A move: cards in notation, and words for a pass, a bid or an answer to doubling."""
        text = str(move)
        return self(text) if text[:1].islower() and text in TEXTS else text

    def complaint(self, error: Exception | str) -> str:
        """What was wrong; in Chinese only what a person at the table can type wrongly."""
        said = error if isinstance(error, str) else error.said if isinstance(error, DouDizhuError) else str(error)
        return in_chinese(said, self.move) if self.language == "zh" else said


def cells(text: str) -> int:
    """Columns that a text takes on a screen: two for a Chinese character.

    Example:
        >>> cells("地主 3")
        6
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """A text with blanks behind it, so many columns wide at least."""
    return text + " " * max(0, width - cells(text))
