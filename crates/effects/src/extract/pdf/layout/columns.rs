//! Columns that the content writes side by side, line by line: puts the text of each before the next.
//!
//! A column is prose: cells of a table, which are short, are left in their rows.

use super::pieces::Piece;

/// Least number of lines of a column.
const LINES: usize = 4;
/// Least average number of letters of a column's line.
const LETTERS: usize = 15;
/// Least average part of the column's width that a line fills.
const FILLED: f64 = 0.5;
/// Least number of times that the content switches columns, for columns that are written side by side.
const CROSSINGS: usize = 4;
/// Depth of columns within columns.
const LEVELS: usize = 4;
/// Number of left edges of a page that are tried.
const EDGES: usize = 8;
/// The narrowest gap between columns, in ems.
const GUTTER: f64 = 0.5;
/// Largest distance, in points, of edges that count as equal.
const EDGE: f64 = 2.0;

/// Returns the pieces in reading order.
pub(super) fn in_reading_order(pieces: Vec<Piece>) -> Vec<Piece> {
    let order = order(&pieces, (0..pieces.len()).collect(), 0);
    let mut pieces: Vec<Option<Piece>> = pieces.into_iter().map(Some).collect();
    let taken = order
        .into_iter()
        .filter_map(|at| pieces.get_mut(at)?.take());
    taken.collect()
}

fn order(pieces: &[Piece], of: Vec<usize>, level: usize) -> Vec<usize> {
    if level == LEVELS || of.len() < 2 * LINES {
        return of;
    }
    for edge in edges(pieces, &of) {
        if let Some(bands) = apart(pieces, &of, edge) {
            return bands
                .into_iter()
                .flat_map(|band| order(pieces, band, level + 1))
                .collect();
        }
    }
    of
}

/// Returns the most frequent left edges of pieces, without the leftmost.
fn edges(pieces: &[Piece], of: &[usize]) -> Vec<f64> {
    let mut lefts: Vec<f64> = of.iter().map(|at| pieces[*at].from.x).collect();
    lefts.sort_by(f64::total_cmp);
    let mut edges: Vec<(usize, f64)> = Vec::new();
    for left in lefts {
        match edges.last_mut() {
            Some((count, edge)) if left - *edge <= EDGE => *count += 1,
            Some(_) | None => edges.push((1, left)),
        }
    }
    let leftmost = edges.first().map_or(0.0, |(_, edge)| *edge);
    edges.retain(|(count, edge)| *count >= LINES && *edge > leftmost + EDGE);
    edges.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    edges
        .into_iter()
        .take(EDGES)
        .map(|(_, edge)| edge)
        .collect()
}

/// Returns the pieces on the two sides of an edge, in the bands between those that cross it; `None` if the edge is not
/// between two columns that are written side by side.
fn apart(pieces: &[Piece], of: &[usize], edge: f64) -> Option<Vec<Vec<usize>>> {
    let mut done: Vec<Vec<usize>> = Vec::new();
    let mut band = Band::default();
    let mut found = false;
    for at in of {
        let piece = &pieces[*at];
        let gutter = edge - GUTTER * piece.em;
        if piece.from.x >= edge - EDGE {
            band.add(*at, Side::Right);
        } else if piece.to.x <= gutter && piece.from.x <= gutter {
            band.add(*at, Side::Left);
        } else {
            found |= std::mem::take(&mut band).close(pieces, edge, &mut done);
            done.push(vec![*at]);
        }
    }
    found |= band.close(pieces, edge, &mut done);
    found.then_some(done)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// The pieces between two that cross an edge.
#[derive(Default)]
struct Band {
    all: Vec<usize>,
    left: Vec<usize>,
    right: Vec<usize>,
    crossings: usize,
    last: Option<Side>,
}

impl Band {
    fn add(&mut self, at: usize, side: Side) {
        self.all.push(at);
        match side {
            Side::Left => self.left.push(at),
            Side::Right => self.right.push(at),
        }
        if self.last.replace(side) != Some(side) {
            self.crossings += 1;
        }
    }

    /// Whether the band has two columns.
    fn close(self, pieces: &[Piece], edge: f64, done: &mut Vec<Vec<usize>>) -> bool {
        let least = |of: &[usize], place: fn(&Piece) -> f64| {
            of.iter()
                .map(|at| place(&pieces[*at]))
                .fold(f64::INFINITY, f64::min)
        };
        let left_from = least(&self.left, |piece| piece.from.x);
        let right_to = -least(&self.right, |piece| -piece.to.x);
        let is_columns = self.crossings >= CROSSINGS
            && is_prose(pieces, &self.left, edge - left_from)
            && is_prose(pieces, &self.right, right_to - edge);
        if is_columns {
            done.extend([self.left, self.right]);
        } else if !self.all.is_empty() {
            done.push(self.all);
        }
        is_columns
    }
}

fn is_prose(pieces: &[Piece], of: &[usize], width: f64) -> bool {
    let mut baselines: Vec<f64> = of.iter().map(|at| pieces[*at].from.y).collect();
    baselines.sort_by(f64::total_cmp);
    baselines.dedup_by(|one, other| (*one - *other).abs() <= EDGE);
    let lines = baselines.len();
    let letters: usize = of.iter().map(|at| pieces[*at].text.chars().count()).sum();
    let filled: f64 = of
        .iter()
        .map(|at| (pieces[*at].to.x - pieces[*at].from.x).max(0.0))
        .sum();
    lines >= LINES && letters >= LETTERS * lines && filled >= FILLED * width * lines as f64
}
