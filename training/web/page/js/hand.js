// The person's hand: cards that are chosen by click or key, and the move that they make.

import { cardElement, letter, slot } from "./cards.js";
import { make } from "./dom.js";
import { word } from "./words.js";

const nameOf = (card) => `${letter(card)}${card.suit}`;
const TYPED = { 0: "T", 1: "T" };

export class Hand {
  /** @param cards as the server sent them, the lowest first; @param changed is told after every choice; @param before the hand that was drawn last. */
  constructor(cards, changed, before = null) {
    this.changed = changed;
    this.cards = [...cards].reverse();
    const chosen = before ? before.chosen.map(nameOf) : [];
    const button = (card, place) => cardElement(card, "button", {
      type: "button", id: `card-${nameOf(card)}`, tabindex: place ? -1 : 0, "aria-pressed": String(chosen.includes(nameOf(card))),
      click: (event) => this.toggle(event.currentTarget), focus: (event) => this.rove(event.currentTarget),
    });
    this.buttons = this.cards.map(button);
    this.element = make("div", { class: "hand cards", role: "group", "aria-label": word("your hand"), "data-focus": "hand", keydown: (event) => this.arrow(event) }, this.buttons.map(slot));
  }

  toggle(button, on = button.getAttribute("aria-pressed") !== "true") {
    button.setAttribute("aria-pressed", String(on));
    this.changed();
  }

  /** One card is in the order of Tab; the arrows reach the others. */
  rove(button) {
    for (const other of this.buttons) other.tabIndex = other === button ? 0 : -1;
  }

  arrow(event) {
    const place = this.buttons.indexOf(document.activeElement);
    const last = this.buttons.length - 1;
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (to === undefined || place < 0) return;
    this.buttons[to < 0 ? last : to > last ? 0 : to].focus();
    event.preventDefault();
  }

  /** A typed rank chooses one more card of it, or none when all are chosen; whether it was a rank. */
  type(key) {
    const rank = TYPED[key] ?? key.toUpperCase();
    const same = this.buttons.filter((_, place) => letter(this.cards[place]) === rank);
    if (!same.length) return false;
    const free = same.filter((button) => button.getAttribute("aria-pressed") !== "true");
    if (free.length) this.toggle(free[free.length - 1], true);
    else for (const button of same) this.toggle(button, false);
    return true;
  }

  /** The chosen cards, the highest first. */
  get chosen() {
    return this.cards.filter((_, place) => this.buttons[place].getAttribute("aria-pressed") === "true");
  }

  /** The chosen cards as the notation writes them, the lowest first. */
  get text() {
    return this.chosen.reverse().map(letter).join("");
  }

  /** Choose the cards of a move (`333+4`); words choose none. */
  choose(move) {
    const wanted = /^[3-9TJQKA2BR+]+$/.test(move) ? [...move].filter((sign) => sign !== "+") : [];
    for (const [place, button] of this.buttons.entries()) {
      const found = wanted.indexOf(letter(this.cards[place]));
      if (found >= 0) wanted.splice(found, 1);
      button.setAttribute("aria-pressed", String(found >= 0));
    }
    this.changed();
  }
}
