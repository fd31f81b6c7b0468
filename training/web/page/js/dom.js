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
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const symbol = (name, kind = "") => draw("svg", { class: kind, "aria-hidden": "true" }, draw("use", { href: `#${name}` }));

/** A choice between values; `[value, text]` shows another text than the value. */
export function choice(id, values, chosen, attributes = {}) {
  const options = values.map((value) => (Array.isArray(value) ? value : [value, value]));
  return make("select", { id, ...attributes }, options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
}

/** A label with its field. */
export const field = (text, input) => make("label", {}, text, input);

/** What has the focus, by id; `near` is where it goes when that is gone. */
export function focused(root) {
  const element = document.activeElement;
  return root.contains(element) ? { id: element.id, near: element.closest("[data-focus]")?.dataset.focus } : null;
}

/** Give the focus back after everything was drawn anew. */
export function focusAgain(root, was) {
  const now = document.activeElement;
  if (!was || (root.contains(now) && !now.disabled)) return;
  const same = was.id && document.getElementById(was.id);
  const usable = (place) => root.querySelector(`${place} button[tabindex="0"]`) ?? root.querySelector(`${place} :is(button:not(:disabled), a)`);
  const found = same && !same.disabled ? same : usable(`[data-focus="${was.near ?? "hand"}"]`) ?? usable("[data-focus]");
  (found ?? root.closest("main"))?.focus({ preventScroll: true });
}

/** Draw a page anew, and keep the focus. */
export function redraw(root, ...children) {
  const was = focused(root);
  root.replaceChildren(...children.flat().filter(Boolean));
  focusAgain(root, was);
}

let fading;

/** Tell the person something for some seconds. */
export function notify(text) {
  const notice = document.getElementById("notice");
  notice.textContent = text;
  clearTimeout(fading);
  fading = setTimeout(() => (notice.textContent = ""), 8000);
}

/** Tell a screen reader what everybody else sees. */
export function announce(text) {
  const place = document.getElementById("announced");
  if (place.textContent !== text) place.textContent = text;
}
