// The axes of a plot: round values, faint lines across, names.

const LETTER = 6.6; // the width of a letter in the labels, on average

/**
 * x, y: {label, domain, log, format, whole}; ``domain`` is null where there is nothing to draw; ``whole``: only whole numbers are marked
 * Returns the two scales, the corners of the plot, and what to draw.
 */
function axesOf(width, height, x, y, right = 14) {
  const [top, bottom] = [12, height - 44];
  const vertical = (y.log ? logScale : linearScale)(y.domain, [bottom, top]);
  const marks = (scale, count, whole) => scale.ticks(count).filter((value) => !whole || Number.isInteger(Number(value.toFixed(6))));
  const yTicks = marks(vertical, Math.max(3, Math.round((bottom - top) / 48)), y.whole);
  const left = 30 + LETTER * Math.max(...yTicks.map((value) => y.format(value).length), 2);
  const horizontal = (x.log ? logScale : linearScale)(x.domain, [left, width - right]);
  const xTicks = spaced(marks(horizontal, Math.max(2, Math.round((width - left) / 90)), x.whole), horizontal, x.format);
  const nodes = [
    yTicks.map((value) => [
      shape("line", { class: "grid", x1: left, x2: width - right, y1: vertical(value), y2: vertical(value) }),
      shape("text", { class: "tick", x: left - 8, y: vertical(value) + 4, "text-anchor": "end" }, y.format(value)),
    ]),
    xTicks.map((value) => [
      shape("line", { class: "axis", x1: horizontal(value), x2: horizontal(value), y1: bottom, y2: bottom + 5 }),
      shape("text", { class: "tick", x: horizontal(value), y: bottom + 19, "text-anchor": "middle" }, x.format(value)),
    ]),
    shape("line", { class: "axis", x1: left, x2: width - right, y1: bottom, y2: bottom }),
    shape("text", { class: "label", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x.label),
    shape("text", { class: "label", transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
      y.label),
  ];
  return { x: horizontal, y: vertical, left, right: width - right, top, bottom, nodes };
}

/** Values whose labels do not overlap. */
function spaced(values, scale, format) {
  let end = -Infinity;
  return values.filter((value) => {
    const half = (LETTER * format(value).length) / 2;
    if (scale(value) - half < end + 6) return false;
    end = scale(value) + half;
    return true;
  });
}

/** A drawing that only says why there is nothing to see. */
function emptyPlot(width, reason) {
  return { height: 120, nodes: [shape("text", { class: "label", x: width / 2, y: 60, "text-anchor": "middle" }, reason)] };
}

/** The path of a line; a value that is missing, or not above 0 on a logarithmic scale, breaks it. */
function linePath(xs, ys, scales) {
  let path = "";
  let drawing = false;
  xs.forEach((x, index) => {
    const y = ys[index];
    const there = Number.isFinite(y) && Number.isFinite(x) && (!scales.y.log || y > 0) && (!scales.x.log || x > 0);
    if (there) path += `${drawing ? "L" : "M"}${scales.x(x).toFixed(1)} ${scales.y(y).toFixed(1)}`;
    drawing = there;
  });
  return path;
}
