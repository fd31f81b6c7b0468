// Making elements: text is always text, never markup.

/** An element with attributes (functions are listeners, `data` and `class` as usual) and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
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

let fading;

/** Tell the person something for some seconds. */
export function notify(text) {
  const notice = document.getElementById("notice");
  notice.textContent = text;
  clearTimeout(fading);
  fading = setTimeout(() => (notice.textContent = ""), 6000);
}
