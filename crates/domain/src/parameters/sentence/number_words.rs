//! Numbers in words: `twenty-five`, `two hundred and five`.

use super::numbers::{Decimal, below_hundred, multiplier};
use super::text::Sentence;

/// A number in words that begins at a place, and how many words it has.
pub(super) fn in_words(sentence: &Sentence<'_>, at: usize) -> Option<(Decimal, usize)> {
    let mut sum = Sum::default();
    let mut end = at;
    while end < sentence.len() && (end == at || sentence.joins(end)) {
        let word = sentence.lower(end);
        let goes_on = match word {
            "a" => end == at && is_many(sentence.lower(at + 1)) && sentence.joins(at + 1),
            "and" => end > at && sum.group % 100 == 0 && continues(sentence, end + 1),
            word => sum.take(word, sentence.lower(at) == "a"),
        };
        if !goes_on {
            break;
        }
        end += 1;
    }
    let number = sum.total + sum.group;
    let zero = sentence.lower(at) == "zero";
    ((end > at && number > 0) || zero).then(|| (Decimal::whole(number), (end - at).max(1)))
}

/// A number in words as far as it was read.
#[derive(Default)]
struct Sum {
    total: i128,
    group: i128,
}

impl Sum {
    /// Goes on with a word, if it goes on the number.
    fn take(&mut self, word: &str, after_article: bool) -> bool {
        if let Some(number) = below_hundred(word) {
            let joined = joins_to(self.group, number);
            self.group = joined.unwrap_or(self.group);
            return joined.is_some();
        }
        let counted = self.group > 0 || after_article;
        match word {
            "hundred" | "dozen" if counted && self.group < 10 => {
                self.group = self.group.max(1) * if word == "dozen" { 12 } else { 100 };
                true
            }
            "thousand" | "million" | "billion" if counted => {
                self.total += self.group.max(1) * multiplier(word).unwrap_or(1);
                self.group = 0;
                true
            }
            _ => false,
        }
    }
}

fn is_many(word: &str) -> bool {
    matches!(word, "hundred" | "thousand" | "million" | "dozen")
}

/// Whether "and" goes on a number: "one hundred and five".
fn continues(sentence: &Sentence<'_>, at: usize) -> bool {
    sentence.joins(at) && below_hundred(sentence.lower(at)).is_some()
}

/// "Twenty" and "five" are one number, "five" and "twenty" are two.
fn joins_to(group: i128, number: i128) -> Option<i128> {
    let room = match group % 100 {
        0 => 100,
        tens if tens >= 20 && tens % 10 == 0 => 10,
        _ => return None,
    };
    (number > 0 && number < room).then_some(group + number)
}
