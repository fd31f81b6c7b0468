// What the server would answer, from a recording: this file replaces the page's own where there is no server.

const INSTALL = {
  en: "These games are recorded. To play your own, install ddz-env and run: ddz web --open",
  zh: "这里的牌局都是录好的。想自己打牌，请安装 ddz-env，然后运行：ddz web --open",
};
const played = {}; // the moves of each puzzle so far
const shown = new Set(); // puzzles whose solution was asked for

const recording = fetch("recording.bin").then((file) => new Response(file.body.pipeThrough(new DecompressionStream("gzip"))).json());

export const language = () => document.documentElement.lang.slice(0, 2);
export const install = () => INSTALL[language()] ?? INSTALL.en;

const sorted = (cards) => [...cards.replace("+", "")].sort().join("");

/** What the server would do with a puzzle. */
function puzzle(id, positions, act, { text } = {}) {
  const moves = (played[id] ??= []);
  const { game, next, solution } = positions[moves];
  const go = (after) => { played[id] = after; return { ...positions[after].game, followed: shown.has(id) }; };
  const decides = ({ turn, seat, must_pass }) => turn === seat && !must_pass;
  if (!act) return go(moves);
  if (act === "solution") {
    if (solution.wins) shown.add(id);
    return solution;
  }
  if (act === "move" && next.includes(text)) return go([...moves, text]);
  if (act === "advance") return go([...moves, next[0]]);
  if (act === "choice") {
    const readings = next.filter((move) => sorted(move) === sorted(text));
    return { readings, reason: readings.length ? null : "impossible" };
  }
  if (act === "undo") {
    let count = moves.length - 1;
    while (count > 0 && !decides(positions[moves.slice(0, count)].game)) count -= 1;
    return go(moves.slice(0, count));
  }
}

async function answer(path, body) {
  const { answers, puzzles } = await recording;
  const [, id, act] = /^games\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  const begun = path === "games" && `puzzle-${body.puzzle}`;
  if (begun in puzzles) {
    delete played[begun];
    shown.delete(begun);
    return { id: begun };
  }
  const given = id in puzzles ? puzzle(id, puzzles[id], act, body) : answers[`${path} ${language()}`] ?? answers[path];
  if (!given) throw new Error(install());
  return structuredClone(given);
}

export const get = (path) => answer(path);
export const post = (path, body = {}) => answer(path, body);
export const tellPreparing = () => {};
export const download = async () => { throw new Error(install()); };
