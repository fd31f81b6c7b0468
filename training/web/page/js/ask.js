// A position from a real table, typed in as the person sees it.

import { get, post } from "./api.js";
import { choice, field, make, notify } from "./dom.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

const FIELDS = ["own", "role", "bottom", "moves", "agent"];

/** What was typed last in this tab, so that a reload loses nothing. */
function restore(form) {
  const typed = JSON.parse(sessionStorage.getItem("ask") ?? "{}");
  for (const name of FIELDS) if (typed[name]) form.querySelector(`#${name}`).value = typed[name];
}

export async function askPage(root) {
  const choices = await get("choices");
  const input = (id, attributes = {}) => make("input", { id, required: true, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", ...attributes });
  const hand = input("own", { placeholder: "3445678TJQKA22B" });
  const bottom = input("bottom", { placeholder: "37K" });
  const role = choice("role", choices.roles.map((name) => [name, word(name)]), choices.roles[0]);
  const moves = make("textarea", { id: "moves", rows: 6, spellcheck: "false", placeholder: "34567\npass\n89TJQ" });
  const agent = choice("agent", [...new Set([choices.adviser, ...choices.agents])], choices.adviser);
  const found = make("div", { class: "side narrow", "aria-live": "polite" });

  async function submit(event) {
    event.preventDefault();
    root.setAttribute("aria-busy", "true");
    try {
      const lines = moves.value.split("\n").map((line) => line.trim()).filter(Boolean);
      const thoughts = await post("ask", { hand: hand.value, landlord_cards: bottom.value, role: role.value, moves: lines, agent: agent.value });
      const names = choices.roles.map((name) => word(name));
      found.replaceChildren(...[thoughtsElement(thoughts), beliefsElement(thoughts, names)].filter(Boolean));
      found.scrollIntoView({ block: "nearest" });
    } catch (error) {
      found.replaceChildren();
      notify(error.message);
    }
    root.setAttribute("aria-busy", "false");
  }

  const form = make("form", { class: "panel", submit, input: () => sessionStorage.setItem("ask", JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, form.querySelector(`#${name}`).value])))) },
    make("h1", {}, word("ask")), make("p", {}, word("ask about")),
    field(word("your role"), role), field(word("hand to ask"), hand), field(word("landlord cards"), bottom), field(word("table moves"), moves), field(word("adviser"), agent),
    make("button", { class: "first", id: "question" }, word("question")));
  restore(form);
  root.replaceChildren(form, found);
}
