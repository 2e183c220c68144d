// Findings as cards: what was recognised, how sure, on what evidence, where it is to be seen, and the step that would decide it.

const CERTAINTIES = { certain: "the data decide it", likely: "the best explanation of what was measured", possible: "it fits, and so would something else" };
/** Cards that are shown at once. */
const CARDS = 24;
/** Cards that there are at all: each has a picture. */
const MOST_CARDS = 200;

/** Where a finding is best seen: a stretch of time, a period to fold by, or both. Null where neither is known. */
function placeOf(finding) {
  const { evidence: e } = finding;
  const series = model.series[finding.series[0]];
  if (!series) return null;
  const [start, end] = model.whole;
  const around = (at, s) => ({ at, from: Math.max(start, at - s), to: Math.min(end, at + s) });
  const hz = e.frequency_hz;
  const period = e.period_s ?? e.grid_s ?? (hz > 0 ? 1 / hz : e.period_quanta > 0 ? e.period_quanta * series.quantumS : null);
  const edges = series.edges.at;
  switch (finding.kind) {
    case "warm-up":
      return { at: start, from: start, to: Math.min(end, start + 2 * (e.measured_s ?? e.duration_s ?? end)) };
    case "migration":
      return finite(e.first_s) ? around(e.first_s, 50 * series.quantumS) : null;
    case "time-away":
    case "stolen-time":
    case "synchronous-gaps": {
      const cause = e.cause ?? (finding.kind === "stolen-time" ? "host" : String(e.causes ?? "").split(",")[0].trim());
      const longest = longestGap(series, cause);
      return longest < 0 ? null : { ...around(series.marks.at[longest], Math.max(20 * series.quantumS, series.marks.ns[longest] / 1e8)), period };
    }
    case "moving-edges":
    case "bistable-pace":
    case "edge-pairs":
    case "sub-loop-mixture":
    case "frequency-steps":
    case "alternating-bands":
      if (edges.length > 1) {
        const middle = Math.floor(edges.length / 2);
        // As long as eight stays are, where they are all of a length.
        const stays = Math.min(edges.length - 1, 8);
        const first = Math.min(edges.length - 1 - stays, Math.max(0, middle - Math.floor(stays / 2)));
        const span = Math.max(edges[first + stays] - edges[first], 20 * series.quantumS);
        return { ...around((edges[first] + edges[first + stays]) / 2, span * 0.6), period };
      }
      return { at: null, from: start, to: Math.min(end, start + 64 * series.quantumS), period };
    default:
      if (period) return { ...around(middleOf(series), Math.max(6 * period, 20 * series.quantumS)), period };
      if (series.marks.length) {
        const longest = longestGap(series, null);
        return around(series.marks.at[longest], 40 * series.quantumS);
      }
      return { at: null, from: start, to: end };
  }
}

/** The middle of the longest stretch of a series. */
function middleOf(series) {
  const longest = series.stretches.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a), series.stretches[0] ?? model.whole);
  return (longest[0] + longest[1]) / 2;
}

/** The longest gap of a cause, or of all; -1 where there is none. */
function longestGap(series, cause) {
  const { marks } = series;
  const index = cause ? marks.names.indexOf(cause) : -1;
  let found = -1;
  for (let k = 0; k < marks.length; k++) {
    if (index >= 0 && marks.cause[k] !== index) continue;
    if (found < 0 || marks.ns[k] > marks.ns[found]) found = k;
  }
  return found;
}

/** Findings with their places, worked out once. */
function places() {
  return (model.places ??= model.report.findings.slice(0, MOST_CARDS).map((finding, number) => ({ finding, number: number + 1, place: placeOf(finding) })));
}

/** A flag for each finding that has an instant. */
function paintPlaces(context, series, frame) {
  let last = -Infinity;
  const here = places().filter(({ finding, place }) => place && finite(place.at) && place.at >= view.from && place.at <= view.to && finding.series.includes(series.index));
  for (const { number, place } of here.sort((a, b) => a.place.at - b.place.at)) {
    const x = frame.x + ((place.at - view.from) / (view.to - view.from)) * frame.width;
    context.fillStyle = theme.ink.ink;
    context.beginPath();
    context.moveTo(x - 5, frame.y);
    context.lineTo(x + 5, frame.y);
    context.lineTo(x, frame.y + 8);
    context.fill();
    if (x - last > 18) context.fillText(String(number), x + 6, frame.y + 10);
    last = x;
  }
}

function placeNear(series, seconds, within, y) {
  if (y > 14) return null;
  return places().find(({ finding, place }) => place && finite(place.at) && Math.abs(place.at - seconds) < within && finding.series.includes(series.index)) ?? null;
}

function spellEvidence(value) {
  if (Array.isArray(value)) return value.map(spellEvidence).join(", ");
  if (typeof value !== "number") return visible(value ?? NONE);
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? whole(value) : String(Number(value.toPrecision(9)));
}

function card({ finding, number, place }) {
  const rows = Object.entries(finding.evidence).map(([key, value]) => [key.replaceAll("_", " "), spellEvidence(value)]);
  const labels = finding.series.map((index) => model.series[index]?.label).filter(Boolean);
  const series = model.series[finding.series[0]];
  const jump = () => {
    // Edges that creep through the quanta are straight in the count, which is their share of the quantum.
    const value = finding.kind === "moving-edges" ? "count" : view.value;
    change({ selected: finding.series[0] ?? 0, value, ...(place.period ? { period: place.period } : {}) });
    show(place.from, place.to);
  };
  const sheet = place ? new Sheet(72, `The place of finding ${number}`) : null;
  const made = element("article", { class: `card ${finding.certainty}` },
    element("header", {}, element("span", { class: "number" }, String(number)), element("span", { class: "certainty", title: CERTAINTIES[finding.certainty] }, finding.certainty), element("span", { class: "note" }, ` ${finding.kind}${labels.length < model.series.length ? ` · ${labels.join("; ")}` : ""}`)),
    element("p", { class: "summary" }, finding.summary),
    sheet ? sheet.canvas : null,
    finding.next_step ? element("p", { class: "next" }, "To decide it: ", element("code", {}, finding.next_step), copyButton(finding.next_step)) : null,
    element("div", { class: "group" }, place ? element("button", { type: "button", class: "show", onclick: jump }, "show me") : null,
      place && place.period ? element("button", { type: "button", class: "show", onclick: () => { change({ selected: finding.series[0], ...(finding.kind === "moving-edges" ? { value: "count" } : {}) }); look(...model.whole); foldAt(place.period); } }, "fold") : null),
    element("details", {}, element("summary", {}, "Evidence"), table(null, ["", ""], rows)));
  if (sheet) thumbnails.push(() => drawPlace(sheet, series, place));
  return made;
}

const thumbnails = [];

/** The place in little, with the axis that fits it. */
function drawPlace(sheet, series, place) {
  const context = sheet.begin();
  const frame = { x: 0, y: 0, width: sheet.width, height: sheet.height };
  const axis = axisOf([series], "pace", place.from, place.to);
  if (axis && sheet.width > 1) paintSeries(context, series, axis, "pace", place.from, place.to, frame);
  const { marks } = series;
  const end = lowerBound(marks.at, place.to);
  for (let k = lowerBound(marks.at, place.from); k < end; k++) {
    context.fillStyle = causeColour(marks.names[marks.cause[k]]);
    const x = ((marks.at[k] - place.from) / (place.to - place.from)) * frame.width;
    context.fillRect(x, frame.height - 9, Math.max(1.5, (marks.ns[k] / 1e9 / (place.to - place.from)) * frame.width), 9);
  }
  outline(context, frame);
}

/** Copies a command, where the browser lets a page from disk do so. */
function copyButton(text) {
  if (!navigator.clipboard) return null;
  return element("button", { type: "button", class: "copy", onclick: (event) => {
    const button = event.currentTarget;
    navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; }, () => { button.textContent = "select it by hand"; });
  } }, "copy");
}

function findingsSection() {
  const all = places();
  const cards = element("div", { class: "cards" });
  const more = element("button", { type: "button", hidden: true, onclick: () => fill(MOST_CARDS) });
  const rest = element("p", { class: "note", hidden: true }, `The ${MOST_CARDS} most consequential of ${whole(model.report.findings.length)}; the report as JSON has all of them.`);
  const fill = (most) => {
    cards.append(...all.slice(cards.childElementCount, most).map(card));
    more.hidden = all.length <= cards.childElementCount;
    more.textContent = `show more of ${whole(model.report.findings.length)}`;
    rest.hidden = !more.hidden || model.report.findings.length <= MOST_CARDS;
    change({ findings: cards.childElementCount });
  };
  fill(CARDS);
  subscribe((keys) => {
    if (!keys.size || ["theme", "size", "findings"].some((key) => keys.has(key))) for (const draw of thumbnails) draw();
  });
  return element("section", { id: "findings" }, element("h2", {}, "Findings"),
    all.length ? cards : element("p", {}, "No phenomenon was recognised. What would have shown stands under “What is periodic”."), more, rest);
}
