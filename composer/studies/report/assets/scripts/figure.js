// A figure: its title, its drawing, the buttons that save it, and its data as a table.

/** Rows of the table behind a figure; the CSV file has all of them. */
const TABLE_ROWS = 200;

/**
 * title, description: texts, or functions of them where they change
 * draw(width, hints): {height, nodes}; ``hints`` shows and hides text beside the pointer
 * data(): {names, rows}, what is drawn
 * legend(): [{index, name}], the arms in the drawing, for saved files
 */
function figure({ title, description, draw, data, legend = () => [], file, note = null }) {
  const text = (value) => (typeof value === "function" ? value() : value);
  const [titleId, descriptionId] = [identifier("title"), identifier("description")];
  const svg = shape("svg", { role: "img", "aria-labelledby": `${titleId} ${descriptionId}` });
  const tip = element("div", { class: "tip", role: "status", hidden: true });
  const plot = element("div", { class: "plot" }, svg, tip);
  const caption = element("span", { class: "title" });
  const save = (kind, act) => saveButton(kind, text(title), act);
  const details = disclosure("Data as a table", table);
  const node = element("figure", { class: "chart" },
    element("figcaption", {}, caption, element("span", { class: "save" },
      save("SVG", () => saveSvg(svg, text(title), legend(), file)),
      save("PNG", () => savePng(svg, text(title), legend(), file)),
      save("CSV", () => saveCsv(data().names, data().rows, file)))),
    plot, note ? element("p", { class: "note" }, note) : null, details);

  function table() {
    const { names, rows } = data();
    const holder = element("div", {}, plainTable(text(title), names, rows.slice(0, TABLE_ROWS)));
    if (rows.length > TABLE_ROWS) {
      holder.append(paragraph(`The first ${TABLE_ROWS} of ${plural(rows.length, "row")}; the CSV file has all of them.`));
    }
    return holder;
  }

  let width = 0;
  function redraw() {
    if (!width) return;
    const hints = hintsOf(plot, svg, tip);
    const { height, nodes } = draw(width, hints);
    for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) svg.setAttribute(name, value);
    svg.replaceChildren(shape("title", { id: titleId }, text(title)), shape("desc", { id: descriptionId }, text(description)),
      ...nodes.flat(Infinity).filter(Boolean));
    caption.textContent = text(title);
    if (details.open && details.childElementCount > 1) details.lastElementChild.replaceWith(table());
    else if (details.childElementCount > 1) details.lastElementChild.remove();
  }

  new ResizeObserver((entries) => {
    const found = Math.round(entries[0].contentRect.width);
    if (found !== width) {
      width = found;
      redraw();
    }
  }).observe(plot);
  return { node, redraw };
}

/** Text beside the pointer, inside of the plot. */
function hintsOf(plot, svg, tip) {
  tip.hidden = true;
  return {
    plot,
    svg,
    show(lines, x, y) {
      tip.replaceChildren(...lines.map((line) => (typeof line === "string" ? element("div", {}, line)
        : element("div", {}, swatch(line.index), line.text))));
      tip.hidden = false;
      const left = x + 14 + tip.offsetWidth > plot.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
      tip.style.left = `${Math.max(0, left)}px`;
      tip.style.top = `${Math.max(0, Math.min(y - 10, plot.clientHeight - tip.offsetHeight))}px`;
    },
    hide() {
      tip.hidden = true;
    },
  };
}
