// The server's answers; whatever goes wrong becomes an Error whose message can be shown.

import { word } from "./words.js";

const SOON = 1500; // ms after which a person wonders
const timing = new Set(); // of the requests that are waited for

/** While an answer is waited for: say that the server compiles, if that is why. */
function excuse() {
  const place = document.getElementById("compiling");
  const timer = setInterval(async () => {
    const found = await fetch("api/compiling").then((answer) => answer.json()).catch(() => ({}));
    if (timing.has(timer)) place.textContent = found.compiling ? word("compiling") : "";
  }, SOON);
  timing.add(timer);
  return () => {
    clearInterval(timer);
    timing.delete(timer);
    if (!timing.size) place.textContent = "";
  };
}

async function send(method, path, body) {
  let answer;
  const answered = excuse();
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

export const get = (path) => send("GET", path);
export const post = (path, body = {}) => send("POST", path, body);
