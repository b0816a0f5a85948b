// The page: its head, its sections, and the links to them.

const content = JSON.parse(document.getElementById("content").textContent);
const sections = {
  curves: curvesSection, costs: costsSection, ladder: ladderSection, by_length: byLengthSection, lengths: lengthsSection, tuning: tuningSection, outputs: outputsSection,
  inside: insideSection, differences: differencesSection, making: makingSection, skipped: skippedSection,
};

function headOfPage() {
  const { arms, subject, direction, judged } = content;
  const seeds = [...new Set(arms.map((arm) => arm.seeds.length))].sort((a, b) => a - b);
  const counted = [plural(arms.length, "arm"), seeds.length ? `${seeds.length > 1 ? `${seeds[0]} to ${seeds.at(-1)} seeds` : plural(seeds[0], "seed")} each` : null,
    content.tuning ? plural(content.tuning.trials.length, "tuning trial") : null].filter(Boolean);
  document.getElementById("subject").textContent = `Comparison on ${subject.data.join(", ") || "no data"}`;
  const sentence = document.getElementById("sentence");
  sentence.textContent = content.sentence;
  sentence.classList.toggle("long", content.sentence.length > 180);
  const answers = document.getElementById("answers");
  if (content.answers.length) add(answers, content.answers.map((text) => element("li", {}, text)));
  else answers.remove();
  document.getElementById("judged").textContent = `${counted.join(", ")}. Judged by ${metricName(judged)}, ${direction === "min" ? "lower" : "higher"} is better.`;
  document.getElementById("footer").textContent = `Sequence Composer ${content.version}, ${content.written}. This file needs no network.`;
}

headOfPage();
armsSection(document.getElementById("arms"), content);
for (const [name, fill] of Object.entries(sections)) {
  const section = document.getElementById(name);
  if (fill(section, content) === false) section.remove();
  else document.getElementById("contents").append(element("a", { href: `#${name}` }, section.querySelector("h2").textContent));
}
