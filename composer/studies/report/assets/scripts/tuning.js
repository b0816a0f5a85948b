// The trials of a tuning or a search: quality by learning rate, best so far, parallel coordinates, importance, all trials.

const EVERY = "every arm";

function tuningSection(section, content) {
  const { tuning } = content;
  if (!tuning) return false;
  const arms = [...new Set(tuning.trials.map((trial) => trial.arm))];
  if (tuning.curves.length) section.querySelector("h2").textContent = "Tuning";
  const state = { arm: EVERY };
  const counts = {};
  const numbered = tuning.trials.map((trial) => {
    counts[trial.arm] = (counts[trial.arm] ?? 0) + 1;
    return { ...trial, place: counts[trial.arm] };
  });
  const trials = () => numbered.filter((trial) => state.arm === EVERY || trial.arm === state.arm);
  const along = tuning.curves.length > 0 && tuning.parameters.length === 1; // the curves show all that was varied
  const figures = along ? [] : [bestSoFar(content, arms, trials), tuning.parameters.length ? parallel(content, trials) : null,
    tuning.importance.length ? importanceBars(content) : null].filter(Boolean);
  const ended = [...new Set(numbered.map((trial) => trial.status))]
    .map((status) => `${numbered.filter((trial) => trial.status === status).length} ${status}`);
  const pruned = numbered.some((trial) => trial.status === "pruned") ? " A pruned trial was stopped early, because others were better at the same step." : "";
  add(section, paragraph(`${plural(tuning.trials.length, "trial")}: ${ended.join(", ")}. The value of a trial is the ${metricName(content.validated)} of its best checkpoint.${pruned}`),
    tuning.curves.length ? ratesPart(content, arms) : null,
    arms.length > 1 && figures.length ? element("div", { class: "controls" }, select("Trials of", [EVERY, ...arms].map((name) => ({ value: name, label: name })), EVERY, (value) => {
      state.arm = value;
      figures.forEach((each) => each.redraw());
    })) : null,
    arms.length > 1 && figures.length ? element("p", { class: "key" }, arms.map((name) => element("span", {}, swatch(armIndex(content, arms, name)), name))) : null,
    figures.map((each) => each.node), disclosure("All trials", () => trialsTable(content)));
  return true;
}

/** Quality against the learning rate, one curve an arm, and what the tuning of each arm found and took. */
function ratesPart(content, arms) {
  const { curves, flips, window } = content.tuning;
  const names = [...new Set(curves.map((curve) => curve.key.split(".").at(-1).replaceAll("_", " ")))].join(", ");
  const label = metricName(curves[0].metric);
  const all = curves.map((curve) => ({ index: armIndex(content, arms, curve.arm), name: curve.arm, xs: curve.rates, ys: curve.qualities,
    low: null, high: null, faint: [], curve }));
  const state = { task: 0 };
  const shown = () => all.filter((each) => ofTask(content, each.index, state.task));
  const values = curves.flatMap((curve) => curve.qualities).filter(Number.isFinite);
  const log = content.direction === "min" && values.every((value) => value > 0) && Math.max(...values) / Math.min(...values) > 4;
  const drawn = figure({
    title: `${capital(label)} against ${names}`,
    file: "learning_rates",
    description: `${capital(label)} against ${names}, one line per arm. ${curves.map((curve) => `${curve.arm}: ${chosenText(curve)}`).join("; ")}.`,
    note: `Means of the tuning runs. A ring marks the ${names} that was chosen for the final runs; the broad line is the window: the range around it whose quality is within ${Math.round(100 * window)} % of the best. A line ends or is broken where training failed.`,
    legend: shown,
    data: () => ({ names: ["arm", names, content.validated, "chosen"], rows: curves.flatMap((curve) => curve.rates.map((rate, i) => [curve.arm, rate, curve.qualities[i], rate === curve.chosen ? "yes" : ""])) }),
    draw: (width, hints) => {
      const height = Math.max(280, Math.min(380, width * 0.42));
      const x = { label: names, domain: range(curves.flatMap((curve) => curve.rates), true, 0.02), log: true, format: (value) => number(value, 3) };
      const y = { label, domain: range(values, log), log, format: (value) => number(value, 3) };
      if (!x.domain || !y.domain) return emptyPlot(width, "No tuning run has a result.");
      const scales = axesOf(width, height, x, y);
      const series = shown();
      return { height, nodes: [scales.nodes, series.map((each) => windowNode(each, scales)), series.map((each) => lineNodes(each, scales)),
        series.map((each) => chosenNode(each, scales)), crosshair(series, scales, x, y, hints)] };
    },
  });
  const key = element("p", { class: "key" });
  const draw = (task) => {
    state.task = task;
    key.replaceChildren(...shown().map((each) => element("span", {}, swatch(each.index), each.name)));
    drawn.redraw();
  };
  draw(0);
  return [taskChoice(content, draw), key, drawn.node,
    flips.length ? element("ul", { class: "note" }, flips.map((text) => element("li", {}, text))) : null, ratesTable(content, arms, names)];
}

function chosenText(curve) {
  return curve.chosen === null ? "none could be trained" : `${number(curve.chosen)} chosen${curve.untuned ? `, not tuned: ${curve.untuned}` : ""}`;
}

/** The part of a curve inside its window, drawn broadly. */
function windowNode({ index, curve, xs, ys }, scales) {
  if (!curve.window.length) return null;
  const [low, high] = curve.window;
  const inner = [low, ...xs.filter((x) => x > low && x < high), high];
  const heights = inner.map((x) => logValueAt(xs, ys, x));
  return shape("path", { class: `window ${armClass(index)}`, d: linePath(inner, heights, scales) });
}

/** Linear in the logarithm between two points. */
function logValueAt(xs, ys, x) {
  const nearest = xs.findIndex((each) => Math.abs(each / x - 1) < 1e-4);
  return nearest >= 0 ? ys[nearest] : valueAt(xs.map(Math.log), ys, Math.log(x));
}

function chosenNode({ index, name, curve, xs, ys }, scales) {
  const place = xs.indexOf(curve.chosen);
  if (place < 0) return null;
  return shape("circle", { class: `chosen ${armClass(index)}`, cx: scales.x(curve.chosen), cy: scales.y(ys[place]), r: 8 },
    shape("title", {}, `${name}: ${chosenText(curve)}`));
}

function ratesTable(content, arms, names) {
  const columns = [
    { name: "Arm", cell: (curve) => element("span", { class: "arm" }, swatch(armIndex(content, arms, curve.arm)), element("span", { class: "name" }, curve.arm)), value: (curve) => curve.arm },
    { name: `Chosen ${names}`, cell: (curve) => number(curve.chosen), value: (curve) => curve.chosen, numeric: true },
    { name: "Window", cell: (curve) => (curve.window.length ? `${number(curve.window[0], 3)} to ${number(curve.window[1], 3)}` : DASH), value: (curve) => curve.window[0], numeric: true },
    { name: "Window in decades", cell: (curve) => (curve.decades === null ? DASH : `${curve.open_window ? "≥ " : ""}${curve.decades.toFixed(2)}`), value: (curve) => curve.decades, numeric: true },
    { name: "Points", cell: (curve) => String(curve.points), value: (curve) => curve.points, numeric: true },
    { name: "Runs", cell: (curve) => String(curve.trials), value: (curve) => curve.trials, numeric: true },
    { name: "Time", cell: (curve) => duration(curve.seconds), value: (curve) => curve.seconds, numeric: true },
    { name: "Status", cell: (curve) => element("span", { class: curve.untuned ? "verdict open" : "" }, element("span", {}, curve.untuned ? `not tuned: ${curve.untuned}` : "tuned")), value: (curve) => curve.untuned },
  ];
  return sortableTable("What the tuning of each arm found and took", columns, content.tuning.curves);
}

/** The index that gives an arm its colour: that of the table, or the place after it for an arm without a final run. */
function armIndex(content, arms, name) {
  const found = content.arms.findIndex((arm) => arm.name === name);
  return found >= 0 ? found : content.arms.length + arms.indexOf(name);
}

function bestSoFar(content, arms, trials) {
  const better = content.direction === "min" ? Math.min : Math.max;
  const lines = () => arms.map((name) => {
    const own = trials().filter((trial) => trial.arm === name && trial.status === "finished" && trial.value !== null);
    let best = null;
    const ys = own.map((trial) => { best = best === null ? trial.value : better(best, trial.value); return best; });
    return { index: armIndex(content, arms, name), name, xs: own.map((trial) => trial.place), ys, low: null, high: null, faint: [] };
  }).filter((each) => each.xs.length);
  const label = metricName(content.validated);
  const valued = () => trials().filter((trial) => trial.value !== null);
  return figure({
    title: "Best so far",
    file: "best_so_far",
    description: () => `The best ${label} after each trial. At the end: ${lines().map((each) => `${each.name} ${number(each.ys.at(-1))}`).join(", ")}.`,
    note: "Lines are the best finished trial so far; filled dots are finished trials, rings are pruned ones, at the value where they stopped.",
    legend: lines,
    data: () => ({ names: ["trial", "arm", "status", content.validated], rows: trials().map((trial) => [trial.number, trial.arm, trial.status, trial.value]) }),
    draw: (width, hints) => {
      const height = Math.max(260, Math.min(340, width * 0.4));
      const values = valued().map((trial) => trial.value);
      const log = values.every((value) => value > 0) && Math.max(...values) / Math.min(...values) > 20;
      const domain = range(values, log);
      if (!domain) return emptyPlot(width, "No trial has a value.");
      const x = { label: arms.length > 1 ? "trial of its arm" : "trial", domain: range(valued().map((trial) => trial.place), false, 0.02), whole: true, format: (value) => number(value) };
      const y = { label, domain, log, format: (value) => number(value, 3) };
      const scales = axesOf(width, height, x, y);
      return { height, nodes: [scales.nodes, lines().map((each) => shape("path", { class: `stairs ${armClass(each.index)}`, d: stairs(each, scales), "stroke-dasharray": armDashes(each.index) })),
        valued().map((trial) => shape("circle", { class: `trial ${trial.status === "finished" ? "done" : "pruned"} ${armClass(armIndex(content, arms, trial.arm))}`,
          cx: scales.x(trial.place), cy: scales.y(trial.value), r: 3.6 }, shape("title", {}, `trial ${trial.number}, ${trial.arm}: ${number(trial.value)}, ${trial.status}`))),
        crosshair(lines(), scales, x, y, hints)] };
    },
  });
}

function stairs(each, scales) {
  return each.xs.map((x, i) => (i === 0 ? `M${scales.x(x)} ${scales.y(each.ys[i])}` : `H${scales.x(x)}V${scales.y(each.ys[i])}`)).join("");
}

/** Colours from the worst trial to the best, --rank0 to --rank6 of the style sheet. */
const RANKS = 7;

/** One vertical axis per parameter and one for the value; one line per trial, coloured by its rank among the trials. */
function parallel(content, trials) {
  const { parameters } = content.tuning;
  const label = metricName(content.validated);
  return figure({
    title: "Parallel coordinates",
    file: "parallel_coordinates",
    description: `Every trial as a line across its parameters (${parameters.map((each) => each.name).join(", ")}) to its ${label}.`,
    note: [element("span", { class: "ramp" }, "worst", Array.from({ length: RANKS }, (_, rank) => element("i", { class: `rank${rank}` })), "best"),
      ` trial by its ${label}. Dashed lines are pruned trials.`],
    data: () => ({ names: ["trial", "arm", "status", ...parameters.map((each) => each.name), content.validated],
      rows: trials().map((trial) => [trial.number, trial.arm, trial.status, ...parameters.map((each) => trial.parameters[each.name]), trial.value]) }),
    draw: (width) => {
      const valued = trials().filter((trial) => trial.value !== null);
      if (!valued.length) return emptyPlot(width, "No trial has a value.");
      const [height, top, bottom, side] = [330, 46, 300, Math.min(70, width * 0.14)];
      const values = valued.map((trial) => trial.value);
      const wide = values.every((value) => value > 0) && Math.max(...values) / Math.min(...values) > 20;
      const axes = [...parameters.map((each) => parameterAxis(each, valued.map((trial) => trial.parameters[each.name]), [bottom, top])),
        { name: label, read: null, ...numberAxis(values, wide, [bottom, top]) }];
      const place = (index) => side + (index * (width - 2 * side)) / Math.max(1, axes.length - 1);
      const ordered = [...valued].sort((a, b) => (content.direction === "min" ? b.value - a.value : a.value - b.value));
      const path = (trial) => axes.map((axis, index) => {
        const value = axis.read === null ? trial.value : trial.parameters[axis.name];
        return value === undefined ? "" : `${place(index).toFixed(1)} ${axis.scale(value).toFixed(1)}`;
      }).filter(Boolean).join("L");
      return { height, nodes: [ordered.map((trial) => shape("path", { class: `trial-line rank${rankOf(trial, ordered)} ${trial.status === "finished" ? "" : "pruned"}`, d: `M${path(trial)}` }, shape("title", {}, `trial ${trial.number}, ${trial.arm}: ${number(trial.value)}`))),
      axes.map((axis, index) => axisNodes(axis, place(index), index, axes.length, top, bottom, (width - 2 * side) / Math.max(1, axes.length - 1)))] };
    },
  });
}

/** The colour of a trial among those in their order, the worst first; equal values have the same. */
function rankOf(trial, ordered) {
  const same = ordered.map(({ value }, place) => (value === trial.value ? place : null)).filter((place) => place !== null);
  return ordered.length > 1 ? Math.round(((same[0] + same.at(-1)) / 2 / (ordered.length - 1)) * (RANKS - 1)) : RANKS - 1;
}

function numberAxis(values, log, ends) {
  const scale = (log ? logScale : linearScale)(range(values, log, 0) ?? [0, 1], ends);
  const whole = values.every(Number.isInteger);
  return { scale, ticks: scale.ticks(5).filter((value) => !whole || Number.isInteger(Number(value.toFixed(6)))).map((value) => ({ at: scale(value), text: number(value, 3) })) };
}

function parameterAxis(parameter, values, ends) {
  if (parameter.scale !== "choice") return { name: parameter.name, ...numberAxis(values.filter(Number.isFinite), parameter.scale === "log", ends) };
  const place = linearScale([0, Math.max(1, parameter.choices.length - 1)], ends);
  const scale = (value) => place(parameter.choices.indexOf(String(value)));
  return { name: parameter.name, scale, ticks: parameter.choices.map((text) => ({ at: scale(text), text })) };
}

function axisNodes(axis, x, index, count, top, bottom, apart) {
  const anchor = index === 0 ? "start" : index === count - 1 ? "end" : "middle";
  const room = Math.max(6, Math.floor(apart / LETTER) - 1);
  const shown = axis.name.length <= room ? axis.name : `…${axis.name.slice(1 - room)}`;
  const edge = { start: -4, end: 4, middle: 0 }[anchor];
  return [shape("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }),
    shape("text", { class: "label", x: x + 8 * edge, y: index % 2 && apart < 110 ? 14 : 30, "text-anchor": anchor }, shown, shape("title", {}, axis.name)),
    axis.ticks.map(({ at, text }) => shape("text", { class: "tick halo", x: x + (index === count - 1 ? 6 : -6), y: at + 4,
      "text-anchor": index === count - 1 ? "start" : "end" }, text.length > 10 ? `${text.slice(0, 9)}…` : text))];
}

function importanceBars(content) {
  const found = content.tuning.importance;
  const share = (each) => `${each.share > 0.99 ? "> 99" : Math.round(100 * each.share)} %, from ${plural(each.trials, "trial")}`;
  return figure({
    title: "Importance of the parameters",
    file: "importance",
    description: `The share of the variance of the trials’ ranks that each parameter explains alone: ${found.map((each) => `${each.name} ${share(each)}`).join(", ")}.`,
    note: "The share of the variance of the finished trials’ ranks, within their arm, that each parameter explains alone: a parabola over a number’s ranks, or the means of a choice, adjusted for degrees of freedom. Interactions between parameters are not seen.",
    data: () => ({ names: ["parameter", "share of variance explained", "trials"], rows: found.map((each) => [each.name, each.share, each.trials]) }),
    draw: (width) => {
      const room = Math.min(width * 0.45, 20 + LETTER * Math.max(...found.map((each) => each.name.length)));
      const letters = Math.floor((room - 16) / LETTER);
      const x = linearScale([0, 1], [room, width - 130]);
      return { height: 24 + 30 * found.length, nodes: found.map((each, row) => {
        const y = 12 + 30 * row;
        const name = each.name.length <= letters ? each.name : `…${each.name.slice(1 - letters)}`;
        return [shape("text", { class: "tick", x: room - 8, y: y + 15, "text-anchor": "end" }, name),
          shape("rect", { class: "bar", x: room, y, width: Math.max(1, x(each.share) - room), height: 20, rx: 3 }),
          shape("text", { class: "tick", x: Math.max(room, x(each.share)) + 6, y: y + 15 }, share(each))];
      }) };
    },
  });
}

function trialsTable(content) {
  const columns = [
    { name: "Trial", cell: (trial) => String(trial.number), value: (trial) => trial.number },
    { name: "Arm", cell: (trial) => trial.arm, value: (trial) => trial.arm },
    { name: "Status", cell: (trial) => trial.status + (trial.reason ? `: ${trial.reason}` : ""), value: (trial) => trial.status },
    { name: capital(metricName(content.validated)), cell: (trial) => number(trial.value), value: (trial) => trial.value, numeric: true },
    ...content.tuning.parameters.map(({ name }) => ({ name, cell: (trial) => (typeof trial.parameters[name] === "number" ? number(trial.parameters[name]) : trial.parameters[name] ?? DASH),
      value: (trial) => trial.parameters[name], numeric: true })),
    { name: "Time", cell: (trial) => duration(trial.seconds), value: (trial) => trial.seconds, numeric: true },
  ];
  return sortableTable("All trials of the search", columns, content.tuning.trials);
}
