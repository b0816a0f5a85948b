// Elements of the page. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function attach(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

function element(name, attributes = {}, ...children) {
  return attach(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return attach(document.createElementNS(SVG, name), attributes, children);
}

/** Adds children to an element, with lists flattened and what is missing left out. */
function add(node, ...children) {
  return attach(node, {}, children);
}

let identifiers = 0;
function identifier(word) {
  identifiers += 1;
  return `${word}-${identifiers}`;
}

/** A set of radio buttons. Returns the fieldset; ``choose`` is called with the value. */
function radios(legend, options, chosen, choose) {
  const group = identifier("choice");
  return element("fieldset", { class: "radios" }, element("legend", {}, legend),
    options.map(({ value, label }) => element("label", {},
      element("input", { type: "radio", name: group, value, checked: value === chosen, onchange: () => choose(value) }),
      element("span", {}, label))));
}

/** A list to choose from, with its label. */
function select(label, options, chosen, choose) {
  const list = element("select", { "aria-label": label, onchange: (event) => choose(event.target.value) },
    options.map((option) => element("option", { value: option.value, selected: option.value === chosen }, option.label)));
  return element("label", { class: "select" }, element("span", {}, label), list);
}

function checkbox(label, checked, change) {
  return element("label", { class: "checkbox" },
    element("input", { type: "checkbox", checked, onchange: (event) => change(event.target.checked) }),
    element("span", {}, label));
}

/** Text that opens and closes; the content is made when it is opened first. */
function disclosure(summary, make) {
  const details = element("details", {}, element("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
}

/** A long name that may break after its signs, so that it does not widen its table. */
function breakable(name) {
  if (name.length <= 20) return name;
  return name.split(/(?<=[_=,/@]|\.(?!\d))/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));
}

function paragraph(text, name = "note") {
  return element("p", { class: name }, text);
}

// Each arm has a colour, a dash pattern and a marker of its own, in the order of the table.

const COLOURS = 8;
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "14 4"];
const MARKERS = ["circle", "square", "triangle", "diamond", "cross"];

function armClass(index) {
  return `arm${index % COLOURS}`;
}

function armDashes(index) {
  return DASHES[((index % COLOURS) + Math.floor(index / COLOURS)) % DASHES.length];
}

/** The path of an arm's marker around a point. */
function marker(index, x, y, size = 5) {
  const r = size;
  switch (MARKERS[((index % COLOURS) + Math.floor(index / COLOURS)) % MARKERS.length]) {
    case "circle": return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
    case "square": return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
    case "triangle": return `M${x} ${y - 1.2 * r}L${x + 1.1 * r} ${y + r}H${x - 1.1 * r}Z`;
    case "diamond": return `M${x} ${y - 1.3 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.3 * r}L${x - 1.3 * r} ${y}Z`;
    default: return `M${x - r} ${y - r / 3}h${(2 * r) / 3}v${(-2 * r) / 3}h${(2 * r) / 3}v${(2 * r) / 3}h${(2 * r) / 3}`
      + `v${(2 * r) / 3}h${(-2 * r) / 3}v${(2 * r) / 3}h${(-2 * r) / 3}v${(-2 * r) / 3}h${(-2 * r) / 3}Z`;
  }
}

/** A small line in an arm's colour and dashes. */
function swatch(index) {
  return shape("svg", { class: `swatch ${armClass(index)}`, width: 26, height: 12, "aria-hidden": "true" },
    shape("line", { x1: 1, x2: 25, y1: 6, y2: 6, stroke: "currentColor", "stroke-width": 2.5,
      "stroke-dasharray": armDashes(index) }));
}
