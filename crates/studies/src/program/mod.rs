//! What a program's hot loop meets, and what each hidden state costs it: the object `bandscope.lab-program/1`.
//!
//! The measured loop ([`bandscope_recording::program`]) ran in rounds, in each of them once as it is and once without each state. The ratio of a
//! state is the median over the rounds; `meaning.rs` says it in sentences.

mod meaning;
mod ratio;
#[cfg(test)]
mod tests;

use bandscope_recording::manifest::Machine;
use bandscope_recording::program::{HotLoop, Kind, Program, Trials};
use bandscope_statistics::order::median;
pub use meaning::file_name;
use ratio::{NoRatio, Ratio};
use serde::Serialize;

/// Version of the object.
pub const SCHEMA: &str = "bandscope.lab-program/1";

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// One or two sentences.
    pub verdict: String,
    /// Program and version that measured.
    pub tool: String,
    /// When, RFC 3339 in UTC.
    pub started: String,
    /// What was run.
    pub command: Vec<String>,
    /// Facts of the machine.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::facts"))]
    pub machine: Machine,
    /// Where it was found.
    pub samples: Samples,
    /// The loop that holds most of them; null if there is none.
    #[serde(rename = "loop")]
    pub hot_loop: Option<Loop>,
    /// A turn of the loop as it is; null if it could not be timed.
    pub turn: Option<Turn>,
    /// Hidden states that the loop meets, the dearest first.
    pub states: Vec<State>,
    /// What limits all of the above, in sentences.
    pub warnings: Vec<String>,
}

/// How often the program was found running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Samples {
    /// In all.
    pub taken: usize,
    /// In the loop.
    pub in_loop: usize,
    /// In a system call.
    pub in_kernel: usize,
}

/// The loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loop {
    /// The function that it begins in, as the file names it.
    pub function: Option<String>,
    /// The file; null for code that was made at run time.
    pub object: Option<String>,
    /// Its first instruction: address in the file, as `objdump -d` prints it.
    pub address: u64,
    /// The line of its source, as in `/src/ring.c:34`; null without debug information. Untrusted.
    pub source: Option<String>,
    /// Instructions of a turn, on average.
    pub instructions: f64,
    /// Turns that were watched, instruction by instruction.
    pub turns: usize,
    /// The instructions that were executed.
    pub listing: Vec<Line>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Line {
    /// The file, where it is another than the loop's.
    pub object: Option<String>,
    /// Address in the file.
    pub address: u64,
    /// The line of its source, as that of the loop.
    pub source: Option<String>,
    /// In Intel's syntax.
    pub text: String,
    /// How often a turn executes it.
    pub per_turn: f64,
    /// Names of the states that it meets.
    pub meets: Vec<&'static str>,
}

/// How long a turn takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// In cycles, by a chain of additions; null if that could not be timed.
    pub cycles: Option<f64>,
    /// In nanoseconds.
    pub ns: f64,
    /// What the chain says of the clock, in hertz.
    pub frequency_hz: Option<f64>,
}

/// A hidden state that the loop meets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// The lab's pair that shows it, or `split-access`.
    pub pair: &'static str,
    /// How often a turn meets it; null where nothing counts that.
    pub per_turn: Option<f64>,
    /// Instructions that load, by address in the file.
    pub loads: Vec<u64>,
    /// Instructions that stored what is loaded.
    pub stores: Vec<u64>,
    /// Lines of the source of both, in the order of their addresses; empty without debug information. Untrusted.
    pub sources: Vec<String>,
    /// Cycles of a turn without it.
    pub cycles_without: Option<f64>,
    /// A turn as it is over a turn without it.
    pub ratio: Option<f64>,
    /// The same in all of at least 10 rounds but the lowest and the highest; of `placement` in all of 5 or 6.
    pub interval: Option<[f64; 2]>,
    /// Whether it costs time here; null if that could not be measured.
    pub costs: Option<bool>,
    /// Why it could not be measured.
    pub missing: Option<String>,
    /// What was changed to take it away.
    pub change: String,
    /// What it is, and what it costs, in sentences.
    pub meaning: String,
    /// What avoids it; empty if it costs nothing.
    pub advice: &'static str,
}

/// Explains what was measured.
pub fn explain(program: &Program) -> Explained {
    let hot_loop = program.hot_loop.as_ref();
    let turn = hot_loop.and_then(turn);
    let mut states: Vec<State> = hot_loop.map(|hot| states(hot, turn)).unwrap_or_default();
    states.sort_by(|a, b| b.ratio.unwrap_or(0.0).total_cmp(&a.ratio.unwrap_or(0.0)));
    let mut explained = Explained {
        schema: SCHEMA,
        verdict: String::new(),
        tool: program.tool.clone(),
        started: program.started.clone(),
        command: program.command.clone(),
        machine: program.machine.clone(),
        samples: Samples {
            taken: program.samples,
            in_loop: hot_loop.map_or(0, |hot| hot.samples),
            in_kernel: program.in_kernel,
        },
        hot_loop: hot_loop.map(|hot| described(hot, &states)),
        turn,
        states,
        warnings: Vec::new(),
    };
    explained.verdict = meaning::verdict(&explained, program);
    explained.warnings = meaning::warnings(&explained, program);
    explained
}

fn turn(hot: &HotLoop) -> Option<Turn> {
    let Trials::Nanoseconds(times) = &hot.as_it_is else {
        return None;
    };
    let ns = median(times.iter().copied().filter(|time| !time.is_nan()))?;
    let cycle = median(
        hot.ns_per_cycle
            .iter()
            .copied()
            .filter(|time| !time.is_nan()),
    );
    Some(Turn {
        cycles: cycle.map(|cycle| ns / cycle),
        ns,
        frequency_hz: cycle.map(|cycle| 1e9 / cycle),
    })
}

fn states(hot: &HotLoop, turn: Option<Turn>) -> Vec<State> {
    let met = hot.states.iter().map(|met| {
        let ratio = Ratio::of(&hot.as_it_is, &met.without);
        let per_turn = (met.kind != Kind::Denormals).then_some(met.per_turn);
        let state = State {
            per_turn,
            loads: met.loads.clone(),
            stores: met.stores.clone(),
            sources: sources(hot, met),
            change: met.change.clone(),
            ..state(met.kind, &ratio, turn)
        };
        let advice = if state.costs == Some(true) {
            meaning::avoids(met.kind, &met.bases)
        } else {
            ""
        };
        State {
            meaning: meaning::of(met, &state),
            advice,
            ..state
        }
    });
    met.chain(placement(hot, turn)).collect()
}

/// Lines of the instructions that meet a state, each once.
fn sources(hot: &HotLoop, met: &bandscope_recording::program::State) -> Vec<String> {
    let meets = |line: &&bandscope_recording::program::Line| {
        met.loads.contains(&line.offset) || met.stores.contains(&line.offset)
    };
    let mut sources: Vec<String> = Vec::new();
    for source in hot
        .listing
        .iter()
        .filter(meets)
        .filter_map(|line| line.source.as_ref())
    {
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
    sources
}

/// The loop's own place, if it is a bad one.
fn placement(hot: &HotLoop, turn: Option<Turn>) -> Option<State> {
    let (place, ratio) = ratio::best_place(&hot.as_it_is, &hot.placements)?;
    let state = state(Kind::Placement, &Ok(ratio), turn);
    let change = format!(
        "the loop begins {place} bytes into a line of 64, not {}",
        hot.placement
    );
    (state.costs == Some(true)).then(|| State {
        meaning: meaning::of_place(hot.placement, &state),
        advice: meaning::avoids(Kind::Placement, &[]),
        change,
        ..state
    })
}

fn state(kind: Kind, ratio: &Result<Ratio, NoRatio>, turn: Option<Turn>) -> State {
    let known = ratio.as_ref().ok();
    let costs = known.map(|ratio| ratio.costs());
    let cycles = turn.and_then(|turn| turn.cycles);
    State {
        pair: kind.name(),
        per_turn: None,
        loads: Vec::new(),
        stores: Vec::new(),
        sources: Vec::new(),
        cycles_without: cycles
            .zip(known)
            .map(|(cycles, ratio)| cycles / ratio.median),
        ratio: known.map(|ratio| ratio.median),
        interval: known.map(|ratio| ratio.interval),
        costs,
        missing: ratio.as_ref().err().map(ToString::to_string),
        change: String::new(),
        meaning: String::new(),
        advice: "",
    }
}

fn described(hot: &HotLoop, states: &[State]) -> Loop {
    let meets = |address: u64| {
        let met = states
            .iter()
            .filter(|state| state.loads.contains(&address) || state.stores.contains(&address));
        met.map(|state| state.pair).collect()
    };
    let lines = hot.listing.iter().map(|line| Line {
        object: (line.object != hot.object).then(|| line.object.clone()),
        address: line.offset,
        source: line.source.clone(),
        text: line.text.clone(),
        per_turn: line.per_turn,
        meets: meets(line.offset),
    });
    Loop {
        function: hot.function.clone(),
        object: Some(hot.object.clone()).filter(|object| !object.is_empty()),
        address: hot.offset,
        source: hot.source.clone(),
        instructions: hot.instructions,
        turns: hot.turns,
        listing: lines.collect(),
    }
}
