// Quality and cost against the length of the sequences.

function lengthsSection(section, content) {
  const { lengths, arms, costs, metrics } = content;
  if (!lengths) return false;
  const options = [...metrics.map((name) => ({ value: name, label: metricName(name), unit: "", read: (arm) => arm.quality[name] })),
    ...costs.map((cost) => ({ value: cost.key, label: cost.label, unit: cost.unit, read: (arm) => arm.costs[cost.key] }))];
  const state = { shown: content.judged, log: false };
  const chosen = () => options.find((each) => each.value === state.shown);
  const series = () => lengths.map(({ name, points }, index) => {
    const found = points.map(({ length, arm }) => ({ length, estimate: chosen().read(arms[arm]) })).filter((each) => each.estimate);
    const bounded = found.every((each) => each.estimate.half !== null);
    return { index, name, faint: [], xs: found.map((each) => each.length), ys: found.map((each) => each.estimate.mean),
      low: bounded ? found.map((each) => bounds(content, state.shown, each.estimate)[0]) : null,
      high: bounded ? found.map((each) => bounds(content, state.shown, each.estimate)[1]) : null };
  });
  const format = (value) => (chosen().unit ? quantity(value, chosen().unit) : number(value, 3));
  const drawn = figure({
    title: () => `${capital(chosen().label)} against sequence length`,
    file: "sequence_length",
    description: () => `${capital(chosen().label)} against sequence length, one line per architecture.`,
    legend: series,
    data: () => ({ names: ["architecture", "length", chosen().label, "low", "high"],
      rows: series().flatMap((each) => each.xs.map((x, i) => [each.name, x, each.ys[i], each.low?.[i], each.high?.[i]])) }),
    draw: (width, hints) => lineChart(width, series(), { label: "sequence length", log: state.log, whole: true, format: (value) => number(value, 3) },
      { label: chosen().label, log: false, format }, hints),
  });
  add(section, paragraph("Arms of the same architecture at several lengths are joined by a line; bands are 95 % intervals over seeds."),
    element("div", { class: "controls" },
      select("Shown", options, state.shown, (value) => { state.shown = value; drawn.redraw(); }),
      checkbox("logarithmic x", false, (value) => { state.log = value; drawn.redraw(); })),
    element("p", { class: "key" }, lengths.map(({ name }, index) => element("span", {}, swatch(index), name))), drawn.node);
  return true;
}
