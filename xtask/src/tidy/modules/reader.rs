//! The items, imports and mentions of a file's modules, from the tokens of its code. Knows no other file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::ModulePath;
use crate::tidy::rust_code::{Token, blanked, tokens};
use crate::workspace::TextFile;

/// Keywords before the name of an item.
const ITEMS: [&str; 8] = [
    "const", "enum", "fn", "static", "struct", "trait", "type", "union",
];

/// Keywords that begin an item or statement. These end in no comma, unlike fields and elements.
const BEGINNINGS: [&str; 17] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "for",
    "impl",
    "let",
    "macro_rules",
    "mod",
    "pub",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

/// How paths in string literals begin; attributes have them, such as `#[serde(with = "…")]`.
const QUOTED_PATHS: [&str; 3] = ["crate::", "self::", "super::"];

/// How a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MentionKind {
    /// In a `use`, with `::` in code, or in an attribute's literal.
    Path,
    /// The name of a macro that is called.
    Macro,
}

/// A path as it is written, `["super", "drive", "Progress"]`.
#[derive(Debug)]
pub(super) struct Mention {
    pub(super) path: Vec<String>,
    pub(super) kind: MentionKind,
    pub(super) line: usize,
}

/// An `impl` block of no trait.
#[derive(Debug)]
pub(super) struct Impl {
    pub(super) of_type: Vec<String>,
    pub(super) methods: usize,
    pub(super) line: usize,
}

/// A module.
#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) path: ModulePath,
    pub(super) file: String,
    pub(super) items: BTreeSet<String>,
    pub(super) macros: BTreeSet<String>,
    /// Names in calls of macros at the module's level, which may make items of them.
    pub(super) expanded: BTreeSet<String>,
    /// Imported names with their paths.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// The paths before `::*`.
    pub(super) globs: Vec<Vec<String>>,
    pub(super) mentions: Vec<Mention>,
    /// Names outside of paths, with the line of their first use.
    pub(super) words: BTreeMap<String, usize>,
    pub(super) impls: Vec<Impl>,
    /// Its modules within this file.
    inline: BTreeSet<String>,
    /// Its modules in files of their own.
    files: BTreeSet<String>,
}

/// The modules of a file, the first of which has this path.
pub(super) fn read(file: &TextFile, path: ModulePath) -> Vec<Module> {
    let blanked = blanked(&file.text);
    let lines = file.text.match_indices('\n').map(|(at, _)| at);
    let code = Code {
        file,
        tokens: &tokens(&blanked),
        ends_of_lines: lines.collect(),
    };
    code.modules(0..code.tokens.len(), path)
}

impl Module {
    /// The paths of its modules in files of their own.
    pub(super) fn declared(&self) -> Vec<ModulePath> {
        let files = self.files.iter();
        files.map(|name| self.below(name)).collect()
    }

    /// The path of its module with this name.
    pub(super) fn child(&self, name: &str) -> Option<ModulePath> {
        let known = self.files.contains(name) || self.inline.contains(name);
        known.then(|| self.below(name))
    }

    /// Whether a name is its own, or imported by name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.items.contains(name) || self.imports.contains_key(name) || self.child(name).is_some()
    }

    fn below(&self, name: &str) -> ModulePath {
        let names = self.path.iter().cloned();
        names.chain([name.to_owned()]).collect()
    }

    fn mention(&mut self, path: &[&str], kind: MentionKind, line: usize) {
        let path = path.iter().map(|name| (*name).to_owned()).collect();
        self.mentions.push(Mention { path, kind, line });
    }

    /// One path of a `use`.
    fn import(&mut self, path: &[&str], name: Option<&str>, line: usize) {
        let path = match path {
            [above @ .., "self"] if !above.is_empty() => above,
            path => path,
        };
        let Some((last, above)) = path.split_last() else {
            return;
        };
        let owned = |path: &[&str]| path.iter().map(|name| (*name).to_owned()).collect();
        if *last == "*" {
            self.globs.push(owned(above));
            self.mention(above, MentionKind::Path, line);
        } else {
            let name = name.unwrap_or(last).to_owned();
            self.imports.entry(name).or_insert_with(|| owned(path));
            self.mention(path, MentionKind::Path, line);
        }
    }
}

/// The code of a file.
struct Code<'c> {
    file: &'c TextFile,
    tokens: &'c [Token<'c>],
    ends_of_lines: Vec<usize>,
}

impl<'c> Code<'c> {
    /// The token at a place; empty behind the last one.
    fn word(&self, at: usize) -> &'c str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The token some places before another.
    fn before(&self, at: usize, back: usize) -> &'c str {
        at.checked_sub(back).map_or("", |at| self.word(at))
    }

    fn line(&self, at: usize) -> usize {
        let place = self.tokens.get(at).map_or(0, |token| token.at);
        self.ends_of_lines.partition_point(|end| *end < place) + 1
    }

    /// The module in a part of the file, and those within it.
    fn modules(&self, part: Range<usize>, path: ModulePath) -> Vec<Module> {
        let mut module = Module {
            path,
            file: self.file.path.clone(),
            ..Module::default()
        };
        let mut found = Vec::new();
        let mut depth = 0_usize;
        let mut at = part.start;
        while at < part.end {
            at = match self.word(at) {
                "#" if self.is_for_tests(at) => self.after_item(self.close(at + 1) + 1),
                "\"" => self.read_literal(at, &mut module),
                "pub" if self.word(at + 1) == "(" => self.close(at + 1) + 1,
                "use" if self.word(at + 1) != "<" => self.read_use(at + 1, &mut module),
                "mod" if depth == 0 && is_name(self.word(at + 1)) => {
                    let (end, within) = self.read_mod(at, &mut module);
                    found.extend(within);
                    end
                }
                "{" | "(" | "[" => {
                    depth += 1;
                    at + 1
                }
                "}" | ")" | "]" => {
                    depth = depth.saturating_sub(1);
                    at + 1
                }
                word if is_name(word) => self.read_word(at, depth, &mut module),
                _ => at + 1,
            };
        }
        found.push(module);
        found
    }

    /// Whether the tokens from `#` on are `#[cfg(test)]`.
    fn is_for_tests(&self, at: usize) -> bool {
        let words = ["#", "[", "cfg", "(", "test", ")", "]"].iter();
        words
            .enumerate()
            .all(|(offset, word)| self.word(at + offset) == *word)
    }

    /// The place of the bracket that closes the one at `at`; behind the last token when none does.
    fn close(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        let mut place = at;
        while place < self.tokens.len() {
            match self.word(place) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            place += 1;
        }
        place
    }

    /// The place behind the item, field or element at `at`.
    fn after_item(&self, at: usize) -> usize {
        let mut place = at;
        while self.word(place) == "#" {
            place = self.close(place + 1) + 1;
        }
        let is_item = BEGINNINGS.contains(&self.word(place));
        while place < self.tokens.len() {
            match self.word(place) {
                "{" => return self.close(place) + 1,
                "(" | "[" => place = self.close(place) + 1,
                ";" => return place + 1,
                "," if !is_item => return place + 1,
                "}" | ")" | "]" => return place,
                _ => place += 1,
            }
        }
        place
    }

    /// Reads a string literal from its first quote on; the place behind it.
    fn read_literal(&self, at: usize, module: &mut Module) -> usize {
        let (Some(open), Some(close)) = (self.tokens.get(at), self.tokens.get(at + 1)) else {
            return at + 1;
        };
        let text = self.file.text.get(open.at + 1..close.at).unwrap_or("");
        if QUOTED_PATHS.iter().any(|first| text.starts_with(*first)) {
            let path = text.split('<').next().unwrap_or("");
            let path: Vec<&str> = path.split("::").filter(|name| is_name(name)).collect();
            module.mention(&path, MentionKind::Path, self.line(at));
        }
        at + 2
    }

    /// Reads a `use` from its first name on; the place behind it.
    fn read_use(&self, at: usize, module: &mut Module) -> usize {
        let mut path: Vec<&str> = Vec::new();
        // How much of the path each open brace has before it.
        let mut open: Vec<usize> = Vec::new();
        let mut name = None;
        let of_another_crate = self.word(at) == ":";
        let mut place = at;
        while place < self.tokens.len() {
            let word = self.word(place);
            if word == "{" {
                open.push(path.len());
            } else if matches!(word, "," | "}" | ";") {
                let shared = open.last().copied().unwrap_or(0);
                if path.len() > shared && !of_another_crate {
                    module.import(&path, name, self.line(place.saturating_sub(1)));
                }
                name = None;
                if word == "}" {
                    open.pop();
                }
                path.truncate(open.last().copied().unwrap_or(0));
            } else if path.last() == Some(&"as") {
                path.pop();
                name = Some(word);
            } else if is_name(word) || word == "*" {
                path.push(word);
            }
            place += 1;
            if word == ";" {
                break;
            }
        }
        place
    }

    /// Reads a `mod`: the place behind it, and the modules that it has within.
    fn read_mod(&self, at: usize, module: &mut Module) -> (usize, Vec<Module>) {
        let name = self.word(at + 1).to_owned();
        match self.word(at + 2) {
            ";" => {
                module.files.insert(name);
                (at + 3, Vec::new())
            }
            "{" => {
                let end = self.close(at + 2);
                let path = module.below(&name);
                module.inline.insert(name);
                (end + 1, self.modules(at + 3..end, path))
            }
            _ => (at + 1, Vec::new()),
        }
    }

    /// Reads a word, or the path that begins with it; the place behind.
    fn read_word(&self, at: usize, depth: usize, module: &mut Module) -> usize {
        let word = self.word(at);
        let next = self.word(at + 1);
        if word == "macro_rules" && next == "!" {
            let name = self.word(at + 2).to_owned();
            module.macros.insert(name.clone());
            module.items.insert(name);
            return at + 3;
        }
        if depth == 0 && ITEMS.contains(&word) && is_name(next) {
            module.items.insert(next.to_owned());
        }
        if depth == 0 && word == "impl" && self.before(at, 1) != ">" {
            module.impls.extend(self.impl_block(at));
        }
        let in_path = self.before(at, 1) == ":" && self.before(at, 2) == ":";
        let is_method = self.before(at, 1) == "." && self.before(at, 2) != ".";
        if in_path || is_method {
            return at + 1;
        }
        if next == "!" && matches!(self.word(at + 2), "{" | "(" | "[") {
            if depth == 0 {
                let names = at + 3..self.close(at + 2);
                let names = names.map(|at| self.word(at)).filter(|name| is_name(name));
                module.expanded.extend(names.map(str::to_owned));
            }
            module.mention(&[word], MentionKind::Macro, self.line(at));
        }
        let path = self.path(at);
        if path.len() > 1 {
            module.mention(&path, MentionKind::Path, self.line(at));
        } else {
            let line = module.words.entry(word.to_owned());
            line.or_insert_with(|| self.line(at));
        }
        at + 1
    }

    /// The path that begins at a word: `["a", "b"]` for `a::b`.
    fn path(&self, at: usize) -> Vec<&'c str> {
        let mut path = vec![self.word(at)];
        let mut place = at + 1;
        while self.word(place) == ":"
            && self.word(place + 1) == ":"
            && is_name(self.word(place + 2))
        {
            path.push(self.word(place + 2));
            place += 3;
        }
        path
    }

    /// The block of an `impl` without a trait.
    fn impl_block(&self, at: usize) -> Option<Impl> {
        let mut of_type = Vec::new();
        let mut depth = 0_usize;
        let mut place = at + 1;
        let mut is_bound = false;
        while !matches!(self.word(place), "{" | ";" | "") {
            match self.word(place) {
                "for" if depth == 0 => return None,
                "where" => is_bound = true,
                "<" => depth += 1,
                ">" if self.before(place, 1) != "-" => depth = depth.saturating_sub(1),
                name if depth == 0 && !is_bound && is_name(name) => of_type.push(name.to_owned()),
                _ => {}
            }
            place += 1;
        }
        Some(Impl {
            of_type,
            methods: self.methods(place + 1..self.close(place)),
            line: self.line(at),
        })
    }

    /// How many functions a block has, tests apart.
    fn methods(&self, block: Range<usize>) -> usize {
        let mut count = 0;
        let mut place = block.start;
        while place < block.end {
            place = match self.word(place) {
                "#" if self.is_for_tests(place) => self.after_item(self.close(place + 1) + 1),
                "{" | "(" | "[" => self.close(place) + 1,
                "fn" => {
                    count += 1;
                    place + 1
                }
                _ => place + 1,
            };
        }
        count
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
