// The words of the page in both languages, and the choice between them.

const WORDS = {
  en: {
    title: "Dou Dizhu", "new game": "New game", puzzle: "Puzzles", open: "Open a game", ask: "Ask",
    language: "中文", "language code": "zh", table: "Table", rules: "Rules", seat: "Your seat", opponents: "Opponents",
    seed: "Seed (empty: new cards)", deal: "Deal", play: "Play", pass: "Pass", hint: "Hint", undo: "Undo", save: "Save",
    "step through": "Step through", look: "Look into it", again: "Another game", step: "Next", back: "Back", first: "First",
    last: "Last", run: "Run", halt: "Stop", landlord: "landlord", "peasant down": "peasant (next)",
    "peasant up": "peasant (last)", peasant: "peasant", "landlord short": "landlord", "peasant down short": "next",
    "peasant up short": "last", "peasant short": "peasant", "": "", cards: "{n} cards", card: "1 card", you: "you",
    person: "person", doubled: "doubled", stake: "Stake {n}", "landlord cards": "Landlord cards", "your lead": "You lead.",
    "your turn": "Beat {move}, or pass.", "your bid": "Your bid.", "your double": "Do you double?",
    "your call": "Do you call?", "your rob": "Do you rob?", "your show": "Do you show your hand for twice the stake?",
    call: "Call", "no call": "Do not call", rob: "Rob", "no rob": "Do not rob", show: "Show", "no show": "Do not show",
    "their turn": "{name} is thinking …", "to move": "{name} to move", won: "You win.", lost: "You lose.",
    "nobody bid": "Nobody bid: no game.", "landlord wins": "The landlord goes out first.",
    "peasants win": "A peasant goes out first.", spring: "Spring!", points: "{n} points.", point: "1 point.",
    moves: "Moves", thoughts: "Moves, best first", chance: "wins {n} %", visits: "{n} visits", line: "then",
    kickers: "Other kickers: {n}", beliefs: "Hidden cards, as {name} sees them", rank: "Rank", curve: "Chance of winning",
    "landlord chance": "landlord {n} %", "no chance": "{name} tells no chance of winning: ask a search.", "choose reading": "These cards can be several moves. Which one?",
    "open about": "A saved game can be stepped through and analysed. A game that you saved while it ran goes on where it stands, if it was played on this server.",
    file: "File", record: "Or its text", "open it": "Open", "play on": "Play on from here",
    "saved whole": "The file holds the whole game. Open it to step through it.",
    "saved seen": "The file holds what you have seen so far. The server keeps the game itself: open the file to go on with it.",
    compiling: "Compiling for this machine, the first time only: this can take some minutes.", ranks: "Cards", erase: "Delete", "new line": "Next move",
    "ask about": "Describe a table as you see it, after the auction. The move comes from your cards and what was played; nobody needs to know the other hands.",
    "your hand": "Your hand", "hand to ask": "Your hand as it was dealt (the landlord may include the landlord cards)", "your role": "Your role",
    "table moves": "Moves so far, one a line, from the landlord's first", adviser: "Ask",
    question: "What would you play?", check: "You lose: another first move wins. Take it back and try again.", solved: "Solved: you win.",
    "puzzle of": "Puzzle {n}, {grade} of 5 stars",
    "puzzle first": "Both hands are open, and you lead. Exactly one first move wins against the best defence.", "puzzle one": "Puzzle",
    "next puzzle": "Another puzzle", solution: "Show the solution", bid: "Bid {n}", "no bid": "No bid", double: "Double",
    "no double": "No double", "lost server": "The server does not answer. Is it still running?", "no game": "There is no such game here any more.",
    resume: "Your last games", "your seats": "Seat {n}", nobody: "nobody", all: "All of them", watch: "None: only watch",
    retry: "Try again", replace: "Let {name} play instead", keys: "Keys",
    "keys game": "Ranks choose cards: 3 to 9, 0 or T for the ten, J Q K A 2, B and R for the jokers. Arrows and space work on the hand, too. Enter plays, P passes, H asks for a hint, U takes back, Escape drops the choice.",
    "keys replay": "Left and right step, Home and End jump, space runs, L looks into the decision, B plays on from here.",
    "rules standard": "Standard", "rules bidding": "With an auction", "rules bidding,doubling=true": "With an auction and doubling",
    "rules botzone": "Botzone", "rules botzone2": "Botzone, with an auction", "rules rlcard": "RLCard", "rules douzero": "DouZero",
    "rules openspiel": "OpenSpiel", "rules perfect": "Open hands", "rules mini": "Mini (two players, 14 cards)",
    "rules micro": "Micro (two players, 6 cards)", "rules half-deck": "Half a deck",
    "rules robbing": "Calling and robbing the landlord",
  },
  zh: {
    title: "斗地主", "new game": "新牌局", puzzle: "残局", open: "打开牌谱", ask: "求助",
    language: "English", "language code": "en", table: "牌桌", rules: "规则", seat: "您的座位", opponents: "对手",
    seed: "随机种子（留空则随机发牌）", deal: "发牌", play: "出牌", pass: "不出", hint: "提示", undo: "悔棋", save: "保存",
    "step through": "逐手回放", look: "分析这一手", again: "再来一局", step: "下一手", back: "上一手", first: "开头",
    last: "结尾", run: "自动播放", halt: "停止", landlord: "地主", "peasant down": "农民（下家）",
    "peasant up": "农民（上家）", peasant: "农民", "landlord short": "地主", "peasant down short": "下家",
    "peasant up short": "上家", "peasant short": "农民", "": "", cards: "{n} 张", card: "1 张", you: "您",
    person: "玩家", doubled: "已加倍", stake: "倍数 {n}", "landlord cards": "底牌", "your lead": "请出牌。",
    "your turn": "请压过 {move}，或不出。", "your bid": "请叫分。", "your double": "加倍吗？",
    "your call": "叫地主吗？", "your rob": "抢地主吗？", "your show": "明牌吗？倍数加倍。",
    call: "叫地主", "no call": "不叫", rob: "抢地主", "no rob": "不抢", show: "明牌", "no show": "不明牌",
    "their turn": "{name} 思考中……", "to move": "轮到 {name}", won: "您赢了。", lost: "您输了。",
    "nobody bid": "无人叫地主，流局。", "landlord wins": "地主先出完。",
    "peasants win": "农民先出完。", spring: "春天！", points: "{n} 分。", point: "1 分。",
    moves: "出牌记录", thoughts: "候选出牌，由优到劣", chance: "胜率 {n} %", visits: "访问 {n} 次", line: "其后",
    kickers: "其他带牌：{n}", beliefs: "{name} 对暗牌的估计", rank: "点数", curve: "胜率曲线",
    "landlord chance": "地主 {n} %", "no chance": "{name} 不给出胜率，请改问搜索类智能体。", "choose reading": "这些牌有多种出法，请选择：",
    "open about": "保存的牌谱可以逐手回放和分析。对局中保存的文件若属于本服务器，打开后可继续那一局。",
    file: "文件", record: "或粘贴牌谱", "open it": "打开", "play on": "从这里继续打",
    "saved whole": "文件包含整局牌，打开它即可回放。",
    "saved seen": "文件只含您目前看到的内容。牌局由服务器保存，打开此文件即可继续。",
    compiling: "正在为本机编译，仅首次需要，可能要几分钟。", ranks: "牌", erase: "删除", "new line": "下一手",
    "ask about": "输入您在牌桌上看到的情况（叫牌之后）。建议只依据您的手牌和已出的牌，无需知道别家的牌。",
    "your hand": "您的手牌", "hand to ask": "您最初的手牌（地主可包含底牌）", "your role": "您的身份",
    "table moves": "已出的牌，每行一手，从地主第一手开始", adviser: "询问",
    question: "该怎么出？", check: "您输了：另有必胜的首出。请悔棋再试。", solved: "解开了，您赢了。",
    "puzzle of": "第 {n} 题，难度 {grade}（最高 5）",
    "puzzle first": "双方明牌，您先出。只有一手首出能战胜最佳防守。", "puzzle one": "残局",
    "next puzzle": "换一题", solution: "看答案", bid: "{n} 分", "no bid": "不叫", double: "加倍",
    "no double": "不加倍", "lost server": "服务器没有响应，它还在运行吗？", "no game": "这局牌已不存在。",
    resume: "最近的牌局", "your seats": "{n} 号位", nobody: "无人", all: "全部", watch: "不参加，只观看",
    retry: "重试", replace: "换 {name} 来打", keys: "快捷键",
    "keys game": "按点数选牌：3 到 9，0 或 T 为十，J Q K A 2，B、R 为小王、大王；也可用方向键和空格。回车出牌，P 不出，H 提示，U 悔棋，Esc 取消选择。",
    "keys replay": "左右键前后一手，Home、End 到开头或结尾，空格自动播放，L 分析，B 从这里继续打。",
    "rules standard": "标准", "rules bidding": "叫地主", "rules bidding,doubling=true": "叫地主并加倍",
    "rules botzone": "Botzone", "rules botzone2": "Botzone（叫地主）", "rules rlcard": "RLCard", "rules douzero": "DouZero",
    "rules openspiel": "OpenSpiel", "rules perfect": "明牌", "rules mini": "迷你（两人，14 张）",
    "rules micro": "微型（两人，6 张）", "rules half-deck": "半副牌",
    "rules robbing": "叫地主、抢地主",
  },
};

let language = ["en", "zh"].includes(localStorage.getItem("language")) ? localStorage.getItem("language") : navigator.language.startsWith("zh") ? "zh" : "en";

/** A word in the chosen language; `{name}` is replaced by `values.name`. */
export function word(key, values = {}) {
  const text = WORDS[language][key] ?? WORDS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export const switchLanguage = () => {
  language = language === "en" ? "zh" : "en";
  localStorage.setItem("language", language);
};

/** Put the words into everything that names one by `data-word`. */
export function translate(root = document) {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = word("title");
  for (const element of root.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
}
