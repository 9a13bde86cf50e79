//! Orders in a forwarded mail: another person wrote them, and the caller may only be asking about them.
//!
//! The headers show where the mail begins. Nothing shows where it ends, so all following text counts as part of it.

use super::act::Act;
use super::clause::Clause;
use super::order::OrderForm;
use super::token::Token;
use super::words::VerbClass;

/// The maximum distance between the headers of a mail, in lines.
const HEADER_LINES: usize = 5;

/// Turns the orders of a forwarded mail into reported ones.
pub(super) fn report(text: &str, tokens: &[Token], clauses: &[Clause], acts: &mut [Act]) {
    let Some(start) = mail(text) else { return };
    for (act, clause) in acts.iter_mut().zip(clauses) {
        let within = tokens[clause.tokens.start].place.start >= start;
        if let Act::Order(order) = act
            && within
            && order.class == VerbClass::Change
            && !order.negated
        {
            *act = Act::Reported(Some(order.clone().doubtful(OrderForm::Reported)));
        }
    }
}

/// Returns the start of a forwarded mail's headers: a line with the sender, near one with the receiver, time or
/// subject.
fn mail(text: &str) -> Option<usize> {
    const OTHERS: [&str; 5] = ["cc:", "date:", "sent:", "subject:", "to:"];
    let mut at = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let plain = line.trim_start_matches(['*', ' ', '\t']);
        lines.push((at, plain.to_lowercase()));
        at += line.len();
    }
    lines
        .iter()
        .enumerate()
        .find_map(|(number, (start, line))| {
            let near = lines.iter().skip(number + 1).take(HEADER_LINES);
            let mut near = near.map(|(_, line)| line.as_str());
            let has_others = near.any(|line| OTHERS.iter().any(|other| line.starts_with(other)));
            (line.starts_with("from:") && has_others).then_some(*start)
        })
}
