// Tables. A column: {name, cell(row) -> text or node, value(row) -> what it is sorted by, numeric, plain}.

const Orders = new Intl.Collator("en", { numeric: true });

function compareValues(left, right) {
  const missing = (value) => value === null || value === undefined || Number.isNaN(value);
  if (missing(left) || missing(right)) return missing(left) - missing(right);
  return typeof left === "number" && typeof right === "number" ? left - right : Orders.compare(left, right);
}

/** Rows that a long table shows at first. */
const FIRST_ROWS = 20;

/** A table that a button in each header sorts, first upwards and then downwards. Missing values stay last. */
function sortableTable(caption, columns, rows, name = "") {
  const body = element("tbody");
  let whole = rows.length <= FIRST_ROWS * 1.5;
  const headers = columns.map((column) => element("th", { scope: "col", class: column.numeric ? "numeric" : null }));
  const lines = rows.map((row) => ({ row, line: tableRow(columns, row) }));

  function sort(index) {
    const ascending = headers[index].getAttribute("aria-sort") !== "ascending";
    headers.forEach((header) => header.removeAttribute("aria-sort"));
    headers[index].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = columns[index].value;
    const known = (each) => value(each.row) !== null && value(each.row) !== undefined;
    lines.sort((a, b) => (known(a) === known(b) && !ascending ? -1 : 1) * compareValues(value(a.row), value(b.row)));
    show();
  }

  function show() {
    body.append(...lines.map((each) => each.line));
    lines.forEach((each, index) => { each.line.hidden = !whole && index >= FIRST_ROWS; });
  }

  headers.forEach((header, index) => {
    const column = columns[index];
    header.append(column.value ? element("button", { type: "button", onclick: () => sort(index) }, column.name,
      element("span", { class: "order", "aria-hidden": "true" })) : column.name);
  });
  show();
  const table = framed(element("table", { class: name },
    element("caption", {}, caption), element("thead", {}, element("tr", {}, headers)), body), caption);
  if (whole) return table;
  const more = element("button", { type: "button", class: "more" }, `Show all ${rows.length} rows`);
  more.addEventListener("click", () => {
    whole = true;
    more.remove();
    show();
  });
  return element("div", {}, table, more);
}

function tableRow(columns, row) {
  return element("tr", {}, columns.map((column, index) => element(index === 0 ? "th" : "td",
    { scope: index === 0 ? "row" : null, class: column.numeric ? "numeric" : null, "data-name": column.name }, column.cell(row))));
}

/** A plain table of texts, whose first column names the row. */
function plainTable(caption, names, rows) {
  return framed(element("table", {}, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, names.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell, index) => element(index === 0 ? "th" : "td",
      { scope: index === 0 ? "row" : null, class: typeof cell === "number" ? "numeric" : null },
      typeof cell === "number" ? number(cell, 5) : cell ?? DASH)))))), caption);
}

/** A frame that scrolls sideways where its content is wider than the screen, also by keyboard; it fades at an edge that hides some. */
function framed(inner, caption) {
  const frame = element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption }, inner);
  const look = () => {
    frame.classList.toggle("before", frame.scrollLeft > 1);
    frame.classList.toggle("after", frame.scrollLeft + frame.clientWidth < frame.scrollWidth - 1);
  };
  frame.addEventListener("scroll", look, { passive: true });
  const observer = new ResizeObserver(look);
  [frame, inner].forEach((each) => observer.observe(each));
  return frame;
}
