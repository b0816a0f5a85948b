// Quality against the length of the test examples, one line per arm.

function byLengthSection(section, content) {
  const found = content.by_length;
  if (!found) return false;
  const { curves, trained } = found;
  const label = metricName(content.judged);
  const state = { log: false, shown: shownAtFirst(content) };
  const series = () => curves.filter(({ arm }) => state.shown.has(arm)).map(({ arm, points }) => {
    const bounded = points.every((point) => point.quality.half !== null);
    const bound = (end) => (bounded ? points.map((point) => bounds(content, content.judged, point.quality)[end]) : null);
    return { index: arm, name: content.arms[arm].name, faint: [], xs: points.map((point) => (point.low + point.high) / 2),
      ys: points.map((point) => point.quality.mean), low: bound(0), high: bound(1) };
  });
  const few = Math.min(...curves.flatMap(({ points }) => points.map((point) => point.examples)));
  const longest = Math.max(...curves.flatMap(({ points }) => points.map((point) => point.high)));
  const lengths = trained && (longest > trained[1] ? `Training had lengths from ${trained[0]} to ${trained[1]}.` : "No example is longer than those of training.");
  const drawn = figure({
    title: `${capital(label)} against the length of the test examples`,
    file: "quality_by_length",
    description: () => `${capital(label)} by the length of the test examples, one line per arm. At the longest: ${series().map((each) => `${each.name} ${number(each.ys.at(-1))}`).join(", ")}.`,
    legend: series,
    data: () => ({ names: ["arm", "shortest", "longest", "examples", content.judged, "low", "high"],
      rows: curves.filter(({ arm }) => state.shown.has(arm)).flatMap(({ arm, points }) => points.map(({ low, high, examples, quality: found }) => [content.arms[arm].name, low, high,
        examples, found.mean, ...(bounds(content, content.judged, found) ?? [null, null])])) }),
    draw: (width, hints) => lineChart(width, series(), { label: "length of the example, in steps", log: state.log, whole: true, format: (value) => number(value, 3),
      shaded: trained && { low: trained[0], high: trained[1], label: "lengths of training" } },
    { label, log: false, format: (value) => number(value, 3) }, hints),
  });
  add(section, paragraph(`The test examples in groups of lengths, ${plural(few, "example")} or more in each, drawn at the middle of their lengths. Lines are means over seeds, bands are 95 % intervals over seeds. ${lengths ?? ""}`),
    element("div", { class: "controls" }, checkbox("logarithmic x", false, (value) => { state.log = value; drawn.redraw(); })),
    armChoice(content, state.shown, drawn.redraw), drawn.node);
  return true;
}
