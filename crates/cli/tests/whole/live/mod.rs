//! `bandscope live`: a picture on a terminal of three sizes, lines elsewhere, and the terminal given back whatever ends it.
//!
//! The terminal is tmux, which is asked for its screen until what is waited for is there. What is measured is the simulated machine, so
//! that what must be shown is known.

pub mod terminal;

use crate::common::{
    self, assert_ledger_closes, bandscope, finished_parts, report, run, succeed, that_end,
};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use terminal::Terminal;

/// What is waited for comes within this, on however slow a machine, or does not come.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

const TICK: &str = "simulated:tick:hz=250,cost=3us";

/// `bandscope live` on a terminal of that size, with its process's id in a file.
fn live<'a>(directory: &'a Path, size: (u16, u16), arguments: &str) -> Option<Terminal<'a>> {
    let binary = env!("CARGO_BIN_EXE_bandscope");
    let command = format!("sh -c 'echo $$ >pid; exec \"{binary}\" live {arguments}'");
    Terminal::new(directory, size, &command)
}

fn signal(directory: &Path, name: &str) {
    let pid = std::fs::read_to_string(directory.join("pid")).unwrap();
    let status = Command::new("kill")
        .args([&format!("-{name}"), pid.trim()])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn three_sizes_show_what_is_measured() {
    for (size, wanted) in [
        (
            (80, 24),
            &[
                "gap: tick",
                "Where the time went",
                "Pace now",
                "Largest gaps",
                "ns/unit",
                "q quit",
            ][..],
        ),
        ((20, 5), &["CPU 0", "work", "q quit"]),
        (
            (200, 60),
            &[
                "gap: tick",
                "mulss80 at 10 kHz",
                "ticks/ns",
                "per s now",
                "at ",
            ],
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let arguments = format!("--machine {TICK} --trace on");
        let Some(terminal) = live(directory.path(), size, &arguments) else {
            return;
        };
        let screen = terminal.wait("a picture", |screen| {
            wanted.iter().all(|text| screen.contains(text))
        });
        assert!(terminal.is_taken() && terminal.is_raw());
        assert!(screen.lines().count() <= size.1.into(), "{screen}");
        terminal.keys(&["q"]);
        let screen = terminal.wait_for("ended with 0");
        assert!(!terminal.is_taken() && !terminal.is_raw(), "{screen}");
    }
}

#[test]
fn keys_pause_the_picture_choose_a_cpu_and_help() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = format!("--machine {TICK} --cpus 3,7");
    let Some(terminal) = live(directory.path(), (80, 24), &arguments) else {
        return;
    };
    terminal.wait_for(">CPU 3");
    terminal.wait_for("Where the time went");
    terminal.keys(&["Tab"]);
    terminal.wait_for(">CPU 7");
    terminal.keys(&["+"]);
    terminal.wait_for("2 s per column");
    terminal.keys(&["?"]);
    terminal.wait_for("Shift-Tab");
    terminal.keys(&["?"]);
    terminal.wait_for("Where the time went");
    terminal.keys(&["p"]);
    let paused = terminal.wait_for("PAUSED");
    let time = |screen: &str| screen.lines().next().unwrap_or("").to_owned();
    terminal.keys(&["-"]);
    let still = terminal.wait_for("0.5 s per column");
    assert_eq!(time(&still), time(&paused));
    // Measuring went on: the time jumps when the picture goes on.
    terminal.keys(&["Space"]);
    terminal.wait("the picture goes on", |screen| !screen.contains("PAUSED"));
    terminal.wait("time goes on", |screen| {
        !time(screen).is_empty() && time(screen) != time(&paused)
    });
    terminal.keys(&["C-c"]);
    terminal.wait_for("ended with 0");
}

#[test]
fn signals_give_the_terminal_back_and_keep_the_recording() {
    for (name, status) in that_end([("TERM", 143), ("INT", 130), ("HUP", 129)]) {
        let directory = tempfile::tempdir().unwrap();
        let arguments = format!("--machine {TICK} --output it.bandscope");
        let Some(terminal) = live(directory.path(), (80, 24), &arguments) else {
            return;
        };
        terminal.wait_for("Where the time went");
        assert!(terminal.is_taken() && terminal.is_raw());
        signal(directory.path(), name);
        let screen = terminal.wait_for(&format!("ended with {status}"));
        assert!(!terminal.is_taken() && !terminal.is_raw(), "{screen}");
        assert!(
            screen.contains("interrupted; what was measured"),
            "{screen}"
        );
        assert!(screen.contains("it.bandscope"), "{screen}");
        let report = report(directory.path(), &["it.bandscope"]);
        assert_eq!(report["recording"]["state"], "interrupted");
        assert_ledger_closes(&report["series"][0]);
    }
}

/// A program that no terminal ends with it: killed when dropped, should a test fail before it has ended.
struct Outliving(String);

impl Outliving {
    fn is_there(&self) -> bool {
        Path::new("/proc").join(&self.0).exists()
    }

    fn wait_for_its_end(&self) {
        wait_until("the program ends", || !self.is_there());
    }
}

impl Drop for Outliving {
    fn drop(&mut self) {
        if self.is_there() {
            let _ = Command::new("kill").args(["-KILL", &self.0]).status();
        }
    }
}

fn wait_until(what: &str, wanted: impl Fn() -> bool) {
    let start = Instant::now();
    while !wanted() {
        assert!(
            start.elapsed() < LONGEST_WAIT,
            "{what}: not so after {LONGEST_WAIT:?}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_unless_it_was_to_be_outlived() {
    for outlives in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let binary = env!("CARGO_BIN_EXE_bandscope");
        let ignore = if outlives { "trap \"\" HUP; " } else { "" };
        let command = format!(
            "sh -c 'echo $$ >pid; {ignore}exec \"{binary}\" live --machine {TICK} --rate 10000 --output it.bandscope'"
        );
        let Some(terminal) = Terminal::new(directory.path(), (80, 24), &command) else {
            return;
        };
        terminal.wait_for("Where the time went");
        let read = |name| std::fs::read_to_string(directory.path().join(name)).unwrap();
        let program = Outliving(read("pid").trim().to_owned());
        let server = terminal.ask(&["display-message", "-p", "#{pid}"]);
        terminal.ask(&["kill-server"]);
        let server = Path::new("/proc").join(server.trim());
        wait_until("the terminal is gone", || !server.exists());
        if outlives {
            // A run of one series that ends writes one more part; a second one is written by a run that goes on.
            let parts = finished_parts(directory.path()) + 2;
            wait_until("it goes on without its terminal", || {
                finished_parts(directory.path()) >= parts
            });
            signal(directory.path(), "TERM");
        }
        program.wait_for_its_end();
        let report = report(directory.path(), &["it.bandscope"]);
        assert_eq!(report["recording"]["state"], "interrupted");
    }
}

#[test]
fn a_storm_of_sizes_and_signals_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = format!("--machine {TICK}");
    let Some(terminal) = live(directory.path(), (80, 24), &arguments) else {
        return;
    };
    terminal.wait_for("Where the time went");
    let pid = std::fs::read_to_string(directory.path().join("pid")).unwrap();
    let storm = format!("for k in $(seq 1000); do kill -WINCH {}; done", pid.trim());
    let status = Command::new("sh").args(["-c", &storm]).status().unwrap();
    assert!(status.success());
    for size in [
        (20, 5),
        (1, 1),
        (300, 90),
        (2, 40),
        (60, 2),
        (132, 43),
        (80, 24),
    ] {
        terminal.resize(size.0, size.1);
    }
    terminal.wait("the picture in its size", |screen| {
        let last = screen.trim_end().lines().last().unwrap_or("");
        screen.contains("Where the time went") && last.contains("? help")
    });
    terminal.keys(&["Escape"]);
    terminal.wait_for("ended with 0");
}

#[test]
fn without_a_terminal_a_second_is_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = [
        "--machine",
        TICK,
        "--trace",
        "on",
        "--cpus",
        "2,5",
        "--duration",
        "2s",
    ];
    for term in ["dumb", "xterm"] {
        let mut command = bandscope(directory.path());
        command.env("TERM", term).arg("live").args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains('\u{1b}'), "{text:?}");
        for cpu in [2, 5] {
            for second in [1, 2] {
                let line = text.lines().find(|line| {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    words.starts_with(&[&second.to_string(), "s", "CPU", &cpu.to_string()])
                });
                let line = line.unwrap_or_else(|| panic!("{second} s of CPU {cpu}: {text}"));
                assert!(line.contains("gap: tick 0.07 %") || line.contains("gap: tick 0.08 %"));
            }
            assert!(
                text.contains(&format!("CPU {cpu}: 2.00 s measured")),
                "{text}"
            );
        }
    }
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let directory = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_bandscope");
    let command = format!("TERM=dumb \"{binary}\" live --machine {TICK} --duration 2s");
    if let Some(terminal) = Terminal::new(directory.path(), (120, 24), &command) {
        let screen = terminal.wait_for("ended with 0");
        assert!(screen.contains("1 s  CPU 0"), "{screen}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = bandscope(directory.path());
    command.args(["live", "--machine", TICK]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("CPU 0"), "{line}");
    drop(lines);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LONGEST_WAIT {
            child.kill().unwrap();
            panic!("it goes on without a reader");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_it_records_is_what_record_records() {
    let directory = tempfile::tempdir().unwrap();
    let common = [
        "--machine",
        "simulated:tick+flips",
        "--cpus",
        "0,1",
        "--trace",
        "on",
        "--duration",
        "2s",
    ];
    for command in ["record", "live"] {
        let output = format!("{command}.bandscope");
        let arguments = [&[command, "--output", &output][..], &common].concat();
        let said = succeed(directory.path(), &arguments);
        assert_eq!(said.lines().last(), Some(&*output));
    }
    let reports = ["record", "live"].map(|command| {
        let mut report = report(directory.path(), &[&format!("{command}.bandscope")]);
        assert_eq!(report["recording"]["state"], "complete");
        for series in report["series"].as_array_mut().unwrap() {
            series["origin"].take();
        }
        report
    });
    for part in ["series", "findings", "verdict"] {
        assert_eq!(reports[0][part], reports[1][part], "{part}");
    }
}

#[test]
fn what_cannot_be_shown_is_said_in_a_line() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("there")).unwrap();
    let wrong: [(&[&str], &str); 4] = [
        (&["--output", "there"], "exists already"),
        (&["--machine", "nothing"], "simulated:SCENARIO"),
        (&["--machine", "simulated:nothing"], "nothing"),
        (&["--kernel", "nothing"], "nothing"),
    ];
    for (arguments, why) in wrong {
        let error = common::refuse(directory.path(), &[&["live"][..], arguments].concat());
        assert!(error.contains(why), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// This machine, where it has a CPU to measure and another one to draw on.
#[test]
fn this_machine_is_shown_or_says_why_not() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["live", "--duration", "1500ms"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) => {
            assert!(text.contains("measured") && text.contains("work"), "{text}");
            assert!(!text.contains('\u{1b}'));
        }
        Some(2) => {
            assert_eq!(error.lines().count(), 1, "{error}");
            println!("SKIPPED: {}", error.trim());
        }
        code => panic!("{code:?}: {error}"),
    }
}

#[test]
fn a_recording_ends_in_order_with_its_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_bandscope");
    // The shell notes how it ended, and passes its trap on to nobody.
    let command = format!(
        "sh -c 'trap : HUP; \"{binary}\" record --duration 60s --rate 1000 --output it.bandscope; echo $? >status; mv status ended'"
    );
    let Some(terminal) = Terminal::new(directory.path(), (80, 24), &command) else {
        return;
    };
    wait_until("something is recorded", || {
        finished_parts(directory.path()) > 0
    });
    terminal.ask(&["kill-server"]);
    let ended = directory.path().join("ended");
    wait_until("it ends", || ended.exists());
    assert_eq!(std::fs::read_to_string(ended).unwrap(), "129\n");
    let report = report(directory.path(), &["it.bandscope"]);
    assert_eq!(report["recording"]["state"], "interrupted");
}
