// Play a game through the JSON interface of `ddz web`: node docs/programs/table.mjs [SERVER] [RIVAL]
const [server = "http://localhost:8000", rival = "policy-v2"] = process.argv.slice(2);

async function call(path, body) {
  const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await (await fetch(`${server}/api/${path}`, body && post)).json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

const { id } = await call("games", { rules: "standard", seat: 0, agents: [rival, rival, rival] });
let game = await call(`games/${id}`);
while (!game.over) {
  const mine = game.turn === game.seat; // put your own player here: game.table has what you see
  const move = mine && { text: (await call(`games/${id}/hint`, { agent: rival })).move, moves: game.number };
  game = mine ? await call(`games/${id}/move`, move) : await call(`games/${id}/advance`, { moves: game.number });
}
console.log(game.result, game.moves.map(({ seat, text }) => `${seat} ${text}`).join(", "));
