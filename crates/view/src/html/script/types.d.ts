// Shapes that the modules share. Those of the report are made from its schema, `crates/report/report.schema.json`, before the script is checked.

/** `recording.json`, as docs/recording-format.md has it: most of it is shown as it is. */
type Recording = { started?: string; tool?: string; settings?: { catch?: { conditions: unknown[] } } };
type WholeReport = Omit<import("report").Report, "recording"> & { recording: Recording | null };
type Panel = import("./panel.js").Panel;
type Sheet = import("./sheet.js").Sheet;
type Numbers = import("./decode.js").Numbers;
type SeriesReport = import("report").Series;
type Finding = import("report").Finding;
type Moment = import("report").Moment;
type Ledger = import("report").Ledger;

/** Everything that some finding's evidence has. */
type Evidence = { [K in KeyOf<Finding["evidence"]>]?: ValueAt<Finding["evidence"], K> };
type KeyOf<U> = U extends unknown ? keyof U : never;
type ValueAt<U, K> = U extends unknown ? (K extends keyof U ? U[K] : never) : never;

/** JSON has no number for what is not finite. */
type Maybe = number | null | undefined;
type Child = Node | string | number | null | undefined;
/** Attributes and properties of an element, and what it listens to. */
interface Properties {
  onclick?: (event: MouseEvent) => void;
  onchange?: (event: Event) => void;
  onsubmit?: (event: SubmitEvent) => void;
  ontoggle?: () => void;
  [name: string]: unknown;
}
/** One cell of a table. */
type Cell = Node | string | number;
type Pair = [number, number];

/** What a page holds beside its columns: `Document` of `html/mod.rs`. */
interface Held {
  report: WholeReport;
  measured: [name: string, words: string][];
  series: Description[];
  changes: Changes | null;
}

/** `Description` of `data.rs`: what must be known to read the columns of a series. */
interface Description {
  label: string;
  ticks_per_ns: number;
  quantum_ticks: number;
  quanta: number;
  stretches: number;
  with_gaps: number;
  with_measurement: number;
  complete: boolean;
  marks: number;
  causes: string[];
  all_marks: boolean;
  edges: number;
  time_s: number | null;
  spectrum: number;
  step_hz: number;
  windows: number;
  density: [columns: number, rows: number, low: number, high: number];
  cells: number;
  bins: number;
}

/** `Changes` of `changes.rs`. */
interface Changes {
  comparison: Comparison;
  recording: Recording | null;
  tables: { title: string; rows: Change[] }[];
}
interface Change {
  name: string;
  a: string;
  b: string;
  interval: string;
  changed: boolean;
  reach: [low: number, middle: number, high: number] | null;
}
/** What the page shows of `bandscope.compare/1`. */
interface Comparison {
  verdict: string;
  sides: { name: string | null; inputs: string[] }[];
  notes: string[];
  conditions: { condition: string; met: boolean; found: string }[];
  recordings: {
    series: { signals: { frequency_hz: number; cause: string | null; ns_per_event: (number | null)[]; what: string }[] }[];
    findings: { kind: string; certainty: (string | null)[] }[];
  } | null;
}

/** Gaps whose time is held, by time. */
interface Marks {
  length: number;
  /** Seconds. */
  at: Float64Array;
  ns: Float64Array;
  /** Index of the name of what took most of it. */
  cause: Uint32Array;
  names: string[];
}

/** Least and greatest in a stretch of time. */
interface Bin {
  quanta: number;
  fast: number;
  slow: number;
  low: number;
  high: number;
  gapNs: number;
}

interface Density {
  columns: number;
  rows: number;
  low: number;
  high: number;
  cells: { length: number; column: Uint32Array; row: Uint32Array; count: Uint32Array };
}

/** Quanta that are held, by time. */
interface Quanta {
  length: number;
  /** Seconds. */
  start: Float64Array;
  lengthNs: Float32Array;
  gaps: Uint32Array;
  /** Nanoseconds for a unit. */
  pace: Float32Array;
  /** Nanoseconds that work at the best pace would not have taken. */
  loss: Float32Array;
  /** Units. */
  count: Uint32Array;
  /** From and to in seconds, of each stretch without a hole. */
  stretches: Pair[];
}

interface Series extends Quanta {
  index: number;
  report: SeriesReport;
  label: string;
  /** Whether all quanta are held. */
  complete: boolean;
  allMarks: boolean;
  quantumS: number;
  /** Columns as they are drawn, once wanted. */
  scaledColumns: { [value in Value]?: Float32Array };
  edges: { at: Float64Array; from: Uint8Array; to: Uint8Array };
  spectrum: { step: number; windows: number; power: Float64Array };
  marks: Marks;
  density: Density | null;
  bins: Bin[];
  coarseS: number;
  endS: number;
}

/** What can be shown over time. */
type Value = "pace" | "count" | "loss";
interface Shown {
  name: string;
  unit: string;
  scale: (value: number) => number;
  back: (scaled: number) => number;
  /** Whether more is better. */
  up: boolean;
  log: boolean;
}

/** Where a finding is seen: an instant, a stretch, a period to fold by. */
interface Place {
  at: number | null;
  from: number;
  to: number;
  period?: number | null;
}
interface Placed {
  finding: Finding;
  number: number;
  place: Place | null;
}

interface Model {
  report: WholeReport;
  measured: [name: string, words: string][];
  changes: Changes | null;
  series: Series[];
  /** Seconds. */
  whole: Pair;
  /** Causes by rank: that which took most time is 0. */
  causes: Map<string, number>;
  /** Worked out once wanted. */
  places?: Placed[];
  gapRange?: Pair;
}

type Layer = "density" | "bands" | "gaps" | "edges" | "findings";
interface View {
  from: number;
  to: number;
  value: Value;
  layers: Record<Layer, boolean>;
  fit: boolean;
  selected: number;
  period: number | null;
  // Only to say that they changed.
  theme?: string;
  size?: number;
  findings?: number;
  account?: string;
}

type Context = CanvasRenderingContext2D;
interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}
/** A range of a value, in its scale, and the range of all there is. */
interface Axis {
  low: number;
  high: number;
  all: Pair;
}
interface Grid {
  columns: number;
  rows: number;
  counts: Uint32Array;
  most: number;
}
/** From which value on, what is one, its symbol; descending. */
type Scale = readonly (readonly [from: number, one: number, symbol: string])[];
type Tick = [at: number, name: string];

/** A line of the account. */
interface Part {
  key: string;
  name: string;
  ns: number;
  colour: string;
  pace?: keyof Ledger["pace_ns"];
  cause?: string;
  rest?: boolean;
}
/** A line of the account that findings explain. */
interface Line {
  key: string;
  name: string;
  ns: (ledger: Ledger) => number;
  colour: () => string;
}
type Box = [left: number, top: number, right: number, bottom: number];

/** What the page of a fleet holds beside its columns: `Document` of `html/fleet.rs`. */
interface HeldFleet {
  verdict: string;
  paragraphs: string[];
  sections: { heading: string; heads: string[]; rows: string[][] }[];
  outliers: [place: number, cpu: number | null][];
  steps_of_node: number;
  steps_of_cpu: number;
  groups: NodeGroup[];
  nodes: string[];
  words: string[];
}
interface NodeGroup {
  subject: string;
  judged: boolean;
  lost: number;
  losses: [way: string, share: number][];
  /** Of the median node, in steps of ten. */
  gaps: { from_ns: number; per_s: number; share: number }[];
}
/** A node of a fleet; shares are of the time. */
interface FleetNode {
  name: string;
  place: number;
  group: NodeGroup;
  standsOut: boolean;
  /** CPUs that were measured. */
  measured: number;
  /** The mean of its CPUs. */
  lost: number;
  /** What exceeds the median most, by what, and by how much; nothing where that is not much. */
  way: string;
  by: string;
  more: number;
  losses: Map<string, number>;
  differs: string[];
  /** In steps of ten, from so many nanoseconds on. */
  gaps: { from: number; perSecond: number; share: number }[];
  longest: { cpu: number | null; ns: number; at: number; cause: string } | null;
  /** The stretches in which least work was done; `parts` has percent, and may be empty. */
  worstOf: { seconds: number; lasted: number; cpu: number | null; done: number; at: number; causes: [string, number][]; parts: number[] }[];
  /** By number, ascending; -1 has none. */
  cpus: Int32Array;
  lostBy: Float32Array;
  worst: number;
  /** The CPU that alone makes it stand out. */
  alone: number | null;
}
type Order = "name" | "loss" | "cause";
/** Nodes of a map below one title, which may be empty. */
interface Section {
  title: string;
  nodes: FleetNode[];
}
/** A line of a map: a title and how many nodes are below it, or nodes. */
interface MapLine {
  y: number;
  height: number;
  title: string;
  number: number;
  nodes: FleetNode[];
}
interface Layout {
  kind: "rows" | "tiles" | "squares";
  lines: MapLine[];
  height: number;
  /** Of a node, with the space behind it. */
  wide: number;
  high: number;
  /** Nodes on a line. */
  across: number;
  /** Width of the name and the mark. */
  label: number;
  /** Numbers of CPUs, one a column. */
  columns: number[];
  /** CPUs in one cell. */
  perCell: number;
  cell: number;
}

// Beside the elements' own: what `main.js` leaves for tests and for whoever opens the console.
interface Window {
  bandscope: object;
}
