// What an agent thinks of a decision: its moves with bars, main groups that unfold to kickers, its beliefs, and how the
// chance of winning moved over the game.

import { draw, make } from "./dom.js";
import { rankName, said } from "./cards.js";
import { signed } from "./result.js";
import { word } from "./words.js";

const WORST = 3; // moves that are listed
const percent = (share) => (100 * share).toFixed(0);

/** A bar of a share of the whole. */
function bar(kind, share) {
  const filled = make("span", { class: kind });
  filled.style.width = `${(100 * share).toFixed(1)}%`;
  return make("span", { class: "bar", "aria-hidden": "true" }, filled);
}

function entry(move, most, choose, played) {
  const numbers = move.text === played ? [word("played")] : [];
  if (move.chance != null) numbers.push(word("chance", { n: percent(move.chance) }));
  if (move.points != null) numbers.push(word("earns", { n: signed(move.points.toFixed(1)) }));
  if (move.visits) numbers.push(word("visits", { n: move.visits }));
  else if (move.prior >= 0.005) numbers.push(word("prior", { n: percent(move.prior) }));
  const share = move.visits ? move.visits / most : move.prior ?? 0;
  const bars = [move.chance != null && bar("chance", move.chance), share >= 0.005 && bar("visits", share)];
  const line = move.line?.length > 0 && make("small", {}, `${word("line")} ${move.line.map(said).join(" · ")}`);
  const kind = move.text === played ? "entry mark" : "entry";
  const content = [make("span", {}, said(move.text)), make("span", { class: "number" }, numbers.join(" · ")), bars, line || null];
  return choose ? make("button", { type: "button", id: `move-${move.text}`, click: () => choose(move.text) }, content) : make("div", { class: kind }, content);
}

/** Moves, best first; those of one main group are folded under its best. */
export function thoughtsElement(thoughts, choose = null, title = word("thoughts")) {
  const most = Math.max(...thoughts.moves.map((move) => move.visits ?? 0), 1);
  const groups = new Map();
  for (const move of thoughts.moves) groups.set(move.group, [...(groups.get(move.group) ?? []), move]);
  const items = [...groups.values()].map(([best, ...rest]) => {
    const more = rest.length > 0 && make("details", { open: rest.some(({ text }) => text === thoughts.played) }, make("summary", {}, word("kickers", { n: rest.length })), rest.map((move) => entry(move, most, choose, thoughts.played)));
    return make("li", {}, entry(best, most, choose, thoughts.played), more || null);
  });
  return make("section", { class: "panel thoughts", "aria-label": title }, make("h2", {}, title), thoughts.why && make("p", {}, thoughts.why),
    thoughts.source && make("p", { class: "source" }, word(`source ${thoughts.source}`)), make("ul", { class: "moves", "data-focus": "moves" }, items));
}

/** How many cards of each hidden rank each seat is expected to hold. */
export function beliefsElement(thoughts, names, open = true) {
  if (!thoughts.beliefs) return null;
  const rows = thoughts.beliefs.map(({ seat }) => make("th", { scope: "col" }, names[seat] ?? word("not dealt")));
  const head = make("tr", {}, make("th", { scope: "col" }, word("rank")), rows);
  const lines = [..."3456789TJQKA2BR"].map((rank, place) => {
    const cells = thoughts.beliefs.map(({ expected }) => make("td", {}, expected[place] ? [make("span", { class: "number" }, expected[place].toFixed(2)), bar("visits", expected[place] / 4)] : ""));
    return thoughts.beliefs.some(({ expected }) => expected[place]) && make("tr", {}, make("th", { scope: "row" }, rankName(rank)), cells);
  });
  return make("section", { class: "panel" }, make("details", { open },
    make("summary", {}, make("h2", {}, word("beliefs"))), make("table", { class: "beliefs" }, head, lines.filter(Boolean).reverse())));
}

/** The three moves that lost most, the worst first: who, what, and how much. */
export function worstElement(chances, game, names, choose) {
  const first = game.total - game.story.length;
  const worst = chances.flatMap(({ loss }, place) => (loss >= 0.005 ? [{ loss, place }] : [])).sort((a, b) => b.loss - a.loss).slice(0, WORST);
  const lines = worst.map(({ loss, place }) => {
    const { seat, text } = game.story[place - first];
    return make("li", {}, make("button", { type: "button", id: `worst-${place}`, click: () => choose(place) }, `${place + 1}. ${names[seat]} `, make("b", {}, said(text)), make("span", { class: "number" }, word("loss", { n: percent(loss) }))));
  });
  return lines.length > 0 && make("section", { class: "panel thoughts worst" }, make("h2", {}, word("worst")), make("ol", { class: "moves" }, lines));
}

/**
 * The landlord's chance of winning before each move (null where it is unknown), a line a seat by what it knew.  `choose`
 * gets the number of moves.
 */
export function curveElement(chances, total, number, names, choose) {
  const most = Math.max(total, 1);
  const points = (mine) => chances.flatMap(({ landlord, seat }, place) => (landlord == null || (seat ?? mine) !== mine ? [] : [`${(100 * place) / most},${100 - 100 * landlord}`]));
  const picture = draw("svg", { class: "curve", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": word("curve") });
  const here = (100 * number) / most;
  picture.append(draw("line", { x1: 0, x2: 100, y1: 50, y2: 50 }), draw("line", { x1: here, x2: here, y1: 0, y2: 100, class: "here" }),
    ...names.map((_, seat) => draw("polyline", { class: `seat${seat}`, points: points(seat).join(" ") })));
  picture.addEventListener("click", (event) => choose(Math.round((event.offsetX / picture.getBoundingClientRect().width) * most)));
  const { landlord, seat } = chances[number] ?? {};
  const now = landlord != null && make("span", { id: "chance-now", class: `seat${seat}` }, word("landlord chance", { n: percent(landlord) }));
  const scale = (...ends) => make("div", { class: "scale" }, ends);
  const legend = names.map((name, place) => make("span", { class: `seat${place}` }, word("curve of", { name })));
  return make("section", { class: "panel" }, make("h2", {}, word("curve")), scale(make("span", {}, "100 %"), now), picture, scale(make("span", {}, "0 %"), make("span", {}, `${number} / ${total}`)), scale(legend));
}
