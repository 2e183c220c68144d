//! Lines of a width: cut, or broken at blanks.

/// `text`, at most `width` characters, ending in `mark` where something was cut off.
pub(super) fn cut(text: &str, width: usize, mark: &str) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    match width {
        0 => String::new(),
        _ => text.chars().take(width - 1).chain(mark.chars()).collect(),
    }
}

/// The words of `text`; a number and its unit are one.
fn glued(text: &str) -> Vec<String> {
    const UNITS: [&str; 11] = [
        "%", "ns", "µs", "us", "ms", "s", "Hz", "kHz", "MHz", "ppm", "points",
    ];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let bare = word.trim_end_matches([',', '.', ':', ';', ')', '(']);
        match words.last_mut() {
            Some(last) if UNITS.contains(&bare) && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks `text` at blanks into lines of at most `width` characters; a longer word is broken anywhere.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in glued(text) {
        let letters: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + letters.len() > width {
            lines.push(String::new());
            length = 0;
        }
        for piece in letters.chunks(width) {
            if length + piece.len() > width {
                lines.push(String::new());
                length = 0;
            }
            if let Some(line) = lines.last_mut() {
                if length > 0 {
                    line.push(' ');
                    length += 1;
                }
                line.extend(piece);
                length += piece.len();
            }
        }
    }
    lines
}
