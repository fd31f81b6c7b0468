// The first page of a recording: what there is to see.

import { get, install, language } from "./api.js";
import { make } from "./dom.js";
import { word } from "./words.js";

export async function startPage(root) {
  const games = await get("recorded");
  const link = (game) => make("li", {}, make("a", { href: `#/replay/${game.id}` }, game[language()] ?? game.en));
  root.replaceChildren(make("section", { class: "panel narrow" }, make("h1", {}, word("title")), make("p", {}, install()),
    make("ul", { class: "recent" }, games.map(link)), make("p", {}, make("a", { href: "#/puzzle" }, word("puzzle")))));
}
