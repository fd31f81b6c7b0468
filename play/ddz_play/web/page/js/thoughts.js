// What an agent thinks of a decision: its moves in words, the numbers behind them, and how the chance of winning moved
// over the game.

import { makeSvg, make } from "./dom.js";
import { rankName, moveText } from "./cards.js";
import { playerNameWithRole } from "./table.js";
import { signedText, word } from "./words.js";

const WORST = 3; // moves that are listed
// How far chances are off, in 100, against worlds that are played out: `ddz reproduce table-chances`, and of `policy` 7.5 (6.8 to 8.2) on
// 600 positions of benchmarks/chance_errors.py.
const ERRORS = { easy: 7, medium: 6, hard: 6, policy: 8 };

/** Where chances come from, and against whom they hold. */
const sourceText = ({ source, opponents }) => word(`source ${source}`, { error: ERRORS[opponents ?? "policy"], between: word(`between ${opponents ?? "policy"}`) });
const percent = (share) => (100 * share).toFixed(0);

/** Why a move is advised, in the language of the page; null where nothing is said. */
export const reasonText = ({ why, whys }) => whys?.[document.documentElement.lang.slice(0, 2)] ?? why;

/** A bar of a share of the whole. */
function barElement(kind, share) {
  const filled = make("span", { class: kind });
  filled.style.width = `${(100 * share).toFixed(1)}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

/** A move in words; the numbers are for researchers. */
function entryElement(move, choose, played) {
  const numbers = move.text === played ? [word("played")] : [];
  if (move.compared) numbers.push(word(move.compared));
  if (move.chance != null) numbers.push(word("chance", { n: percent(move.chance) }));
  if (move.points != null) numbers.push(word("earns", { n: signedText(move.points.toFixed(1)) }));
  const line = move.line?.length > 0 && make("small", {}, `${word("line")} ${move.line.map(moveText).join(" · ")}`);
  const kind = move.text === played ? "entry mark" : "entry";
  const content = [make("span", {}, moveText(move.text)), make("span", { class: "number" }, numbers.join(" · ")), move.chance != null && barElement("chance", move.chance), line || null];
  return choose ? make("button", { type: "button", id: `move-${move.text}`, click: () => choose(move.text) }, content) : make("div", { class: kind }, content);
}

/** Moves, best first; those of one main group are folded under its best. */
export function thoughtsElement(thoughts, choose = null, title = word("thoughts")) {
  const groups = new Map();
  for (const move of thoughts.moves) groups.set(move.group, [...(groups.get(move.group) ?? []), move]);
  const items = [...groups.values()].map(([best, ...rest]) => {
    const more = rest.length > 0 && make("details", { open: rest.some(({ text }) => text === thoughts.played) }, make("summary", {}, word("kickers", { n: rest.length })), rest.map((move) => entryElement(move, choose, thoughts.played)));
    return make("li", {}, entryElement(best, choose, thoughts.played), more || null);
  });
  return make("section", { class: "panel thoughts", "aria-label": title }, make("h2", {}, title), reasonText(thoughts) && make("p", {}, reasonText(thoughts)),
    make("ul", { class: "moves", "data-focus": "moves" }, items), thoughts.source && make("p", { class: "source" }, sourceText(thoughts)),
    thoughts.better_in && make("p", { class: "source" }, word("better in", { seconds: thoughts.better_in })));
}

/** What only researchers ask for, behind one fold: tries, how often a policy plays the moves, and where hidden cards may be. */
export function numbersElement(thoughts, names, open = false) {
  const cell = (text) => make("td", {}, text ?? "");
  const known = thoughts.moves.filter(({ visits, prior }) => visits || prior != null);
  const head = make("tr", {}, ["move", "visits", "prior"].map((name) => make("th", { scope: "col" }, word(name))));
  const rows = known.map(({ text, visits, prior }) => make("tr", {}, make("th", { scope: "row" }, moveText(text)), cell(visits), cell(prior == null ? "" : `${(100 * prior).toFixed(1)} %`)));
  const beliefs = beliefsTable(thoughts, names);
  if (!rows.length && !beliefs) return null;
  return make("section", { class: "panel" }, make("details", { open }, make("summary", {}, make("h2", {}, word("numbers"))),
    rows.length > 0 && make("table", { class: "beliefs" }, head, rows), beliefs && make("h2", {}, word("beliefs")), beliefs));
}

/** How many cards of each hidden rank each seat is expected to hold. */
function beliefsTable(thoughts, names) {
  if (!thoughts.beliefs) return null;
  const rows = thoughts.beliefs.map(({ seat }) => make("th", { scope: "col" }, names[seat] ?? word("not dealt")));
  const head = make("tr", {}, make("th", { scope: "col" }, word("rank")), rows);
  const lines = [..."3456789TJQKA2BR"].map((rank, place) => {
    const cells = thoughts.beliefs.map(({ expected }) => make("td", {}, expected[place] ? [make("span", { class: "number" }, expected[place].toFixed(2)), barElement("visits", expected[place] / 4)] : ""));
    return thoughts.beliefs.some(({ expected }) => expected[place]) && make("tr", {}, make("th", { scope: "row" }, rankName(rank)), cells);
  });
  return make("table", { class: "beliefs" }, head, lines.filter(Boolean).reverse());
}

/** What would have been better than a move. */
const betterElement = ({ better, outcome }) => better && make("small", {}, word(outcome ? `better ${outcome}` : "better", { move: moveText(better) }));

/** What of a seat's decisions is kept: how many were best, of how many, and those that lost most. */
export function summarizeDecisions(chances, game, own) {
  const first = game.total - game.story.length;
  const mine = chances.flatMap((found, place) => (found?.loss != null && found.seat === own ? [{ ...found, place }] : []));
  const lost = mine.filter(({ loss }) => loss > 0).sort((a, b) => b.loss - a.loss);
  const mistakes = lost.slice(0, WORST).map(({ place, loss }) => ({ number: place, loss, move: game.story[place - first].text }));
  return [mine.length - lost.length, mine.length, mistakes];
}

/** How many decisions were as good as any; until all are known nothing is said of those to come. */
function countText(mine, own, asking) {
  const best = mine.filter(({ loss }) => loss === 0).length;
  if (best < mine.length || asking) return own == null || !mine.length ? null : word("best of", { n: best, all: mine.length });
  return word(mine.length ? "all best" : "no decision", { all: mine.length });
}

/** The decisions of a seat (of all, for who only watches) that lost most, each to be tried again; and how many were as good as any. */
export function decisionsElement(chances, game, own, asking, choose, again) {
  const first = game.total - game.story.length;
  const mine = chances.flatMap((found, place) => (found?.loss != null && (own ?? found.seat) === found.seat ? [{ ...found, place }] : []));
  const worst = mine.filter(({ loss }) => loss > 0).sort((a, b) => b.loss - a.loss).slice(0, WORST);
  const lines = worst.map(({ place, ...found }) => make("li", {},
    make("button", { type: "button", id: `worst-${place}`, click: () => choose(place) }, `${place + 1}. ${own == null ? `${playerNameWithRole(game, game.story[place - first].seat)} ` : ""}`, make("b", {}, moveText(game.story[place - first].text)), make("span", { class: "number" }, word("loss", { n: percent(found.loss) })), betterElement(found) || null),
    make("button", { type: "button", id: `again-${place}`, class: "again", click: () => again(place) }, word("try again"))));
  const title = worst.length ? (own == null ? "worst of all" : "worst") : "decisions";
  const text = countText(mine, own, asking);
  return make("section", { class: "panel thoughts worst" }, make("h2", {}, word(title)), text && make("p", {}, text), worst.length > 0 && make("ol", { class: "moves" }, lines), mine.length > 0 && make("p", { class: "source" }, sourceText({ source: "critic", ...mine[0] })));
}

/**
 * The chance of winning before each move, of a seat or, for who only watches, of the landlord.  `choose` gets the number
 * of moves.
 */
export function curveElement(chances, game, own, choose) {
  const { total, number } = game;
  const landlord = game.roles.indexOf("landlord"); // at the end: an auction may still be to come
  const most = Math.max(total, 1);
  const share = ({ landlord: chance }) => (own == null || own === landlord ? chance : 1 - chance);
  const points = chances.flatMap((found, place) => (found?.landlord == null ? [] : [`${(100 * place) / most},${100 - 100 * share(found)}`]));
  const picture = makeSvg("svg", { class: "curve", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": word("curve") });
  const here = (100 * number) / most;
  picture.append(makeSvg("line", { x1: 0, x2: 100, y1: 50, y2: 50 }), makeSvg("line", { x1: here, x2: here, y1: 0, y2: 100, class: "here" }), makeSvg("polyline", { class: "seat0", points: points.join(" ") }));
  picture.addEventListener("click", (event) => choose(Math.round((event.offsetX / picture.getBoundingClientRect().width) * most)));
  const now = chances.slice(0, number + 1).findLast((found) => found?.landlord != null);
  const text = now && make("span", { id: "chance-now", class: "seat0" }, word(own == null ? "landlord chance" : "my chance", { n: percent(share(now)) }));
  const scale = (...ends) => make("div", { class: "scale" }, ends);
  return make("section", { class: "panel" }, make("h2", {}, word("curve")), scale(make("span", {}, "100 %"), text), picture, scale(make("span", {}, "0 %"), make("span", {}, `${number} / ${total}`)));
}
