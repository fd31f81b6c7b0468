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
    "kicker legend": (
        "333+[45]: with 4 or 5 (or 44, 55); 2×[456]: two of them",
        "333+[45]：带 4 或 5（或 44、55）；2×[456]：带其中两个",
    ),
    # --- a game in the terminal ---
    "you sit": ("You hold seat {seat}.", "您坐{seat}号位。"),
    "your move": ("your move", "请出牌"),
    "their move": ("seat {seat} ({role})", "{seat}号位（{role}）"),
    "seed": ("seed {seed}", "种子 {seed}"),
    "brief": (
        "h helps · ? lists your moves · hint · undo · quit (the game is kept)",
        "h 帮助 · ? 可出的牌 · hint 提示 · undo 悔牌 · quit 离开（自动保存）",
    ),
    "made": ("seat {seat} {role} ({player}): {move}", "{seat}号位 {role}（{player}）：{move}"),
    "redealt": ("Everybody declined: new cards.", "无人叫分，重新发牌。"),
    "win": ("You win!", "您赢了！"),
    "lose": ("You lose.", "您输了。"),
    "nobody": ("Nobody bid.", "无人叫分。"),
    "returns": ("Returns by seat: {returns}", "各座位得分：{returns}"),
    "kept": ("The game is kept in {file}", "牌局保存在 {file}"),
    "seen": (
        "It has the cards and moves that seat {seat} saw, so nobody can go on with it.",
        "里面只有{seat}号位看到的牌和出牌，不能接着打。",
    ),
    "resume": ("Go on with: {command}", "继续：{command}"),
    "look": ("Look at it again with: {command}", "复盘：{command}"),
    "not kept": ("The game cannot be kept: {reason}", "牌局无法保存：{reason}"),
    "took back": ("Taken back: {move} and all after it.", "已悔牌：{move} 及之后的各手。"),
    "resumed": ("Going on at move {number}.", "从第{number}手继续。"),
    "puzzle": (
        "Puzzle {number}: all cards are open, and exactly one move wins.",
        "残局 {number}：明牌，只有一手能赢。",
    ),
    "goodbye": ("goodbye", "再见"),
    "asked for": ("{what}> ", "{what}> "),
    # --- advice ---
    "would play": ("{agent} would play {move}", "{agent} 建议 {move}"),
    "chance": ("{percent} to win", "胜率 {percent}"),
    "tried out": (
        "to win: of the games that were tried out from here, which are not calibrated as on the page",
        "胜率：从这里试算的牌局中的，没有像网页上那样校准",
    ),
    "move column": ("move", "出牌"),
    "chance column": ("to win", "胜率"),
    "score column": ("score", "评分"),
    "visits column": ("tried", "次数"),
    "line column": ("expected then", "之后预计"),
    "more kickers": ("… {number} more kickers", "……另有 {number} 种带牌"),
    "more moves": ("… {number} more moves", "……另有 {number} 种出法"),
    "believes": (
        "Where {agent} expects the hidden cards (mean number of each rank):",
        "{agent} 估计的暗牌（每种点数的平均张数）：",
    ),
    "holder": ("seat {seat}", "{seat}号位"),
    "nobody holds": ("face down", "未发"),
    "may bomb": ("seat {seat} may hold {bombs}", "{seat}号位可能有 {bombs}"),
    "also": ("also {moves}", "其他 {moves}"),
    "no hint": ("There is no hint yet: type hint first.", "还没有提示：先输入 hint。"),
    "forced": ("There is only one move: {move}", "只有一种选择：{move}"),
    # --- a table seen from one seat ---
    "tell hand": ("your {number} cards", "您的{number}张牌"),
    "tell role": ("your role (landlord, down = after the landlord, up = before)", "您的角色（地主、下家、上家）"),
    "tell bottom": ("the {number} landlord cards", "{number}张底牌"),
    "observing": (
        "Type one move a line, as it is played. undo, hint, cards, board, quit.",
        "每行输入一手牌，按出牌顺序。undo 撤销，hint 提示，cards 猜牌，board 牌面，quit 离开。",
    ),
    # --- replay ---
    "data set replays": ("{number} games replay as they were recorded", "{number} 局牌谱全部复现"),
    "at move": ("move {number} of {total}", "第 {number} 手，共 {total} 手"),
    "next is": ("next: seat {seat} {move}", "下一手：{seat}号位 {move}"),
    "replay brief": (
        "Enter goes on · b back · a number goes there · hint · cards · play · quit",
        "回车 下一手 · b 上一手 · 数字 跳转 · hint 提示 · cards 猜牌 · play 接着打 · quit 离开",
    ),
    "played column": ("played", "实际"),
    "better column": ("{agent}", "{agent}"),
    "loss column": ("loses", "损失"),
    "review done": (
        "{count} decisions, {worse} of them worse than the best by 1 % or more.",
        "共 {count} 次选择，其中 {worse} 次比最佳差 1 % 以上。",
    ),
    "seat column": ("seat", "座位"),
}
"""Every text by its key: English, Chinese.  Braces stand for values."""

_HELP = {
    "play": (
        """Type the cards of a move, or pass:
  3  44  555     a solo, a pair, a trio (T or 10 is ten, B and R are the jokers)
  34567  445566  a chain of five or more, a chain of three pairs or more
  333+4  333+44  a trio with a kicker; 333444+57 a plane with two
  5555  BR       a bomb, the rocket""",
        """输入要出的牌，或 pass（不出）：
  3  44  555     单张、对子、三张（T 或 10 是十，B 小王，R 大王）
  34567  445566  顺子（至少五张）、连对（至少三对）
  333+4  333+44  三带一、三带一对；333444+57 飞机带两张
  5555  BR       炸弹、王炸""",
    ),
    "bid": (
        "The auction: type bid 1, bid 2 or bid 3 (or the number alone), or no.",
        "叫分：输入 1、2、3，或 no（不叫）。",
    ),
    "call": ("The auction: type call to be the landlord, or no.", "叫地主：输入 call（叫地主），或 no（不叫）。"),
    "rob": (
        "The auction: type rob to be the landlord for twice the stake, or no.",
        "抢地主：输入 rob（抢地主，倍数加倍），或 no（不抢）。",
    ),
    "show": (
        "Showing: type show to play with an open hand for twice the stake, or no.",
        "明牌：输入 show（明牌，倍数加倍），或 no（不明牌）。",
    ),
    "double": ("Doubling: type double, or no.", "加倍：输入 double（加倍），或 no（不加倍）。"),
    "words": (
        """  ?              the legal moves
  hint           what a good agent would do; hint rollout asks another
  ok             play what was hinted
  cards          where it expects the hidden cards
  undo           take your last decision back; undo 12 goes back to move 12
  board          the table once more
  quit or :q     leave (or Ctrl-D, Ctrl-C); the game is kept; q alone is a queen""",
        """  ?              可出的牌
  hint           提示；hint rollout 换一个智能体
  ok             按提示出牌
  cards          猜测暗牌
  undo           悔一手；undo 12 回到第 12 手
  board          重新显示牌面
  quit 或 :q     离开（Ctrl-D、Ctrl-C 也可以），自动保存；单独的 q 是 Q""",
    ),
}


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

    def help(self, question: str) -> str:
        """What can be typed where something is asked (:func:`ddz_env.core.spoken.question`)."""
        return "\n".join(_HELP[part][self._place] for part in (question, "words"))


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
