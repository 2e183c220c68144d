//! Pictures at three sizes, with names that would harm a terminal, without colour, and of nothing.

use super::{Facts, Look, Picture, State, Wish, draw, lines};
use bandscope_analysis::live::{Band, Cpu, History, Pace, Second, Snapshot};
use bandscope_report::{Basis, Cause, Ledger, LongGap, PaceLoss};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;

/// A name that clears the screen, turns text round and is wide.
const HOSTILE: &str = "\u{1b}[2J\u{9b}31m\u{202e}\n\t\r名前<script>&\0";

fn ledger(seconds: u64, hostile: bool) -> Ledger {
    let wall_ns = seconds * 1_000_000_000;
    let mut gaps_ns = std::collections::BTreeMap::new();
    gaps_ns.insert(Cause::Tick, wall_ns / 1000);
    gaps_ns.insert(Cause::Interrupt("eth0-rx".into()), wall_ns / 5000);
    if hostile {
        gaps_ns.insert(Cause::Task(HOSTILE.into()), wall_ns / 100);
    }
    let gaps: u64 = gaps_ns.values().sum();
    Ledger {
        wall_ns,
        work_ns: wall_ns - gaps - wall_ns / 50 - 1000,
        pace_ns: PaceLoss {
            unsplit: wall_ns / 50,
            ..PaceLoss::default()
        },
        gaps_ns,
        measurement_ns: 1000,
        unexplained_ns: 0,
        bonus_ns: 0,
        basis: Basis::Measured,
    }
}

fn cpu(number: u32, hostile: bool) -> Cpu {
    let mut history = History::new(0.5);
    for k in 0..4200u32 {
        let from = f64::from(k) * 0.05;
        let slow = k / 100 % 3 == 2;
        let pace = if slow { 1200.0 } else { 224.0 };
        let lost = if slow { 4e6 } else { 5e3 };
        history.add(from, from + 0.05, 1e7, 1e4, lost, pace);
    }
    history.settle();
    let cause = match hostile {
        true => Cause::Task(HOSTILE.into()),
        false => Cause::Interrupt("eth0-rx".into()),
    };
    let gap = |at_s: f64, ns: f64| LongGap {
        at_s,
        ns,
        cause: cause.clone(),
    };
    let band = |ns_per_unit: f64, share: f64| Band {
        ns_per_unit,
        half_width: 0.0012,
        share,
        share_since_start: share / 2.0,
    };
    Cpu {
        cpu: number,
        measured_s: 21.02,
        now: Second {
            cpu: number,
            number: 20,
            ledger: ledger(1, hostile),
            gaps: 251,
            longest: Some(gap(19.5, 41_820.0)),
            paces: vec![Pace {
                kernel: "mulss80".into(),
                ns_per_unit: 189.2,
                best_ns: 112.2,
                bands: vec![band(112.3, 0.66), band(600.5, 0.33)],
            }],
        },
        whole: ledger(20, hostile),
        gaps: 5_012,
        longest: vec![gap(4.201, 1.234e6), gap(19.5, 41_820.0)],
        history,
    }
}

fn snapshot(cpus: u32, hostile: bool) -> Snapshot {
    Snapshot {
        cpus: (0..cpus).map(|number| cpu(number + 1, hostile)).collect(),
        caught: 0,
    }
}

fn facts() -> Facts {
    Facts {
        clock: "TSC 2.2500 ticks/ns".into(),
        measured: "mulss80 at 10 kHz, 7777 Hz".into(),
        length_s: None,
        recording: None,
        catches: false,
        events: true,
    }
}

fn drawn_with(snapshot: &Snapshot, size: (u16, u16), state: &State, look: Look) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let picture = Picture {
        snapshot,
        facts: &facts(),
        state,
        look,
        silent_s: 0.0,
    };
    terminal
        .draw(|frame| draw(&picture, frame.buffer_mut()))
        .unwrap();
    terminal.backend().buffer().clone()
}

fn drawn(snapshot: &Snapshot, size: (u16, u16)) -> String {
    text(&drawn_with(
        snapshot,
        size,
        &State::default(),
        Look::default(),
    ))
}

/// The cells as lines, without blanks at their ends.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    buffer
        .content()
        .chunks(width)
        .map(|row| {
            let row: String = row.iter().map(|cell| cell.symbol()).collect();
            row.trim_end().to_owned() + "\n"
        })
        .collect()
}

#[test]
fn one_cpu_at_80x24() {
    insta::assert_snapshot!(drawn(&snapshot(1, false), (80, 24)));
}

#[test]
fn the_smallest_screen() {
    insta::assert_snapshot!(drawn(&snapshot(1, false), (20, 5)));
}

#[test]
fn four_cpus_on_a_large_screen() {
    insta::assert_snapshot!(drawn(&snapshot(4, false), (200, 60)));
}

#[test]
fn hostile_names_are_inert_at_every_size() {
    let shown = snapshot(3, true);
    for size in [(80, 24), (20, 5), (200, 60), (116, 12), (40, 100)] {
        for ascii in [false, true] {
            for help in [false, true] {
                let state = State {
                    help,
                    ..State::default()
                };
                let look = Look {
                    ascii,
                    colour: true,
                };
                let buffer = drawn_with(&shown, size, &state, look);
                for cell in buffer.content() {
                    let harmless = |c: char| !c.is_control() && c != '\u{202e}';
                    assert!(cell.symbol().chars().all(harmless), "{size:?}");
                    assert!(!ascii || cell.symbol().is_ascii(), "{:?}", cell.symbol());
                }
            }
        }
    }
    let text = drawn(&shown, (200, 60));
    assert!(
        text.contains(r"task:\x1b[2J\x9b31m\u{202e}\n\t\r"),
        "{text}"
    );
    for line in [
        lines::second(&shown.cpus[0].now, Look::default()),
        lines::summary(&shown, Look::default()).replace('\n', ""),
    ] {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn every_size_from_nothing_on_can_be_drawn() {
    for cpus in [0, 1, 3, 40] {
        let shown = snapshot(cpus, cpus == 3);
        for width in (0..=12).chain([19, 20, 39, 40, 41, 59, 60, 79, 115, 116, 117, 300]) {
            for height in (0..=16).chain([23, 24, 60]) {
                drawn(&shown, (width, height));
            }
        }
    }
    // Before the first second, and of a machine that did nothing.
    let nothing = Snapshot {
        cpus: vec![Cpu::default(); 2],
        caught: 0,
    };
    assert!(drawn(&nothing, (80, 24)).contains("first second"));
    assert_eq!(lines::summary(&Snapshot::default(), Look::default()), "");
    assert!(lines::summary(&nothing, Look::default()).contains("nothing was measured"));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let shown = snapshot(2, false);
    let with = |colour: bool| {
        let look = Look {
            colour,
            ascii: false,
        };
        drawn_with(&shown, (80, 24), &State::default(), look)
    };
    let coloured = |buffer: &Buffer| {
        let cells = buffer.content().iter();
        cells.filter(|cell| cell.fg != Color::Reset).count()
    };
    let (plain, colour) = (with(false), with(true));
    assert_eq!(text(&plain), text(&colour));
    assert_eq!(coloured(&plain), 0);
    assert!(coloured(&colour) > 10);
}

#[test]
fn of_many_cpus_the_chosen_one_is_there() {
    let shown = snapshot(40, false);
    for chosen in [0, 1, 17, 38, 39] {
        let state = State {
            chosen,
            ..State::default()
        };
        let text = text(&drawn_with(&shown, (80, 24), &state, Look::default()));
        // A third of the screen, and the foot.
        let marked = format!(">CPU {} ", chosen + 1);
        assert!(text.contains(&marked), "{text}");
        assert_eq!(text.lines().filter(|l| l.contains("CPU ")).count(), 7 + 1);
    }
}

#[test]
fn keys_change_what_they_say() {
    let mut state = State::default();
    state.wish(Wish::Previous, 3);
    assert_eq!(state.chosen, 2);
    state.wish(Wish::Next, 3);
    assert_eq!(state.chosen, 0);
    state.wish(Wish::Next, 0);
    assert_eq!(state.chosen, 0);
    for _ in 0..20 {
        state.wish(Wish::Wider, 1);
    }
    let widest = text(&drawn_with(
        &snapshot(1, false),
        (80, 24),
        &state,
        Look::default(),
    ));
    assert!(widest.contains("60 s per column"), "{widest}");
    for _ in 0..20 {
        state.wish(Wish::Narrower, 1);
    }
    state.wish(Wish::Pause, 1);
    let finest = text(&drawn_with(
        &snapshot(1, false),
        (80, 24),
        &state,
        Look::default(),
    ));
    assert!(finest.contains("0.1 s per column") && finest.contains("PAUSED"));
    state.wish(Wish::Pause, 1);
    state.wish(Wish::Help, 1);
    let help = text(&drawn_with(
        &snapshot(1, false),
        (80, 24),
        &state,
        Look::default(),
    ));
    assert!(help.contains("Shift-Tab") && !help.contains("PAUSED"));
}

#[test]
fn a_second_is_a_line_and_the_end_an_account() {
    let shown = snapshot(1, false);
    insta::assert_snapshot!(format!(
        "{}\n{}",
        lines::second(&shown.cpus[0].now, Look::default()),
        lines::summary(&shown, Look::default())
    ));
}
