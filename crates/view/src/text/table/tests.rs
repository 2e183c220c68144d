//! Tables, and lines that wrap.

use super::*;
use proptest::prelude::*;

#[test]
fn columns_align() {
    let options = Options::default();
    let mut page = Page::new(&options);
    let mut table = Table::new("Rates")
        .column("count", Side::Right)
        .column("what", Side::Left);
    table.row(vec!["a".into(), "1".into(), "x".into()]);
    table.row(vec!["bcdefg".into(), "1,000,000".into(), "y".into()]);
    page.table(&table);
    assert_eq!(
        page.finish(),
        "Rates         count  what\n  a               1  x\n  bcdefg  1,000,000  y\n"
    );
}

#[test]
fn a_number_keeps_its_unit() {
    assert_eq!(
        wrap("it lost 76.6 % of it", 12),
        ["it lost", "76.6 % of it"]
    );
    assert_eq!(wrap("wait for 10 s, then", 11), ["wait for", "10 s, then"]);
}

#[test]
fn colour_wraps_what_was_escaped() {
    let options = Options {
        colour: true,
        ..Options::default()
    };
    let mut page = Page::new(&options);
    page.line(&[("a\x1b[2Jb", Paint::Bold)]);
    assert_eq!(page.finish(), "\x1b[1ma\\x1b[2Jb\x1b[0m\n");
}

proptest! {
    #[test]
    fn no_line_is_too_long_and_no_word_is_lost(text in "[a-z ]{0,300}", width in 20usize..100) {
        let lines = wrap(&text, width);
        for line in &lines {
            prop_assert!(line.chars().count() <= width);
        }
        let letters = |s: &str| s.replace(' ', "");
        prop_assert_eq!(letters(&lines.concat()), letters(&text));
    }
}
