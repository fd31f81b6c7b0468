// What an agent thinks of a decision: its moves with bars, main groups that unfold to kickers, its beliefs, and how the
// chance of winning moved over the game.

import { draw, make } from "./dom.js";
import { said } from "./table.js";
import { word } from "./words.js";

const percent = (share) => (100 * share).toFixed(0);

// The length of a bar: visits where they are counted, else the chance.
const weightOf = (move) => move.visits ?? move.chance ?? 0;

function entry(move, most, choose) {
  const numbers = [];
  if (move.chance != null) numbers.push(word("chance", { n: percent(move.chance) }));
  if (move.visits != null) numbers.push(word("visits", { n: move.visits }));
  const weight = weightOf(move);
  const bar = make("progress", { max: most || 1, value: weight, "aria-hidden": "true" });
  const line = move.line?.length ? [make("br"), make("small", {}, `${word("line")}: ${move.line.map(said).join(" · ")}`)] : [];
  return make("button", { type: "button", click: () => choose(move.text) }, said(move.text), make("span", { class: "number" }, numbers.join(" · ")), bar, line);
}

/** Moves, best first; those of one main group are folded under it. */
export function thoughtsElement(thoughts, choose) {
  const most = Math.max(...thoughts.moves.map(weightOf), 0);
  const groups = new Map();
  for (const move of thoughts.moves) groups.set(move.group, [...(groups.get(move.group) ?? []), move]);
  const items = [...groups.values()].map(([best, ...rest]) => {
    const more = rest.length && make("details", {}, make("summary", {}, `+ ${rest.length}`), rest.map((move) => entry(move, most, choose)));
    return make("li", {}, entry(best, most, choose), more);
  });
  return make("section", { class: "panel" }, make("h2", {}, `${thoughts.agent}: ${word("thoughts")}`), make("ul", { class: "moves" }, items));
}

/** How likely each seat holds each hidden rank, in cards expected. */
export function beliefsElement(thoughts, names) {
  if (!thoughts.beliefs) return null;
  const head = make("tr", {}, make("th"), [..."3456789TJQKA2BR"].map((rank) => make("th", { scope: "col" }, rank)));
  const rows = thoughts.beliefs.map(({ seat, expected }) => make("tr", {}, make("th", { scope: "row" }, names[seat] ?? word("nobody")), expected.map((n) => make("td", {}, n ? n.toFixed(1) : ""))));
  return make("section", { class: "panel" }, make("h2", {}, word("beliefs", { name: thoughts.agent })), make("table", { class: "beliefs" }, head, rows));
}

/** The chance of winning after each move, as a line; `choose` gets the move's number. */
export function curveElement(chances, choose) {
  const most = Math.max(chances.length - 1, 1);
  const points = chances.map((chance, number) => [(100 * number) / most, 100 - 100 * chance]);
  const picture = draw("svg", { class: "chance", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": word("curve") });
  picture.append(draw("line", { x1: 0, x2: 100, y1: 50, y2: 50 }), draw("polyline", { points: points.map((point) => point.join(",")).join(" ") }));
  picture.addEventListener("click", (event) => choose(Math.round((event.offsetX / picture.clientWidth) * most)));
  return make("section", { class: "panel" }, make("h2", {}, word("curve")), picture);
}
