//! The call graph of a test program, by the names of its functions. Knows neither types nor macros:
//!
//! - A call `a::b(…)` or `b(…)` leads to a function of the same file, or to one named by the file's `use`. Re-exports
//!   are not followed.
//! - A call `.b(…)` leads to the only method `b` in all files, and to none if there are several. A call `self.b(…)`
//!   leads to the method of the same type first.
//! - A function that is passed as a value, called with type arguments (`b::<T>(…)`), or called by a macro expansion,
//!   is not recognised.
//! - A nested function counts as part of the enclosing one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::rust_code::{Token, blanked, tokens};
use crate::workspace::TextFile;

/// A function, a method or a test.
#[derive(Debug)]
pub(crate) struct Function {
    /// Path of modules, type and name: `gate::Rig::start`.
    pub(crate) path: String,
    pub(crate) is_test: bool,
    pub(crate) is_ignored: bool,
    is_method: bool,
    calls: Vec<Call>,
    /// String literals in its body.
    literals: BTreeSet<String>,
}

impl Function {
    /// Whether it calls a method with this name, of any type.
    pub(crate) fn calls_method(&self, name: &str) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.is_method && call.name == name)
    }

    /// Whether `text` is a complete string literal in its body.
    pub(crate) fn has_literal(&self, text: &str) -> bool {
        self.literals.contains(text)
    }
}

#[derive(Debug)]
struct Call {
    name: String,
    is_method: bool,
    /// Possible paths of the function, likeliest first.
    paths: Vec<String>,
}

/// Returns the functions below `folder`, whose root is its `main.rs`. Calls in the modules `leaves` are ignored.
pub(crate) fn functions<'f>(
    folder: &str,
    files: impl Iterator<Item = &'f TextFile>,
    leaves: &[&str],
) -> Vec<Function> {
    let mut functions = Vec::new();
    for file in files {
        let module = module(file.path.strip_prefix(folder).unwrap_or(&file.path));
        let code = blanked(&file.text);
        let tokens = tokens(&code);
        let scope = Scope::new(module, &tokens);
        let mut found = scope.functions(&file.text, &tokens);
        if leaves.contains(&scope.module.as_str()) {
            found.iter_mut().for_each(|function| function.calls.clear());
        }
        functions.append(&mut found);
    }
    functions
}

/// Returns the functions for which `directly` holds, and their direct and indirect callers.
pub(crate) fn reaching<'f>(
    functions: &'f [Function],
    directly: &dyn Fn(&Function) -> bool,
) -> Vec<&'f Function> {
    let by_path = functions.iter().map(|f| f.path.as_str()).zip(0..);
    let by_path: BTreeMap<&str, usize> = by_path.collect();
    let mut methods: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, method) in functions.iter().enumerate().filter(|(_, f)| f.is_method) {
        let name = method.path.rsplit(':').next().unwrap_or_default();
        methods.entry(name).or_default().push(at);
    }
    let callee = |call: &Call| {
        let named = call
            .paths
            .iter()
            .find_map(|path| by_path.get(path.as_str()));
        let alone = match methods.get(call.name.as_str()).map(Vec::as_slice) {
            Some([alone]) if call.is_method => Some(alone),
            Some(_) | None => None,
        };
        named.or(alone).copied()
    };
    let mut reaches: Vec<bool> = functions.iter().map(directly).collect();
    loop {
        let further = functions.iter().enumerate().filter(|(at, function)| {
            let mut callees = function.calls.iter().filter_map(callee);
            !reaches[*at] && callees.any(|callee| reaches[callee])
        });
        let further: Vec<usize> = further.map(|(at, _)| at).collect();
        if further.is_empty() {
            break;
        }
        further.iter().for_each(|at| reaches[*at] = true);
    }
    let found = functions.iter().zip(reaches);
    found
        .filter_map(|(f, reaches)| reaches.then_some(f))
        .collect()
}

/// Returns the module of a file: `a::b` for `a/b.rs`.
fn module(file: &str) -> String {
    let path = file.trim_end_matches(".rs").trim_start_matches('/');
    let path = if path == "main" { "" } else { path };
    path.replace('/', "::")
}

fn joined(path: &str, segments: &[&str]) -> String {
    let own = Some(path).filter(|path| !path.is_empty());
    let all: Vec<&str> = own.into_iter().chain(segments.iter().copied()).collect();
    all.join("::")
}

fn is_word(token: &Token<'_>) -> bool {
    token
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Name resolution in one file.
#[derive(Debug)]
struct Scope {
    module: String,
    /// Imported names with their paths; `*` for all names below a path.
    imports: Vec<(String, String)>,
}

impl Scope {
    fn new(module: String, tokens: &[Token<'_>]) -> Self {
        let mut scope = Self {
            module,
            imports: Vec::new(),
        };
        for (at, token) in tokens.iter().enumerate() {
            let bounds = tokens.get(at + 1).is_some_and(|next| next.text == "<");
            if token.text == "use" && !bounds {
                let imports = scope.imported(&tokens[at + 1..]);
                scope.imports.extend(imports);
            }
        }
        scope
    }

    /// Returns the imports of a `use`; the tokens start after that word.
    fn imported(&self, tokens: &[Token<'_>]) -> Vec<(String, String)> {
        let mut imports = Vec::new();
        let mut path: Vec<&str> = Vec::new();
        // Length of the path before each open brace.
        let mut open: Vec<usize> = Vec::new();
        let mut name = None;
        for token in tokens {
            if token.text == "{" {
                open.push(path.len());
            } else if matches!(token.text, "," | "}" | ";") {
                if path.len() > open.last().copied().unwrap_or(0) {
                    imports.extend(self.import(&path, name.take()));
                }
                if token.text == "}" {
                    open.pop();
                }
                path.truncate(open.last().copied().unwrap_or(0));
            } else if path.last() == Some(&"as") {
                path.pop();
                name = Some(token.text);
            } else if is_word(token) || token.text == "*" {
                path.push(token.text);
            }
            if token.text == ";" {
                break;
            }
        }
        imports
    }

    /// Returns the name that one path of a `use` imports, and its path.
    fn import(&self, path: &[&str], name: Option<&str>) -> Option<(String, String)> {
        let path = match path {
            [above @ .., "self"] => above,
            path => path,
        };
        let (last, above) = path.split_last()?;
        let path = if *last == "*" { above } else { path };
        Some((name.unwrap_or(last).to_owned(), self.absolute(path)))
    }

    /// Resolves a path relative to the root of the program.
    fn absolute(&self, segments: &[&str]) -> String {
        let mut path: Vec<&str> = self.module.split("::").collect();
        path.retain(|segment| !segment.is_empty());
        for segment in segments {
            match *segment {
                "crate" => path.clear(),
                "self" => {}
                "super" => {
                    path.pop();
                }
                name => path.push(name),
            }
        }
        path.join("::")
    }

    /// Returns the possible paths of a name, likeliest first.
    fn paths(&self, owner: Option<&str>, segments: &[&str]) -> Vec<String> {
        let Some((first, rest)) = segments.split_first() else {
            return Vec::new();
        };
        if let (Some(owner), true) = (owner, *first == "Self") {
            return vec![joined(owner, rest)];
        }
        let imported = self.imports.iter().filter_map(|(name, path)| {
            let rest = if name == "*" { segments } else { rest };
            (name == first || name == "*").then(|| joined(path, rest))
        });
        let own = std::iter::once(self.absolute(segments));
        own.chain(imported).collect()
    }

    /// Returns the path of a type for which the file has methods.
    fn path_of_type(&self, name: &str) -> String {
        let imported = self.imports.iter().find(|(known, _)| known == name);
        imported.map_or_else(|| self.absolute(&[name]), |(_, path)| path.clone())
    }

    /// Returns the functions of a file.
    fn functions(&self, text: &str, tokens: &[Token<'_>]) -> Vec<Function> {
        let mut functions = Vec::new();
        let mut owner: Option<(String, usize)> = None;
        let mut is_test = false;
        let mut is_ignored = false;
        let mut at = 0;
        while at < tokens.len() {
            let rest = &tokens[at..];
            owner = owner.filter(|(_, end)| at < *end);
            let block = || block(rest).map(|block| at + block.start..at + block.end);
            match rest {
                [Token { text: "#", .. }, ..] => {
                    is_test |= is_test_attribute(rest);
                    is_ignored |= is_ignore_attribute(rest);
                }
                [Token { text: "impl", .. }, ..] => {
                    if let (Some(name), Some(block)) = (self_type(rest), block()) {
                        owner = Some((self.path_of_type(name), block.end));
                    }
                }
                [Token { text: "fn", .. }, name, ..] if is_word(name) => {
                    if let Some(block) = block() {
                        let owner = owner.as_ref().map(|(path, _)| path.as_str());
                        let body = &tokens[block.clone()];
                        functions.push(Function {
                            path: joined(owner.unwrap_or(&self.module), &[name.text]),
                            is_test,
                            is_ignored,
                            is_method: owner.is_some(),
                            calls: self.calls(owner, body),
                            literals: literals(text, body),
                        });
                        at = block.end;
                    }
                    is_test = false;
                    is_ignored = false;
                }
                _ => {}
            }
            at += 1;
        }
        functions
    }

    /// Returns the calls in a function body.
    fn calls(&self, owner: Option<&str>, body: &[Token<'_>]) -> Vec<Call> {
        let called = (0..body.len()).filter(|at| is_called(&body[*at..]));
        called
            .map(|at| {
                let before = |back: usize| at.checked_sub(back).map_or("", |at| body[at].text);
                let is_method = before(1) == "." && before(2) != ".";
                let paths = if !is_method {
                    self.paths(owner, &path_at(body, at))
                } else if before(2) == "self" && before(3) != "." {
                    self.paths(owner, &["Self", body[at].text])
                } else {
                    Vec::new()
                };
                Call {
                    name: body[at].text.to_owned(),
                    is_method,
                    paths,
                }
            })
            .collect()
    }
}

/// Whether the tokens starting with `#` are `#[test]` or `#[tokio::test…]`.
fn is_test_attribute(tokens: &[Token<'_>]) -> bool {
    let text: String = tokens.iter().take(6).map(|token| token.text).collect();
    text.starts_with("#[test]") || text.starts_with("#[tokio::test")
}

/// Whether the tokens starting with `#` are `#[ignore …`.
fn is_ignore_attribute(tokens: &[Token<'_>]) -> bool {
    matches!(
        tokens,
        [_, Token { text: "[", .. }, Token { text: "ignore", .. }, ..]
    )
}

/// Returns the range from the first brace to its closing brace; `None` if a declaration ends before.
fn block(tokens: &[Token<'_>]) -> Option<Range<usize>> {
    let mut start = None;
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            ";" if depth == 0 => return None,
            "{" if depth == 0 => (start, depth) = (Some(at), 1),
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if let (Some(start), 0) = (start, depth) {
            return Some(start..at);
        }
    }
    None
}

/// Returns the name of the type whose methods follow an `impl`.
fn self_type<'c>(tokens: &[Token<'c>]) -> Option<&'c str> {
    let mut depth = 0;
    let mut name = None;
    for token in tokens.iter().skip(1) {
        match token.text {
            "{" | "where" => break,
            "<" => depth += 1,
            ">" => depth -= 1,
            "for" => name = None,
            text if depth == 0 && is_word(token) => name = Some(text),
            _ => {}
        }
    }
    name
}

/// Whether the first token is a called name: `a(`.
fn is_called(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [name, Token { text: "(", .. }, ..] if is_word(name))
}

/// Returns the path that ends with this token: `["a", "b"]` for `a::b`.
fn path_at<'c>(tokens: &[Token<'c>], end: usize) -> Vec<&'c str> {
    let mut path = vec![tokens[end].text];
    let mut before = &tokens[..end];
    while let [
        above @ ..,
        segment,
        Token { text: ":", .. },
        Token { text: ":", .. },
    ] = before
    {
        if !is_word(segment) {
            break;
        }
        path.insert(0, segment.text);
        before = above;
    }
    path
}

/// Returns the string literals at tokens of a text whose literals were blanked.
fn literals(text: &str, tokens: &[Token<'_>]) -> BTreeSet<String> {
    let quotes: Vec<usize> = tokens
        .iter()
        .filter_map(|token| (token.text == "\"").then_some(token.at))
        .collect();
    let pairs = quotes.chunks_exact(2);
    pairs
        .map(|pair| text[pair[0] + 1..pair[1]].to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the functions in these files that call `.go()` directly or indirectly.
    fn reached_functions(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: format!("it/{path}"),
                text: (*text).to_owned(),
            })
            .collect();
        let functions = functions("it/", files.iter(), &["leaf"]);
        let goes = |function: &Function| function.calls_method("go");
        let reached = reaching(&functions, &goes).into_iter();
        reached.map(|function| function.path.clone()).collect()
    }

    const RIG: (&str, &str) = (
        "rig.rs",
        "pub fn go(it: It) { it.go(); }
        struct Rig;
        impl<'a> Rig { fn new() -> Self { Self::with(1) } fn with(n: u8) -> Self { it.go() } }
        impl Drop for Rig { fn drop(&mut self) { self.over(); } }
        impl Rig { fn over(&self) -> [u8; 2] { self.0.go() } fn idle(&self) {} }",
    );

    const OF_RIG: [&str; 5] = [
        "rig::go",
        "rig::Rig::new",
        "rig::Rig::with",
        "rig::Rig::drop",
        "rig::Rig::over",
    ];

    #[test]
    fn a_file_calls_its_own_functions() {
        assert_eq!(reached_functions(&[RIG]), OF_RIG);
        let text = "fn a() { b(); } fn b() { if c() { d() } } fn c() -> bool { x.go() } fn d() {}";
        assert_eq!(reached_functions(&[("main.rs", text)]), ["a", "b", "c"]);
    }

    #[test]
    fn calls_resolve_to_other_files_by_import_and_path() {
        let reaches = |text: &str| {
            let found =
                reached_functions(&[RIG, ("leaf.rs", "fn go() { it.go(); }"), ("a/b.rs", text)]);
            found[OF_RIG.len()..].to_vec()
        };
        let calls = [
            "use crate::rig::go; fn a() { go(); }",
            "use crate::rig::go as run; fn a() { run(); }",
            "use crate::{leaf::{x, y}, rig::{Rig, go}, z}; fn a() { go(); }",
            "use crate::rig; fn a() { rig::go(); }",
            "use crate::rig::{self, Rig}; fn a() { rig::go(); }",
            "use super::super::rig::*; fn a() { go(); }",
            "fn a() { crate::rig::go(); }",
            "fn a() { let x = || super::super::rig::go(); }",
            "use crate::rig::Rig; fn a() { Rig::new(); }",
            "fn a() { crate::rig::Rig::new() }",
            "fn a() { rig.over(); }",
        ];
        for text in calls {
            assert_eq!(reaches(text), ["a::b::a"], "{text}");
        }
        let others = [
            "fn a() { go(); }",
            "fn a() { rig::go(); }",
            "use crate::leaf::go; fn a() { go(); }",
            "use crate::rig::Rig; fn a() { Rig::idle(); }",
            "use crate::rig::go; fn a() { go!(); }",
            "use crate::rig::go; fn a() { x.map(go); }",
            "fn a() { rig.over; }",
            "fn a() { /* x.go() */ \"x.go()\"; } // x.go()",
        ];
        for text in others {
            assert_eq!(reaches(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_method_of_several_types_is_followed_only_within_its_file() {
        let text = "impl A { fn a(&self) { self.b() } fn b(&self) { self.x.go() } fn c(&self) { self.x.b() } }
            impl B { fn b(&self) {} fn d(&self) { self.b() } }
            fn e(a: A) { a.b() }";
        assert_eq!(reached_functions(&[("main.rs", text)]), ["A::a", "A::b"]);
    }

    #[test]
    fn tests_are_recognised_by_their_attributes() {
        let text = "#[test]\n#[ignore = \"x\"]\nfn a() {}\n#[tokio::test(start_paused = true)]\nasync fn b() {}
            #[track_caller]\nfn c() {}\nfn d(x: fn(u8)) {}";
        let file = TextFile {
            path: "it/main.rs".to_owned(),
            text: text.to_owned(),
        };
        let found: Vec<(String, bool)> = functions("it/", std::iter::once(&file), &[])
            .into_iter()
            .map(|function| (function.path, function.is_test))
            .collect();
        let expected = [("a", true), ("b", true), ("c", false), ("d", false)];
        assert_eq!(found, expected.map(|(path, is)| (path.to_owned(), is)));
    }
}
