// Opening a saved game.

import { post } from "./api.js";
import { field, clearMessage, make, messagesElement, runOnce } from "./dom.js";
import { word } from "./words.js";

export function openPage(root) {
  const text = make("textarea", { id: "record", rows: 12, required: true, spellcheck: "false" });
  const file = make("input", { type: "file", id: "file", accept: ".txt,text/plain", change: async () => (text.value = await file.files[0].text()) });

  function submit(event) {
    event.preventDefault();
    const kept = /^# game: ([\w-]{22})$/m.exec(text.value); // saved while it ran: the server has the game itself
    if (kept) location.hash = `#/game/${kept[1]}`;
    else runOnce(root, async () => {
      const { id, open } = await post("games", { record: text.value });
      location.hash = open ? `#/replay/${id}` : `#/game/${id}`;
    });
  }

  root.replaceChildren(make("form", { class: "panel", submit, input: clearMessage }, make("h1", {}, word("open")), make("p", {}, word("open about")), field(word("file"), file), field(word("record"), text), messagesElement(), make("button", { class: "first", id: "load" }, word("open it"))));
}
