// Loss against size: measured sizes, fitted laws with their bands, crossings, and the size that was held out.

function ladderSection(section, content) {
  const { ladder } = content;
  if (!ladder) return false;
  const { families } = ladder;
  const title = () => `${capital(metricName(ladder.metric))} against parameters`;
  const drawn = figure({
    title,
    file: "loss_against_size",
    description: () => `${title()}, on logarithmic axes. ${ladder.sentences.join(" ")}`,
    legend: () => families.map(({ name }, index) => ({ index, name })),
    data: () => ({ names: ["family", "parameters", "tokens", ladder.metric, "half interval", "held out"],
      rows: families.flatMap(({ name, points, shorter }) => [...shorter, ...points].map((each) =>
        [name, each.size, each.tokens, each.loss?.mean, each.loss?.half, each.held_out ? "yes" : "no"])) }),
    draw: (width, hints) => ladderPlot(width, ladder, hints),
  });
  add(section, ladder.sentences.map((sentence) => paragraph(sentence)),
    paragraph("Lines are the fitted laws with 95 % bands, whiskers 95 % intervals over seeds. The outlined size was held out of the fit; "
      + "the bar beside it is its prediction. Faint marks are runs of shorter training. A dashed upright line is a crossing."),
    element("p", { class: "key" }, families.map(({ name }, index) => element("span", {}, swatch(index), name))), drawn.node);
  return true;
}

function ladderPlot(width, ladder, hints) {
  const { families, crossings } = ladder;
  const points = families.flatMap((each) => [...each.points, ...each.shorter]).filter((each) => each.loss);
  const laws = families.map((each) => each.law).filter(Boolean);
  const height = Math.max(300, Math.min(460, width * 0.6));
  const sizes = points.map((each) => each.size).concat(laws.flatMap((law) => law.sizes));
  const losses = points.flatMap((each) => [each.loss.mean - (each.loss.half ?? 0), each.loss.mean + (each.loss.half ?? 0)])
    .concat(laws.flatMap((law) => law.losses)).filter((value) => value > 0);
  if (!losses.length) return emptyPlot(width, "No size has a loss.");
  const scales = axesOf(width, height,
    { label: "parameters", domain: range(sizes, true, 0.02), log: true, format: (value) => quantity(value, "") },
    { label: metricName(ladder.metric), domain: range(losses, true), log: true, format: (value) => number(value, 3) });
  hints.plot.onpointerleave = hints.hide;
  return { height, nodes: [scales.nodes,
    crossings.map(({ size }) => shape("line", { class: "cross", x1: scales.x(size), x2: scales.x(size), y1: scales.top, y2: scales.bottom,
      "stroke-dasharray": "4 4" })),
    families.map(({ law }, index) => (law ? bandNode({ index, xs: law.sizes, low: clipped(law.low, scales), high: clipped(law.high, scales) }, scales) : null)),
    families.map(({ law, name }, index) => (law ? shape("g", { class: `curve ${armClass(index)}`, "data-arm": name },
      shape("path", { class: "line", d: linePath(law.sizes, law.losses, scales), "stroke-dasharray": armDashes(index) })) : null)),
    families.map((each, index) => [predictionNode(each, index, scales),
      each.shorter.filter((point) => point.loss).map((point) => shape("path", { class: `faint ${armClass(index)}`,
        d: marker(index, scales.x(point.size), scales.y(point.loss.mean), 3) })),
      each.points.filter((point) => point.loss).map((point) => rungNode(each.name, index, point, scales, hints))])] };
}

/** The values within the plot. */
function clipped(values, scales) {
  const [low, high] = [scales.y.invert(scales.bottom), scales.y.invert(scales.top)];
  return values && values.map((value) => Math.max(low, Math.min(high, value)));
}

function rungNode(name, index, point, scales, hints) {
  const { mean, half } = point.loss;
  return pointNodes({ index, name: point.held_out ? `${name}, held out` : name, x: point.size, y: mean, text: interval(point.loss),
    ends: half && mean > half ? [mean - half, mean + half] : null }, scales, point.held_out, { label: "parameters", unit: "" }, hints);
}

/** The interval of the prediction, a little to the right of the held-out size. */
function predictionNode({ predicted }, index, scales) {
  if (!predicted || predicted.low === null) return null;
  const x = scales.x(predicted.size) + 14;
  const [low, high] = clipped([predicted.low, predicted.high], scales);
  return shape("g", { class: `point ${armClass(index)}` },
    shape("path", { class: "whisker", "stroke-width": 4, d: `M${x} ${scales.y(low)}V${scales.y(high)}` }));
}
