// The person's hand: cards that are chosen by click or key, and the move that they make.

import { cardElement, letter } from "./cards.js";
import { make } from "./dom.js";

export class Hand {
  /** @param cards as the server sent them, the lowest first; @param changed is told after every choice. */
  constructor(cards, changed) {
    this.changed = changed;
    this.cards = [...cards].reverse();
    this.buttons = this.cards.map((card) => cardElement(card, "button", { type: "button", "aria-pressed": "false", click: (event) => this.toggle(event.currentTarget) }));
    this.element = make("div", { class: "hand cards", role: "group", keydown: (event) => this.key(event) }, this.buttons);
  }

  toggle(button, on = button.getAttribute("aria-pressed") !== "true") {
    button.setAttribute("aria-pressed", String(on));
    this.changed();
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const place = this.buttons.indexOf(document.activeElement);
    this.buttons[(place + step + this.buttons.length) % this.buttons.length].focus();
    event.preventDefault();
  }

  /** The chosen cards as the notation writes them, the lowest first. */
  get text() {
    const chosen = this.cards.filter((_, place) => this.buttons[place].getAttribute("aria-pressed") === "true");
    return chosen.reverse().map(letter).join("");
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
