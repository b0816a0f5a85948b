// Scales: from values to places on a line, with round values to mark.

function linearScale([low, high], [start, end]) {
  const span = high - low || 1;
  const place = (value) => start + ((value - low) / span) * (end - start);
  place.ticks = (count) => linearTicks(low, high, count);
  place.invert = (at) => low + ((at - start) / (end - start)) * span;
  place.log = false;
  return place;
}

function logScale([low, high], [start, end]) {
  const from = Math.log10(low);
  const span = Math.log10(high) - from || 1;
  const place = (value) => start + ((Math.log10(value) - from) / span) * (end - start);
  place.ticks = (count) => logTicks(low, high, count);
  place.invert = (at) => 10 ** (from + ((at - start) / (end - start)) * span);
  place.log = true;
  return place;
}

/** Round numbers, 1, 2 or 5 times a power of ten apart. */
function linearTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999) || raw;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(i * step + 0); // + 0 makes 0 of -0
  return found;
}

/** Powers of ten; within few of them also 2 and 5 times a power; within less than one, round numbers. */
function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.9) return linearTicks(low, high, count).filter((value) => value > 0);
  const factors = decades < 2.5 ? [1, 2, 5] : [1];
  const skip = Math.max(1, Math.ceil(decades / Math.max(2, count)));
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += skip) {
    for (const factor of factors) {
      const value = factor * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

/** Whether values are all above 0 and go over more than a decade, so that on a linear axis most would look like 0. */
function overDecade(values) {
  const there = values.filter(Number.isFinite);
  const low = there.reduce((a, b) => Math.min(a, b), Infinity);
  return low > 0 && there.reduce((a, b) => Math.max(a, b), 0) / low > 10;
}

/** The range of some values, a little wider; null if there are none. */
function range(values, log, margin = 0.04) {
  const there = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!there.length) return null;
  let low = there.reduce((a, b) => Math.min(a, b));
  let high = there.reduce((a, b) => Math.max(a, b));
  if (low === high) {
    const around = log ? low * 0.5 : Math.abs(low) * 0.1 || 1;
    [low, high] = [low - around, high + around];
  }
  if (log) {
    const wider = (high / low) ** margin;
    return [low / wider, high * wider];
  }
  const wider = (high - low) * margin;
  return [low >= 0 && low - wider < 0 ? 0 : low - wider, high + wider];
}
