// The table: seats, what they played, the landlord cards.  It shows what the server sent and knows no rules.

import { short } from "./agents.js";
import { row, said } from "./cards.js";
import { make, symbol } from "./dom.js";
import { scoreElement } from "./result.js";
import { word } from "./words.js";

const count = (size) => (size === 1 ? word("card") : word("cards", { n: size }));

/** Who a seat is, for a sentence. */
export const who = (game, seat) => (seat === game.seat ? word("you") : short(game.names[seat]));

/** A seat and its role, which distinguish two agents of one name. */
export function whoAs(game, seat) {
  const { role } = game.table.seats[seat];
  if (game.puzzle) return who(game, seat);
  return word("as", { name: who(game, seat), role: role ? word(role) : seat + 1 });
}

/** A seat's name: who plays, as what, with how many cards. */
function plate(game, seat) {
  const crown = seat.number === game.table.landlord && !game.puzzle && [symbol("crown"), " "];
  const name = seat.number === game.seat ? word("you") : short(game.names[seat.number]);
  const more = [!game.puzzle && word(seat.role), count(seat.size), seat.doubled && word("doubled"), game.cheaters.includes(seat.number) && word("cheats")].filter(Boolean).join(" · ");
  return make("div", { class: `plate ${seat.acting ? "acting" : ""}` }, make("b", {}, crown || null, name), make("span", {}, more));
}

/** The last move of a seat. */
function played(seat, place) {
  const play = seat.play;
  if (!play) return make("div", { class: `play ${place}` });
  const kind = `play ${place} ${play.current ? "current" : ""} ${play.to_beat ? "beat" : ""}`;
  const what = play.cards.length ? row([...play.cards].reverse(), 0, "small") : make("span", { class: "word" }, said(play.text));
  return make("div", { class: kind, "data-move": play.text }, what);
}

/** A game's table; `hand` goes below it (the person's cards); without it, the cards that lie open there. */
export function tableElement(game, hand) {
  const { table } = game;
  const own = game.seat ?? 0;
  const at = (steps) => table.seats[(own + steps) % table.seats.length];
  const others = table.seats.length > 2 ? [["left", at(2)], ["right", at(1)]] : [["left", at(1)]];
  const seats = others.map(([place, seat]) => make("div", { class: `seat ${place}` }, plate(game, seat), row(seat.hand, seat.size - seat.hand.length)));
  const some = table.landlord_cards.length + table.landlord_backs;
  const bottom = some > 0 && [make("div", {}, word("landlord cards")), row(table.landlord_cards, table.landlord_backs, "small spread")];
  const middle = make("div", { class: "middle" }, bottom || null, !!table.left_out && make("div", {}, word("left out", { cards: table.left_out })), !game.puzzle && game.scoring !== "win" && make("div", {}, word("stake", { n: table.stake })), // a win counts the same at any
    game.seat !== null && !game.puzzle && scoreElement(game));
  const plays = make("div", { class: "plays" }, [...others, ["own", at(0)]].map(([place, seat]) => played(seat, place)));
  const mine = make("div", { class: "seat own" }, plate(game, at(0)), hand ?? row(at(0).hand, at(0).size - at(0).hand.length));
  const open = others.some(([, seat]) => seat.hand.length > 3);
  return make("section", { class: `table ${open ? "open" : ""} ${others.length > 1 ? "" : "two"}`, "aria-label": word("table") }, seats[0], middle, seats[1], plays, mine);
}

/** Every move, of a replay to its end; `choose` gets the number of moves before one that is clicked. */
export function logElement(game, choose = null) {
  const moves = game.story ?? game.moves;
  const first = (game.total ?? game.number) - moves.length; // behind the auctions that were declined
  const lines = moves.map(({ seat, text }, place) => {
    const line = [make("span", {}, `${whoAs(game, seat)} `), make("b", {}, said(text))];
    const press = choose && make("button", { type: "button", click: () => choose(first + place) }, line);
    return make("li", { class: first + place + 1 === game.number ? "mark" : "" }, press || line);
  });
  const log = make("ol", { class: "log", tabindex: lines.length ? 0 : null, "aria-label": word("moves") }, lines);
  requestAnimationFrame(() => (log.scrollTop = (log.querySelector(".mark")?.offsetTop ?? 0) - log.offsetTop - log.clientHeight / 2));
  return make("section", { class: "panel story" }, make("h2", {}, word("moves")), log);
}
