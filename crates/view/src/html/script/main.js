// Puts the page together: the verdict at once, the pictures as soon as the columns are unpacked.

import { applyTheme, rampStyle, theme } from "./colours.js";
import { finite } from "./numbers.js";
import { byId, element, visible } from "./words.js";
import { load, model, summary } from "./model.js";
import { changesSection } from "./changes.js";
import { measuredSection, warningsLine, warningsSection } from "./measured.js";
import { truthSection } from "./truth.js";
import { change, changed, frames, look, pan, redraw, subscribe, view, zoom } from "./view.js";
import { placeOf } from "./places.js";
import { hover } from "./hover.js";
import { tip } from "./tip.js";
import { causesSection } from "./causes.js";
import { foldSection } from "./fold.js";
import { Panel } from "./panel.js";
import { controls, overview, steer } from "./controls.js";
import { themeSwitch } from "./themes.js";
import { spectrumSection } from "./spectrum.js";
import { ledgerSection } from "./ledger.js";
import { findingsSection, remediesSection } from "./findings.js";
import { keepsMoments, momentsSection } from "./moments.js";

/** Panels at full height; more series have lower ones. */
const HEIGHTS = [0, 250, 190, 150, 130];

function seriesSection() {
  const n = model.series.length;
  const panels = model.series.map((series) => new Panel(series, HEIGHTS[n] ?? 100));
  for (const panel of panels) {
    steer(panel);
    hover(panel);
  }
  // Panels out of sight are drawn when they come into it; in print all are in sight.
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const panel = panels.find((one) => one.root === target);
      if (!panel) continue;
      const news = isIntersecting && !panel.shown;
      panel.shown = isIntersecting;
      if (news) panel.draw();
    }
  }, { rootMargin: "300px" });
  if (n > 4) panels.forEach((panel) => watch.observe(panel.root));
  const legend = element("span", { class: "ramp", "aria-hidden": "true" });
  subscribe(() => {
    legend.style.background = rampStyle();
    for (const panel of panels) panel.draw();
  });
  addEventListener("beforeprint", () => panels.forEach((panel) => { panel.shown = true; }));
  return element("section", { id: "series" }, element("h2", {}, "Pace over time"),
    controls(), overview(),
    element("p", { class: "note", id: "keys" }, "Zoom: wheel, ", element("kbd", {}, "+"), " ", element("kbd", {}, "−"), ", or Shift and drag · Move: drag, ", element("kbd", {}, "←"), " ", element("kbd", {}, "→"), " · Whole run: ", element("kbd", {}, "0"), " · Next or previous gap: ", element("kbd", {}, "n"), " ", element("kbd", {}, "p"), " · Colour: one quantum ", legend, " the fullest cell"),
    element("p", { class: "note", id: "said", role: "status", "aria-live": "polite" }),
    panels.map((panel) => panel.root));
}

async function start() {
  applyTheme("system");
  await load();
  const { report } = model;
  byId("top").append(themeSwitch(() => change({ theme: theme.name }), redraw));
  byId("inputs").textContent = visible(report.inputs.join(", "));
  byId("verdict").textContent = visible(report.verdict || "No series was measured, so there is nothing to report.");
  look(...model.whole);
  // Of many series the one that lost most is shown at length.
  const lost = report.series.map(({ ledger }) => 1 - ledger.work_ns / ledger.wall_ns);
  if (lost.length > 3) view.selected = lost.indexOf(Math.max(...lost.filter(finite)));
  if (view.selected < 0) view.selected = 0;
  const body = byId("body");
  body.replaceChildren(warningsLine(), changesSection());
  if (model.series.length && keepsMoments()) {
    // What recurs cannot be told from moments that were chosen.
    body.append(momentsSection(), remediesSection(), seriesSection(), ledgerSection(), causesSection());
  } else if (model.series.length) {
    body.append(ledgerSection(), truthSection(), seriesSection(), causesSection(), findingsSection(), remediesSection(), spectrumSection(), foldSection());
  }
  body.append(warningsSection(), measuredSection());
  document.body.append(tip);
  const first = report.findings.map(placeOf).find((place) => place && place.period);
  const signal = report.series[0]?.signals[0];
  if (first) change({ period: first.period });
  else if (signal) change({ period: 1 / signal.frequency_hz });
  // All of it, in the frame that was asked for.
  changed.clear();
  await new Promise(requestAnimationFrame);
  addEventListener("resize", () => change({ size: innerWidth }));
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

// For tests, and for whoever opens the console.
window.bandscope = { model, view, frames, look, zoom, pan, change, summary };

start().catch((error) => {
  byId("verdict").textContent = `The page cannot be drawn: ${error.message}`;
  throw error;
});
