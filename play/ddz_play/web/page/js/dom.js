// Making elements: text is always text, never markup.

/** An element with attributes (functions are listeners; false and null leave an attribute out) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for pictures. */
export function makeSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const symbol = (name, kind = "") => makeSvg("svg", { class: kind, "aria-hidden": "true" }, makeSvg("use", { href: `#${name}` }));

/** A choice between values; `[value, text]` shows another text than the value; the values of `group` stand below its `label`. */
export function selectElement(id, values, chosen, attributes = {}, group = { label: "", values: [] }) {
  const option = (value) => make("option", { value: [value].flat()[0], selected: [value].flat()[0] === chosen }, [value].flat().at(-1));
  const more = group.values.length > 0 && make("optgroup", { label: group.label }, group.values.map(option));
  return make("select", { id, ...attributes }, values.map(option), more);
}

/** A label with its field. */
export const field = (text, input) => make("label", {}, text, input);

/** What has the focus, by id; `near` is where it goes when that is gone. */
export function findFocus(root) {
  const element = document.activeElement;
  return root.contains(element) ? { id: element.id, near: element.closest("[data-focus]")?.dataset.focus } : null;
}

/** Give the focus back after a redraw. */
export function restoreFocus(root, was) {
  const now = document.activeElement;
  if (!was || (root.contains(now) && !now.disabled)) return;
  const same = was.id && document.getElementById(was.id);
  const usable = (place) => root.querySelector(`${place} button[tabindex="0"]`) ?? root.querySelector(`${place} :is(button:not(:disabled), a)`);
  const found = same && !same.disabled ? same : usable(`[data-focus="${was.near ?? "hand"}"]`) ?? usable("[data-focus]");
  (found ?? root.closest("main"))?.focus({ preventScroll: true });
}

/** What a page without a visible title is called, for who cannot see it. */
export const headingElement = (text) => make("h1", { class: "unseen" }, text);

/** Redraw a page, and keep the focus. */
export function redraw(root, ...children) {
  const was = findFocus(root);
  root.replaceChildren(...children.flat().filter(Boolean));
  restoreFocus(root, was);
}

/** Do something once: until it is done no button of the page works; what goes wrong is said. */
export async function runOnce(root, work, complaint = ({ message }) => message) {
  if (root.getAttribute("aria-busy") === "true") return;
  const was = findFocus(root);
  const lock = (busy) => {
    root.setAttribute("aria-busy", String(busy));
    for (const button of root.querySelectorAll("button")) button.disabled = busy;
  };
  clearMessage();
  lock(true);
  await work().catch((error) => showError(complaint(error)));
  lock(false);
  restoreFocus(root, was);
}

// Messages have a place in the page itself, so they cover nothing.  There is one element of each kind, which moves from
// page to page: a live region has to be there before its text.
const notice = document.getElementById("notice");
const waiting = document.getElementById("waiting");

/** The place of a page for messages: its own line, what it waits for and what went wrong, one above the other. */
export const messagesElement = (line = null) => make("div", { class: "messages" }, line, waiting, notice);

/** Say what went wrong, until it is settled (`hush`). */
export function showError(text) {
  notice.className = "";
  notice.textContent = text;
}

/** Say what was done. */
export function showNotice(text) {
  showError(text);
  notice.className = "news";
}

/** Clear the message. */
export const clearMessage = () => showError("");

/** Say what is waited for; nothing when it has come. */
export const showWaiting = (text) => { if (waiting.textContent !== text) waiting.textContent = text; };

/** Let a screen reader say what everybody else sees. */
export function announce(text) {
  const place = document.getElementById("announced");
  if (place.textContent !== text) place.textContent = text;
}
