// The form of a new game.

import { get, post } from "./api.js";
import { choice, field, make, notify } from "./dom.js";
import { recent } from "./recent.js";
import { word } from "./words.js";

/** Deal a new game: rules, seat, an agent for each other seat, seed. */
export async function startPage(root) {
  const choices = await get("choices");
  const rules = choice("rules", choices.rules.map(({ name }) => [name, word(`rules ${name}`)]), "standard", { change: seats });
  const seat = choice("seat", []);
  const others = make("div", { class: "others" });
  const seed = make("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]{1,15}", autocomplete: "off" });
  seat.addEventListener("change", agents);

  const played = () => choices.rules.find(({ name }) => name === rules.value);
  const nameOf = (place) => { const { roles } = played(); return roles.length ? word(roles[place]) : word("your seats", { n: place + 1 }); };

  function seats() {
    const places = Array.from({ length: played().players }, (_, place) => [String(place), nameOf(place)]);
    seat.replaceChildren(...choice("", [...places, ["", word("watch")]]).children);
    seat.value = "0";
    agents();
  }

  function agents() {
    const places = Array.from({ length: played().players }, (_, place) => place).filter((place) => String(place) !== seat.value);
    const before = Object.fromEntries([...others.querySelectorAll("select")].map(({ id, value }) => [id, value]));
    others.replaceChildren(...places.map((place) => field(nameOf(place), choice(`agent-${place}`, choices.agents, before[`agent-${place}`] ?? choices.agent))));
  }

  async function deal(event) {
    event.preventDefault();
    try {
      const own = seat.value === "" ? null : Number(seat.value);
      const players = Array.from({ length: played().players }, (_, place) => others.querySelector(`#agent-${place}`)?.value ?? choices.agent);
      const { id } = await post("games", { rules: rules.value, seat: own, agents: players, seed: seed.value === "" ? null : Number(seed.value) });
      location.hash = own === null ? `#/replay/${id}` : `#/game/${id}`;
    } catch (error) {
      notify(error.message);
    }
  }

  seats();
  const when = (since) => new Date(since).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  const games = recent().map(({ id, rules: name, puzzle, since }) => make("li", {}, make("a", { href: `#/game/${id}` }, `${puzzle ? word("puzzle one") : word(`rules ${name}`)}, ${when(since)}`)));
  root.replaceChildren(make("form", { class: "panel", submit: deal },
    make("h1", {}, word("new game")), field(word("rules"), rules), field(word("seat"), seat), make("fieldset", {}, make("legend", {}, word("opponents")), others), field(word("seed"), seed),
    make("button", { class: "first", id: "deal" }, word("deal"))),
    games.length > 0 ? make("section", { class: "panel narrow" }, make("h2", {}, word("resume")), make("ul", { class: "recent" }, games)) : "");
}
