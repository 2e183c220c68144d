// Gaps by cause over time: a lane for each cause, darker where it took more of the time.

import { theme } from "./colours.js";
import { instant } from "./numbers.js";
import { causeName, element, visible } from "./words.js";
import { causeColour, lowerBound, model } from "./model.js";
import { CELL } from "./raster.js";
import { subscribe, view } from "./view.js";
import { hideTip, showTip } from "./tip.js";
import { timeAxis } from "./axes.js";
import { AXIS, clip, drawLabel, outline, Sheet } from "./sheet.js";

const LANE = 16;
const LANES = 10;

export function causesSection() {
  const sheet = new Sheet(LANE * LANES + AXIS + 6, "Gaps by cause over time; the numbers are below each series");
  const heading = element("h2", {}, "Gaps by cause over time");
  const root = element("section", { id: "causes" }, heading, sheet.canvas, element("p", { class: "note" }, "One lane for each cause, the costliest first; all series together. Darker: a larger share of the time, on a logarithmic scale."));
  const known = model.series.some((series) => series.marks.length);
  root.hidden = !known;
  /** @type {string[]} */
  let lanes = [];
  subscribe((keys) => {
    if (!known || (keys.size && !["from", "to", "theme", "size"].some((key) => keys.has(key)))) return;
    lanes = [...model.causes.keys()].filter((cause) => model.series.some(({ marks }) => marks.names.includes(cause))).slice(0, LANES);
    sheet.resize(LANE * lanes.length + AXIS + 6);
    const context = sheet.begin();
    sheet.frame = drawLanes(context, sheet, lanes);
  });
  sheet.canvas.addEventListener("pointermove", (event) => {
    const box = sheet.canvas.getBoundingClientRect();
    const lane = Math.floor((event.clientY - box.top - 2) / LANE);
    if (lanes[lane] === undefined || !sheet.frame) return hideTip();
    const at = view.from + ((event.clientX - box.left - sheet.frame.x) / sheet.frame.width) * (view.to - view.from);
    showTip([causeName(lanes[lane]), instant(Math.max(view.from, at), view.to - view.from)], event.clientX, event.clientY);
  });
  sheet.canvas.addEventListener("pointerleave", hideTip);
  return root;
}

/**
 * @param {Context} context
 * @param {Sheet} sheet
 * @param {string[]} lanes
 */
function drawLanes(context, sheet, lanes) {
  const left = sheet.width < 560 ? 90 : 150;
  const frame = { x: left, y: 2, width: Math.max(40, sheet.width - left - 12), height: LANE * lanes.length };
  const columns = Math.floor(frame.width / CELL);
  const per = columns / (view.to - view.from);
  const row = new Map(lanes.map((cause, lane) => [cause, lane]));
  const lost = new Float64Array(columns * lanes.length);
  for (const { marks } of model.series) {
    const rows = marks.names.map((name) => row.get(name) ?? -1);
    const end = lowerBound(marks.at, view.to);
    for (let k = lowerBound(marks.at, view.from); k < end; k++) {
      const lane = rows[marks.cause[k]];
      if (lane < 0) continue;
      // A gap that covers several cells fills them.
      const first = Math.floor((marks.at[k] - view.from) * per);
      const cells = Math.max(1, Math.min(columns - first, Math.round((marks.ns[k] / 1e9) * per)));
      for (let c = first; c < first + cells; c++) lost[lane * columns + c] += marks.ns[k] / cells;
    }
  }
  const cellNs = ((view.to - view.from) / columns) * 1e9;
  lanes.forEach((cause, lane) => {
    const y = frame.y + lane * LANE;
    context.globalAlpha = 1;
    context.fillStyle = lane % 2 ? theme.ink.paper : theme.ink.absent;
    context.fillRect(frame.x, y, frame.width, LANE);
    context.fillStyle = theme.ink.ink;
    context.textAlign = "right";
    drawLabel(context, clip(context, visible(causeName(cause)), left - 10), frame.x - 6, y + 12);
    context.fillStyle = causeColour(cause, lane);
    for (let c = 0; c < columns; c++) {
      const share = lost[lane * columns + c] / cellNs;
      if (!(share > 0)) continue;
      // A millionth of the time is faint, all of it full.
      context.globalAlpha = Math.min(1, Math.max(0.22, 1 + Math.log10(share) / 7));
      context.fillRect(frame.x + c * CELL, y + 1, CELL, LANE - 2);
    }
  });
  context.globalAlpha = 1;
  context.textAlign = "left";
  outline(context, frame);
  timeAxis(context, frame);
  return frame;
}
