// Who plays: levels by their names in the person's language, other agents by their own.

import { get } from "./api.js";
import { selectElement } from "./dom.js";
import { word } from "./words.js";

let levels = [];
let cheaters = [];

/** What the forms offer. */
export async function loadChoices() {
  const found = await get("choices");
  levels = found.levels ?? [];
  cheaters = found.cheaters ?? [];
  return found;
}

const isLevel = (agent) => levels.some(({ name }) => name === agent);

/** An agent's level, or its name without its options. */
export function shortName(name) {
  if (name === "person" || name === "solver") return word(name);
  return isLevel(name) ? word(`level ${name}`) : name.split(":")[0];
}

const offered = (name) => (isLevel(name) ? shortName(name) : name);

/** A choice between agents, the levels first. */
export function agentSelect(id, names, chosen, attributes = {}, label = offered) {
  const all = new Set([...levels.map(({ name }) => name), ...names, chosen]);
  const text = (name) => [label(name), cheaters.includes(name) && `(${word("cheats")})`].filter(Boolean).join(" ");
  const named = [...all].map((name) => [name, text(name)]);
  const ordinary = ([name]) => isLevel(name) || label(name) !== offered(name);
  const others = named.filter((one) => !ordinary(one));
  const some = named.length > others.length; // without levels there is nothing to set them apart from
  return selectElement(id, some ? named.filter(ordinary) : named, chosen, attributes, { label: word("for researchers"), values: some ? others : [] });
}

/** Whom to ask: the adviser, or anybody who plays. */
export const adviserSelect = (id, { adviser, agents }, chosen, attributes) =>
  agentSelect(id, agents, chosen, attributes, (name) => (name === adviser ? word("the adviser") : offered(name)));
