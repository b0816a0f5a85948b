// The arms' outputs for the same inputs, with the differences from the reference.

function outputsSection(section, content) {
  const { outputs } = content;
  if (!outputs) return false;
  const state = { task: 0, disagreements: false };
  const disagree = (example) => new Set(example.outputs.map((each) => JSON.stringify(each.pieces))).size > 1;
  const cards = outputs.examples.map((example) => ({ example, card: exampleCard(example, content) }));
  const show = () => cards.forEach(({ example, card }) => { card.hidden = example.task !== state.task || (state.disagreements && !disagree(example)); });
  const differing = cards.filter(({ example }) => disagree(example)).length;
  show();
  const marked = outputs.examples.some((example) => example.outputs.some((each) => each.right !== null));
  add(section,
    paragraph(`The best checkpoint of each arm’s first run on the same validation examples; those on which the arms disagree come first.${outputs.left_out
      ? ` ${plural(outputs.left_out, "more example is", "more examples are")} not shown.` : ""} Texts are cut at ${outputs.longest} characters.`),
    marked ? element("p", { class: "note key" }, element("span", {}, element("mark", { class: "wrong" }, "wrong"), " not in the reference"),
      element("span", {}, element("del", {}, "missing"), " in the reference, not in the output")) : null,
    element("div", { class: "controls" }, taskChoice(content, (task) => { state.task = task; show(); }),
      differing && differing < cards.length ? checkbox(`only the ${plural(differing, "disagreement")}`, false,
        (checked) => { state.disagreements = checked; show(); }) : null),
    element("div", { class: "examples" }, cards.map(({ card }) => card)));
  return true;
}

function exampleCard(example, content) {
  const given = Object.entries(example.inputs).map(([name, text]) => line(name, element("code", {}, text), "given"));
  const wanted = example.wanted === null ? null : line("reference", element("code", {}, example.wanted), "given");
  const outputs = example.outputs.map((each) => line(element("span", { class: "arm" }, swatch(content.arms.findIndex((arm) => arm.name === each.arm)), element("span", {}, breakable(each.arm))),
    [element("code", {}, each.pieces.map(piece)), verdictMark(each.right)], "output"));
  return element("article", { class: "example" }, example.head ? paragraph(`head ${example.head}`) : null,
    element("dl", {}, given, wanted, outputs));
}

function line(name, value, kind) {
  return element("div", { class: kind }, element("dt", {}, name), element("dd", {}, value));
}

function piece([kind, text]) {
  if (kind === "wrong") return element("mark", { class: "wrong" }, text);
  return kind === "missing" ? element("del", {}, text) : text;
}

function verdictMark(right) {
  if (right === null) return null;
  return element("span", { class: right ? "right" : "wrong-mark", role: "img", "aria-label": right ? "right" : "wrong" }, right ? "✓" : "✗");
}
