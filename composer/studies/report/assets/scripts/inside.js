// Figures of single runs, drawings of the graphs, and what differs in the configs.

const FIGURES = { gradient_by_step: "Gradient norm by time step" };
const KINDS = { attention: "Attention", embeddings: "Embeddings (PCA)", states: "Hidden states (PCA)" };

/** attention_1_decoder_layers_0_cross: "Attention: decoder layers 0 cross" */
function figureName(name) {
  const [, kind, node] = /^([a-z]+)_(?:1_)?(.*)$/.exec(name) ?? [];
  const known = FIGURES[name] ?? (KINDS[kind] && `${KINDS[kind]}: ${node.replaceAll("_", " ")}`);
  return known ?? capital(name.replaceAll("_", " "));
}

function insideSection(section, content) {
  const { pictures } = content;
  if (!pictures) return false;
  add(section, paragraph(`Figures of the best checkpoint of each arm’s first run. The figures on this page take ${scaled(pictures.limit, "B")} at most${pictures.left_out
    ? `; ${plural(pictures.left_out, "more is", "more are")} in the folders of the runs` : ""}.`));
  pictures.figures.forEach((each, index) => {
    const fold = disclosure(`${figureName(each.name)} (${each.pictures.map((picture) => picture.arm).join(", ")})`, () => element("div", { class: "pictures" },
      each.pictures.map((picture) => embeddedPicture(`${figureName(each.name)}: ${picture.arm}`, picture.source, `${each.name}_${picture.arm}.png`, "PNG", false))));
    fold.open = index === 0;
    add(section, fold);
  });
  return true;
}

/** A picture in the page, with a link that saves it. ``dark``: whether it has colours of its own for a dark page; else they are turned around. */
function embeddedPicture(title, source, file, kind, dark) {
  const picture = element("img", { src: source, alt: title, onload: () => { // one that is broad has a row of its own, where it can be read
    figure.classList.toggle("broad", picture.naturalWidth > 2 * picture.naturalHeight);
  } });
  const figure = element("figure", { class: `picture${dark ? "" : " light"}` },
    element("figcaption", {}, element("span", { class: "title" }, title), element("span", { class: "save" },
      element("a", { href: source, download: file.replace(/[^\w.-]+/g, "_"), "aria-label": `Save ${title} as ${kind}` }, kind))),
    framed(picture, title));
  return figure;
}

function differencesSection(section, content) {
  const { graphs, configs } = content;
  if (!graphs && !configs) return false;
  if (configs) add(section, configTable(configs, content));
  if (graphs) {
    add(section, element("h3", {}, "Graphs"), paragraph(`The graph of the first arm of the table, then each other arm beside it with the differences marked.${graphs.left_out
      ? ` ${plural(graphs.left_out, "more arm is", "more arms are")} not drawn.` : ""}`));
    graphs.drawings.forEach(({ arm, source, note, dark }, index) => {
      const title = index === 0 ? `${arm}, the first arm` : note ? arm : `${content.arms[0].name} → ${arm}`;
      add(section, disclosure(title, () => element("div", {}, note ? paragraph(note) : null, embeddedPicture(`Graph: ${title}`, source, `graph_${arm}.svg`, "SVG", dark))));
    });
  }
  return true;
}

function configTable(configs, content) {
  const { arms, rows, left_out: rest } = configs;
  if (!rows.length) return paragraph("The configs of the arms do not differ.");
  const cell = (value, best) => (value === best ? value : element("mark", { class: "changed" }, value));
  const lines = rows.map(({ key, values }) => [element("code", {}, key), ...values.map((value, index) => (index === 0 ? value : cell(value, values[0])))]);
  return element("div", {}, paragraph(`The keys of the configs in which the arms differ; values other than those of ${arms[0]} are marked.${rest > 0
    ? ` Only the first ${arms.length} arms are shown.` : ""}`), plainTable("Differences between the configs", ["key", ...arms], lines),
  element("span", { class: "save alone" }, saveButton("CSV", "the differences between the configs", () => saveCsv(["key", ...arms], rows.map(({ key, values }) => [key, ...values]), "configs"))));
}
