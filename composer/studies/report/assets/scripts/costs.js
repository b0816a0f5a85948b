// Quality against each cost, with the arms that no other arm beats in both.

/** Points that have their names beside them, at most. */
const NAMED = 16;

function costsSection(section, content) {
  const { arms, costs, metrics } = content;
  if (arms.length < 2 || !costs.length) return false;
  const state = { cost: mostDifferent(arms, costs), metric: content.judged, task: 0 };
  const cost = () => costs.find((each) => each.key === state.cost);
  const points = () => arms.map((arm, index) => ({ index, name: arm.name, x: arm.costs[state.cost]?.mean, y: arm.quality[state.metric]?.mean,
    ends: bounds(content, state.metric, arm.quality[state.metric]), text: quality(arm, state.metric) })).filter((each) => ofTask(content, each.index, state.task) && Number.isFinite(each.x) && Number.isFinite(each.y));
  const front = () => (state.metric === content.judged ? paretoFront(points(), cost().direction, content.direction) : []);
  const title = () => `${capital(metricName(state.metric))} against ${cost().label}`;
  const drawn = figure({
    title,
    file: "quality_against_cost",
    description: () => `${title()}. On the Pareto front: ${front().map((each) => each.name).join(", ") || "not marked for this metric"}.`,
    legend: points,
    data: () => ({
      names: ["arm", `${cost().label}${cost().unit ? ` (${cost().unit})` : ""}`, state.metric, "low", "high", "Pareto front"],
      rows: points().map((each) => [each.name, each.x, each.y, each.ends?.[0], each.ends?.[1], front().includes(each) || front().some((other) => other.index === each.index) ? "yes" : "no"]),
    }),
    draw: (width, hints) => costPlot(width, points(), front(), cost(), state.metric, hints),
  });
  const set = (change) => (value) => {
    change(value);
    drawn.redraw();
  };
  add(section,
    paragraph("Outlined arms and the line through them are the Pareto front: no other arm is better and cheaper at once. Whiskers are 95 % intervals over seeds."),
    element("div", { class: "controls" }, taskChoice(content, set((value) => { state.task = value; })), radios("Cost", costs.map((each) => ({ value: each.key, label: each.label })), state.cost, set((value) => { state.cost = value; })),
      metrics.length > 1 ? select("Metric", metrics.map((name) => ({ value: name, label: metricName(name) })), state.metric, set((value) => { state.metric = value; })) : null),
    drawn.node);
  return true;
}

/** The cost in which the arms differ most, in proportion. */
function mostDifferent(arms, costs) {
  const spread = (cost) => {
    const values = arms.map((arm) => arm.costs[cost.key]?.mean).filter((value) => value > 0);
    return values.length > 1 ? Math.max(...values) / Math.min(...values) : 0;
  };
  return costs.reduce((a, b) => (spread(b) > spread(a) ? b : a)).key;
}

/** The points that no other point equals or beats in both directions, by their cost. */
function paretoFront(points, costDirection, qualityDirection) {
  const cheaper = costDirection === "min" ? (a, b) => a.x - b.x : (a, b) => b.x - a.x;
  const better = qualityDirection === "min" ? (a, b) => a.y - b.y : (a, b) => b.y - a.y;
  const beaten = (point) => points.some((other) => other !== point && cheaper(other, point) <= 0 && better(other, point) <= 0
    && (cheaper(other, point) < 0 || better(other, point) < 0));
  return points.filter((point) => !beaten(point)).sort(cheaper);
}

function costPlot(width, points, front, cost, metric, hints) {
  if (!points.length) return emptyPlot(width, `No arm has recorded ${cost.label}.`);
  const values = points.map((each) => each.x);
  const log = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > 20;
  const height = Math.max(300, Math.min(420, width * 0.5));
  const labels = Math.max(...points.map((each) => shortName(each.name).length)) * LETTER;
  const scales = axesOf(width, height,
    { label: cost.label, domain: range(values, log, 0.08), log, format: (value) => quantity(value, cost.unit) },
    { label: metricName(metric), domain: range(points.flatMap((each) => [each.y, ...(each.ends ?? [])]), false), format: (value) => number(value, 3) },
    Math.min(width * 0.25, 20 + labels));
  const ring = new Set(front.map((each) => each.index));
  hints.plot.onpointerleave = hints.hide;
  return {
    height,
    nodes: [scales.nodes,
      front.length > 1 ? shape("path", { class: "front", d: linePath(front.map((each) => each.x), front.map((each) => each.y), scales) }) : null,
      points.map((each) => pointNodes(each, scales, ring.has(each.index), cost, hints)),
      pointLabels([...points], scales, ring, width)],
  };
}

function pointNodes(each, scales, outlined, cost, hints) {
  const [x, y] = [scales.x(each.x), scales.y(each.y)];
  const whisker = each.ends ? `M${x} ${scales.y(each.ends[0])}V${scales.y(each.ends[1])}` : "";
  const show = () => hints.show([{ index: each.index, text: each.name }, `${cost.label} ${quantity(each.x, cost.unit)}`,
    each.text], x, y);
  return shape("g", { class: `point ${armClass(each.index)}`, "data-arm": each.name, onpointerenter: show },
    whisker ? shape("path", { class: "whisker", d: whisker }) : null,
    outlined ? shape("circle", { class: "ring", cx: x, cy: y, r: 10 }) : null,
    shape("path", { class: "mark", d: marker(each.index, x, y, 5.5) }));
}

/** Names beside the points, moved apart where they would overlap; of many points, or where there is little room, only those on the
 * front have one. What would leave the plot is left out: the pointer reads it. */
function pointLabels(points, scales, ring, width) {
  const placed = [];
  const named = points.length <= NAMED && width > 500 ? points : points.filter((each) => ring.has(each.index));
  return named.sort((a, b) => scales.y(a.y) - scales.y(b.y)).map((each) => {
    const name = shortName(each.name);
    const wide = name.length * LETTER;
    const right = scales.x(each.x) + 14;
    const x = right + wide > width ? Math.max(0, scales.x(each.x) - 14 - wide) : right;
    let y = scales.y(each.y) + 4;
    while (placed.some((other) => Math.abs(other.y - y) < 14 && x < other.x + other.wide && other.x < x + wide)) y += 2;
    if (y > scales.bottom - 4) return null;
    placed.push({ x, y, wide });
    return shape("text", { class: "name", x, y }, name);
  });
}
