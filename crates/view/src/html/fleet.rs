//! The page of a fleet: a map of nodes and CPUs, one node at length, and the tables of the other forms.
//!
//! The document has names and words, each once. One block of columns has the figures, in the order in which [`columns`] writes them and `script/nodes.js` reads
//! them: a million CPUs have two megabytes.

use super::codec::Columns;
use super::frame::{self, Part};
use crate::escape::xml;
use crate::tables::{Section, Tables};
use crate::text::fleet::{difference, subject};
use crate::{Error, numbers};
use bandscope_recording::summary::WorstWindow;
use bandscope_studies::fleet::{Detail, Fleet, Group, NodeRow, OfLength};
use serde::Serialize;
use std::collections::HashMap;
use std::io::Write;

/// The modules of `script`, joined by `build/script.rs`.
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/fleet.js"));

/// Steps of a share of a node's time, and of a CPU's, of which there are many.
const STEPS_OF_NODE: f64 = 1e6;
/// See [`STEPS_OF_NODE`].
const STEPS_OF_CPU: f64 = 1e4;

/// What the page holds beside the columns.
#[derive(Serialize)]
struct Document<'a> {
    verdict: &'a str,
    paragraphs: &'a [String],
    sections: Vec<&'a Section>,
    /// Nodes that stand out, by place in `nodes`, in the order of their section; with the CPU, where it is one alone.
    outliers: Vec<(usize, Option<u32>)>,
    steps_of_node: f64,
    steps_of_cpu: f64,
    groups: Vec<Description<'a>>,
    nodes: Vec<&'a str>,
    /// Ways of losing time, causes and settings, by place.
    words: Vec<String>,
}

/// A group, and what its median node loses.
#[derive(Serialize)]
struct Description<'a> {
    subject: String,
    judged: bool,
    lost: f64,
    losses: Vec<(&'a str, f64)>,
    gaps: &'a [OfLength],
}

impl Description<'_> {
    fn new(group: &Group) -> Description<'_> {
        let losses = group.losses.iter();
        Description {
            subject: subject(group),
            judged: group.judged,
            lost: group.lost,
            losses: losses.map(|one| (&*one.loss, one.share)).collect(),
            gaps: &group.gaps,
        }
    }
}

/// Words, each once.
#[derive(Default)]
struct Words {
    places: HashMap<String, usize>,
    list: Vec<String>,
}

impl Words {
    fn place(&mut self, word: &str) -> u64 {
        if let Some(&known) = self.places.get(word) {
            return known as u64;
        }
        let place = self.list.len();
        self.places.insert(word.to_owned(), place);
        self.list.push(word.to_owned());
        place as u64
    }
}

/// A share in so many steps.
fn steps(share: f64, steps: f64) -> u64 {
    (share * steps).round() as u64
}

/// 0 is a CPU without a number.
fn number_of(cpu: Option<u32>) -> u64 {
    cpu.map_or(0, |cpu| u64::from(cpu) + 1)
}

/// A node's gaps by length, its longest one, and when least work was done.
fn moments(detail: &Detail, words: &mut Words, columns: &mut Columns) {
    let micros = |seconds: f64| (seconds * 1e6).round() as u64;
    columns.push(detail.gaps.len() as u64);
    for gaps in &detail.gaps {
        columns.push(gaps.from_ns.log10().round() as u64);
        columns.push((gaps.per_s * 1e3).round() as u64);
        columns.push(steps(gaps.share, STEPS_OF_NODE));
    }
    columns.push(detail.longest.iter().len() as u64);
    if let Some((cpu, gap)) = &detail.longest {
        columns.push(number_of(*cpu));
        columns.push(gap.ns.round() as u64);
        columns.push(micros(gap.at_s));
        columns.push(words.place(&gap.cause));
    }
    columns.push(detail.worst.len() as u64);
    for (cpu, window) in &detail.worst {
        columns.push(micros(window.window_s));
        columns.push(micros(window.lasted_s));
        columns.push(number_of(*cpu));
        columns.push(steps(window.worst.clamp(0.0, 1.0), STEPS_OF_NODE));
        columns.push(micros(window.at_s));
        columns.push(window.causes.len() as u64);
        for (cause, share) in &window.causes {
            columns.push(words.place(cause));
            columns.push(steps(*share, STEPS_OF_NODE));
        }
        parts(window, columns);
    }
}

/// Parts of a window, those in a row that are alike as one.
fn parts(window: &WorstWindow, columns: &mut Columns) {
    let runs = || window.parts.chunk_by(|a, b| a == b);
    columns.push(runs().count() as u64);
    for run in runs() {
        columns.push(run[0].into());
        columns.push(run.len() as u64);
    }
}

/// What is known of nodes, one after the other; then the number of each CPU; then what each loses.
fn columns(nodes: &[NodeRow], words: &mut Words) -> Columns {
    let mut columns = Columns::default();
    for node in nodes {
        let detail = &node.detail;
        columns.push(node.group);
        columns.push(node.stands_out.into());
        columns.push(node.cpus);
        columns.push(steps(node.lost, STEPS_OF_NODE));
        columns.push(words.place(&detail.excess.loss));
        columns.push(words.place(&detail.by));
        columns.push(steps(detail.excess.more, STEPS_OF_NODE));
        columns.push(detail.losses.len() as u64);
        for (loss, share) in &detail.losses {
            columns.push(words.place(loss));
            columns.push(steps(*share, STEPS_OF_NODE));
        }
        columns.push(detail.differs.len() as u64);
        for one in &detail.differs {
            columns.push(words.place(&difference(one)));
        }
        moments(detail, words, &mut columns);
        columns.push(detail.cpus.len() as u64);
    }
    for node in nodes {
        // 0 is a CPU without a number, which comes first.
        let mut before = 0;
        for (cpu, _) in &node.detail.cpus {
            let number = number_of(*cpu);
            columns.push(number - before);
            before = number;
        }
    }
    for (_, lost) in nodes.iter().flat_map(|node| &node.detail.cpus) {
        columns.push(steps((*lost).into(), STEPS_OF_CPU));
    }
    columns
}

/// Writes the page; without script it has `all_nodes` below the tables.
///
/// # Errors
/// [`Error::Write`] if `out` fails.
pub(crate) fn write(
    fleet: &Fleet,
    tables: &Tables<'_>,
    all_nodes: Section,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut plain = tables.clone();
    plain.sections.push(all_nodes);
    frame::write(SCRIPT, out, &mut |part, out| match part {
        Part::Title => {
            let number = numbers::plural(fleet.nodes.len() as u64, "node", "nodes");
            Ok(write!(out, "{number} – bandscope fleet")?)
        }
        Part::Verdict => Ok(write!(out, "{}", xml(tables.verdict))?),
        Part::Plain => {
            writeln!(out, "These are the same figures as tables.</p>")?;
            plain.body(out)
        }
        Part::Data => data(fleet, tables, out),
    })
}

fn data(fleet: &Fleet, tables: &Tables<'_>, out: &mut dyn Write) -> Result<(), Error> {
    let mut words = Words::default();
    let columns = columns(&fleet.nodes, &mut words);
    let nodes: Vec<&str> = fleet.nodes.iter().map(|node| &*node.node).collect();
    let place = |name: &str| nodes.binary_search(&name).ok();
    let document = Document {
        verdict: tables.verdict,
        paragraphs: &tables.paragraphs,
        sections: tables.sections().collect(),
        outliers: (fleet.outliers.iter())
            .filter_map(|one| Some((place(&one.node)?, one.cpu)))
            .collect(),
        steps_of_node: STEPS_OF_NODE,
        steps_of_cpu: STEPS_OF_CPU,
        groups: fleet.groups.iter().map(Description::new).collect(),
        nodes,
        words: words.list,
    };
    frame::document(&document, out)?;
    frame::columns(&columns, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bandscope_recording::summary::{CpuSummary, LossSummary, Summary};
    use bandscope_studies::fleet::{Node, fleet};
    use serde_json::Value;

    /// A fleet of seven nodes with three CPUs; the last of them loses 5 % more on CPU 17, by `name`, which it is called as well.
    fn page(name: &str) -> (Fleet, String) {
        let nodes = (0..7).map(|place| {
            let cpu = |cpu: u32| {
                let more = if place == 6 && cpu == 17 { 0.05 } else { 0.0 };
                CpuSummary {
                    cpu: Some(cpu),
                    measured_s: 1.0,
                    lost: 0.01 + more,
                    losses: vec![LossSummary {
                        loss: "other tasks".into(),
                        share: 0.01 + more,
                        causes: vec![(name.into(), 0.01 + more)],
                        ..LossSummary::default()
                    }],
                    ..CpuSummary::default()
                }
            };
            let setting = (if place == 6 { name } else { "usual" }).to_owned();
            let summary = Summary {
                node: if place == 6 {
                    name.into()
                } else {
                    format!("n{place}")
                },
                facts: [(name.to_owned(), setting)].into(),
                cpus: [0, 3, 17].map(cpu).into(),
                ..Summary::default()
            };
            Node::new(summary, "job")
        });
        let fleet = fleet(vec!["job".into()], nodes.collect());
        let mut out = Vec::new();
        crate::fleet::html(&fleet, &mut out).unwrap();
        (fleet, String::from_utf8(out).unwrap())
    }

    fn document(page: &str) -> Value {
        let (_, after) = page.split_once("id=\"document\">").unwrap();
        serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn the_page_holds_what_each_cpu_loses() {
        let (fleet, page) = page("n6");
        let document = document(&page);
        assert!(!page.contains("{{"));
        assert_eq!(document["verdict"], fleet.verdict);
        assert_eq!(document["nodes"].as_array().unwrap().len(), 7);
        assert_eq!(document["outliers"], serde_json::json!([[6, 17]]));
        assert_eq!(document["sections"][0]["rows"][0][0], "n6, CPU 17");
        let (_, after) = page.split_once("class=\"columns\">").unwrap();
        let numbers = super::super::codec::tests::decode(after.split_once('<').unwrap().0);
        let of_cpus = &numbers[numbers.len() - 2 * 7 * 3..];
        let (cpus, lost) = of_cpus.split_at(7 * 3);
        assert_eq!(cpus, [[1, 3, 14]; 7].as_flattened());
        assert_eq!(lost[..20], [100; 20]);
        assert_eq!(lost[20], 600);
    }

    #[test]
    fn names_of_others_are_inert() {
        let (_, plain) = page("n6");
        let name = "n6</script><img src=x onerror=alert(1)></noscript>\u{2028}<!--<script>";
        let (_, evil) = page(name);
        for what in ["<", "</script", "</noscript", "<img", "\u{2028}"] {
            let count = |page: &str| page.matches(what).count();
            assert_eq!(count(&evil), count(&plain), "{what}");
        }
        assert_eq!(document(&evil)["nodes"][6], name);
    }

    #[test]
    fn nothing_is_loaded_from_anywhere_and_tables_need_no_script() {
        let (_, page) = page("n6");
        for wanted in ["http://", "https://", " src=", "@import", "url("] {
            assert!(!page.contains(wanted), "{wanted}");
        }
        assert!(page.contains("default-src 'none'; script-src 'sha256-"));
        let (_, after) = page.split_once("<noscript>").unwrap();
        let (plain, _) = after.split_once("</noscript>").unwrap();
        assert!(plain.contains("All nodes, the slowest first"), "{plain}");
        assert!(plain.contains("<td>n6, CPU 17</td>"), "{plain}");
    }
}
