// A position from a real table, typed in as the person sees it.

import { get, post } from "./api.js";
import { make, notify } from "./dom.js";
import { beliefsElement, thoughtsElement } from "./thoughts.js";
import { word } from "./words.js";

export async function askPage(main) {
  const choices = await get("choices");
  const input = (id, attributes = {}) => make("input", { id, required: true, autocomplete: "off", ...attributes });
  const hand = input("own", { placeholder: "3445678TJQKA22B" });
  const bottom = input("bottom", { placeholder: "3 7 K" });
  const role = make("select", { id: "role" }, choices.roles.map((name) => make("option", { value: name }, word(name))));
  const moves = make("textarea", { id: "moves", rows: 8 });
  const agent = input("agent", { list: "agents", value: choices.agent });
  const list = make("datalist", { id: "agents" }, choices.agents.map((value) => make("option", { value })));
  const found = make("div", { class: "side" });

  async function submit(event) {
    event.preventDefault();
    try {
      const lines = moves.value.split("\n").map((line) => line.trim()).filter(Boolean);
      const thoughts = await post("ask", { hand: hand.value, landlord_cards: bottom.value, role: role.value, moves: lines, agent: agent.value });
      found.replaceChildren(thoughtsElement(thoughts, () => {}), beliefsElement(thoughts, choices.roles.map((name) => word(name))) ?? "");
    } catch (error) {
      notify(error.message);
    }
  }

  const field = (name, element) => make("label", {}, word(name), element);
  main.replaceChildren(make("form", { class: "panel", submit }, make("h1", {}, word("ask")), make("p", {}, word("ask about")),
    field("your hand", hand), field("role", role), field("the landlord cards", bottom), field("table moves", moves), field("adviser", agent), list,
    make("button", { class: "first", id: "question" }, word("question"))), found);
}
