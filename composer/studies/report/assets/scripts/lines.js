// A chart of lines with bands, and a reading of all lines at the pointer or by the arrow keys.

/**
 * series: [{index, name, xs, ys, low, high, faint: [{xs, ys}], measured: [{note, xs, ys}]}]; ``low`` and ``high`` bound the band, or are
 *   null; ``measured`` is what a reading shows, where it is not the line's own points
 * x, y: {label, log, format, whole}; ``x.shaded``: {low, high, label}, a range of x that is marked, or null
 */
function lineChart(width, series, x, y, hints, height = Math.max(260, Math.min(360, width * 0.62))) {
  const faint = series.flatMap((each) => each.faint);
  const xDomain = range([...series, ...faint].flatMap((each) => each.xs), x.log, 0);
  const values = [...series, ...faint].flatMap((each) => each.ys).concat(series.flatMap((each) => [...(each.low || []), ...(each.high || [])]));
  const yDomain = range(values, y.log);
  if (!xDomain || !yDomain) return emptyPlot(width, `No run has recorded ${y.label} against ${x.label}.`);
  const scales = axesOf(width, height, { ...x, domain: xDomain }, { ...y, domain: yDomain });
  const nodes = [shadedNodes(x.shaded, xDomain, scales), scales.nodes, series.map((each) => bandNode(each, scales)), faint.map((each) => shape("path",
    { class: `faint ${armClass(each.index)}`, d: linePath(each.xs, each.ys, scales) })), series.map((each) => lineNodes(each, scales))];
  return { height, nodes: [...nodes, crosshair(series, scales, x, y, hints)] };
}

/** A marked range of the x-axis, as far as it is drawn, and its name; nothing where the range is the whole axis. */
function shadedNodes(shaded, [low, high], scales) {
  if (!shaded || shaded.low >= high || shaded.high <= low || (shaded.low <= low && shaded.high >= high)) return null;
  const [from, to] = [Math.max(shaded.low, low), Math.min(shaded.high, high)].map(scales.x);
  return [shape("rect", { class: "shaded", x: from, y: scales.top, width: to - from, height: scales.bottom - scales.top }),
    shape("text", { class: "tick", x: from + 6, y: scales.bottom - 8 }, shaded.label)];
}

function lineNodes(each, scales) {
  const points = each.xs.length <= 30 ? each.xs.map((x, i) => [x, each.ys[i]]).filter(([, value]) => Number.isFinite(value)
    && (!scales.y.log || value > 0)) : [];
  return shape("g", { class: `curve ${armClass(each.index)}`, "data-arm": each.name },
    shape("path", { class: "line", d: linePath(each.xs, each.ys, scales), "stroke-dasharray": armDashes(each.index) }),
    points.map(([x, value]) => shape("path", { class: "mark", d: marker(each.index, scales.x(x), scales.y(value), 3) })));
}

function bandNode(each, scales) {
  if (!each.low) return null;
  const clip = (value) => (scales.y.log && value <= 0 ? scales.y.invert(scales.bottom) : value);
  const there = each.xs.map((x, i) => [x, each.low[i], each.high[i]]).filter((row) => row.every(Number.isFinite));
  if (there.length < 2) return null;
  const upper = there.map(([x, , high]) => `${scales.x(x).toFixed(1)} ${scales.y(clip(high)).toFixed(1)}`);
  const lower = there.map(([x, low]) => `${scales.x(x).toFixed(1)} ${scales.y(clip(low)).toFixed(1)}`).reverse();
  return shape("path", { class: `band ${armClass(each.index)}`, d: `M${[...upper, ...lower].join("L")}Z` });
}

/** Linear between two points; null outside of the line. */
function valueAt(xs, ys, x) {
  if (!xs.length || x < xs[0] || x > xs[xs.length - 1]) return null;
  let [low, high] = [0, xs.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  if (xs[high] === x || xs[high] === xs[low]) return ys[high];
  if (xs[low] === x) return ys[low];
  if (ys[low] === null || ys[high] === null) return null;
  return ys[low] + ((x - xs[low]) / (xs[high] - xs[low])) * (ys[high] - ys[low]);
}

/** What was measured of a line: its own points or, where the line is a mean between places of its own seeds, those of each seed. */
function measuredOf(each) {
  return (each.measured ?? [{ note: "", xs: each.xs, ys: each.ys }]).flatMap(({ note, xs, ys }) => xs.map((x, i) => ({ note, x, y: ys[i] })))
    .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
}

/** A line across the plot at the measured point next to the pointer, with what was measured of every arm there or nearest to it. */
function crosshair(series, scales, x, y, hints) {
  const line = shape("line", { class: "cross", y1: scales.top, y2: scales.bottom, visibility: "hidden", "data-transient": "" });
  const dots = shape("g", { "data-transient": "" });
  const drawn = (point) => (!scales.x.log || point.x > 0) && (!scales.y.log || point.y > 0);
  const arms = series.map((each) => ({ each, points: measuredOf(each).filter(drawn).map((point) => ({ ...point, at: scales.x(point.x) })) }))
    .filter(({ points }) => points.length);
  const places = [...new Set(arms.flatMap(({ points }) => points.map((point) => point.at)))].sort((a, b) => a - b);
  const nearest = (points, at) => points.reduce((a, b) => (Math.abs(b.at - at) < Math.abs(a.at - at) ? b : a));
  let at = null;
  function show(place) {
    if (!places.length) return;
    at = nearest(places.map((each) => ({ at: each })), place).at;
    const found = arms.map(({ each, points }) => ({ index: each.index, name: each.name, ...nearest(points, at) }))
      .sort((a, b) => a.y - b.y).slice(0, 12);
    const head = x.format(found.find((each) => each.at === at)?.x ?? scales.x.invert(at));
    line.setAttribute("x1", at);
    line.setAttribute("x2", at);
    line.setAttribute("visibility", "visible");
    dots.replaceChildren(...found.map((each) => shape("circle", { class: `read ${armClass(each.index)}`, cx: each.at, cy: scales.y(each.y), r: 4 })));
    hints.show([`${x.label} ${head}`, ...found.map((each) => ({ index: each.index,
      text: `${each.name}${each.note} ${number(each.y)}${x.format(each.x) === head ? "" : ` at ${x.format(each.x)}`}` }))], at, scales.top + 10);
  }
  function hide() {
    line.setAttribute("visibility", "hidden");
    dots.replaceChildren();
    hints.hide();
  }
  /** The next measured place in a direction, a sixtieth of the plot away at least where there are many. */
  function next(step) {
    if (at === null) return step > 0 ? scales.left : scales.right;
    const far = places.length > 60 ? (scales.right - scales.left) / 60 : 0.01;
    return (step > 0 ? places.find((each) => each >= at + far) : places.findLast((each) => each <= at - far)) ?? (step > 0 ? scales.right : scales.left);
  }
  const { plot, svg } = hints;
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  plot.setAttribute("aria-label", "Chart; the left and right arrow keys read its values");
  plot.onpointermove = (event) => show(event.clientX - svg.getBoundingClientRect().left);
  plot.onpointerleave = hide;
  plot.onblur = hide;
  plot.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      show(next(step));
    } else if (event.key === "Escape") hide();
  };
  return [line, dots];
}
