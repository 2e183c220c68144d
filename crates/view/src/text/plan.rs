//! What `cure` is about to try: each change, before anything is changed.

use super::table::{Page, Paint};
use crate::{Options, numbers};
use bandscope_recording::cpu_list;
use bandscope_recording::cures::{Cure, Cures};
use bandscope_studies::cure::own_lines;

/// Changes of one cure that are shown, unless all are asked for.
const MAX_CHANGES: usize = 4;
/// Width of the names.
const NAMES: usize = 14;

/// As text.
pub fn plan(cures: &Cures, options: &Options) -> String {
    let mut page = Page::new(options);
    let lost = numbers::percent(cures.before.lost);
    let verdict = format!(
        "{} lost {lost} of the time. To be tried:",
        cpu_list::named(&cures.cpus)
    );
    page.wrapped(("", Paint::Plain), &verdict, Paint::Bold);
    for cure in cures.cures.iter().filter(|cure| cure.missing.is_none()) {
        planned(cure, cures, &mut page);
    }
    let mut missing = cures
        .cures
        .iter()
        .filter(|cure| cure.missing.is_some())
        .peekable();
    if missing.peek().is_some() {
        page.blank();
        page.line(&[("Cannot be tried", Paint::Bold)]);
    }
    for cure in missing {
        let head = format!("  {:NAMES$}", cure.name);
        page.wrapped(
            (&head, Paint::Dim),
            cure.missing.as_deref().unwrap_or_default(),
            Paint::Plain,
        );
    }
    page.finish()
}

fn planned(cure: &Cure, cures: &Cures, page: &mut Page<'_>) {
    let own = own_lines(&cures.before, &cure.acts_on);
    let cost = match cure.acts_on.is_empty() {
        true => "no line of the ledger shows its cost".to_owned(),
        false => format!("its lines took {}", numbers::percent(own)),
    };
    let head = format!("  {:NAMES$}", cure.name);
    page.wrapped(
        (&head, Paint::Bold),
        &format!("{}; {cost}", cure.what),
        Paint::Plain,
    );
    let most = if page.options.all {
        usize::MAX
    } else {
        MAX_CHANGES
    };
    let indent = " ".repeat(NAMES + 2);
    for change in cure.changes.iter().take(most) {
        let text = format!("{}: {} -> {}", change.setting, change.before, change.during);
        page.wrapped((&indent, Paint::Plain), &text, Paint::Dim);
    }
    if let Some(more) = cure
        .changes
        .len()
        .checked_sub(most)
        .filter(|more| *more > 0)
    {
        let text = format!("{more} more; --dry-run shows all");
        page.wrapped((&indent, Paint::Plain), &text, Paint::Dim);
    }
}
