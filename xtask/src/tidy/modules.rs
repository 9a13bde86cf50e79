//! The modules of a crate, and which module each path leads to. A path through a re-export leads to the module that
//! defines the item. Knows neither types nor the language's other name spaces:
//!
//! - Calls of methods, and names that a derive or another crate's macro makes, are not seen.
//! - An item that a macro makes belongs to the module that its path names last.
//! - Code under `#[cfg(test)]` is left out, with the files that it declares.

mod reader;

use std::collections::{BTreeMap, BTreeSet};

use reader::{MentionKind, Module};

use crate::workspace::{TextFile, Workspace};

/// The names from a crate's root to a module: `["runs", "drive"]`; none for the root.
pub(crate) type ModulePath = Vec<String>;

/// The roots of a crate's programs and library, below its folder.
const ROOTS: [&str; 2] = ["src/lib.rs", "src/main.rs"];

/// A use of another module's item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) from: ModulePath,
    pub(crate) to: ModulePath,
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: usize,
}

/// A type with the methods of all its `impl` blocks, those of traits apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Methods {
    /// Its path from the crate's root, `runs::drive::RunDriver`.
    pub(crate) of_type: String,
    pub(crate) count: usize,
    /// The file with the first block.
    pub(crate) file: String,
    /// From 1.
    pub(crate) line: usize,
}

/// The modules of a crate.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    by_path: BTreeMap<ModulePath, Module>,
    /// The modules that define a macro, by its name.
    macros: BTreeMap<String, BTreeSet<ModulePath>>,
}

/// Where a path leads.
struct Target {
    module: ModulePath,
    /// `None` for the module itself.
    item: Option<String>,
}

/// The names that were looked up on the way, so that circular imports come to an end.
type Visited = BTreeSet<(ModulePath, String)>;

/// The modules of every crate, by the crate's folder.
pub(crate) fn of_crates(workspace: &Workspace) -> BTreeMap<String, Modules> {
    let files = workspace.files.iter();
    let files: BTreeMap<&str, &TextFile> = files.map(|file| (file.path.as_str(), file)).collect();
    let crates = workspace.crates.iter().filter_map(|member| {
        let folder = member.manifest.path.strip_suffix("Cargo.toml")?;
        Some((folder.to_owned(), Modules::read(folder, &files)))
    });
    crates.collect()
}

impl Modules {
    /// Reads the crate in `folder` (`crates/x/`) from the files of the repository.
    pub(crate) fn read(folder: &str, files: &BTreeMap<&str, &TextFile>) -> Self {
        let find = |path: String| files.get(path.as_str()).copied();
        let mut modules = Self::default();
        let mut pending: Vec<(ModulePath, &TextFile)> = ROOTS
            .iter()
            .filter_map(|root| Some((Vec::new(), find(format!("{folder}{root}"))?)))
            .collect();
        while let Some((path, file)) = pending.pop() {
            for module in reader::read(file, path) {
                for child in module.declared() {
                    let at = format!("{folder}src/{}.rs", child.join("/"));
                    pending.extend(find(at).map(|file| (child, file)));
                }
                modules.add(module);
            }
        }
        modules
    }

    fn add(&mut self, module: Module) {
        for name in &module.macros {
            let defining = self.macros.entry(name.clone()).or_default();
            defining.insert(module.path.clone());
        }
        self.by_path.insert(module.path.clone(), module);
    }

    /// Every use of another module's item.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let modules = self.by_path.values();
        modules
            .flat_map(|module| self.references_of(module))
            .collect()
    }

    fn references_of(&self, module: &Module) -> Vec<Reference> {
        let mentioned = module.mentions.iter().filter_map(|mention| {
            let to = match mention.kind {
                MentionKind::Path => self.target(module, &mention.path)?.module,
                MentionKind::Macro => self.macro_of(module, &mention.path)?,
            };
            Some((to, mention.line))
        });
        let through_globs = module.words.iter().filter_map(|(word, line)| {
            let target = self.through_globs(module, word, &mut Visited::new())?;
            Some((target.module, *line))
        });
        let others = mentioned
            .chain(through_globs)
            .filter(|(to, _)| *to != module.path);
        let references = others.map(|(to, line)| Reference {
            from: module.path.clone(),
            to,
            file: module.file.clone(),
            line,
        });
        references.collect()
    }

    /// The types that have methods.
    pub(crate) fn methods(&self) -> Vec<Methods> {
        let mut found: BTreeMap<String, Methods> = BTreeMap::new();
        for module in self.by_path.values() {
            for block in &module.impls {
                let Some(target) = self.target(module, &block.of_type) else {
                    continue;
                };
                let mut path = target.module;
                path.extend(target.item);
                let of_type = path.join("::");
                let methods = found.entry(of_type.clone()).or_insert_with(|| Methods {
                    of_type,
                    count: 0,
                    file: module.file.clone(),
                    line: block.line,
                });
                methods.count += block.methods;
            }
        }
        found.into_values().collect()
    }

    fn target(&self, module: &Module, path: &[String]) -> Option<Target> {
        self.resolve(module, path, &mut Visited::new())
    }

    /// The module of a macro that is called by its name alone.
    fn macro_of(&self, module: &Module, path: &[String]) -> Option<ModulePath> {
        if let Some(target) = self.target(module, path) {
            return Some(target.module);
        }
        let mut defining = self.macros.get(path.first()?)?.iter();
        let only = defining.next()?;
        defining.next().is_none().then(|| only.clone())
    }

    /// Where a path leads that is written in a module; `None` for what another crate has.
    fn resolve(&self, module: &Module, path: &[String], visited: &mut Visited) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(self.walk(Vec::new(), rest, visited)),
            "self" => Some(self.walk(module.path.clone(), rest, visited)),
            "super" => {
                let up = path.iter().take_while(|segment| *segment == "super");
                let up = up.count();
                let depth = module.path.len().checked_sub(up)?;
                Some(self.walk(module.path[..depth].to_vec(), &path[up..], visited))
            }
            name => {
                let target = self.lookup(module, name, visited)?;
                match target.item {
                    None => Some(self.walk(target.module, rest, visited)),
                    Some(_) => Some(target),
                }
            }
        }
    }

    /// Where the names below a module lead. A name that its module does not show belongs to it.
    fn walk(&self, from: ModulePath, names: &[String], visited: &mut Visited) -> Target {
        let mut at = from;
        for name in names.iter().filter(|name| *name != "self") {
            let module = self.by_path.get(&at);
            match module.and_then(|module| self.lookup(module, name, visited)) {
                Some(Target { module, item: None }) => at = module,
                Some(target) => return target,
                None => {
                    return Target {
                        module: at,
                        item: Some(name.clone()),
                    };
                }
            }
        }
        Target {
            module: at,
            item: None,
        }
    }

    /// The item or module that a name leads to in a module.
    fn lookup(&self, module: &Module, name: &str, visited: &mut Visited) -> Option<Target> {
        if let Some(child) = module.child(name) {
            return Some(Target {
                module: child,
                item: None,
            });
        }
        let own = || Target {
            module: module.path.clone(),
            item: Some(name.to_owned()),
        };
        if module.items.contains(name) {
            return Some(own());
        }
        if !visited.insert((module.path.clone(), name.to_owned())) {
            return None;
        }
        if let Some(import) = module.imports.get(name) {
            self.resolve(module, import, visited)
        } else if module.expanded.contains(name) {
            Some(own())
        } else {
            self.through_globs(module, name, visited)
        }
    }

    /// The item or module that a name leads to by a `use …::*`.
    fn through_globs(&self, module: &Module, name: &str, visited: &mut Visited) -> Option<Target> {
        if module.globs.is_empty() || module.defines(name) {
            return None;
        }
        module.globs.iter().find_map(|glob| {
            let target = self.resolve(module, glob, visited)?;
            let below = self.by_path.get(&target.module)?;
            let whole = target.item.is_none() && below.path != module.path;
            whole.then(|| self.lookup(below, name, visited))?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The references of a crate `x` with these files, as `from > to:line`.
    fn references(files: &[(&str, &str)]) -> Vec<String> {
        let modules = modules(files);
        let shown = |reference: Reference| {
            let [from, to] = [reference.from, reference.to].map(|path| path.join("::"));
            format!("{from} > {to}:{}", reference.line)
        };
        modules.references().into_iter().map(shown).collect()
    }

    fn modules(files: &[(&str, &str)]) -> Modules {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile::new(&format!("crates/x/src/{path}"), text))
            .collect();
        let by_path = files.iter().map(|file| (file.path.as_str(), file));
        Modules::read("crates/x/", &by_path.collect())
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a;\nmod b;\npub use a::inner::Deep;\n");
    const A: (&str, &str) = (
        "a.rs",
        "pub mod inner;\npub use inner::Deep;\npub struct Flat;\n",
    );
    const INNER: (&str, &str) = ("a/inner.rs", "pub struct Deep;\npub fn make() {}\n");

    /// The references of `b.rs`, whose text this is.
    fn of_b(text: &str) -> Vec<String> {
        let found = references(&[ROOT, A, INNER, ("b.rs", text)]);
        let of_b = found.into_iter().filter_map(|reference| {
            let to = reference.strip_prefix("b > ")?;
            Some(to.to_owned())
        });
        of_b.collect()
    }

    #[test]
    fn a_path_leads_to_the_module_that_defines_the_item() {
        let cases = [
            ("use crate::a::Deep;", "a::inner:1"),
            ("use crate::Deep;", "a::inner:1"),
            ("use crate::a::Flat as Other;", "a:1"),
            ("use super::a::inner::make;", "a::inner:1"),
            ("fn f() { crate::a::inner::make(); }", "a::inner:1"),
            ("fn f(x: super::a::Flat) {}", "a:1"),
            ("fn f() { g(..crate::a::Flat::new()) }", "a:1"),
            ("#[serde(with = \"crate::a::made\")]\nstruct B;", "a:1"),
            ("fn f() { crate::a::made_by_a_macro!(); }", "a:1"),
        ];
        for (text, expected) in cases {
            assert_eq!(of_b(text), [expected], "{text}");
        }
    }

    #[test]
    fn each_name_of_an_import_tree_and_each_path_through_it_counts() {
        let text = "use crate::{a::{self, inner::{Deep, make as made}}, b::Own};\nfn f() { a::inner::make(); }\nfn g() { Deep::of(); }";
        let expected = [
            "a:1",
            "a::inner:1",
            "a::inner:1",
            "a::inner:2",
            "a::inner:3",
        ];
        assert_eq!(of_b(text), expected);
        assert_eq!(
            of_b("use crate::a::*;\nfn f(x: Deep) {}"),
            ["a:1", "a::inner:2"]
        );
    }

    #[test]
    fn names_of_other_crates_and_uses_by_tests_do_not_count() {
        let others = [
            "use std::a::Flat;",
            "use ::a::Flat;",
            "fn f(x: serde::a::Flat) {}",
            "// crate::a::Flat\nfn f() { \"crate\"; x.a::<Flat>(); }",
            "pub(in crate::a) struct B;",
            "#[cfg(test)]\nuse crate::a::Flat;",
            "#[cfg(test)]\nmod tests { use crate::a::Flat; }",
            "struct B { #[cfg(test)]\n a: Vec<crate::a::Flat>, }",
        ];
        for text in others {
            assert_eq!(of_b(text), [""; 0], "{text}");
        }
        let tests = ("b/tests.rs", "use crate::a::Flat;");
        let declared = ("b.rs", "#[cfg(test)]\nmod tests;");
        assert_eq!(references(&[ROOT, A, INNER, declared, tests]).len(), 2);
    }

    #[test]
    fn a_macro_leads_to_the_module_that_defines_it() {
        let files = [
            ("lib.rs", "#[macro_use]\nmod a;\nmod b;\n"),
            ("a.rs", "macro_rules! made { () => { $crate::b::B } }\n"),
            ("b.rs", "\nmade!();\npub struct B;\n"),
        ];
        assert_eq!(references(&files), ["a > b:1", "b > a:2"]);
    }

    #[test]
    fn methods_are_counted_over_all_blocks_of_a_type_and_those_of_traits_are_not() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\n"),
            (
                "a.rs",
                "pub struct A<T>(T);\nimpl<T> A<T> { fn a() { fn inner() {} } fn b(&self) {} }\n",
            ),
            (
                "b.rs",
                "use crate::a::A;\nimpl Drop for A<u8> { fn drop(&mut self) {} }\nimpl A<u8> {\n    #[cfg(test)]\n    fn t() {}\n    fn c() {}\n}\n",
            ),
        ];
        let found: Vec<(String, usize, String)> = modules(&files)
            .methods()
            .into_iter()
            .map(|methods| (methods.of_type, methods.count, methods.file))
            .collect();
        let expected = ("a::A".to_owned(), 3, "crates/x/src/a.rs".to_owned());
        assert_eq!(found, [expected]);
    }
}
