// Numbers and names as text.

const DASH = "—";

/** A number with some significant digits, without an exponent where people would not write one. */
function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  if (Number.isInteger(value) && size >= 1000) return value.toLocaleString("en");
  const places = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(places, 8) });
}

/** Prefixes of a thousand; bytes are counted in powers of 1024. */
function scaled(value, unit = "", digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  const base = unit === "B" ? 1024 : 1000;
  const prefixes = unit === "B" ? ["", "Ki", "Mi", "Gi", "Ti"] : ["", "k", "M", "G", "T", "P", "E", "Z"];
  let power = 0;
  let rest = Math.abs(value);
  while (rest >= base * 0.9995 && power < prefixes.length - 1) {
    rest /= base;
    power += 1;
  }
  const shown = rest >= 100 ? Math.round(rest).toString() : Number(rest.toPrecision(digits)).toString();
  const suffix = `${prefixes[power]}${unit}`;
  return `${value < 0 ? "−" : ""}${shown}${suffix ? ` ${suffix}` : ""}`;
}

/** Seconds as people say them. */
function duration(seconds) {
  if (seconds === null || seconds === undefined) return DASH;
  if (seconds < 100) return `${Number(seconds.toPrecision(3))} s`;
  if (seconds < 6000) return `${Number((seconds / 60).toPrecision(3))} min`;
  return `${Number((seconds / 3600).toPrecision(3))} h`;
}

/** A quantity of a cost, in its unit. */
function quantity(value, unit) {
  return unit === "s" ? duration(value) : scaled(value, unit);
}

/** The decimal places that show two digits of a typical half of an interval; null if there is none. */
function commonPlaces(estimates) {
  const halves = estimates.filter((estimate) => estimate?.half > 0).map((estimate) => estimate.half).sort((a, b) => a - b);
  return halves.length ? 1 - Math.floor(Math.log10(halves[Math.floor(halves.length / 2)])) : null;
}

/** A mean with the half of its interval, both to the same decimal place. */
function interval(estimate, places = commonPlaces([estimate])) {
  if (!estimate) return DASH;
  if (estimate.half === null) return number(estimate.mean);
  if (places === null) return `${number(estimate.mean)} ± 0`;
  if (places < 0 || places > 6) return `${number(estimate.mean)} ± ${number(estimate.half, 2)}`;
  return `${fixed(estimate.mean, places)} ± ${fixed(estimate.half, places)}`;
}

function fixed(value, places) {
  return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** The ends of an interval, to two digits of half its width, and to more where an end would look like 0. */
function ends(low, high) {
  let places = Math.max(0, Math.min(6, high > low ? 1 - Math.floor(Math.log10((high - low) / 2)) : 4));
  while (places < 6 && [low, high].some((end) => end !== 0 && Number(end.toFixed(places)) === 0)) places += 1;
  return [low, high].map((end) => fixed(end, places).replace(/^-/, "−")).join(" to ");
}

/** A p-value, in as many digits as show on which side of 0.05 it is. */
function pValue(p) {
  if (p < 0.001) return "p < 0.001";
  const digits = [2, 3, 4].find((some) => (Number(p.toPrecision(some)) < 0.05) === (p < 0.05)) ?? 5;
  return `p = ${number(p, digits)}`;
}

/** A metric of an arm as the terminal and the sentences write it. */
function quality(arm, metric) {
  return arm.shown[metric]?.replaceAll("-", "−") ?? DASH;
}

/** The ends of an interval, cut to the possible values of its metric unless a seed itself is beyond them; null without an interval. */
function bounds(content, metric, estimate) {
  if (!estimate || estimate.half === null) return null;
  const [low, high] = content.possible[metric] ?? [null, null];
  const inside = [...estimate.values, estimate.mean].every((value) => value >= (low ?? -Infinity) && value <= (high ?? Infinity));
  const found = [estimate.mean - estimate.half, estimate.mean + estimate.half];
  return inside ? [Math.max(found[0], low ?? -Infinity), Math.min(found[1], high ?? Infinity)] : found;
}

/** A difference with its sign. */
function signed(estimate) {
  return estimate && estimate.mean > 0 ? `+${interval(estimate)}` : interval(estimate).replace(/^-/, "−");
}

/** A metric's name for people: "valid/exact" is "validation exact", "test/exact" is "test exact". */
function metricName(name) {
  return name.replace(/^valid\//, "validation ").replace(/^test\//, "test ").replaceAll("_", " ");
}

function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** A name that fits beside a point. */
function shortName(name) {
  return name.length <= 28 ? name : `${name.slice(0, 27)}…`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
