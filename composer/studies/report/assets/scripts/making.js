// How the results were made, and what was left out.

function makingSection(section, content) {
  const { making } = content;
  const entries = [
    ["This page", [command(content.command), paragraph(`Written by Sequence Composer ${content.version} on ${content.written}, from ${content.subject.sources.join(", ")}.`)]],
    ["Seeds", seedLines(making.seeds)],
    ["Budget", making.budgets.map(budgetLine)],
    ["Tuning", making.tuning.map(tuningLine)],
    ["Commands", [...making.commands.map(command), making.more_commands ? paragraph(`and ${plural(making.more_commands, "more command")}`) : null]],
    ["Code", making.commits.map(({ text, count }) => factLine(`git ${text}`, plural(count, "run")))],
    ["Versions and machine", [element("dl", { class: "facts" }, making.versions.map(({ name, values }) => element("div", {}, element("dt", {}, name),
      element("dd", {}, values.map(({ text, count }) => (values.length > 1 ? `${text} (${plural(count, "run")})` : text)).join(", ")))))]],
  ];
  for (const [title, parts] of entries) {
    if (parts.filter(Boolean).length) add(section, element("div", { class: "fact" }, element("h3", {}, title), element("div", {}, parts)));
  }
  add(section,
    disclosure("Data and settings that the runs share", () => element("div", {}, making.settings.map(settingNode))),
    ...making.sweeps.map(({ path, text }) => disclosure(`Sweep ${path}`, () => element("pre", {}, text))),
    disclosure(`All ${plural(making.runs.length, "run")}`, () => runsTable(content)));
  return true;
}

function command(text) {
  return element("pre", { class: "command" }, text);
}

function factLine(name, text) {
  return element("p", { class: "fact-line" }, element("span", {}, name), element("span", {}, text));
}

/** One line where all arms have the same seeds. */
function seedLines(seeds) {
  const texts = seeds.map((each) => seedText(each.seeds));
  if (texts.length > 1 && new Set(texts).size === 1) return [factLine("every arm", texts[0])];
  return seeds.map(({ arm }, index) => factLine(arm, texts[index]));
}

/** Seeds as a list, or as a range where there are many without a gap. */
function seedText(seeds) {
  const ordered = seeds.filter((seed) => seed !== null).sort((a, b) => a - b);
  const whole = ordered.length === seeds.length && ordered.every((seed, index) => seed === ordered[0] + index);
  return whole && ordered.length > 4 ? `${ordered[0]} to ${ordered.at(-1)}` : seeds.map((seed) => seed ?? "unknown").join(", ");
}

function budgetLine({ arm, kind, target, reached, residual }) {
  const off = residual === null ? "" : `, ${residual >= 0 ? "+" : "−"}${Math.abs(100 * residual).toFixed(2)} %`;
  return factLine(arm, `${kind.replaceAll("_", " ")}: target ${number(target, 6)}, reached ${number(reached, 6)}${off}`);
}

function tuningLine({ arm, trials, ended, seeds }) {
  return factLine(arm, `${plural(trials, "trial")} (${ended.map(({ text, count }) => `${count} ${text}`).join(", ")})${seeds.length ? `, ${seeds.length === 1 ? "seed" : "seeds"} ${seedText(seeds)}` : ""}`);
}

function settingNode({ name, forms }) {
  return element("div", {}, element("h4", {}, name), forms.map(({ text, count }) => [forms.length > 1 ? paragraph(plural(count, "run")) : null, element("pre", {}, text)]).flat());
}

function runsTable(content) {
  const columns = [
    { name: "Run", cell: (run) => run.name, value: (run) => run.name },
    { name: "Arm", cell: (run) => run.arm, value: (run) => run.arm },
    { name: "Seed", cell: (run) => (run.seed === null ? DASH : String(run.seed)), value: (run) => run.seed, numeric: true },
    { name: "Phase", cell: (run) => run.phase ?? DASH, value: (run) => run.phase },
    { name: "Status", cell: (run) => run.status + (run.reason ? `: ${run.reason}` : ""), value: (run) => run.status },
    ...(content.validated === content.judged ? [] : [{ name: capital(metricName(content.validated)), cell: (run) => number(run.validated),
      value: (run) => run.validated, numeric: true }]),
    { name: capital(metricName(content.judged)), cell: (run) => number(run.value), value: (run) => run.value, numeric: true },
    { name: "Best step", cell: (run) => (run.step === null ? DASH : number(run.step)), value: (run) => run.step, numeric: true },
    { name: "Time", cell: (run) => duration(run.seconds), value: (run) => run.seconds, numeric: true },
    { name: "Folder", cell: (run) => run.folder, value: (run) => run.folder },
  ];
  return sortableTable("All runs", columns, content.making.runs);
}

function skippedSection(section, content) {
  if (!content.skipped.length) return false;
  add(section, paragraph("These folders were among those named, but could not be compared."),
    plainTable("Skipped folders", ["Folder", "Reason"], content.skipped.map(({ path, reason }) => [path, reason])));
  return true;
}
