// The words of the page in both languages, and the choice between them.

const WORDS = {
  en: {
    title: "Dou Dizhu", "new game": "New game", puzzle: "Puzzles", open: "Open a game", ask: "Ask",
    language: "中文", "language code": "zh", table: "Table", rules: "Rules", seat: "Your seat", opponents: "Opponents",
    seed: "Seed (empty: new cards)", "dealt by seed": "Seed of this deal: {seed}", deal: "Deal", play: "Play", pass: "Pass", hint: "Hint", undo: "Undo", save: "Save",
    "step through": "Step through", look: "Look into it", again: "Another game", step: "Next", back: "Back", first: "First",
    last: "Last", run: "Run", halt: "Stop", "peasant down": "peasant after landlord",
    "peasant up": "peasant before landlord",
    "": "", cards: "{n} cards", card: "1 card", you: "You",
    as: "{name} ({role})", person: "Person", solver: "Opponent", cheats: "sees all hands",
    stake: "Stake {n}", "landlord cards": "Landlord cards", "left out": "Left out: {cards}", "your lead": "You lead.",
    "level easy": "Easy", "level medium": "Medium", "level hard": "Hard", "level master": "Master",
    "your turn": "Beat {move}, or pass.", "must pass": "You have nothing that beats {move}: you pass.",
    "partner leads": "Your partner leads with {move}: beat it, or pass.", "your bid": "Your bid.", "your double": "Do you double?",
    "your call": "Do you call?", "your rob": "Do you rob?", "your show": "Do you show your hand for twice the stake?",
    call: "Call", "no call": "Do not call", rob: "Rob", "no rob": "Do not rob", show: "Show", "no show": "Do not show",
    "their turn": "{name} is thinking …", "to move": "{name} to move", won: "You win!", lost: "You lose.",
    running: "still running",
    "no bids": "No one bid: no game.", "landlord wins": "The landlord goes out first.",
    "peasants win": "A peasant goes out first.", spring: "Spring!", points: "{n} points", point: "{n} point",
    half: "{n} points (half of the landlord's)", score: "Score {n} · won {won} of {games}",
    "no combination": "These cards do not go together. A straight has five cards or more, a run of pairs three pairs or more.",
    beat: "That does not beat {move}: play a higher one of the same kind and length, or pass.",
    "beat or bomb": "That does not beat {move}: play a higher one of the same kind and length, or a bomb, or pass.",
    moves: "Moves", thoughts: "A good move, and others", "thoughts of": "The move of {name}, and others", "the solution": "The solution", chance: "wins {n} %", earns: "{n} points", visits: "Tries", line: "then",
    kickers: "Other kickers: {n}", prior: "Played by the network", move: "Move", numbers: "Numbers for researchers", beliefs: "Where the hidden cards may be", rank: "Rank", curve: "Chance of winning", played: "was played", worst: "Your costliest decisions", "worst of all": "What lost most", loss: "−{n} %",
    "landlord chance": "landlord {n} %", "my chance": "you {n} %", "my game": "My game", review: "My game", "try again": "Try again", "best of": "{n} of your {all} decisions were best, or as good.", "all best": "All {all} decisions were best, or as good.", "no decision": "There was nothing to decide.", decisions: "Decisions",
    better: "Better: {move}", "better goes out": "{move} goes out.", "better wins": "{move} wins whatever the others hold.", redealt: "Nobody bid: new cards.", "redealt times": "Nobody bid, {n} times: new cards.",
    "as good": "as good", "slightly weaker": "slightly weaker", "clearly weaker": "clearly weaker",
    count: "Count cards", sound: "Sound", "still out": "Cards still out", bombs: "{times} ({n} bombs)", "bomb twice": "2 (bomb)", "spring twice": "2 (spring)", "bid times": "{n} (bid)", raised: "{n} (robbed or shown)", "landlord doubled": "2 (the landlord doubled)", "you doubled": "2 (you doubled)", "peasants pay": "the peasants pay {sum}", "you pay": "you pay both: {sum}", "for researchers": "For researchers", "choose reading": "These cards can be several moves. Which one?",
    "open about": "Step through a saved game, or continue one that you saved while it ran on this server.",
    file: "File", record: "Or its text", "open it": "Open", "play on": "Play on from here",
    "saved seen": "The file holds what you have seen; the server keeps the game: open the file to go on.",
    "source critic": "Chances between strong players, from what you can see and what was played; off by about {error} in 100 on average.", "source search": "Chances: from games that were tried out.",
    "source payoff": "Points: on average over deals that were played out.",
    "source solver": "Worked out to the end with open hands.",
    preparing: "Preparing {what} for this machine, the first time only: ready in about {seconds} s …", "better in": "Better hints, with chances, are ready in about {seconds} s.", "preparing opponents": "the opponents",
    "preparing hints": "the hints", "preparing search": "the search", "preparing puzzles": "the puzzles",
    moment: "One moment …", dealing: "Dealing …", searching: "Looking for good moves …", ranks: "Cards", erase: "Delete", "new line": "Next move",
    "bids first": "first to bid", "bids second": "second to bid", "bids third": "third to bid",
    "ask about": "Describe a table as you see it: your cards and what was played.",
    "your hand": "Your hand", "hand to ask": "Your hand as it was dealt (the landlord may include the landlord cards)", "your role": "Your role",
    "table moves": "Bids or moves so far, one per line", adviser: "Ask", "the adviser": "Adviser", "hand like this": "3344567810JQQKA22B", "typed pass": "pass",
    "cards of": "{n} cards of {most}", unread: "“{signs}” is not a card: write 3 to 10, J, Q, K, A, 2, B (black joker) and R (red joker).",
    "line no combination": "Line {n}: the cards “{text}” do not go together. Put + before cards that ride along, as in 333+4.",
    "line impossible": "Line {n}: “{text}” cannot be played there. It does not beat the move before it, or there are not enough of these cards.",
    question: "What would you play?", check: "Another move would have won.", solved: "Solved!", "solved about": "You win against the best defence.",
    "lost move": "That move loses: your opponent can win now. Take it back and try again.", followed: "You win, by the solution.", "not counted": "It counts as solved when you find it yourself: try it again later.",
    "solved mark": "solved", "first mark": "solved at the first try", daily: "Puzzle of the day", theme: "Theme", more: "{n} more", "puzzle cards": "{own} v {other} cards",
    "puzzle record": "Rating {rating} · streak {streak} · {first} of {tried} at the first try · {solved} of {all} solved.",
    "theme any": "All", "theme rocket": "With the rocket", "theme bombs": "With a bomb", "theme runs": "With a straight", "theme short": "Few cards",
    "puzzle number": "Puzzle {n}",
    "puzzle first": "Both hands are open, and you lead. Exactly one first move wins against the best defence.",
    "next puzzle": "Next puzzle", solution: "Show the solution", bid: "Bid {n}", "no bid": "No bid", double: "Double",
    "no double": "No double", "lost server": "The server does not answer. Is it still running?", "no game": "There is no such game here any more.",
    resume: "Your last games", "your seats": "Seat {n}", stars: "Stars", watch: "None: only watch",
    retry: "Try again", replace: "Let {name} play instead", keys: "Keys",
    "keys game": "3 to 9, 0 or T (ten), J Q K A 2, B and R (jokers) choose cards, or arrows and space, or one stroke of the mouse. Enter plays, P passes, H raises the best move, again the next, U takes back, Escape drops the choice, C counts cards, S switches the sound.",
    "keys replay": "Left and right step, Home and End jump, space runs, L looks into the decision, B plays on from here.",
    "rules standard": "Standard", "rules bidding": "With an auction", "rules bidding,doubling=true": "With an auction and doubling",
    "rules botzone": "Botzone", "rules botzone2": "Botzone, with an auction", "rules rlcard": "RLCard", "rules douzero": "DouZero",
    "rules openspiel": "OpenSpiel", "rules perfect": "Open hands", "rules mini": "Mini (two players, 14 cards)",
    "rules micro": "Micro (two players, 6 cards)", "rules half-deck": "Half a deck", "rules half-deck-open": "Half a deck, the rest face up",
    "rules robbing": "Calling and robbing the landlord", "rules standard,unshuffled=true": "Unshuffled (more bombs)",
  },
  zh: {
    title: "斗地主", "new game": "新牌局", puzzle: "残局", open: "打开牌谱", ask: "支招",
    language: "English", "language code": "en", table: "牌桌", rules: "玩法", seat: "您的座位", opponents: "对手",
    seed: "牌局编号（留空则随机发牌）", "dealt by seed": "本局编号：{seed}", deal: "发牌", play: "出牌", pass: "不出", hint: "提示", undo: "悔牌", save: "保存",
    "step through": "复盘", look: "分析这一手", again: "再来一局", step: "下一手", back: "上一手", first: "开头",
    last: "结尾", run: "自动播放", halt: "停止", landlord: "地主", "peasant down": "地主下家",
    "peasant up": "地主上家", peasant: "农民",
    "": "", cards: "{n} 张", card: "1 张", you: "您",
    as: "{name}（{role}）", person: "玩家", solver: "对手", doubled: "已加倍", cheats: "看得到所有手牌",
    stake: "倍数 {n}", "landlord cards": "底牌", "left out": "明置：{cards}", "your lead": "请出牌。",
    "level easy": "简单", "level medium": "普通", "level hard": "困难", "level master": "大师",
    "your turn": "请压过 {move}，或不出。", "must pass": "要不起 {move}。",
    "partner leads": "队友出了 {move}：压过它，或不出。", "your bid": "请叫分。", "your double": "加倍吗？",
    "your call": "叫地主吗？", "your rob": "抢地主吗？", "your show": "明牌吗？倍数加倍。",
    call: "叫地主", "no call": "不叫", rob: "抢地主", "no rob": "不抢", show: "明牌", "no show": "不明牌",
    "their turn": "{name}正在想……", "to move": "轮到{name}", won: "您赢了！", lost: "您输了。",
    running: "还没打完",
    "no bids": "无人叫地主，流局。", "landlord wins": "地主先出完。",
    "peasants win": "农民先出完。", spring: "春天！", points: "{n} 分", point: "{n} 分",
    half: "{n} 分（地主的一半）", score: "总分 {n} · {games} 局赢 {won} 局",
    "no combination": "这几张牌凑不成牌型。可以出单张、对子、三张（可带一张或一对）、顺子（至少五张）、连对（至少三对）、飞机或炸弹。",
    beat: "压不过 {move}：要出更大的同样牌型，或者不出。",
    "beat or bomb": "压不过 {move}：要出更大的同样牌型，或用炸弹，或者不出。",
    moves: "出牌记录", thoughts: "建议的出法和其他出法", "thoughts of": "{name}的出法和其他出法", "the solution": "答案", chance: "胜率 {n} %", earns: "{n} 分", visits: "试算次数", line: "接着",
    kickers: "其他带法：{n}", prior: "网络常出", move: "出法", numbers: "研究用的数字", beliefs: "没看到的牌可能在谁手里", rank: "牌", curve: "胜率曲线", played: "实际出的", worst: "您损失最大的几手", "worst of all": "损失最大的几手", loss: "−{n} %",
    "landlord chance": "地主 {n} %", "my chance": "您 {n} %", "my game": "我的牌局", review: "我的牌局", "try again": "再试一次", "best of": "需要选择的 {all} 手里有 {n} 手最好，或不比别的差。", "all best": "需要选择的 {all} 手都最好，或不比别的差。", "no decision": "没有需要选择的一手。", decisions: "选择",
    better: "更好：{move}", "better goes out": "{move} 直接出完。", "better wins": "{move} 必胜。", redealt: "无人叫地主，重新发牌。", "redealt times": "{n} 次无人叫地主，重新发牌。",
    "as good": "差不多", "slightly weaker": "略差", "clearly weaker": "明显差",
    count: "记牌器", sound: "声音", "still out": "外面还剩的牌", bombs: "{times}（{n} 个炸弹）", "bomb twice": "2（炸弹）", "spring twice": "2（春天）", "bid times": "{n}（叫分）", raised: "{n}（抢地主、明牌）", "landlord doubled": "2（地主加倍）", "you doubled": "2（您加倍）", "peasants pay": "农民付 {sum}", "you pay": "您付给两家：{sum}", "for researchers": "研究用", "choose reading": "这些牌有几种出法，请选择：",
    "open about": "打开保存的牌谱来复盘；在本服务器上没打完的牌局可以接着打。",
    file: "文件", record: "或粘贴牌谱", "open it": "打开", "play on": "从这里接着打",
    "saved seen": "文件里只有您看到的内容，牌局由服务器保存：打开此文件即可接着打。",
    "source critic": "高手之间的胜率，按您看得到的牌和已出的牌估计；平均误差约百分之 {error}。", "source search": "胜率：由试算的牌局得出。",
    "source payoff": "得分：多种暗牌打到底的平均值。",
    "source solver": "明牌算到底的结果。",
    preparing: "第一次使用，正在准备{what}：约 {seconds} 秒后就绪……", "better in": "更好的提示（附胜率）约 {seconds} 秒后就绪。", "preparing opponents": "对手",
    "preparing hints": "提示", "preparing search": "计算", "preparing puzzles": "残局",
    moment: "请稍候……", dealing: "正在发牌……", searching: "正在想怎么出……", ranks: "牌", erase: "删除", "new line": "下一手",
    "bids first": "第一个叫", "bids second": "第二个叫", "bids third": "第三个叫",
    "ask about": "输入您在牌桌上看到的情况：您的手牌和已出的牌。",
    "your hand": "您的手牌", "hand to ask": "您最初的手牌（地主可包含底牌）", "your role": "您的身份",
    "table moves": "已叫的分或已出的牌，每行一手", adviser: "问谁", "the adviser": "参谋", "hand like this": "3344567810JQQKA22小王", "typed pass": "不出",
    "cards of": "{n} 张，应为 {most} 张", unread: "看不懂“{signs}”：牌写作 3 到 10、J、Q、K、A、2、小王、大王。",
    "line no combination": "第 {n} 行：“{text}”凑不成牌型。带的牌写在 + 后面，如 333+4。",
    "line impossible": "第 {n} 行：这里不能出“{text}”：压不过上一手，或者没有这么多这样的牌。",
    B: "小王", R: "大王", "black joker": "小王", "red joker": "大王", rocket: "王炸",
    question: "该怎么出？", check: "另有必胜的出法。", solved: "解开了！", "solved about": "对手防得再好，您也赢了。",
    "lost move": "这一手出错了：现在对手能赢。请悔牌再试。", followed: "照着答案赢了。", "not counted": "自己想出来才算解开：以后再来试试。",
    "solved mark": "已解开", "first mark": "一次解开", daily: "今日残局", theme: "类型", more: "还有 {n} 题", "puzzle cards": "{own} 张对 {other} 张",
    "puzzle record": "等级分 {rating} · 连对 {streak} · 一次解开 {first}/{tried} · 共解开 {solved}/{all}。",
    "theme any": "全部", "theme rocket": "有王炸", "theme bombs": "有炸弹", "theme runs": "有顺子", "theme short": "牌少",
    "puzzle number": "残局 {n}",
    "puzzle first": "双方明牌，您先出。第一手只有一种出法必胜。",
    "next puzzle": "下一题", solution: "看答案", bid: "{n} 分", "no bid": "不叫", double: "加倍",
    "no double": "不加倍", "lost server": "服务器没有响应，它还在运行吗？", "no game": "这局牌已经没有了。",
    resume: "最近的牌局", "your seats": "{n} 号位", "not dealt": "未发", stars: "难度", watch: "不参加，只观看",
    retry: "重试", replace: "换{name}来打", keys: "快捷键",
    "keys game": "3 到 9、0 或 T（十）、J Q K A 2、B 和 R（王）选牌，也可用方向键和空格，或用鼠标划过。回车出牌，P 不出，H 提示（再按换一手），U 悔牌，Esc 取消选择，C 记牌器，S 声音。",
    "keys replay": "左右键前后一手，Home、End 到开头或结尾，空格自动播放，L 分析，B 从这里接着打。",
    "rules standard": "标准（不叫地主）", "rules bidding": "叫地主", "rules bidding,doubling=true": "叫地主，可加倍",
    "rules botzone": "Botzone", "rules botzone2": "Botzone（叫地主）", "rules rlcard": "RLCard", "rules douzero": "DouZero",
    "rules openspiel": "OpenSpiel", "rules perfect": "明牌", "rules mini": "迷你（两人，14 张）",
    "rules micro": "微型（两人，6 张）", "rules half-deck": "半副牌", "rules half-deck-open": "半副牌，其余明置",
    "rules robbing": "叫地主、抢地主", "rules standard,unshuffled=true": "不洗牌（炸弹多）",
  },
};

let language = ["en", "zh"].includes(localStorage.getItem("language")) ? localStorage.getItem("language") : navigator.language.startsWith("zh") ? "zh" : "en";

/** A word in the chosen language, in English by default the key itself; `{name}` is replaced by `values.name`. */
export function word(key, values = {}) {
  const text = WORDS[language][key] ?? WORDS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const switchLanguage = () => {
  language = language === "en" ? "zh" : "en";
  localStorage.setItem("language", language);
};

/** What the window is called. */
export const entitle = (text) => { document.title = text ? `${text} · ${word("title")}` : word("title"); };

/** A result with its sign. */
export const signed = (result) => `${result > 0 ? "+" : result < 0 ? "−" : ""}${Math.abs(result)}`;

/** Put the words into everything that names one by `data-word`. */
export function translate(root = document) {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = word("title");
  for (const element of root.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
}
