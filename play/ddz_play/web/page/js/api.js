// The server's answers; everything that goes wrong becomes an Error whose message can be shown.

import { make, showWaiting } from "./dom.js";
import { word } from "./words.js";

const NOTICE_DELAY = 300; // ms after which a person wonders
const POLL_INTERVAL = 1500; // ms between questions about the server
const pendingTimers = new Set(); // of the requests that are waited for

const NEEDED_STEP = { dealing: null, moment: null, searching: "hints" }; // by what is waited for, else an opponent; null: the first of all

/** What the server is still being prepared for, all of it or what is needed now; nothing when it is ready. */
async function preparationText(needed) {
  const { left = [], seconds = [] } = await fetch("api/ready").then((answer) => answer.json()).catch(() => ({}));
  const place = needed ? left.indexOf(needed) : 0;
  return left[place] ? word("preparing", { what: word(`preparing ${left[place]}`), seconds: seconds[place] }) : "";
}

/** Let a page say so, as long as it is shown and there is something to say. */
export async function showPreparation(place) {
  place.textContent = await preparationText();
  if (place.textContent && place.isConnected) setTimeout(showPreparation, POLL_INTERVAL, place);
}

/** While an answer is waited for: say so, and that the server is still being prepared, if that is why. */
function announceWaiting(why) {
  const timers = {};
  const say = (text) => { if (pendingTimers.has(timers) && text) showWaiting(text); };
  const text = why && word(why);
  const ask = async () => say((await preparationText(why in NEEDED_STEP ? NEEDED_STEP[why] : "opponents")) || text);
  timers.soon = setTimeout(() => { say(text); ask(); timers.again = setInterval(ask, POLL_INTERVAL); }, NOTICE_DELAY);
  pendingTimers.add(timers);
  return () => {
    clearTimeout(timers.soon);
    clearInterval(timers.again);
    pendingTimers.delete(timers);
    if (!pendingTimers.size) showWaiting("");
  };
}

async function send(method, path, body, why = "moment") {
  let answer;
  const answered = announceWaiting(why);
  try {
    answer = await fetch(`api/${path}`, {
      method,
      headers: { "Accept-Language": document.documentElement.lang, ...(body !== undefined && { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Error(word("lost server"));
  } finally {
    answered();
  }
  const data = await answer.json().catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw Object.assign(new Error(data.error ?? answer.statusText), { status: answer.status, data });
  return data;
}

/** `why` is the word for what is waited for; null where the page says it already. */
export const get = (path, why) => send("GET", path, undefined, why);
export const post = (path, body = {}, why) => send("POST", path, body, why);

/** Save a game's file where the browser puts files. */
export async function download(id) {
  const { text, name } = await get(`games/${id}/record`);
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
