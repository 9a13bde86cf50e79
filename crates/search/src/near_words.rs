//! Which words of a list are one edit away from a word.

use std::ops::Range;

/// Words that can be searched by edit distance.
#[derive(Debug, Default)]
pub struct Spellings {
    letters: String,
    /// Position in `letters` and set of letters of each word, by number of characters, then in order.
    words: Vec<(u32, u32)>,
    /// Words of `n` characters are `groups[n]`.
    groups: Vec<Range<usize>>,
}

impl Spellings {
    /// Indexes these words, each once, in lower case.
    pub fn from_words(words: impl IntoIterator<Item = String>) -> Self {
        let mut words: Vec<(usize, String)> = words
            .into_iter()
            .map(|word| (word.chars().count(), word))
            .collect();
        words.sort_unstable();
        words.dedup();
        let mut spellings = Spellings::default();
        for (count, word) in words {
            let Ok(at) = u32::try_from(spellings.letters.len()) else {
                break;
            };
            while spellings.groups.len() <= count {
                let end = spellings.words.len();
                spellings.groups.push(end..end);
            }
            spellings.letters.push_str(&word);
            spellings.words.push((at, mask(&word)));
            if let Some(group) = spellings.groups.last_mut() {
                group.end = spellings.words.len();
            }
        }
        spellings.letters.shrink_to_fit();
        spellings.words.shrink_to_fit();
        spellings
    }

    /// Returns the words at one edit from `word`.
    pub fn near(&self, word: &str) -> Vec<&str> {
        let typed: Vec<char> = word.chars().collect();
        let letters = mask(word);
        let lengths = typed.len().saturating_sub(1)..typed.len() + 2;
        let places = lengths.filter_map(|length| self.groups.get(length).cloned());
        let alike = places.flatten().filter(|place| {
            let (_, mask) = self.words[*place];
            (mask ^ letters).count_ones() <= 2
        });
        let near = alike.map(|place| self.word(place));
        near.filter(|known| *known != word && is_one_edit(&typed, known))
            .collect()
    }

    fn word(&self, place: usize) -> &str {
        let (from, _) = self.words[place];
        let to = self.words.get(place + 1);
        let to = to.map_or(self.letters.len(), |(next, _)| *next as usize);
        &self.letters[from as usize..to]
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.letters.capacity() + self.words.capacity() * size_of::<(u32, u32)>()
    }
}

/// Returns the set of a word's letters: one edit changes at most two of them.
fn mask(word: &str) -> u32 {
    word.chars()
        .fold(0, |mask, letter| mask | 1 << (u32::from(letter) % 32))
}

/// Whether one inserted, deleted or replaced letter, or two transposed neighbours, convert `typed` to `known`.
fn is_one_edit(typed: &[char], known: &str) -> bool {
    let known: Vec<char> = known.chars().collect();
    let same = typed.iter().zip(&known).take_while(|(a, b)| a == b).count();
    let (typed, known) = (&typed[same..], &known[same..]);
    let rest = |letters: &'_ [char], from: usize| letters.get(from..).unwrap_or_default().to_vec();
    match typed.len().cmp(&known.len()) {
        std::cmp::Ordering::Less => known.len() == typed.len() + 1 && typed == rest(known, 1),
        std::cmp::Ordering::Greater => typed.len() == known.len() + 1 && rest(typed, 1) == known,
        std::cmp::Ordering::Equal => {
            let changed = rest(typed, 1) == rest(known, 1);
            let swapped = typed.len() > 1
                && typed[0] == known[1]
                && typed[1] == known[0]
                && rest(typed, 2) == rest(known, 2);
            changed || swapped
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(words: &[&str]) -> Spellings {
        Spellings::from_words(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn words_one_edit_away_are_found_and_others_are_not() {
        let known = spellings(&[
            "bucket", "buckets", "budget", "basket", "bucke", "bukcet", "zürich",
        ]);
        let near = |word: &str| known.near(word);
        assert_eq!(near("bucket"), ["bucke", "bukcet", "buckets"]);
        assert_eq!(near("buckte"), ["bucke", "bucket"]);
        assert_eq!(near("buket"), ["bucket", "bukcet"]);
        assert_eq!(near("zurich"), ["zürich"]);
        assert_eq!(near("b"), Vec::<&str>::new());
        assert_eq!(near(""), Vec::<&str>::new());
        assert_eq!(Spellings::default().near("bucket"), Vec::<&str>::new());
    }
}
