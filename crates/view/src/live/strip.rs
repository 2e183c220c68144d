//! How much of a CPU was lost over time, one character a stretch: height by magnitude, because a hundredth of a percent and a half both
//! matter.

use bandscope_analysis::live::Level;

/// From which share on a character stands, and its ASCII.
const STEPS: [(f64, char, char); 9] = [
    (0.5, '█', '8'),
    (0.25, '▇', '7'),
    (0.10, '▆', '6'),
    (0.05, '▅', '5'),
    (0.01, '▄', '4'),
    (0.005, '▃', '3'),
    (0.001, '▂', '2'),
    (0.0001, '▁', '1'),
    (f64::NEG_INFINITY, '·', '.'),
];

/// The legend of the characters.
pub fn legend(ascii: bool) -> String {
    let steps = STEPS.iter().rev().map(|&(from, sign, plain)| {
        let sign = if ascii { plain } else { sign };
        match from > 0.0 {
            true => format!("{sign} {}", from * 100.0),
            false => format!("{sign} less"),
        }
    });
    let steps: Vec<String> = steps.collect();
    format!("{} % lost or more", steps.join("  "))
}

/// The character of a share.
fn sign(lost: f64, ascii: bool) -> char {
    let step = STEPS.iter().find(|step| lost >= step.0);
    step.map_or(' ', |step| if ascii { step.2 } else { step.1 })
}

/// The strip of `columns` cells that end with cell `last`, the newest on the right; blank where nothing was measured.
pub fn strip(level: &Level, last: u64, columns: u16, ascii: bool) -> String {
    let mut signs = vec![' '; columns.into()];
    for (column, cell) in visible(level, last, columns) {
        if let Some(lost) = cell.lost() {
            signs[column] = sign(lost, ascii);
        }
    }
    signs.into_iter().collect()
}

/// The cells of the last `columns`, each with its column.
pub fn visible(
    level: &Level,
    last: u64,
    columns: u16,
) -> impl Iterator<Item = (usize, &bandscope_analysis::live::Cell)> {
    let columns = usize::from(columns);
    level.cells.iter().filter_map(move |cell| {
        let back = last.checked_sub(cell.number)? as usize;
        let column = columns.checked_sub(back + 1)?;
        Some((column, &**cell))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_character_of_its_magnitude() {
        let shares = [0.0, 0.00005, 0.0001, 0.004, 0.01, 0.3, 1.0];
        let text: String = shares.iter().map(|&share| sign(share, false)).collect();
        assert_eq!(text, "··▁▂▄▇█");
        let text: String = shares.iter().map(|&share| sign(share, true)).collect();
        assert_eq!(text, "..12478");
        assert_eq!(sign(f64::NAN, false), ' ');
    }
}
