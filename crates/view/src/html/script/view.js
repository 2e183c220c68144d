// What the reader looks at: the window of time, the value, the layers. Everything that draws subscribes; a change is drawn once a frame.

const view = {
  from: 0,
  to: 1,
  value: "pace",
  layers: { density: true, bands: true, gaps: true, edges: true, findings: true },
  /** Whether the axis of the value follows what the window shows. */
  fit: false,
  /** The series that the ledger, the spectrum and the fold are of. */
  selected: 0,
  /** Seconds; null folds nothing. */
  period: null,
};

const drawers = [];
const frames = { asked: false, drawn: 0, ms: [] };

/** `drawer(changed)` is called with the set of keys that changed. */
function subscribe(drawer) {
  drawers.push(drawer);
}

let changed = new Set();

function change(patch) {
  for (const [key, value] of Object.entries(patch)) {
    view[key] = value;
    changed.add(key);
  }
  if (frames.asked) return;
  frames.asked = true;
  requestAnimationFrame(redraw);
}

function redraw() {
  const begun = performance.now();
  frames.asked = false;
  const keys = changed;
  changed = new Set();
  for (const drawer of drawers) drawer(keys);
  frames.drawn++;
  frames.ms.push(performance.now() - begun);
  if (frames.ms.length > 1000) frames.ms.shift();
}

/** The shortest window: four quanta of the finest series. */
function shortest() {
  return Math.min(model.whole[1], 4 * Math.min(1, ...model.series.map((series) => series.quantumS).filter(finite)));
}

/** Shows from `from` to `to`, held to the run and to four quanta. */
function look(from, to) {
  const [start, end] = model.whole;
  const span = Math.min(end - start, Math.max(to - from, shortest()));
  const left = Math.min(Math.max((from + to) / 2 - span / 2, start), end - span);
  change({ from: left, to: left + span });
}

/** Zooms by a factor about an instant, which stays where it is. */
function zoom(factor, about = (view.from + view.to) / 2) {
  const span = Math.min(model.whole[1] - model.whole[0], Math.max((view.to - view.from) * factor, shortest()));
  const share = (about - view.from) / (view.to - view.from);
  look(about - share * span, about + (1 - share) * span);
}

/** Moves by a share of the window. */
function pan(share) {
  const step = (view.to - view.from) * share;
  look(view.from + step, view.to + step);
}

const isWhole = () => view.to - view.from >= (model.whole[1] - model.whole[0]) * (1 - 1e-9);
