// The table: seats, what they played, the landlord cards.  It shows what the server sent and knows no rules.

import { row } from "./cards.js";
import { make, symbol } from "./dom.js";
import { word } from "./words.js";

const count = (size) => (size === 1 ? word("card") : word("cards", { n: size }));

/** A seat's name: who plays, as what, with how many cards. */
function plate(game, seat) {
  const who = seat.number === game.seat ? word("you") : game.names[seat.number];
  const crown = seat.number === game.table.landlord ? [symbol("crown"), " "] : [];
  const text = `${who} · ${word(seat.role)} · ${count(seat.size)}`;
  return make("div", { class: `plate ${seat.acting ? "acting" : ""}` }, crown, text);
}

/** The last move of a seat. */
function played(seat, place) {
  const play = seat.play;
  if (!play) return make("div", { class: `play ${place}` });
  const kind = `play ${place} ${play.current ? "current" : ""} ${play.to_beat ? "beat" : ""}`;
  const what = play.cards.length ? row(play.cards) : make("span", { class: "word" }, said(play.text));
  return make("div", { class: kind, "data-move": play.text }, what);
}

/** A move that has no cards, in words. */
export function said(text) {
  const bid = /^bid (\d)$/.exec(text);
  return bid ? word("bid", { n: bid[1] }) : word(text);
}

/** Draw a game into an element; `hand` is what stands below it (the person's cards, or nothing). */
export function tableElement(game, hand) {
  const { table } = game;
  const own = game.seat ?? 0;
  const at = (steps) => table.seats[(own + steps) % table.seats.length];
  const others = table.seats.length > 2 ? [["right", at(1)], ["left", at(2)]] : [["left", at(1)]];
  const seats = others.map(([place, seat]) => make("div", { class: `seat ${place}` }, plate(game, seat), row(seat.hand, seat.unseen)));
  const bottom = row(table.landlord_cards, table.landlord_backs);
  const stakes = make("div", {}, word("stake", { n: table.stake }));
  const middle = make("div", { class: "middle" }, bottom, make("div", {}, word("landlord cards")), stakes);
  const plays = make("div", { class: "plays" }, [["own", at(0)], ...others].map(([place, seat]) => played(seat, place)));
  const mine = make("div", { class: "seat own" }, plate(game, at(0)), hand ?? row(at(0).hand, at(0).unseen));
  return make("section", { class: "table", "aria-label": word("title") }, seats, middle, plays, mine);
}

/** Every move so far. */
export function logElement(game, mark) {
  const lines = game.moves.map(({ seat, text }, number) => {
    const who = seat === game.seat ? word("you") : game.names[seat];
    return make("li", { class: number + 1 === mark ? "mark" : "" }, `${who}: ${said(text)}`);
  });
  const log = make("ol", { class: "log" }, lines);
  requestAnimationFrame(() => (log.scrollTop = log.scrollHeight));
  return make("section", { class: "panel" }, make("h2", {}, word("moves")), log);
}
