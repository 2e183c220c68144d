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

#[test]
fn a_command_that_wraps_is_still_one_command() {
    let command = "bandscope record --cpus 1 --kernel mulss80,ftq-float20-stack --duration 60s";
    let options = Options {
        width: 60,
        ..Options::default()
    };
    let mut page = Page::new(&options);
    page.command("  ", command, Paint::Work);
    let text = page.finish();
    assert!(text.lines().count() > 1 && text.lines().all(|line| line.chars().count() <= 60));
    // As a shell joins it.
    let joined = text.replace(" \\\n", " ");
    let words: Vec<&str> = joined.split_whitespace().collect();
    assert_eq!(words.join(" "), command, "{text}");
}

#[test]
fn words_are_those_of_a_shell() {
    let of = |command| words(command).collect::<Vec<&str>>();
    assert_eq!(
        of(r"pgrep -- 'it'\''s  a  name' | xargs"),
        ["pgrep", "--", r"'it'\''s  a  name'", "|", "xargs"]
    );
    assert_eq!(of(r"a\ b  c"), [r"a\ b", "c"]);
}
