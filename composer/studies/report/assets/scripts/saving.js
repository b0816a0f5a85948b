// Figures and tables as files: SVG and PNG with the colours on the screen, data as CSV.

/** What a drawing takes from the style sheet, and has to carry itself outside of the page. */
const CARRIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor"];

function download(content, type, file) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A drawing that stands alone: a background, a title, the legend below it, and no need of a style sheet. */
function standalone(svg, title, legend) {
  const [width, height] = ["width", "height"].map((name) => svg.viewBox.baseVal[name]);
  const above = 34;
  const rows = legendRows(legend, width);
  const whole = above + height + rows.length * 20 + (rows.length ? 10 : 0);
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of CARRIED) if (style.getPropertyValue(name)) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute("class");
  });
  copy.querySelectorAll("[data-transient]").forEach((node) => node.remove());
  const page = getComputedStyle(document.body);
  const text = { fill: page.color, "font-family": page.fontFamily, "font-size": 13 };
  const inner = shape("g", { transform: `translate(0 ${above})` }, [...copy.childNodes]);
  return shape("svg", { xmlns: SVG, width, height: whole, viewBox: `0 0 ${width} ${whole}`, role: "img" },
    [...inner.querySelectorAll(":scope > title, :scope > desc")],
    shape("rect", { width, height: whole, fill: page.backgroundColor }),
    shape("text", { ...text, x: 12, y: 22, "font-size": 15, "font-weight": 600 }, title),
    inner,
    rows.flatMap((row, line) => row.map(({ index, name, x }) => shape("g",
      { transform: `translate(${x} ${above + height + 14 + 20 * line})` },
      shape("line", { x1: 0, x2: 24, y1: 0, y2: 0, "stroke-width": 2.5, "stroke-dasharray": armDashes(index),
        stroke: page.getPropertyValue(`--${armClass(index)}`) }),
      shape("text", { ...text, x: 30, y: 4 }, name)))));
}

function legendRows(legend, width) {
  const rows = [];
  let x = Infinity;
  for (const { index, name } of legend) {
    const space = 52 + 7.2 * name.length;
    if (x + space > width) {
      rows.push([]);
      x = 12;
    }
    rows[rows.length - 1].push({ index, name, x });
    x += space;
  }
  return rows;
}

function saveSvg(svg, title, legend, file) {
  download(new XMLSerializer().serializeToString(standalone(svg, title, legend)), "image/svg+xml", `${file}.svg`);
}

/** At twice the size on the screen, for print and for screens of high resolution. */
async function savePng(svg, title, legend, file) {
  const drawing = standalone(svg, title, legend);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await picture.decode();
  const canvas = element("canvas", { width: 2 * drawing.getAttribute("width"), height: 2 * drawing.getAttribute("height") });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((content) => download(content, "image/png", `${file}.png`), "image/png");
}

/** Cells with a comma, a quote or a line break are quoted. A text that a spreadsheet would compute begins with '. */
function csv(names, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function saveCsv(names, rows, file) {
  download(csv(names, rows), "text/csv", `${file}.csv`);
}

function saveButton(kind, what, save) {
  return element("button", { type: "button", "aria-label": `Save ${what} as ${kind}`, onclick: save }, kind);
}
