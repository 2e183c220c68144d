//! Every section, page, heading and file that code and documents cite exists. This file is not read: its cases are wrong.

use std::{fs, path::Path};

const READ: &str = "crates docs machines cases fuzz .ci packaging tests README.md CONTRIBUTING.md CHANGELOG.md \
     RELEASING.md SECURITY.md";
const NOT_READ: &str = "target .git node_modules corpus artifacts __pycache__ citations.rs";

/// What a file cites and does not exist, each as `file:line: found, expected`.
fn complaints(root: &Path, file: &str, text: &str) -> Vec<String> {
    let page = fs::read_to_string(root.join("docs/method.md")).unwrap();
    let numbers: Vec<&str> = headings(&page)
        .filter_map(|text| text.split(' ').next())
        .collect();
    let is_heading = |number: &str| {
        numbers
            .iter()
            .any(|one| one.trim_end_matches('.') == number)
    };
    // A citation may be wrapped inside a comment.
    let unmarked = |line: &str| line.trim_start_matches(['/', '!', '#', ' ']).to_owned();
    let joined = text.lines().map(unmarked).collect::<Vec<_>>().join("\n");
    let mut told = Vec::new();
    let mut tell = |line: usize, found: &str, expected: &str| {
        told.push(format!("{file}:{line}: found {found}, expected {expected}"));
    };
    let line_of = |at: usize| joined[..at].matches('\n').count() + 1;
    for (at, number) in cited_sections(&joined, file == "docs/method.md") {
        if !is_heading(number) {
            tell(
                line_of(at),
                &format!("section {number}"),
                "a section of docs/method.md",
            );
        }
    }
    for (at, path) in cited_paths(&joined) {
        if !root.join(path).exists() {
            tell(line_of(at), path, "a file of this tree");
        }
    }
    let notes = ["MET", "HOD"].concat();
    for (at, _) in joined.match_indices(&notes) {
        let after = &joined[at + notes.len()..];
        if after.starts_with([',', ')', ']', '\'']) || after.starts_with(".md") {
            tell(line_of(at), &notes, "docs/method.md, section N");
        }
    }
    for (line, target) in
        links(text).filter(|(_, target)| file.ends_with(".md") && !target.contains("://"))
    {
        let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
        let page = root.join(file).with_file_name(path);
        let read = if path.is_empty() {
            Some(text.to_owned())
        } else {
            fs::read_to_string(&page).ok()
        };
        let has_anchor = |page: String| headings(&page).any(|text| slug(text) == anchor);
        if !path.is_empty() && !page.exists() {
            tell(line, &target, "a file beside this page");
        } else if !anchor.is_empty() && !read.is_some_and(has_anchor) {
            tell(line, &target, "a heading of that page");
        }
    }
    told
}

/// Numbers after `method, section`, `docs/method.md, section` or `sections`, lists included; in the page after any `section`.
fn cited_sections(text: &str, is_the_page: bool) -> Vec<(usize, &str)> {
    let mut cited = Vec::new();
    for (at, word) in text.match_indices("section") {
        let before = text[..at]
            .trim_end()
            .trim_end_matches([',', '`'])
            .to_lowercase();
        let is_cited = is_the_page || before.trim_end_matches(".md").ends_with("method");
        let mut rest = text[at + word.len()..].trim_start_matches('s');
        while is_cited && rest.starts_with(char::is_whitespace) {
            rest = rest.trim_start();
            let number = upto(rest, |c| c.is_ascii_digit() || c == '.').trim_end_matches('.');
            if number.is_empty() {
                break;
            }
            cited.push((at, number));
            rest = &rest[number.len()..];
            let more = rest
                .strip_prefix(',')
                .or_else(|| rest.trim_start().strip_prefix("and"));
            rest = more.unwrap_or("");
        }
    }
    cited
}

/// Pages and published data by their paths from the root; patterns such as `cases/*.dat` are left out.
fn cited_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let starts = ["docs/", "cases/"]
        .into_iter()
        .flat_map(|start| text.match_indices(start));
    let whole = starts.filter(move |(at, _)| !text[..*at].ends_with(is_path));
    whole.filter_map(move |(at, start)| {
        let path = upto(&text[at..], is_path);
        let is_pattern = text[at + path.len()..].starts_with(['*', '{', '<', '$']);
        let path = path.trim_end_matches(['.', '-']);
        (!is_pattern && (start == "cases/" || path.ends_with(".md"))).then_some((at, path))
    })
}

fn upto(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

/// The lines of a page, but for blocks of code, which are empty.
fn lines(page: &str) -> impl Iterator<Item = &str> {
    page.lines().scan(false, |is_code, line| {
        let is_fence = line.trim_start().starts_with("```");
        *is_code ^= is_fence;
        Some(if *is_code || is_fence { "" } else { line })
    })
}

fn headings(page: &str) -> impl Iterator<Item = &str> {
    lines(page).filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').trim()))
}

/// The anchor that GitHub gives a heading. Repeated headings, which it numbers, are not cited.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
    heading
        .to_lowercase()
        .replace(' ', "-")
        .chars()
        .filter(kept)
        .collect()
}

/// Line and target of each link outside code.
fn links(page: &str) -> impl Iterator<Item = (usize, String)> {
    lines(page).zip(1..).flat_map(|(line, number)| {
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose
            .split("](")
            .skip(1)
            .map(|rest| upto(rest, |c| !") ".contains(c)).to_owned());
        targets.map(|target| (number, target)).collect::<Vec<_>>()
    })
}

fn read(root: &Path, file: &str, told: &mut Vec<String>) {
    let path = root.join(file);
    if NOT_READ.split(' ').any(|name| path.ends_with(name)) || file.ends_with(".bandscope") {
        return;
    }
    for entry in fs::read_dir(&path).into_iter().flatten() {
        read(
            root,
            &format!("{file}/{}", entry.unwrap().file_name().display()),
            told,
        );
    }
    // What is not text cites nothing.
    let text = fs::read_to_string(path);
    told.extend(text.iter().flat_map(|text| complaints(root, file, text)));
}

#[test]
fn the_method_lists_its_sources() {
    let page = include_str!("../../../docs/method.md");
    let (text, sources) = page.split_once("## 12. Sources").unwrap();
    // In brackets or in a cell of a table: the first author, and the year.
    let cited =
        regex_lite::Regex::new(r"[(|] ?([A-Z][a-z]+)[^()|]{0,60}? ((?:19|20)\d\d)\b").unwrap();
    let text = text.replace('\n', " ");
    let found: Vec<(&str, &str)> = (cited.captures_iter(&text))
        .map(|found| {
            (
                found.get(1).unwrap().as_str(),
                found.get(2).unwrap().as_str(),
            )
        })
        .collect();
    assert!(found.len() > 20, "{found:?}");
    for (author, year) in found {
        let is_it = |row: &str| row.contains(author) && row.contains(year);
        assert!(sources.lines().any(is_it), "{author} {year}");
    }
}

#[test]
fn what_is_cited_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut told = Vec::new();
    READ.split(' ')
        .for_each(|file| read(&root, file, &mut told));
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// File, text (`~` is the end of a line, `=` the name that is not to be cited) and complaint.
const WRONG: &str = "\
a.rs|/// x~/// (docs/method.md, section~/// 99.1).|a.rs:2: found section 99.1, expected a section
docs/a.md|[Method, sections 1.1 and 99](method.md)|docs/a.md:1: found section 99, expected a section
docs/a.md|See `x`.~~[a](none.md)|docs/a.md:3: found none.md, expected a file
docs/a.md|[a](method.md#none)|docs/a.md:1: found method.md#none, expected a heading
docs/a.md|# B~[a](#b) [c](#c)|docs/a.md:2: found #c, expected a heading
a.rs|//! As `docs/none.md` says.|a.rs:1: found docs/none.md, expected a file
a.py|# of cases/none.dat.|a.py:1: found cases/none.dat, expected a file
a.rs|// =.md, section 5|a.rs:1: found =, expected docs/method.md
a.rs|// (=)|a.rs:1: found =, expected docs/method.md";

#[test]
fn what_does_not_exist_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for case in WRONG.lines() {
        let case = case
            .replace('~', "\n")
            .replace('=', &["MET", "HOD"].concat());
        let parts: Vec<&str> = case.split('|').collect();
        let told = complaints(&root, parts[0], parts[1]);
        assert!(
            told.len() == 1 && told[0].starts_with(parts[2]),
            "{case}: {told:?}"
        );
    }
    let right = "[method, sections 1.1 and 2.1](method.md#21-bands), `[x](y.md)`, cases/*.dat, docs/lab.md.";
    assert_eq!(complaints(&root, "docs/a.md", right), [""; 0]);
}
