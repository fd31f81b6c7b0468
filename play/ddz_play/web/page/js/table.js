// The table: seats, what they played, the landlord cards.  It shows what the server sent and knows no rules.

import { shortName } from "./agents.js";
import { LETTERS, rankName, cardRow, moveText } from "./cards.js";
import { make, symbol } from "./dom.js";
import { pastResults } from "./recent.js";
import { signedText, word } from "./words.js";

const countText = (size) => (size === 1 ? word("card") : word("cards", { n: size }));

/** Who a seat is, for a sentence. */
export const playerName = (game, seat) => (seat === game.seat ? word("you") : shortName(game.names[seat]));

const roleOf = (game, seat) => (game.roles ?? game.table.seats.map((one) => one.role))[seat]; // a replay knows them from the beginning

/** A seat and its role, which distinguish two agents of one name. */
export function playerNameWithRole(game, seat) {
  const role = roleOf(game, seat);
  if (game.puzzle) return playerName(game, seat);
  return word("as", { name: playerName(game, seat), role: role ? word(role) : seat + 1 });
}

const SIGNS = { "peasant down": "↓", "peasant up": "↑" };

/** The sign of a role, which takes less place than its name: the landlord's crown, and where a peasant sits after it. */
function roleSign(game, seat) {
  const role = roleOf(game, seat);
  const sign = role === "landlord" ? symbol("crown") : SIGNS[role];
  return sign && make("span", { class: `sign ${role.replace(" ", "-")}`, role: "img", "aria-label": word(role), title: word(role) }, sign);
}

/** A seat's name: who plays, as what, with how many cards. */
function plateElement(game, seat) {
  const sign = seat.role && !game.puzzle && make("span", { "aria-hidden": "true" }, roleSign(game, seat.number) || null); // the role follows in words
  const name = seat.number === game.seat ? word("you") : shortName(game.names[seat.number]);
  const alarm = seat.size > 0 && seat.size < 3 && seat.number !== game.seat && !game.over && !game.puzzle && "alarm";
  const more = [countText(seat.size), seat.doubled && word("doubled"), game.cheaters.includes(seat.number) && word("cheats")].filter(Boolean).join(" · ");
  const role = !game.puzzle && seat.role && make("span", { class: "role" }, `${word(seat.role)} · `);
  return make("div", { class: `plate ${seat.acting ? "acting" : ""} ${alarm || ""}` }, make("b", {}, sign || null, name), make("span", {}, role || null, more));
}

/** The last move of a seat. */
function moveElement(game, seat, place) {
  const play = seat.play;
  if (!play || (seat.acting && !play.to_beat)) return make("div", { class: `play ${place}` });
  const kind = `play ${place} ${play.current ? "current" : ""} ${play.to_beat ? "beat" : ""}`;
  const what = play.cards.length ? cardRow([...play.cards].reverse(), 0, "small") : make("span", { class: "word" }, moveText(play.text));
  return make("div", { class: kind, "data-move": play.text, role: "group", "aria-label": `${playerNameWithRole(game, seat.number)}: ${moveText(play.text)}` }, what);
}

/** What the games of this browser have come to, those that count as this one does; nothing before the first. */
function scoreElement({ scoring }) {
  const all = pastResults().filter((one) => one.scoring === scoring).map(({ result }) => result);
  const sum = all.reduce((one, other) => one + other, 0);
  return all.length > 0 && make("div", { class: "score" }, word("score", { n: signedText(sum) || 0, games: all.length, won: all.filter((one) => one > 0).length }));
}

/** What makes the stake: what was bid, times two for each who robbed or showed, for each bomb, for a spring, and `more`. */
export function stakeText({ table }, ...more) {
  const { stake, bombs, spring } = table;
  const bid = Math.max(table.highest_bid, 1);
  const raised = stake / 2 ** bombs / bid;
  const factors = [table.highest_bid > 0 ? word("bid times", { n: bid }) : bid, raised > 1 && word("raised", { n: raised }), bombs > 0 && word(bombs > 1 ? "bombs" : "bomb twice", { n: bombs, times: 2 ** bombs }), spring && word("spring twice"), ...more].filter(Boolean);
  const sum = word("stake", { n: stake * (spring ? 2 : 1) * 2 ** more.filter(Boolean).length });
  return factors.length > 1 ? `${sum} = ${factors.join(" × ")}` : sum;
}

/** What a game that is over was played for: the stake of the viewer with what was doubled, and of a landlord who pays it or is paid. */
export function payText(game) {
  const { stake, spring, seats, landlord } = game.table;
  const { doubled } = seats[landlord];
  const own = seats[game.seat];
  if (own.number !== landlord) return stakeText(game, doubled && word("landlord doubled"), own.doubled && word("you doubled"));
  const peasants = seats.filter(({ number }) => number !== landlord);
  const amounts = peasants.map((one) => `${stake * 2 ** [spring, doubled, one.doubled].filter(Boolean).length}${one.doubled ? ` (${word("doubled")})` : ""}`);
  return [stakeText(game, doubled && word("you doubled")), peasants.length > 1 && word(game.result > 0 ? "peasants pay" : "you pay", { sum: amounts.join(" + ") })].filter(Boolean).join(" · ");
}

/** How many of each rank are still out, from the highest to the lowest. */
export function countElement(unseen) {
  const cell = (rank) => make("li", { class: ["none", "", "", "", "all"][unseen[rank]] ?? "" }, make("span", {}, rank > 12 ? word(LETTERS[rank])[0] : rankName(LETTERS[rank])), make("b", {}, unseen[rank]));
  const ranks = [...LETTERS].map((_, rank) => rank).reverse();
  return make("ol", { class: "count", "aria-label": word("still out") }, ranks.map(cell));
}

/** A game's table; `hand` goes below it (the person's cards); without it, the cards that lie open there; `more` stands in the middle. */
export function tableElement(game, hand, more = [], news = false) {
  const { table } = game;
  const own = game.seat ?? 0;
  const at = (steps) => table.seats[(own + steps) % table.seats.length];
  const others = table.seats.length > 2 ? [["left", at(2)], ["right", at(1)]] : [["left", at(1)]];
  const seats = others.map(([place, seat]) => make("div", { class: `seat ${place}` }, plateElement(game, seat), cardRow(seat.hand, seat.size - seat.hand.length)));
  const some = table.landlord_cards.length + table.landlord_backs;
  const bottom = some > 0 && [make("div", { class: "label" }, word("landlord cards")), cardRow(table.landlord_cards, table.landlord_backs, "small spread")];
  const middle = make("div", { class: "middle" }, bottom || null, !!table.left_out && make("div", {}, word("left out", { cards: table.left_out })), !game.puzzle && game.scoring !== "win" && make("div", { id: "stake" }, stakeText(game)), // a win counts the same at any
    game.seat !== null && !game.puzzle && scoreElement(game), more);
  const last = news && game.moves.at(-1)?.seat;
  const plays = make("div", { class: "plays" }, [...others, ["own", at(0)]].map(([place, seat]) => moveElement(game, seat, seat.number === last ? `${place} flies` : place)));
  const mine = make("div", { class: "seat own" }, plateElement(game, at(0)), hand ?? cardRow(at(0).hand, at(0).size - at(0).hand.length));
  const open = others.some(([, seat]) => seat.hand.length > 3);
  return make("section", { class: `table ${open ? "open" : ""} ${others.length > 1 ? "" : "two"}`, "aria-label": word("table") }, seats[0], middle, seats[1], plays, mine);
}

/** Every move, of a replay to its end; `choose` gets the number of moves before one that is clicked; `losses` are marked. */
export function logElement(game, choose = null, losses = [], save = null) {
  const moves = game.story ?? game.moves;
  const first = (game.total ?? game.number) - moves.length; // behind the auctions that were declined
  const declined = first / game.table.seats.length;
  const lines = moves.map(({ seat, text }, place) => {
    const line = [make("span", {}, playerName(game, seat), " ", (!game.puzzle && roleSign(game, seat)) || null), " ", make("b", {}, moveText(text))];
    const press = choose && make("button", { type: "button", click: () => choose(first + place) }, line);
    const lost = losses[first + place];
    return make("li", { class: `${first + place + 1 === game.number ? "mark" : ""} ${lost > 0 ? "costly" : ""}`, title: lost > 0 ? word("loss", { n: Math.round(100 * lost) }) : null }, press || line);
  });
  const log = make("ol", { class: "log", tabindex: lines.length ? 0 : null, "aria-label": word("moves") }, lines);
  requestAnimationFrame(() => (log.scrollTop = (log.querySelector(".mark")?.offsetTop ?? 0) - log.offsetTop - log.clientHeight / 2));
  return make("section", { class: "panel story" }, make("h2", {}, word("moves")), declined > 0 && make("p", { class: "source" }, word(declined > 1 ? "redealt times" : "redealt", { n: declined })), log, save);
}
