// Learning curves: the mean over the seeds of each arm, with a band from the lowest to the highest seed.

const AXES = [
  { value: "step", label: "steps", unit: "" },
  { value: "examples", label: "examples", unit: "" },
  { value: "tokens", label: "tokens", unit: "" },
  { value: "flops", label: "FLOPs", unit: "" },
  { value: "seconds", label: "seconds", unit: "" },
];

/** Without a choice, the axis is logarithmic where a loss or an error goes over more than a decade. */
const VERTICAL = ["automatic", "linear", "logarithmic"].map((value) => ({ value, label: value }));

/** Points of the grid that curves with different places are averaged on. */
const GRID = 240;

/** Arms that are drawn at first: more lines than this cannot be told apart. */
const SHOWN = 12;

function curvesSection(section, content) {
  const { arms } = content.curves;
  const runs = arms.flat();
  const names = (part) => [...new Set(runs.flatMap((run) => Object.keys(run[part].metrics)))];
  const axes = AXES.filter((axis) => runs.some((run) => axisColumn(run, "training", axis.value) || axisColumn(run, "validation", axis.value)));
  const [training, validation] = [names("training"), names("validation")];
  if (!axes.length || !(training.length || validation.length)) return false;
  const state = {
    axis: axes[0].value, logX: false, vertical: VERTICAL[0].value, seeds: false,
    metric: { validation: validation.includes(content.validated) ? content.validated : validation[0], training: training.includes("loss") ? "loss" : training[0] },
    shown: shownAtFirst(content),
  };
  const figures = [["validation", validation], ["training", training]].filter(([, found]) => found.length)
    .map(([part]) => curveFigure(content, state, part));
  const redraw = () => figures.forEach((each) => each.redraw());
  const set = (change) => (value) => {
    change(value);
    redraw();
  };
  const metricList = (part, found) => found.length < 2 ? null : select(capital(part), found.map((name) => ({
    value: name, label: metricName(name.replace(/^valid\//, "")) })), state.metric[part], set((value) => { state.metric[part] = value; }));
  add(section,
    paragraph(`Lines are means over seeds as far as every seed goes, bands go from the lowest seed to the highest. Curves of more than ${content.curves.points} points are drawn as means of ${content.curves.points} groups of consecutive points.`),
    element("div", { class: "controls" }, radios("Against", axes, state.axis, set((value) => { state.axis = value; })),
      metricList("validation", validation), metricList("training", training),
      checkbox("logarithmic x", false, set((value) => { state.logX = value; })),
      select("Vertical axis", VERTICAL, state.vertical, set((value) => { state.vertical = value; })),
      runs.length > arms.length ? checkbox("every seed", false, set((value) => { state.seeds = value; })) : null),
    armChoice(content, state.shown, redraw),
    element("div", { class: figures.length > 1 ? "pair" : "" }, figures.map((each) => each.node)));
  return true;
}

/** The legend, which also chooses the arms that are drawn. */
function armChoice(content, shown, redraw) {
  if (content.arms.length < 2) return null;
  const boxes = content.arms.map((arm, index) => checkbox("", shown.has(index), (checked) => {
    if (checked) shown.add(index);
    else shown.delete(index);
    redraw();
  }));
  boxes.forEach((box, index) => box.lastChild.append(swatch(index), content.arms[index].name));
  const several = content.tasks.length > 1;
  const hide = (task) => boxes.forEach((box, index) => { box.hidden = several && !ofTask(content, index, task); });
  const choose = (task) => {
    hide(task);
    boxes.filter((box) => box.firstChild.checked === box.hidden).forEach((box) => box.firstChild.click());
  };
  hide(0);
  return element("fieldset", { class: "legend" }, element("legend", {}, "Arms"), taskChoice(content, choose), boxes,
    !several && content.arms.length > SHOWN ? paragraph(`The best ${SHOWN} of ${content.arms.length} arms are drawn at first.`) : null);
}

function curveFigure(content, state, part) {
  const series = () => content.curves.arms.map((runs, index) => ({ runs, index })).filter(({ index }) => state.shown.has(index))
    .map(({ runs, index }) => armCurve(runs, index, content.arms[index].name, part, state)).filter(Boolean);
  const axis = () => AXES.find((each) => each.value === state.axis);
  const title = () => `${capital(part)}: ${metricName(state.metric[part].replace(/^valid\//, ""))}`;
  return figure({
    title,
    file: `curves_${part}`,
    description: () => `${title()} against ${axis().label}, one line per arm. At the end: ${series().map((each) => `${each.name} ${number(each.ys.at(-1))}`).join(", ")}.`,
    legend: series,
    data: () => ({
      names: ["arm", axis().label, `${state.metric[part]} mean`, "lowest seed", "highest seed"],
      rows: series().flatMap((each) => each.xs.map((x, i) => [each.name, x, each.ys[i], each.low?.[i] ?? each.ys[i], each.high?.[i] ?? each.ys[i]])),
    }),
    draw: (width, hints) => {
      const drawn = series();
      const log = state.vertical === "logarithmic" || (state.vertical === "automatic" && unbounded(content, state.metric[part])
        && overDecade(drawn.flatMap((each) => [...each.ys, ...(each.low ?? [])])));
      return lineChart(width, drawn, { label: axis().label, log: state.logX, whole: state.axis === "step" || state.axis === "examples", format: (value) => scaled(value) },
        { label: metricName(state.metric[part].replace(/^valid\//, "")), log, format: (value) => number(value, 3) }, hints);
    },
  });
}

/** Whether a metric of a model, of training or of validation, can be as large as one likes. */
function unbounded(content, metric) {
  const bare = metric.replace(/^valid\//, "");
  const known = content.possible[`valid/${bare}`] ?? content.possible[`test/${bare}`] ?? content.possible[bare];
  return known !== undefined && known[1] === null;
}

function axisColumn(run, part, axis) {
  if (axis !== "flops") return run[part].axes[axis] ?? null;
  const examples = run[part].axes.examples;
  return run.flops && examples ? examples.map((count) => count * run.flops) : null;
}

function armCurve(runs, index, name, part, state) {
  const metric = state.metric[part];
  const curves = runs.map((run) => ({ index, note: `, seed ${run.seed ?? "unknown"}`, xs: axisColumn(run, part, state.axis), ys: run[part].metrics[metric] }))
    .filter((each) => each.xs?.length && each.ys);
  if (!curves.length) return null;
  const apart = curves.some((each) => each.xs.join() !== curves[0].xs.join());
  return { index, name, ...meanCurve(curves), faint: state.seeds && curves.length > 1 ? curves : [], measured: apart ? curves : null };
}

/** The mean of some curves on a common grid, as far as all of them go, with the lowest and the highest. */
function meanCurve(curves) {
  if (curves.length === 1) return { xs: curves[0].xs, ys: curves[0].ys, low: null, high: null };
  const xs = commonGrid(curves.map((each) => each.xs));
  const rows = xs.map((x) => curves.map((each) => valueAt(each.xs, each.ys, x)));
  const whole = (row, reduce) => (row.some((value) => value === null) ? null : reduce(row));
  return {
    xs,
    ys: rows.map((row) => whole(row, (values) => values.reduce((a, b) => a + b) / values.length)),
    low: rows.map((row) => whole(row, (values) => Math.min(...values))),
    high: rows.map((row) => whole(row, (values) => Math.max(...values))),
  };
}

/** The places of the curves themselves if all have the same or few, else evenly spaced ones, where all curves are. */
function commonGrid(columns) {
  const start = Math.max(...columns.map((xs) => xs[0]));
  const end = Math.min(...columns.map((xs) => xs[xs.length - 1]));
  const all = [...new Set(columns.flat())].filter((x) => x >= start && x <= end).sort((a, b) => a - b);
  if (all.length <= Math.max(GRID, ...columns.map((xs) => xs.length))) return all;
  return Array.from({ length: GRID }, (_, i) => start + ((end - start) * i) / (GRID - 1));
}
