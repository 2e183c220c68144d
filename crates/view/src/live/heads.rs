//! Head and foot of the screen, and the page of help.

use super::canvas::{Canvas, Tone};
use super::{Picture, strip};
use crate::numbers;
use bandscope_analysis::live::Level;

/// Below this width there is room for what matters only.
const NARROW: u16 = 40;
/// Seconds without anything new after which that is said: a CPU that is away for so long is news.
const SILENT_S: f64 = 2.0;

/// What is measured with what, and for how long already.
pub fn head(picture: &Picture<'_>, canvas: &mut Canvas<'_>) {
    canvas.bar(0);
    let width = canvas.width;
    let time = right(picture);
    let time = if time.chars().count() + 8 > usize::from(width) {
        elapsed(picture)
    } else {
        time
    };
    canvas.put_right(width.saturating_sub(1), 0, width, &time, Tone::Bar);
    let room = usize::from(width).saturating_sub(time.chars().count() + 4);
    let facts = picture.facts;
    let name = if width < NARROW { "" } else { "bandscope live" };
    let mut parts = vec![name.to_owned()];
    let numbers = picture.snapshot.cpus.iter().map(|cpu| cpu.cpu.to_string());
    let numbers: Vec<String> = numbers.collect();
    parts.push(match numbers.len() {
        1 => format!("CPU {}", numbers[0]),
        many => format!("{many} CPUs"),
    });
    parts.push(facts.measured.clone());
    parts.push(facts.clock.clone());
    if !facts.events {
        parts.push("no kernel events".into());
    }
    let mut text = String::new();
    for part in parts {
        let longer = match text.is_empty() {
            true => part,
            false => format!("{text}  {part}"),
        };
        if longer.chars().count() > room {
            break;
        }
        text = longer;
    }
    canvas.put(1, 0, room as u16, &text, Tone::Bar);
}

/// The right end of the head: what is unusual, and the time.
fn right(picture: &Picture<'_>) -> String {
    let mut parts = Vec::new();
    if picture.state.paused {
        parts.push("PAUSED".to_owned());
    }
    if picture.silent_s >= SILENT_S {
        parts.push(format!("no data for {:.0} s", picture.silent_s));
    }
    match (picture.facts.catches, &picture.facts.recording) {
        (true, _) => parts.push(format!(
            "{} caught",
            numbers::count(picture.snapshot.caught)
        )),
        (false, Some(_)) => parts.push("recording".into()),
        (false, None) => {}
    }
    parts.push(elapsed(picture));
    parts.join("  ")
}

fn elapsed(picture: &Picture<'_>) -> String {
    let cpus = picture.snapshot.cpus.iter();
    let seconds = cpus.map(|cpu| cpu.measured_s).fold(0.0, f64::max);
    let clock = |seconds: f64| {
        let whole = seconds as u64;
        match whole / 3600 {
            0 => format!("{}:{:02}", whole / 60, whole % 60),
            hours => format!("{hours}:{:02}:{:02}", whole / 60 % 60, whole % 60),
        }
    };
    match picture.facts.length_s {
        Some(length) => format!("{} of {}", clock(seconds), clock(length)),
        None => clock(seconds),
    }
}

/// The keys.
pub fn foot(picture: &Picture<'_>, level: &Level, y: u16, canvas: &mut Canvas<'_>) {
    canvas.bar(y);
    let column = format!("{} s", level.width_s);
    let pause = match picture.state.paused {
        true => "p resume",
        false => "p pause",
    };
    let cpu = match picture.snapshot.cpus.len() {
        0 | 1 => "",
        _ => "   Tab CPU",
    };
    let column_keys = format!("+/- {column} per column");
    let full = format!("q quit   {pause}   {column_keys}{cpu}   ? help");
    let short = format!("q quit  {pause}  +/-  ? help");
    let room = usize::from(canvas.width).saturating_sub(2);
    let text = [full, short, "q quit  ? help".to_owned()];
    let text = text.iter().find(|text| text.chars().count() <= room);
    let text = text.map_or("q ?", String::as_str);
    canvas.put(1, y, room as u16, text, Tone::Bar);
}

/// What the keys do and what the picture means.
pub fn help(canvas: &mut Canvas<'_>) {
    let mut lines = vec![
        ("q, Esc, Ctrl-C", "quit"),
        (
            "p, Space",
            "pause or resume the picture; measuring continues",
        ),
        ("+ -", "more or less time per column"),
        ("Tab, Shift-Tab", "next or previous CPU"),
        ("?", "help, and back"),
        ("", ""),
    ];
    let legend = strip::legend(canvas.look.ascii);
    let text = [
        "The line beside a CPU shows what it lost over time, the newest at the right:",
        "gaps, and a pace slower than the best. Each character is a share of the time:",
        &legend,
        "Below it are the paces of the selected CPU in ns per unit of work: faster at",
        "the top, denser where more quanta are. The account covers the last whole",
        "second, and all since the start. A bar is a share of what that second lost.",
        "`bandscope report` uses the same words, and finds more in the whole run.",
        "Gaps have names where kernel events can be recorded.",
    ];
    lines.extend(text.iter().map(|line| ("", *line)));
    let keys = if canvas.width >= 60 { 18 } else { 0 };
    for (y, (key, line)) in (0..canvas.height).zip(lines) {
        match key {
            "" => canvas.raw(1, y, canvas.width, line, Tone::Plain),
            key if keys > 0 => {
                canvas.put(1, y, keys, key, Tone::Bold);
                canvas.put(keys, y, canvas.width, line, Tone::Plain);
            }
            key => canvas.put(1, y, canvas.width, &format!("{key}: {line}"), Tone::Plain),
        }
    }
}
