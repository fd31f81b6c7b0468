// The words of the page in both languages, and the choice between them.

const WORDS = {
  en: {
    title: "Dou Dizhu", "new game": "New game", puzzle: "Puzzles", open: "Open a game", ask: "Ask",
    language: "中文", rules: "Rules", seat: "Your seat", opponents: "Opponents", seed: "Seed (empty: a new deal)",
    deal: "Deal", play: "Play", pass: "Pass", hint: "Hint", undo: "Undo", save: "Save", look: "Look into it",
    again: "Another game", step: "Next move", back: "Back", first: "First", last: "Last", landlord: "landlord",
    "peasant down": "peasant after the landlord", "peasant up": "peasant before the landlord", peasant: "peasant",
    "": "bidder", cards: "{n} cards", card: "1 card", you: "you", stake: "Stake {n}", "landlord cards": "landlord cards",
    "your lead": "You lead.", "your turn": "Beat {move}, or pass.", "your bid": "Your bid.", "your double": "Do you double?",
    "their turn": "{name} is thinking …", won: "You win.", lost: "You lose.", "nobody bid": "Nobody bid: no game.",
    "landlord wins": "The landlord wins.", "peasants win": "The peasants win.", spring: "Spring!", points: "{n} points",
    moves: "Moves", thoughts: "Moves, best first", chance: "wins {n} %", visits: "{n} visits", line: "expected",
    beliefs: "What {name} believes of the hidden cards", curve: "Chance of winning", "choose reading": "These cards can be several moves:",
    "paste record": "Paste a saved game, or choose a file.", "open it": "Open", "play on": "Play on from here",
    "ask about": "Set up what you see at a table, and ask.", "your hand": "Your hand", role: "Your role",
    "table moves": "Moves so far, one a line, from the landlord's first", "the landlord cards": "The landlord cards",
    adviser: "Ask", question: "What would you play?", check: "Try another move.", solved: "Right: this wins.",
    "puzzle first": "Exactly one first move wins against the best defence. Both hands are open.", "next puzzle": "Another puzzle",
    solution: "Show the solution", bid: "Bid {n}", "no bid": "No bid", double: "Double", "no double": "No double",
    "lost server": "The server does not answer. Try again.", revealed: "Show all hands", "no game": "There is no such game here.",
    resume: "Go on with the last game", "your seats": "Seat {n}", nobody: "nobody", all: "All of them", watch: "Nobody: only watch", others: "An agent for each other seat",
  },
  zh: {
    title: "斗地主", "new game": "新牌局", puzzle: "残局", open: "打开牌谱", ask: "求助",
    language: "English", rules: "规则", seat: "您的座位", opponents: "对手", seed: "随机种子（留空则随机发牌）",
    deal: "发牌", play: "出牌", pass: "不出", hint: "提示", undo: "悔棋", save: "保存", look: "看分析",
    again: "再来一局", step: "下一手", back: "上一手", first: "开头", last: "结尾", landlord: "地主",
    "peasant down": "地主下家", "peasant up": "地主上家", peasant: "农民",
    "": "叫牌", cards: "{n} 张", card: "1 张", you: "您", stake: "倍数 {n}", "landlord cards": "底牌",
    "your lead": "请出牌。", "your turn": "请压过 {move}，或不出。", "your bid": "请叫分。", "your double": "加倍吗？",
    "their turn": "{name} 思考中……", won: "您赢了。", lost: "您输了。", "nobody bid": "无人叫地主，流局。",
    "landlord wins": "地主获胜。", "peasants win": "农民获胜。", spring: "春天！", points: "{n} 分",
    moves: "出牌记录", thoughts: "候选出牌，由优到劣", chance: "胜率 {n} %", visits: "访问 {n} 次", line: "预计",
    beliefs: "{name} 对暗牌的估计", curve: "胜率曲线", "choose reading": "这些牌有多种出法：",
    "paste record": "粘贴保存的牌谱，或选择文件。", "open it": "打开", "play on": "从这里继续打",
    "ask about": "输入您在牌桌上看到的情况，然后提问。", "your hand": "您的手牌", role: "您的身份",
    "table moves": "已出的牌，每行一手，从地主第一手开始", "the landlord cards": "底牌",
    adviser: "询问", question: "该怎么出？", check: "再试一手。", solved: "正确，这手必胜。",
    "puzzle first": "只有一手首出能赢。第一手牌先出，双方明牌。", "next puzzle": "下一题",
    solution: "看答案", bid: "{n} 分", "no bid": "不叫", double: "加倍", "no double": "不加倍",
    "lost server": "服务器没有响应，请重试。", revealed: "亮出所有手牌", "no game": "这里没有这局牌。",
    resume: "继续上一局", "your seats": "{n} 号位", nobody: "无人", all: "全部", watch: "不参加，只观看", others: "其他各座位的智能体",
  },
};

let language = localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");

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
  document.documentElement.lang = language;
  for (const element of root.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
}
