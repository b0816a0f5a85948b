// The table of arms: the first thing a reader sees.

function armsSection(section, content) {
  const { arms, judged, costs } = content;
  if (!arms.length) return add(section, paragraph("No finished run to compare."), warningsOf(content));
  const mean = (arm) => arm.quality[judged]?.mean;
  const domain = range(arms.map((arm) => arm.quality[judged]).filter(Boolean).flatMap((found) => [...found.values, found.mean,
    ...(bounds(content, judged, found) ?? [])]), false);
  const clear = arms.every((arm) => arm.verdict === null || arm.verdict.distinguishable);
  const sameSeeds = new Set(arms.map((arm) => arm.seeds.length)).size === 1;
  const columns = [
    { name: "Arm", cell: (arm) => armName(arm, content), value: (arm) => arm.name },
    { name: capital(metricName(judged)), cell: (arm) => qualityCell(arm, content), value: mean, numeric: true },
    { name: "95 % interval and seeds", cell: (arm) => strip(arm, content, domain) },
    { name: `Against the ${clear ? "best" : content.direction === "min" ? "lowest" : "highest"}`, cell: verdictCell, value: (arm) => (arm.verdict ? arm.verdict.difference?.mean : 0) },
    ...costs.map((cost) => ({
      name: capital(cost.label),
      cell: (arm) => briefly(arm.costs[cost.key]?.mean, cost.unit),
      value: (arm) => arm.costs[cost.key]?.mean,
      numeric: true,
    })),
    ...(sameSeeds ? [] : [{ name: "Seeds", cell: (arm) => String(arm.seeds.length), value: (arm) => arm.seeds.length, numeric: true }]),
  ];
  const caption = `Arms${content.tasks.length > 1 ? " by task" : ""}, best ${metricName(judged)} first`;
  add(section, sortableTable(caption, columns, arms, "arms"), warningsOf(content), element("div", { class: "below" },
    element("div", { class: "notes" }, readingOf(content).map((text) => paragraph(text))),
    element("span", { class: "save" }, saveButton("CSV", "the table of arms", () => saveArms(content)))),
  content.metrics.length > 1 ? disclosure("All metrics of the best checkpoints", () => metricsTable(content)) : null);
}

/** The judged metric, and below it the same on the validation split. */
function qualityCell(arm, content) {
  const { judged, validated } = content;
  return element("span", { class: "quality" }, quality(arm, judged),
    validated !== judged && arm.shown[validated] ? element("small", {}, `valid ${quality(arm, validated)}`) : null);
}

/** A cost without the unit that the header already names. */
function briefly(value, unit) {
  return unit === "s" || unit === "B" ? quantity(value, unit) : scaled(value);
}

function armName(arm, content) {
  const index = content.arms.indexOf(arm);
  const task = content.tasks[arm.task];
  return element("span", { class: "arm" }, swatch(index), element("span", { class: "name" }, breakable(arm.name), task ? element("small", {}, task) : null),
    arm.ahead ? element("span", { class: `badge${arm.ahead === "best" ? "" : " quiet"}` }, arm.ahead) : null);
}

/** The interval as a line and each seed as a dot, on one scale for all arms. */
function strip(arm, content, domain) {
  const found = arm.quality[content.judged];
  const width = 108;
  const svg = shape("svg", { class: `strip ${armClass(content.arms.indexOf(arm))}`, width, height: 24, role: "img" },
    shape("title", {}, `${arm.name}: ${quality(arm, content.judged)}; seeds: ${found ? found.values.map((value) => number(value)).join(", ") : "none"}`));
  if (!found || !domain) return svg;
  const x = linearScale(domain, [6, width - 6]);
  const best = bestOf(content, arm).quality[content.judged];
  if (best) svg.append(shape("line", { class: "guide", x1: x(best.mean), x2: x(best.mean), y1: 0, y2: 24 }));
  if (found.half !== null) {
    const [low, high] = bounds(content, content.judged, found).map(x);
    svg.append(shape("path", { class: "whisker", d: `M${low} 12H${high}M${low} 8v8M${high} 8v8` }));
  }
  svg.append(...found.values.filter((value) => value !== null).map((value) => shape("circle", { class: "seed", cx: x(value), cy: 12, r: 3.2 })));
  svg.append(shape("line", { class: "mean", x1: x(found.mean), x2: x(found.mean), y1: 5, y2: 19 }));
  return svg;
}

function verdictCell(arm) {
  const { verdict } = arm;
  if (!verdict && arm.untuned) return element("span", { class: "verdict open" }, element("span", {}, `not tuned: ${arm.untuned}`));
  if (!verdict) return element("span", { class: "soft" }, DASH);
  const name = { true: "worse", false: "alike", null: "open" }[String(verdict.distinguishable)];
  const figures = [verdict.difference ? signed(verdict.difference) : null, verdict.p === null ? null : pValue(verdict.p)].filter(Boolean).join(", ");
  const [low, high] = verdict.over_examples ?? [];
  return element("span", { class: `verdict ${name}` }, element("span", {}, verdict.words), element("small", {}, figures),
    verdict.over_examples ? element("small", {}, `over examples ${ends(low, high)}`) : null);
}

/** How to read the table, in sentences. */
function readingOf(content) {
  const several = content.arms.some((arm) => arm.seeds.length > 1);
  const counted = content.costs.some((cost) => cost.key === "training_flops");
  const over = content.arms.some((arm) => arm.verdict?.over_examples);
  return [
    over ? "Below a verdict: the difference from the best with its interval over seeds (would it be there if the models were trained again?), "
      + "and the interval over examples (would it be there on another test set?), a bootstrap of the test examples, the same ones for both arms." : null,
    several ? content.methods : "With one seed no interval can be given: differences may be due to chance.",
    counted ? "FLOPs count the matrix products of the forward pass, at the lengths of the training data; training counts "
      + `${content.curves.training_flops} times as many, for the forward and the backward pass.` : null,
  ].filter(Boolean);
}

function warningsOf(content) {
  const { warnings, skipped } = content;
  const items = warnings.map((text) => element("li", {}, text));
  if (skipped.length) {
    items.push(element("li", {}, element("a", { href: "#skipped" }, `${plural(skipped.length, "folder was", "folders were")} skipped`), "."));
  }
  return items.length ? element("aside", { class: "warnings", "aria-label": "Warnings" }, element("strong", {}, "Before you conclude"),
    element("ul", {}, items)) : null;
}

function metricsTable(content) {
  const columns = [
    { name: "Arm", cell: (arm) => armName(arm, content), value: (arm) => arm.name },
    ...content.metrics.map((name) => ({
      name: capital(metricName(name)),
      cell: (arm) => quality(arm, name),
      value: (arm) => arm.quality[name]?.mean,
      numeric: true,
    })),
  ];
  return sortableTable("All metrics of the best checkpoints, mean over seeds with 95 % interval", columns, content.arms);
}

function saveArms(content) {
  const names = ["task", "arm", "seeds"];
  for (const name of content.metrics) names.push(name, `${name} half interval`);
  names.push("verdict", "difference", "difference half interval", "low over examples", "high over examples", "p");
  for (const cost of content.costs) names.push(cost.unit ? `${cost.label} (${cost.unit})` : cost.label);
  const rows = content.arms.map((arm) => [content.tasks[arm.task], arm.name, arm.seeds.length,
    ...content.metrics.flatMap((name) => [arm.quality[name]?.mean, arm.quality[name]?.half]),
    arm.verdict?.words ?? arm.ahead, arm.verdict?.difference?.mean, arm.verdict?.difference?.half, arm.verdict?.over_examples?.[0],
    arm.verdict?.over_examples?.[1], arm.verdict?.p,
    ...content.costs.map((cost) => arm.costs[cost.key]?.mean)]);
  saveCsv(names, rows, "arms");
}
