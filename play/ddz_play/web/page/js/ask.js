// A table that the person describes, typed in or put together by buttons; an agent says what it would play.

import { adviserSelect, loadChoices } from "./agents.js";
import { post } from "./api.js";
import { LETTERS, rankName, parseCards, cardRow } from "./cards.js";
import { selectElement, field, clearMessage, make, messagesElement, showError, runOnce } from "./dom.js";
import { numbersElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const FIELDS = ["rules", "own", "role", "bottom", "moves", "agent"];
const RANKS = [...LETTERS];
const SUITS = ["♠", "♥", "♣", "♦"];

/** What was typed last in this tab, so that a reload loses nothing. */
const readTyped = () => JSON.parse(sessionStorage.getItem("ask") ?? "{}");

/** The cards of a text as they are drawn, the highest first, with their number, and the signs that are not cards. */
function preview(text, most) {
  const { ranks, unread } = parseCards(text);
  const card = (rank, place) => {
    const suit = rank < 13 ? SUITS[(place - ranks.indexOf(rank)) % 4] : "";
    return { rank, suit, red: suit === "♥" || suit === "♦" || rank === 14 };
  };
  const count = ranks.length > 0 && make("span", {}, word("cards of", { n: ranks.length, most }));
  return [cardRow(ranks.map(card), 0, "small"), count || "", unread ? make("span", { class: "bad" }, word("unread", { signs: unread })) : ""];
}

export async function askPage(root) {
  const choices = await loadChoices();
  const offered = choices.rules.filter(({ observable }) => observable);
  const before = readTyped();
  const input = (id, attributes = {}) => make("input", { id, required: true, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", ...attributes });
  const rules = selectElement("rules", offered.map(({ name }) => [name, word(`rules ${name}`)]), before.rules ?? offered[0].name, { change: () => { updateRoles(); formChanged(); } });
  const role = selectElement("role", []);
  const hand = input("own", { placeholder: word("hand like this") });
  const bottom = input("bottom", { placeholder: "37K" });
  const moves = make("textarea", { id: "moves", rows: 6, spellcheck: "false", placeholder: `34567\n${word("typed pass")}\n8910JQ` });
  const agent = adviserSelect("agent", choices, choices.adviser);
  const found = make("div", { class: "side narrow", "aria-live": "polite" });
  const drawn = make("div", { class: "drawn" });
  const bottomField = field(word("landlord cards"), bottom);
  let target = hand; // where the buttons write

  const lines = () => moves.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const chosenRules = () => offered.find(({ name }) => name === rules.value) ?? offered[0];

  function updateRoles() {
    const names = chosenRules().places;
    const chosen = role.value || before.role;
    role.replaceChildren(...selectElement("", names.map((name) => [name, word(name)])).children);
    role.value = names.includes(chosen) ? chosen : names[0];
    bottomField.hidden = bottom.disabled = !chosenRules().landlord_cards;
    bottom.required = chosenRules().roles.length > 0; // in an auction they lie face down
  }

  /** What was said was said of another table. */
  function formChanged() {
    clearMessage();
    found.replaceChildren();
    const { hand: size, landlord_cards: more } = chosenRules();
    drawn.replaceChildren(...preview(hand.value, role.value === "landlord" && more ? `${size} / ${size + more}` : size));
    sessionStorage.setItem("ask", JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, form.querySelector(`#${name}`).value]))));
  }

  function write(text) {
    target.value = text ? target.value + text : target.value.replace(/(10|小王|大王|pass|不出|[^])$/, "");
    formChanged();
  }

  /** A fault in a player's words. */
  function faultText({ message, data }) {
    const { reason, line } = data ?? {};
    found.replaceChildren();
    return reason ? word(reason === "no combination" ? "line no combination" : "line impossible", { n: line, text: lines()[line - 1] }) : message;
  }

  function submit(event) {
    event.preventDefault();
    const unread = [hand, bottom].find((input) => !input.disabled && parseCards(input.value).unread);
    if (unread) {
      unread.focus();
      return showError(word("unread", { signs: parseCards(unread.value).unread }));
    }
    runOnce(root, async () => {
      const thoughts = await post("ask", { rules: rules.value, hand: hand.value, landlord_cards: bottom.value, role: role.value, moves: lines(), agent: agent.value }, "searching");
      const names = chosenRules().places.map((name) => word(name));
      found.replaceChildren(...[thoughtsElement(thoughts), numbersElement(thoughts, names)].filter(Boolean));
      found.scrollIntoView({ block: "nearest" });
    }, faultText);
  }

  const press = (name, text) => make("button", { type: "button", click: () => write(text) }, name);
  const typedAs = (rank) => (rank === "T" ? "10" : word(rank));
  const keys = [...RANKS.map((rank) => press(rankName(rank), typedAs(rank))), press(word("pass"), word("typed pass")), press(word("new line"), "\n"), press(word("erase"), "")];
  const form = make("form", { class: "panel", submit, input: formChanged, focusin: ({ target: now }) => { if ([hand, bottom, moves].includes(now)) target = now; } },
    make("h1", {}, word("ask")), make("p", {}, word("ask about")),
    field(word("rules"), rules), field(word("your role"), role), field(word("hand to ask"), hand), drawn, bottomField, field(word("table moves"), moves),
    make("div", { class: "controls ranks", role: "group", "aria-label": word("ranks") }, keys),
    field(word("adviser"), agent), messagesElement(), make("button", { class: "first", id: "question" }, word("question")));
  for (const name of FIELDS) if (before[name] && name !== "role") form.querySelector(`#${name}`).value = before[name];
  updateRoles();
  formChanged();
  root.replaceChildren(form, found);
}
