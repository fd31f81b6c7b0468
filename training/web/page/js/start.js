// The form of a new game.

import { get, post } from "./api.js";
import { make, notify } from "./dom.js";
import { word } from "./words.js";

const options = (values, chosen) => values.map((value) => make("option", { value, selected: value === chosen }, value));

/** Deal a new game: rules, seat, opponents, seed. */
export async function startPage(main) {
  const choices = await get("choices");
  const rules = make("select", { id: "rules", change: seats }, options(choices.rules.map(({ name }) => name), "standard"));
  const seat = make("select", { id: "seat" });
  const agent = make("input", { id: "agent", list: "agents", value: choices.agent, required: true });
  const list = make("datalist", { id: "agents" }, options(choices.agents));
  const seed = make("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]*" });
  const last = localStorage.getItem("game");

  function seats() {
    const { players, roles } = choices.rules.find(({ name }) => name === rules.value);
    const names = Array.from({ length: players }, (_, n) => make("option", { value: n }, roles.length ? word(roles[n]) : word("your seats", { n })));
    seat.replaceChildren(...names, make("option", { value: "" }, word("watch")));
  }

  async function deal(event) {
    event.preventDefault();
    try {
      const own = seat.value === "" ? null : Number(seat.value);
      const { id } = await post("games", { rules: rules.value, seat: own, agent: agent.value, seed: seed.value === "" ? null : Number(seed.value) });
      location.hash = own === null ? `#/replay/${id}` : `#/game/${id}`;
    } catch (error) {
      notify(error.message);
    }
  }

  seats();
  const field = (name, input) => make("label", {}, word(name), input);
  main.replaceChildren(make("form", { class: "panel", submit: deal },
    make("h1", {}, word("new game")), field("rules", rules), field("seat", seat), field("opponents", agent), list, field("seed", seed),
    make("button", { class: "first", id: "deal" }, word("deal")),
    last && make("a", { href: `#/game/${last}` }, word("resume"))));
}
