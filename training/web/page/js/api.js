// The server's answers; whatever goes wrong becomes an Error whose message can be shown.

import { word } from "./words.js";

async function send(method, path, body) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Error(word("lost server"));
  }
  const data = await answer.json().catch(() => ({ error: answer.statusText }));
  if (!answer.ok) throw Object.assign(new Error(data.error ?? answer.statusText), { status: answer.status, data });
  return data;
}

export const get = (path) => send("GET", path);
export const post = (path, body = {}) => send("POST", path, body);
