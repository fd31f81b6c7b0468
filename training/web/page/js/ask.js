// A table that the person describes, typed in or put together by buttons; an agent says what it would play.

import { get, post } from "./api.js";
import { row } from "./cards.js";
import { choice, field, make, notify } from "./dom.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const FIELDS = ["rules", "own", "role", "bottom", "moves", "agent"];
const RANKS = [..."3456789TJQKA2BR"];
const SUITS = ["♠", "♥", "♣", "♦"];

/** What was typed last in this tab, so that a reload loses nothing. */
const typed = () => JSON.parse(sessionStorage.getItem("ask") ?? "{}");

/** The cards of a text as they are drawn, the highest first. */
function preview(text) {
  const ranks = [...text.toUpperCase().replaceAll("10", "T")].map((sign) => RANKS.indexOf(sign)).filter((rank) => rank >= 0).sort((a, b) => a - b);
  const card = (rank, place) => {
    const suit = rank < 13 ? SUITS[(place - ranks.indexOf(rank)) % 4] : "";
    return { rank, suit, red: suit === "♥" || suit === "♦" || rank === 14 };
  };
  return row(ranks.map(card), 0, "small apart");
}

export async function askPage(root) {
  const choices = await get("choices");
  const offered = choices.rules.filter(({ observable }) => observable);
  const before = typed();
  const input = (id, attributes = {}) => make("input", { id, required: true, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", ...attributes });
  const rules = choice("rules", offered.map(({ name }) => [name, word(`rules ${name}`)]), before.rules ?? offered[0].name, { change: roles });
  const role = choice("role", []);
  const hand = input("own", { placeholder: "3445678TJQQKA22B" });
  const bottom = input("bottom", { placeholder: "37K" });
  const moves = make("textarea", { id: "moves", rows: 6, spellcheck: "false", placeholder: "34567\npass\n89TJQ" });
  const agent = choice("agent", [...new Set([choices.adviser, ...choices.agents])], choices.adviser);
  const found = make("div", { class: "side narrow", "aria-live": "polite" });
  const drawn = make("div");
  const bottomField = field(word("landlord cards"), bottom);
  let target = hand; // where the buttons write

  const played = () => offered.find(({ name }) => name === rules.value) ?? offered[0];

  function roles() {
    const names = played().roles;
    const chosen = role.value || before.role;
    role.replaceChildren(...choice("", names.map((name) => [name, word(name)])).children);
    role.value = names.includes(chosen) ? chosen : names[0];
    bottomField.hidden = bottom.disabled = !played().landlord_cards;
  }

  function changed() {
    drawn.replaceChildren(preview(hand.value));
    sessionStorage.setItem("ask", JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, form.querySelector(`#${name}`).value]))));
  }

  function write(text) {
    target.value = text ? target.value + text : target.value.slice(0, -1);
    changed();
  }

  async function submit(event) {
    event.preventDefault();
    root.setAttribute("aria-busy", "true");
    try {
      const lines = moves.value.split("\n").map((line) => line.trim()).filter(Boolean);
      const thoughts = await post("ask", { rules: rules.value, hand: hand.value, landlord_cards: bottom.value, role: role.value, moves: lines, agent: agent.value });
      const names = played().roles.map((name) => word(name));
      found.replaceChildren(...[thoughtsElement(thoughts), beliefsElement(thoughts, names)].filter(Boolean));
      found.scrollIntoView({ block: "nearest" });
    } catch (error) {
      found.replaceChildren();
      notify(error.message);
    }
    root.setAttribute("aria-busy", "false");
  }

  const press = (name, text) => make("button", { type: "button", click: () => write(text) }, name);
  const keys = [...RANKS.map((rank) => press(rank === "T" ? "10" : rank, rank)), press(word("pass"), "pass"), press(word("new line"), "\n"), press(word("erase"), "")];
  const form = make("form", { class: "panel", submit, input: changed, focusin: ({ target: now }) => { if ([hand, bottom, moves].includes(now)) target = now; } },
    make("h1", {}, word("ask")), make("p", {}, word("ask about")),
    field(word("rules"), rules), field(word("your role"), role), field(word("hand to ask"), hand), drawn, bottomField, field(word("table moves"), moves),
    make("div", { class: "controls ranks", role: "group", "aria-label": word("ranks") }, keys),
    field(word("adviser"), agent), make("button", { class: "first", id: "question" }, word("question")));
  for (const name of FIELDS) if (before[name] && name !== "role") form.querySelector(`#${name}`).value = before[name];
  roles();
  changed();
  root.replaceChildren(form, found);
}
