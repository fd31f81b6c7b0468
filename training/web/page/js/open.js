// Opening a saved game.

import { post } from "./api.js";
import { make, notify } from "./dom.js";
import { word } from "./words.js";

export function openPage(main) {
  const text = make("textarea", { id: "record", rows: 12, required: true });
  const file = make("input", { type: "file", id: "file", change: async () => (text.value = await file.files[0].text()) });
  async function submit(event) {
    event.preventDefault();
    try {
      const { id, over, seat } = await post("games", { record: text.value });
      location.hash = over || seat === null ? `#/replay/${id}` : `#/game/${id}`;
    } catch (error) {
      notify(error.message);
    }
  }
  main.replaceChildren(make("form", { class: "panel", submit }, make("h1", {}, word("open")), make("label", {}, word("paste record"), file, text), make("button", { class: "first" }, word("open it"))));
}
