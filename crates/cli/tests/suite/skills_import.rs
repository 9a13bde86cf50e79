//! Import and export of directories of Agent Skills (B001-9), and public installers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use charter_contract::bounds::SKILL_FILE_BYTES;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::home::{Home, Ran, Server, ids};
use crate::skills::{home_with, put};

/// Files by path: content and whether executable.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn write(root: &Path, tree: &Tree) {
    for (path, (content, executable)) in tree {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn tree_of(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
                continue;
            }
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o111 != 0;
            tree.insert(name, (fs::read(&path).unwrap(), executable));
        }
    }
    tree
}

fn skill_md(name: &str, at: usize) -> String {
    let text = format!(
        "---\nname: {name}\ndescription: {} number {at}. Use when {name} is needed.\n",
        name.replace('-', " ")
    );
    let optional = [
        "",
        "license: Apache-2.0\n",
        "compatibility: Requires git and network access\n",
        "metadata:\n  author: example-org\n  version: \"1.0\"\n",
        "allowed-tools: Bash(git:*) Read\n",
        "allowed-tools:\n  - Read\n  - Bash(jq:*)\n",
        "license: 'Proprietary: see LICENSE.txt'\nmetadata: {a: b, c: '7'}\n",
    ];
    let ending = [
        "\n# How\n\nINSTRUCTION",
        "",
        "\r\nwindows\r\n",
        "no newline at the end",
        "é 漢字 \u{1f600}\n",
    ];
    format!(
        "{text}{}---\n{}",
        optional[at % optional.len()],
        ending[at % ending.len()]
    )
}

/// More than 200 skills in the layouts that the format allows: flat and nested, with and without files.
fn allowed() -> Tree {
    let mut tree = Tree::new();
    let mut add = |path: String, content: Vec<u8>, executable| {
        tree.insert(path, (content, executable));
    };
    for at in 0..220 {
        let name = ["a", "x1", "pdf-processing", "data-analysis-2", "7"][at % 5];
        let name = format!("{name}-{at}");
        let place = match at % 4 {
            0 => name.clone(),
            1 => format!("group{}/{name}", at % 7),
            2 => format!("group{}/deep_{}/{name}", at % 7, at % 3),
            _ => format!("parent/{name}"),
        };
        add(
            format!("{place}/SKILL.md"),
            skill_md(&name, at).into_bytes(),
            false,
        );
        if at % 3 == 0 {
            add(
                format!("{place}/scripts/run.sh"),
                format!("#!/bin/sh\necho {at}\n").into_bytes(),
                true,
            );
            add(
                format!("{place}/references/REFERENCE.md"),
                b"# More\r\n".to_vec(),
                false,
            );
            add(
                format!("{place}/assets/data {at}.bin"),
                (0..=255).collect(),
                false,
            );
            add(
                format!("{place}/assets/template/SKILL.md"),
                b"not a skill".to_vec(),
                false,
            );
        }
        if at % 11 == 0 {
            add(format!("{place}/.hidden"), Vec::new(), false);
            add(
                format!("{place}/below-{at}/SKILL.md"),
                skill_md(&format!("below-{at}"), at).into_bytes(),
                false,
            );
        }
    }
    add(
        "parent/SKILL.md".to_owned(),
        skill_md("parent", 1).into_bytes(),
        false,
    );
    add(
        format!("{}/SKILL.md", "n".repeat(64)),
        skill_md(&"n".repeat(64), 0).into_bytes(),
        false,
    );
    tree
}

fn home() -> Home {
    Home::new().with("CHARTER_MODEL__SOURCE", "none")
}

fn skills(home: &Home, arguments: &[&str]) -> Ran {
    home.run(&[&["skills"], arguments].concat())
}

/// After import and export, every byte and executable bit is unchanged, including the largest file.
#[test]
fn b001_9_two_hundred_skills_come_back_byte_for_byte() {
    let home = home();
    let (from, to) = (home.path("from"), home.path("to"));
    let mut tree = allowed();
    let largest = [0, 0xff, b'\n', b'x'].repeat(SKILL_FILE_BYTES / 4);
    tree.insert("x1-16/assets/largest.bin".to_owned(), (largest, false));
    let count = tree
        .keys()
        .filter(|path| path.ends_with("/SKILL.md") && !path.contains("/assets/"))
        .count();
    assert!(count >= 200, "{count}");
    write(&from, &tree);
    fs::create_dir_all(from.join(".git")).unwrap();
    fs::write(from.join(".git/HEAD"), "ref").unwrap();
    let (source, target) = (from.to_str().unwrap(), to.to_str().unwrap());
    let dry = skills(&home, &["import", source, "--dry-run", "--output", "json"]).json(0);
    let created = dry["created"].as_array().unwrap().len();
    assert!(created > count, "folders are skills too: {created}");
    let nothing = skills(&home, &["tree", "--output", "json"]).json(0);
    assert_eq!(nothing, json!([]), "a dry run writes nothing");
    let imported = skills(&home, &["import", source, "--output", "json"]).json(0);
    assert_eq!(imported, dry);
    let again = skills(&home, &["import", source, "--output", "json"]).json(0);
    assert_eq!(again["unchanged"].as_array().unwrap().len(), created);
    let exported = skills(&home, &["export", target, "--output", "json"]).json(0);
    assert_eq!(exported["skills"], json!(count));
    assert!(
        tree_of(&to) == tree,
        "the exported files differ from the imported ones"
    );
    let refused = skills(&home, &["export", target]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("is not empty"), "{refused:?}");
}

/// Nested directories are folders, files are fetched on request, and a second import writes only the changes.
#[test]
fn b001_9_imported_skills_are_folders_leaves_and_files() {
    let home = home();
    let from = home.path("from");
    write(&from, &allowed());
    let source = from.to_str().unwrap();
    skills(&home, &["import", source, "--output", "json"]).json(0);
    // A change is visible, and only it is written.
    fs::write(
        from.join("a-0/SKILL.md"),
        "---\nname: a-0\ndescription: changed\n---\n",
    )
    .unwrap();
    let changed = skills(&home, &["import", source, "--output", "json"]).json(0);
    assert_eq!(
        (&changed["changed"], &changed["created"]),
        (&json!(["a-0"]), &json!([]))
    );
    let shown = skills(&home, &["show", "parent", "--output", "json"]).json(0);
    assert_eq!(shown["is_folder"], true);
    let script = skills(
        &home,
        &[
            "show",
            "parent.data-analysis-2-3",
            "--file",
            "scripts/run.sh",
        ],
    );
    assert_eq!(script.out, "#!/bin/sh\necho 3\n");
    let instruction = skills(
        &home,
        &["show", "parent.data-analysis-2-3", "--instruction"],
    );
    assert!(!instruction.out.contains("description"), "{instruction:?}");
    let found = skills(
        &home,
        &[
            "find",
            "pdf processing number 2",
            "--top-k",
            "3",
            "--output",
            "json",
        ],
    )
    .json(0);
    assert!(
        found[0]["skill_id"]
            .as_str()
            .unwrap()
            .contains("pdf-processing"),
        "{found}"
    );
}

/// Names, frontmatters and reported problems of skills that are skipped.
const REFUSED: [(&str, &str, &str); 6] = [
    ("nameless", "description: d\n", "`name` is missing"),
    ("silent", "name: silent\n", "`description` is missing"),
    ("blank", "name: blank\ndescription: ''\n", "/SKILL.md:3"),
    (
        "listed",
        "name: listed\ndescription: [d]\n",
        "`description` must be text",
    ),
    ("yaml", "name: yaml\ndescription: a: b\n", "/SKILL.md:3"),
    ("empty", "", "/SKILL.md"),
];

/// The same for skills that break a rule of the format that Charter tolerates.
const ODD: [(&str, &str, &str); 9] = [
    ("PDF", "name: PDF\ndescription: d\n", "/SKILL.md:2"),
    ("a_b", "name: a_b\ndescription: d\n", "/SKILL.md:2"),
    (
        "a-",
        "name: a-\ndescription: d\n",
        "must not begin or end with a hyphen",
    ),
    (
        "a--b",
        "name: a--b\ndescription: d\n",
        "two consecutive hyphens",
    ),
    (
        "other",
        "name: another\ndescription: d\n",
        "must equal the directory's",
    ),
    ("number", "name: number\ndescription: 7\n", "must be text"),
    (
        "licensed",
        "name: licensed\ndescription: d\nlicense: [a]\n",
        "/SKILL.md:4",
    ),
    (
        "nested",
        "name: nested\ndescription: d\nmetadata: {a: {b: c}, d: [e]}\n",
        "/SKILL.md:4",
    ),
    (
        "tools",
        "name: tools\ndescription: d\nallowed-tools: 7\n",
        "/SKILL.md:4",
    ),
];

/// The number of copies of each bad skill.
const ROUNDS: usize = 30;

/// Bad and odd skills: those of the tables, one with unterminated frontmatter, and two that are too long.
fn forbidden() -> Tree {
    let mut tree = Tree::new();
    for round in 0..ROUNDS {
        let tables = REFUSED.into_iter().chain(ODD);
        let mut texts: Vec<(&str, String)> = tables
            .map(|(name, fields, _)| (name, format!("---\n{fields}---\nbody")))
            .collect();
        let long = format!("name: long\ndescription: {}\n", "x".repeat(1_025));
        let fit = format!(
            "name: fit\ndescription: d\ncompatibility: {}\n",
            "x".repeat(501)
        );
        texts.push(("long", format!("---\n{long}---\n")));
        texts.push(("fit", format!("---\n{fit}---\n")));
        texts.push(("open", "---\nname: open\n".to_owned()));
        tree.extend(texts.into_iter().map(|(name, text)| {
            let path = format!("round{round}/{name}/SKILL.md");
            (path, (text.into_bytes(), false))
        }));
    }
    tree
}

/// Two hundred bad skills among as many good ones: each bad one is named, and all the good ones are imported.
#[test]
fn b001_9_every_violation_is_reported_and_the_rest_is_imported() {
    let home = home();
    let from = home.path("from");
    let good = allowed();
    write(&from, &good);
    write(&from, &forbidden());
    let refused = ROUNDS * (REFUSED.len() + 1);
    assert!(refused >= 200, "{refused}");
    let source = from.to_str().unwrap();
    let dry = skills(&home, &["import", source, "--dry-run", "--output", "json"]).json(1);
    let nothing = skills(&home, &["tree", "--output", "json"]).json(0);
    assert_eq!(nothing, json!([]), "a dry run writes nothing");
    let ran = skills(&home, &["import", source]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for round in 0..ROUNDS {
        for (name, _, said) in REFUSED.into_iter().chain(ODD) {
            let at = format!("--> round{round}/{name}");
            assert!(ran.out.contains(&at), "{at} is not reported");
            assert!(ran.out.contains(said), "{said}: {}", ran.out);
        }
        for (name, line) in [("long", 3), ("fit", 4), ("open", 1)] {
            let at = format!("--> round{round}/{name}/SKILL.md:{line}:");
            assert!(ran.out.contains(&at), "{at} is not reported");
        }
    }
    let right = ran.out.contains("pdf-processing");
    assert!(!right, "what is right is not reported");
    let counted = format!(", {refused} skipped");
    assert!(ran.out.contains(&counted), "{}", ran.out);
    let again = skills(&home, &["import", source, "--output", "json"]).json(1);
    let count = |imported: &Value, field: &str| imported[field].as_array().unwrap().len();
    assert_eq!(again["left_out"], dry["left_out"]);
    assert_eq!(count(&again, "left_out"), refused);
    assert_eq!(count(&again, "unchanged"), count(&dry, "created"));
    assert_eq!(again["problems"], dry["problems"]);
    // The good ones are exported unchanged.
    let to = home.path("to");
    skills(&home, &["export", to.to_str().unwrap(), "--output", "json"]).json(0);
    let mut back = tree_of(&to);
    back.retain(|path, _| !path.starts_with("round"));
    assert!(
        back == good,
        "the exported files differ from the imported ones"
    );
}

/// If nothing can be imported, the command fails, and its hint is a command that works.
#[test]
fn b001_9_a_directory_without_a_skill_that_can_be_imported_is_refused() {
    let home = home();
    let from = home.path("from");
    let text = "---\nname: open\n".as_bytes().to_vec();
    write(
        &from,
        &Tree::from([("open/SKILL.md".to_owned(), (text, false))]),
    );
    let source = from.to_str().unwrap();
    let ran = skills(&home, &["import", source]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("--> open/SKILL.md:1:"), "{ran:?}");
    let hint = "--dry-run checks them again";
    assert!(ran.err.contains(hint), "{ran:?}");
    assert_eq!(
        skills(&home, &["import", source, "--dry-run"]).code,
        Some(2)
    );
    let missing = skills(&home, &["import", from.join("missing").to_str().unwrap()]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

/// A good skill, one in a hidden directory, files beside them, and links and special files.
fn hostile(home: &Home) -> PathBuf {
    let from = home.path("from");
    let plain = |text: &str| (text.as_bytes().to_vec(), false);
    let one = plain("---\nname: one\ndescription: d\n---\n");
    write(
        &from,
        &Tree::from([
            ("pdf/SKILL.md".to_owned(), plain(&skill_md("pdf", 0))),
            ("skills/.hidden/one/SKILL.md".to_owned(), one),
            ("README.md".to_owned(), plain("beside")),
            ("src/main.rs".to_owned(), plain("code")),
        ]),
    );
    fs::write(home.path("secret"), "SECRET-OUTSIDE").unwrap();
    symlink(home.path("secret"), from.join("pdf/link.md")).unwrap();
    symlink("README.md", from.join("CLAUDE.md")).unwrap();
    symlink("/etc", from.join("etc")).unwrap();
    symlink(&from, from.join("pdf/loop")).unwrap();
    let fifo = Command::new("mkfifo")
        .arg(from.join("pdf/fifo"))
        .status()
        .unwrap();
    assert!(fifo.success());
    let huge = fs::File::create(from.join("pdf/huge.bin")).unwrap();
    huge.set_len(9 << 20).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    fs::write(from.join("pdf").join(name), "x").unwrap();
    fs::write(from.join("pdf/back\\slash"), "x").unwrap();
    from
}

/// Links, devices, sizes, names: each is skipped and named, nothing outside is read, and the good skill is imported.
#[test]
fn b001_9_a_hostile_directory_gives_nothing_but_its_files() {
    let home = home();
    let from = hostile(&home);
    let arguments = ["import", from.to_str().unwrap(), "--output", "json"];
    let imported = skills(&home, &arguments).json(0);
    assert_eq!(
        imported["created"],
        json!(["pdf", "skills", "skills.hidden", "skills.hidden.one"])
    );
    assert_eq!(imported["left_out"], json!([]));
    let named = ids(&imported["problems"], "file");
    let has = |at: &str| named.iter().any(|file| file.starts_with(at));
    for at in [
        "CLAUDE.md",
        "README.md",
        "etc",
        "pdf/back\\slash",
        "pdf/caf",
        "pdf/fifo",
        "pdf/huge.bin",
        "pdf/link.md",
        "pdf/loop",
        "skills/.hidden",
        "src",
    ] {
        assert!(has(at), "{at}: {named:?}");
    }
    assert!(!imported.to_string().contains("SECRET-OUTSIDE"));
    let shown = skills(&home, &["show", "pdf", "--output", "json"]).json(0);
    assert_eq!(ids(&shown["files"], "path"), ["SKILL.md"]);
    // The API does not trust paths either.
    let server = home.serve();
    for path in [
        "../x/SKILL.md",
        "/x/SKILL.md",
        "x/../y/SKILL.md",
        "a\u{0}/SKILL.md",
    ] {
        let files = json!({"files": [{"path": path, "text": skill_md("x", 0)}]});
        server
            .api
            .post("/v1/agent-skills/import", &files)
            .fails(400, "invalid_document");
    }
    let deep = format!("{}SKILL.md", "d/".repeat(40));
    let files = json!({"files": [{"path": deep, "text": "x"}, {"path": "a/b", "base64": "*"}, {"path": "c"}]});
    let refused = server.api.post("/v1/agent-skills/import", &files);
    let problems = refused.body["technical_details"]["problems"]
        .as_array()
        .unwrap()
        .len();
    assert!(problems >= 3, "{:#}", refused.body);
}

/// A single skill's directory is imported under its own name; its document then follows its files.
#[test]
fn b001_9_an_imported_skill_is_changed_by_importing_it_again() {
    let home = home();
    let from = home.path("from/pdf");
    write(
        &from,
        &Tree::from([("SKILL.md".to_owned(), (skill_md("pdf", 0).into(), false))]),
    );
    let imported = skills(
        &home,
        &["import", from.to_str().unwrap(), "--output", "json"],
    )
    .json(0);
    assert_eq!(imported["created"], json!(["pdf"]));
    let server = home.serve();
    let skill = json!({"skill_id": "pdf", "summary": "s", "is_folder": false});
    put(&server.api, &skill).fails(409, "illegal_transition");
    // A skill that was not imported is exported if the format can hold it.
    let written = json!({"skill_id": "notes", "summary": "Takes: notes", "is_folder": false, "instruction": "# Do\n"});
    put(&server.api, &written).expect(201);
    put(
        &server.api,
        &json!({"skill_id": "SQL_SKILL", "summary": "s", "is_folder": false}),
    )
    .expect(201);
    let to = home.path("to");
    let exported = skills(&home, &["export", to.to_str().unwrap(), "--output", "json"]).json(1);
    assert_eq!(exported["left_out"], json!(["SQL_SKILL"]));
    let text = fs::read_to_string(to.join("notes/SKILL.md")).unwrap();
    assert_eq!(
        text,
        "---\nname: \"notes\"\ndescription: \"Takes: notes\"\n---\n# Do\n"
    );
    let again = skills(&home, &["import", to.to_str().unwrap(), "--output", "json"]).json(0);
    assert_eq!(
        (&again["changed"], &again["unchanged"]),
        (&json!(["notes"]), &json!(["pdf"]))
    );
}

/// A server into which acme's writer imported five skills, and their source directory.
fn published() -> (Home, Server, PathBuf) {
    let home = home_with(&[
        ("writer", "acme", "operator", None),
        ("narrow", "acme", "user", Some(&["office"])),
        ("none", "acme", "user", None),
    ]);
    let from = home.path("from");
    let files = [
        ("office/pdf/SKILL.md", skill_md("pdf", 0), false),
        ("office/pdf/scripts/run.sh", "#!/bin/sh\n".to_owned(), true),
        ("office/mail/SKILL.md", skill_md("mail", 0), false),
        ("secret/SKILL.md", skill_md("secret", 0), false),
        ("other/mail/SKILL.md", skill_md("mail", 1), false),
    ];
    let files: Tree = files
        .into_iter()
        .map(|(path, text, x)| (path.to_owned(), (text.into(), x)))
        .collect();
    write(&from, &files);
    let server = home.serve();
    let mut run = home.bare(&[
        "--server",
        &server.api.base,
        "skills",
        "import",
        from.to_str().unwrap(),
    ]);
    let ran = run.env("CHARTER_API_KEY", "writer").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    (home, server, from)
}

fn index(server: &Server, key: &str) -> Value {
    let index = server.key(key).get("/.well-known/agent-skills/index.json");
    index.expect(200)
}

/// The index lists the skills in the caller's reach, and each artifact matches its digest.
#[test]
fn public_installers_find_what_the_caller_may_reach() {
    let (home, server, from) = published();
    let whole = index(&server, "writer");
    assert_eq!(
        whole["$schema"],
        "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    );
    assert_eq!(ids(&whole["skills"], "name"), ["mail", "pdf", "secret"]);
    assert_eq!(
        ids(&whole["skills"], "type"),
        ["skill-md", "archive", "skill-md"]
    );
    // Of two with one name the shorter id is published.
    assert_eq!(
        whole["skills"][0]["url"],
        "/.well-known/agent-skills/other.mail/SKILL.md"
    );
    for skill in whole["skills"].as_array().unwrap() {
        let bytes = server.key("writer").bytes(skill["url"].as_str().unwrap());
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(skill["digest"], format!("sha256:{digest}"), "{skill}");
        if skill["type"] == "archive" {
            let (archive, unpacked) = (home.path("pdf.tar.gz"), home.path("unpacked"));
            fs::write(&archive, &bytes).unwrap();
            fs::create_dir(&unpacked).unwrap();
            let done = Command::new("tar")
                .arg("xzf")
                .arg(&archive)
                .arg("-C")
                .arg(&unpacked)
                .status();
            assert!(done.unwrap().success());
            assert!(tree_of(&unpacked) == tree_of(&from.join("office/pdf")));
        }
    }
    assert_eq!(
        ids(&index(&server, "narrow")["skills"], "name"),
        ["mail", "pdf"]
    );
    assert_eq!(index(&server, "none")["skills"], json!([]));
    let narrow = server.key("narrow");
    let secret = "/.well-known/agent-skills/secret/SKILL.md";
    narrow.get(secret).fails(404, "not_found");
    narrow
        .get("/.well-known/agent-skills/office.pdf/other.tar.gz")
        .fails(404, "not_found");
    // An unauthenticated caller gets nothing.
    for path in ["/.well-known/agent-skills/index.json", secret] {
        server.api.get(path).fails(401, "unauthenticated");
    }
    let answers: Value = narrow.get("/v1/agent-skills").expect(200);
    assert_eq!(ids(&answers["entries"], "skill_id"), ["office"]);
}
