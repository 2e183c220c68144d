//! The page of a made-up session that has every verdict.

use super::*;
use crate::cure as document;
use bandscope_recording::cures::{Change, Cure, Cures, Figures, Inherited, Pair, SHAM, TOGETHER};
use bandscope_studies::cure::judge;

/// What a terminal would obey, and what would be markup.
const EVIL: &str = "\u{1b}[31m<script>|`x`\u{202e}";

/// Shares of a trial by line; all of them are lost.
type Lines<'a> = &'a [(&'a str, f64)];

fn trial(lines: Lines<'_>, place: usize) -> Figures {
    let scatter = |number: usize| ((place * 7 + number * 3) % 11) as f64 * 3e-4;
    let lines: Vec<(String, f64)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.1 > 0.0)
        .map(|(number, line)| (line.0.to_owned(), line.1 + scatter(number)))
        .collect();
    let lost = lines.iter().map(|line| line.1).sum::<f64>();
    Figures {
        lost,
        worst_1ms: Some(0.95 - 5.0 * lost),
        longest_gap_s: 2e-4 + lost / 10.0,
        gaps_per_s: 300.0 + 1e5 * scatter(1),
        units_per_s: 1e7 * (1.0 - lost),
        others: Some(Inherited {
            busy: 0.35 - lost,
            waiting: 0.0,
        }),
        findings: Vec::new(),
        lines: lines.into_iter().collect(),
        ..Figures::default()
    }
}

fn tried(name: &str, what: &str, acts_on: &[&str], [without, with]: [Lines<'_>; 2]) -> Cure {
    let pair = |place: usize| Pair {
        pilot: place < 4,
        without: trial(without, 2 * place),
        with: trial(with, 2 * place + 1),
        ..Pair::default()
    };
    Cure {
        name: name.to_owned(),
        what: what.to_owned(),
        acts_on: acts_on.iter().map(|one| (*one).to_owned()).collect(),
        pairs: (0..16).map(pair).collect(),
        ..Cure::default()
    }
}

fn session() -> Judged {
    let found: Lines<'_> = &[
        ("task:stress", 0.05),
        ("host", 0.01),
        ("irq:eth0", 0.004),
        ("pace:unsplit", 0.01),
    ];
    let with = |line: &str, share: f64| -> Vec<(&str, f64)> {
        let lines = found.iter();
        lines
            .map(|&(name, of)| (name, if name == line { share } else { of }))
            .collect()
    };
    let quiet = with("task:stress", 0.0);
    let mut tasks = tried(
        "tasks",
        "gives other tasks other CPUs",
        &["task:*"],
        [found, &quiet],
    );
    tasks.changes = vec![
        Change {
            setting: "affinity of 131 tasks".to_owned(),
            before: "0-1".to_owned(),
            during: "0".to_owned(),
        },
        Change {
            setting: "/sys/devices/virtual/workqueue/cpumask".to_owned(),
            before: "3".to_owned(),
            during: "1".to_owned(),
        },
    ];
    for pair in &mut tasks.pairs {
        pair.without.findings = vec!["time-away".to_owned()];
    }
    let mut interrupts = tried(
        "interrupts",
        "gives interrupts other CPUs",
        &["irq:*", "softirq:*"],
        [found, &with("irq:eth0", 0.0)],
    );
    interrupts.problems = vec![format!("{EVIL} changed smp_affinity_list meanwhile.")];
    let mut idle = tried(
        "idle",
        "keeps the CPU out of deep idle states",
        &["pace:*"],
        [found, &with("pace:unsplit", 0.04)],
    );
    for pair in &mut idle.pairs {
        pair.with.gaps_per_s = 100.0;
    }
    let mut housekeeping = tried(
        "housekeeping",
        "has the kernel look after itself less often",
        &["timer:*"],
        [&[("timer:vmstat", 0.004)], &[]],
    );
    for (place, pair) in housekeeping.pairs.iter_mut().enumerate() {
        pair.without.lost += 0.05;
        pair.with.lost += 0.04 + 2e-3 * ((place * 7) % 11) as f64;
    }
    let mut clock = tried(
        "clock",
        "keeps the clock steady",
        &["pace:frequency"],
        [&[], &[]],
    );
    clock.pairs.clear();
    clock.missing = Some("no frequency driver here; the hypervisor's host decides".to_owned());
    let late = Cure {
        name: "priority".to_owned(),
        out_of_time: true,
        ..Cure::default()
    };
    judge(&Cures {
        started: "2026-11-25T10:00:00Z".to_owned(),
        cpus: vec![1],
        others: vec![0],
        trial_s: 1.0,
        rate_hz: 1e4,
        kernel: "mulss80".to_owned(),
        events: true,
        before: trial(found, 0),
        cures: vec![
            tasks,
            interrupts,
            tried(
                "workers",
                "gives unbound kernel workers other CPUs",
                &["task:kworker/u*"],
                [found, found],
            ),
            idle,
            housekeeping,
            clock.clone(),
            Cure {
                name: "sibling".to_owned(),
                ..clock
            },
            late,
            tried(SHAM, "changes nothing", &[], [found, found]),
            tried(
                TOGETHER,
                "tasks, interrupts",
                &["task:*", "irq:*"],
                [found, &with("task:stress", 0.0)],
            ),
        ],
        kept: vec!["tasks".to_owned()],
        ..Cures::default()
    })
}

#[test]
fn what_was_found_at_80_columns() {
    insta::assert_snapshot!(cure(&session(), &Options::default()));
}

#[test]
fn all_of_it_in_ascii_at_100_columns() {
    let options = Options {
        all: true,
        ascii: true,
        width: 100,
        ..Options::default()
    };
    insta::assert_snapshot!(cure(&session(), &options));
}

#[test]
fn what_was_found_as_markdown() {
    let mut out = Vec::new();
    document::markdown(&session(), &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for width in [60, 80, 100, 160] {
        for all in [false, true] {
            let options = Options {
                all,
                width,
                ..Options::default()
            };
            for line in cure(&session(), &options).lines() {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
                assert!(!line.ends_with(' ') && !line.contains('…'), "{line:?}");
            }
        }
    }
}

#[test]
fn names_of_others_are_no_markup_and_no_command() {
    let mut hostile = session();
    hostile.verdict += EVIL;
    hostile.started = EVIL.to_owned();
    hostile.kernel = EVIL.to_owned();
    hostile.kept.push(EVIL.to_owned());
    hostile.notes.push(EVIL.to_owned());
    for one in &mut hostile.cures {
        one.sentence += EVIL;
        one.name += EVIL;
        one.what += EVIL;
        one.problems.push(EVIL.to_owned());
        one.acts_on.push(EVIL.to_owned());
        for line in &mut one.lines {
            line.line += EVIL;
        }
        for change in &mut one.changes {
            change.setting += EVIL;
            change.before += EVIL;
            change.during += EVIL;
        }
        for finding in &mut one.findings {
            finding.kind += EVIL;
        }
    }
    let all = Options {
        all: true,
        ..Options::default()
    };
    let mut pages = vec![cure(&hostile, &Options::default()), cure(&hostile, &all)];
    for render in [document::markdown, document::html] {
        let mut out = Vec::new();
        render(&hostile, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(!page.contains("<script"), "{page}");
        pages.push(page);
    }
    let mut json = Vec::new();
    crate::json::document(&hostile, &mut json).unwrap();
    pages.push(String::from_utf8(json).unwrap());
    for page in pages {
        let is_obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!page.contains(is_obeyed), "{page}");
    }
}

#[test]
fn an_empty_session_has_a_page() {
    for all in [false, true] {
        let options = Options {
            all,
            ..Options::default()
        };
        let page = cure(&judge(&Cures::default()), &options);
        assert!(page.starts_with("No cure was tried"), "{page}");
    }
}
