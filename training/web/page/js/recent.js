// The games that this browser has begun: their names are the only keys to them.

const MOST = 8;

export function recent() {
  try {
    const found = JSON.parse(localStorage.getItem("games") ?? "[]");
    return Array.isArray(found) ? found.filter((game) => typeof game?.id === "string") : [];
  } catch {
    return [];
  }
}

const keep = (games) => localStorage.setItem("games", JSON.stringify(games.slice(0, MOST)));

export const forget = (id) => keep(recent().filter((game) => game.id !== id));

/** Put a game in front of all others. */
export function remember({ id, rules, puzzle }) {
  const before = recent().find((game) => game.id === id);
  keep([{ id, rules, puzzle, since: before?.since ?? Date.now() }, ...recent().filter((game) => game.id !== id)]);
}
