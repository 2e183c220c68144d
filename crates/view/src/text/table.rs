//! A page of text: lines, wrapped sentences and aligned tables, everything escaped on its way in.
//!
//! Escapes for colour are added here and nowhere else, after the text was made safe and measured.

mod wrap;

use crate::Options;
use crate::escape;
use wrap::{cut, wrap};

/// How a piece of text stands out. Each is also told apart without colour, by place or by word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Not at all.
    #[default]
    Plain,
    /// Headings and the verdict.
    Bold,
    /// What is read last: column heads, units, notes.
    Dim,
    /// Losses and warnings. Bright enough on dark and dark enough on light; told from blue by the
    /// colour-blind.
    Loss,
    /// Work.
    Work,
}

impl Paint {
    /// The parameters of ECMA-48's SGR. The terminal's own palette: it knows its background.
    fn sgr(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Loss => "33",
            Paint::Work => "34",
        }
    }
}

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) paint: Paint,
}

impl Cell {
    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Cell {
        Cell {
            text: text.into(),
            paint,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::painted(text, Paint::Plain)
    }
}

/// Rows under one line of heads. The first head is the title of the section.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    heads: Vec<(String, Side)>,
    rows: Vec<Vec<Cell>>,
    /// Longest line of the first column; longer text goes on in the next line.
    pub(crate) first_width: usize,
    /// Columns after the first that a narrow page never parts: so many at a time.
    pub(crate) at_a_time: usize,
}

impl Table {
    /// A table of that title; its first column stands left.
    pub(crate) fn new(title: &str) -> Table {
        Table {
            heads: vec![(title.into(), Side::Left)],
            rows: Vec::new(),
            first_width: 28,
            at_a_time: 1,
        }
    }

    /// Adds a column.
    pub(crate) fn column(mut self, head: impl Into<String>, side: Side) -> Table {
        self.heads.push((head.into(), side));
        self
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The first column and some of the others.
    fn part(&self, columns: std::ops::Range<usize>) -> Table {
        let kept = |index: &usize| *index == 0 || columns.contains(index);
        let row = |row: &Vec<Cell>| {
            let cells = row.iter().enumerate().filter(|(index, _)| kept(index));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        let heads = self
            .heads
            .iter()
            .enumerate()
            .filter(|(index, _)| kept(index));
        Table {
            heads: heads.map(|(_, head)| head.clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            ..*self
        }
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The least that is left for a first column.
const MIN_FIRST_WIDTH: usize = 8;

/// What is printed.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) options: &'a Options,
    out: String,
}

impl<'a> Page<'a> {
    pub(crate) fn new(options: &'a Options) -> Page<'a> {
        Page {
            options,
            out: String::new(),
        }
    }

    /// All that was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// Columns to use.
    pub(crate) fn width(&self) -> usize {
        self.options.columns()
    }

    /// `text` as it may be shown.
    pub(crate) fn safe(&self, text: &str) -> String {
        match self.options.ascii {
            true => escape::visible_ascii(text),
            false => escape::visible(text),
        }
    }

    /// One of two spellings of our own signs.
    pub(crate) fn sign(&self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.options.ascii { ascii } else { unicode }
    }

    /// Appends text that is safe already.
    fn push(&mut self, safe: &str, paint: Paint) {
        // Blanks at the end stay outside, so that a line can lose them.
        let ink = safe.trim_end_matches(' ');
        if self.options.colour && paint != Paint::Plain && !ink.is_empty() {
            self.out += &format!("\x1b[{}m{ink}\x1b[0m", paint.sgr());
        } else {
            self.out += ink;
        }
        self.out += &safe[ink.len()..];
    }

    /// An empty line between two sections.
    pub(crate) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A line of pieces, cut off at the width of the page.
    pub(crate) fn line(&mut self, pieces: &[(&str, Paint)]) {
        let mut left = self.width();
        for (text, paint) in pieces {
            let text = cut(&self.safe(text), left, self.sign("…", "~"));
            left -= text.chars().count();
            self.push(&text, *paint);
        }
        self.end_line();
    }

    /// A line of shades of our own after an axis label; both hold only characters chosen here.
    pub(crate) fn shaded(&mut self, label: &str, shades: &str) {
        self.push(label, Paint::Dim);
        self.push(shades, Paint::Plain);
        self.end_line();
    }

    /// Ends a line without trailing blanks.
    fn end_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
    }

    /// A sentence over as many lines as it takes: `first` before it, its length in blanks before the rest.
    pub(crate) fn wrapped(&mut self, first: (&str, Paint), text: &str, paint: Paint) {
        self.hanging(&[first], text, paint);
    }

    /// The same on one line, however long: for logs.
    pub(crate) fn whole(&mut self, first: (&str, Paint), text: &str, paint: Paint) {
        for (piece, paint) in [first, (text, paint)] {
            let safe = self.safe(piece);
            self.push(&safe, paint);
        }
        self.end_line();
    }

    /// The same after several pieces, which fit into a line.
    pub(crate) fn hanging(&mut self, first: &[(&str, Paint)], text: &str, paint: Paint) {
        let leads: Vec<(String, Paint)> = first
            .iter()
            .map(|(piece, paint)| (self.safe(piece), *paint))
            .collect();
        let indent = leads.iter().map(|lead| lead.0.chars().count()).sum();
        let lines = wrap(
            &self.safe(text),
            self.width().saturating_sub(indent).max(20),
        );
        for (index, line) in lines.iter().enumerate() {
            match index {
                0 => leads
                    .iter()
                    .for_each(|(lead, paint)| self.push(lead, *paint)),
                _ => self.out += &" ".repeat(indent),
            }
            self.push(line, paint);
            self.end_line();
        }
    }

    /// A command after `lead`. Where it does not fit into a line, backslashes keep it one command for who copies it. No word is divided, and
    /// nothing that is quoted: there a backslash would be a part of it.
    pub(crate) fn command(&mut self, lead: &str, command: &str, paint: Paint) {
        let indent = lead.chars().count();
        let width = self.width().saturating_sub(indent + 2).max(20);
        let safe = self.safe(command);
        let mut lines: Vec<String> = Vec::new();
        for word in words(&safe) {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        for (index, line) in lines.iter().enumerate() {
            match index {
                0 => self.push(lead, Paint::Dim),
                _ => self.out += &" ".repeat(indent),
            }
            self.push(line, paint);
            if index + 1 < lines.len() {
                self.push(" \\", paint);
            }
            self.end_line();
        }
    }

    /// A table, its columns as wide as they must be and two blanks apart. Columns that do not fit follow below.
    pub(crate) fn table(&mut self, table: &Table) {
        let (fitting, columns) = (self.fitting_columns(table), table.heads.len());
        if fitting < columns {
            self.table(&table.part(1..fitting));
            self.table(&table.part(fitting..columns));
            return;
        }
        let heads = table.heads.iter().enumerate().map(|(column, (head, _))| {
            let paint = if column == 0 { Paint::Bold } else { Paint::Dim };
            Cell::painted(self.safe(head), paint)
        });
        let mut lines: Vec<Vec<Cell>> = vec![heads.collect()];
        let first_width = self.room_for_first(table);
        for row in &table.rows {
            let mut cells = row.iter();
            let Some(first) = cells.next() else {
                continue;
            };
            let mut pieces = wrap(&self.safe(&first.text), first_width).into_iter();
            let indented = |piece: String| Cell::painted(format!("  {piece}"), first.paint);
            let mut line = vec![indented(pieces.next().unwrap_or_default())];
            line.extend(cells.map(|cell| Cell::painted(self.safe(&cell.text), cell.paint)));
            lines.push(line);
            lines.extend(pieces.map(|piece| vec![indented(format!("  {piece}"))]));
        }
        let width = |column: usize| {
            let of = |line: &Vec<Cell>| line.get(column).map_or(0, |c| c.text.chars().count());
            lines.iter().map(of).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
        for line in &lines {
            self.table_line(table, line, &widths);
        }
    }

    /// Longest text of a column.
    fn column_width(&self, table: &Table, column: usize) -> usize {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|cell| cell.text.as_str());
        let texts = cells.chain([table.heads[column].0.as_str()]);
        let widths = texts.map(|text| self.safe(text).chars().count());
        widths.max().unwrap_or(0)
    }

    /// How many columns fit beside the first at its narrowest; two at least.
    fn fitting_columns(&self, table: &Table) -> usize {
        let title = self.safe(&table.heads[0].0).chars().count();
        let first = self.column_width(table, 0).min(MIN_FIRST_WIDTH) + 4;
        let mut left = self.width().saturating_sub(title.max(first));
        let fits = |column: &usize| {
            let width = 2 + self.column_width(table, *column);
            let fits = width <= left;
            left = left.saturating_sub(width);
            fits || *column == 1
        };
        let fitting = (1..table.heads.len()).take_while(fits).count() / table.at_a_time;
        1 + fitting.max(1) * table.at_a_time
    }

    /// What the other columns leave of the line for the first.
    fn room_for_first(&self, table: &Table) -> usize {
        let columns = 1..table.heads.len();
        let others: usize = columns
            .map(|column| 2 + self.column_width(table, column))
            .sum();
        // Two blanks before it, and two more before what goes on in the next line.
        let room = self.width().saturating_sub(others + 4);
        table.first_width.min(room.max(MIN_FIRST_WIDTH))
    }

    fn table_line(&mut self, table: &Table, line: &[Cell], widths: &[usize]) {
        let mut left = self.width();
        for (column, ((cell, width), (_, side))) in
            line.iter().zip(widths).zip(&table.heads).enumerate()
        {
            let gap = if column == 0 { 0 } else { 2 };
            if left <= gap {
                break;
            }
            left -= gap;
            self.out += &" ".repeat(gap);
            let text = cut(&cell.text, left.min(*width), self.sign("…", "~"));
            let blanks = " ".repeat((*width).min(left) - text.chars().count());
            left -= (*width).min(left);
            match side {
                Side::Left => {
                    self.push(&text, cell.paint);
                    self.out += &blanks;
                }
                Side::Right => {
                    self.out += &blanks;
                    self.push(&text, cell.paint);
                }
            }
        }
        self.end_line();
    }
}

/// The words of a command, as a shell parts them; what stands in single or double quotes is one, blanks and all. Outside of quotes a backslash
/// makes one of the next letter.
pub(crate) fn words(command: &str) -> impl Iterator<Item = &str> {
    let (mut quote, mut is_escaped) = (None, false);
    let words = command.split(move |letter: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (quote, letter) {
            (None, '\\') => is_escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
        quote.is_none() && letter == ' '
    });
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
