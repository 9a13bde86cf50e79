use charter_contract::bounds::{FRONTMATTER_BYTES, SKILL_FILE_BYTES, SKILL_LEVELS, SKILL_MD_BYTES};

use super::*;
use crate::package::ProblemSeverity;

fn read(files: Vec<SkillFile>) -> FolderReading {
    super::read(files, &Cancellation::default())
}

fn file(path: &str, content: &str) -> SkillFile {
    SkillFile {
        path: path.to_owned(),
        content: content.as_bytes().into(),
        executable: false,
    }
}

fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\n# {name}\n")
}

/// Errors and warnings as `file:line keyword`.
fn said(reading: &FolderReading) -> Vec<String> {
    let said = reading.problems.iter().map(|p| {
        let mark = match p.severity {
            ProblemSeverity::Error => "",
            ProblemSeverity::Warning => "?",
        };
        format!("{}:{} {mark}{}", p.file, p.line, p.keyword)
    });
    said.collect()
}

fn one(text: &str) -> Vec<String> {
    said(&read(vec![file("pdf/SKILL.md", text)]))
}

#[test]
fn b001_9_nested_directories_become_folders() {
    let reading = read(vec![
        file("README.md", "hello"),
        file("sql/notes.txt", "beside"),
        file("sql/migration/SKILL.md", &skill_md("migration")),
        file("sql/migration/scripts/run.sh", "#!/bin/sh"),
        file("sql/migration/assets/demo/SKILL.md", "no frontmatter"),
        file("sql/migration/sharding/SKILL.md", &skill_md("sharding")),
        file("pdf/SKILL.md", &skill_md("pdf")),
    ]);
    assert_eq!(said(&reading), ["README.md:1 ?layout"]);
    let shown: Vec<(&str, bool, Vec<&str>, Vec<&str>)> = reading
        .skills
        .iter()
        .map(|skill| {
            let children = skill.sub_skills.iter().map(SkillId::as_str).collect();
            let files = skill.files.iter().map(|f| f.path.as_str()).collect();
            (skill.id.as_str(), skill.is_folder, children, files)
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("pdf", false, vec![], vec!["SKILL.md"]),
            ("sql", true, vec!["sql.migration"], vec!["notes.txt"]),
            (
                "sql.migration",
                true,
                vec!["sql.migration.sharding"],
                vec!["SKILL.md", "assets/demo/SKILL.md", "scripts/run.sh"]
            ),
            ("sql.migration.sharding", false, vec![], vec!["SKILL.md"]),
        ]
    );
    assert_eq!(reading.skills[1].summary.as_str(), "sql: migration");
    assert_eq!(reading.skills[2].instruction, "\n# migration\n");
    assert_eq!(directory(&reading.skills[3].id), "sql/migration/sharding");
    assert_eq!(name(&reading.skills[3].id), "sharding");
}

#[test]
fn b001_9_every_violation_is_reported_with_its_line() {
    let long = "x".repeat(1_025);
    let text = format!(
        "---\nname: -PDF--\ndescription: {long}\nlicense: [MIT]\ncompatibility: ''\nmetadata:\n  a: {{b: c}}\n  v: 1.0\nallowed-tools: 3\nlicence: MIT\n---\n"
    );
    let reading = read(vec![file("pdf/SKILL.md", &text)]);
    assert_eq!(
        said(&reading),
        [
            "pdf/SKILL.md:2 ?directory",
            "pdf/SKILL.md:2 ?name",
            "pdf/SKILL.md:2 ?name",
            "pdf/SKILL.md:2 ?name",
            "pdf/SKILL.md:3 ?length",
            "pdf/SKILL.md:4 ?type",
            "pdf/SKILL.md:5 ?empty",
            "pdf/SKILL.md:7 ?type",
            "pdf/SKILL.md:9 ?type",
            "pdf/SKILL.md:10 ?unknown_field",
        ]
    );
    // What Charter can do without is no reason to leave a skill out.
    assert_eq!(reading.skills[0].summary.as_str(), long);
    assert_eq!(reading.left_out, [""; 0]);
}

/// A skill that cannot be read is left out, and takes neither those beside it nor those below it with it.
#[test]
fn b001_9_one_bad_skill_leaves_the_others() {
    let reading = read(vec![
        file("good/SKILL.md", &skill_md("good")),
        file("bad/SKILL.md", "---\nname: bad\ndescription:\n---\n"),
        file("above/SKILL.md", "no frontmatter"),
        file("above/notes.txt", "beside"),
        file("above/below/SKILL.md", &skill_md("below")),
        file(
            "all/bad/SKILL.md",
            "---\nname: bad\ndescription: [d]\n---\n",
        ),
    ]);
    let shown = reading.skills.iter().map(|skill| {
        let children: Vec<_> = skill.sub_skills.iter().map(SkillId::as_str).collect();
        (
            skill.id.as_str(),
            skill.summary.as_str(),
            children,
            skill.files.len(),
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            ("above", "above: below", vec!["above.below"], 0),
            ("above.below", "Does below.", vec![], 1),
            ("good", "Does good.", vec![], 1),
        ]
    );
    assert_eq!(reading.left_out, ["above", "all/bad", "bad"]);
    assert_eq!(
        said(&reading),
        [
            "above/SKILL.md:1 frontmatter",
            "all/bad/SKILL.md:3 type",
            "bad/SKILL.md:3 empty"
        ]
    );
}

/// Lists and maps in `metadata` are kept, and named once.
#[test]
fn b001_9_metadata_of_any_form_is_kept() {
    let text = "---\nname: pdf\ndescription: d\nmetadata:\n  labels: [a, b]\n  owner: {team: x}\n  v: 1\n---\nbody";
    let reading = read(vec![file("pdf/SKILL.md", text)]);
    assert_eq!(said(&reading), ["pdf/SKILL.md:5 ?type"]);
    let kept = skill_md_fields(&reading.skills[0].files[0].content).unwrap();
    let expected = serde_json::json!({"labels": ["a", "b"], "owner": {"team": "x"}, "v": 1});
    assert_eq!(kept["metadata"], expected);
}

/// Readers that check the format refuse a skill that breaks one of its rules, for whatever is beyond it.
#[test]
fn b001_9_skills_that_keep_the_format_are_told_from_others() {
    let keeps = |fields: &str| {
        let text = format!("---\n{fields}\n---\nbody");
        keeps_format(&skill_md_fields(text.as_bytes()).unwrap(), "pdf")
    };
    for fields in [
        "name: pdf\ndescription: d",
        "name: pdf\ndescription: d\nmodel: {any: [1, null]}\ncolour: 7",
        "name: pdf\ndescription: d\nlicense: MIT\ncompatibility: c\nmetadata: {}\nallowed-tools: [Read]",
    ] {
        assert!(keeps(fields), "{fields}");
    }
    let too_long = format!("name: pdf\ndescription: {}", "d".repeat(1_025));
    for fields in [
        "name: pdf",
        "description: d",
        "name: PDF\ndescription: d",
        "name: ppt\ndescription: d",
        "name: pdf\ndescription: 7",
        "name: pdf\ndescription: d\nlicense:",
        "name: pdf\ndescription: d\ncompatibility: [c]",
        "name: pdf\ndescription: d\nmetadata: [a]",
        "name: pdf\ndescription: d\nmetadata: {labels: [a]}",
        "name: pdf\ndescription: d\nmetadata: {version: 1.0}",
        "name: pdf\ndescription: d\nallowed-tools: {a: b}",
        &too_long,
    ] {
        assert!(!keeps(fields), "{fields}");
    }
}

#[test]
fn b001_9_what_is_meant_is_suggested() {
    let text = "---\nname: pdf\ndescription: d\nlicence: MIT\nmodel: x\n---\n";
    let reading = read(vec![file("pdf/SKILL.md", text)]);
    let suggested: Vec<_> = reading
        .problems
        .iter()
        .map(|problem| (problem.pointer.as_str(), problem.suggestion.as_deref()))
        .collect();
    let meant = Some("did you mean `license`?");
    assert_eq!(suggested, [("/licence", meant), ("/model", None)]);
    let text = "---\nname: pdf\ndescription: d\nmetadata: {labels: [a], version: 1.0}\n---\n";
    let quoted = Some("write numbers and booleans in quotes");
    let reading = read(vec![file("pdf/SKILL.md", text)]);
    let problem = &reading.problems[0];
    assert_eq!(problem.suggestion.as_deref(), quoted);
    assert!(problem.message.contains("2 of them are not"), "{problem:?}");
}

/// Names that no id can hold become some that one can.
#[test]
fn b001_9_directories_with_dots_and_spaces_have_ids() {
    let reading = read(vec![
        file("skills/.hidden/one/SKILL.md", &skill_md("one")),
        file("v1.2/two/SKILL.md", &skill_md("two")),
        file(
            "My skill/SKILL.md",
            "---\nname: my-skill\ndescription: d\n---\n",
        ),
        file("_own/SKILL.md", &skill_md("own")),
        file("v1-2/three/SKILL.md", &skill_md("three")),
    ]);
    let ids: Vec<_> = reading
        .skills
        .iter()
        .map(|skill| skill.id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "My-skill",
            "own",
            "skills",
            "skills.hidden",
            "skills.hidden.one",
            "v1-2",
            "v1-2.three"
        ]
    );
    assert_eq!(reading.left_out, ["v1.2", "v1.2/two"]);
    let errors = reading
        .problems
        .iter()
        .filter(|p| p.severity == ProblemSeverity::Error);
    let errors: Vec<_> = errors
        .map(|p| (p.file.as_str(), p.message.as_str()))
        .collect();
    assert_eq!(errors, [("v1.2", "`v1-2` has the id `v1-2` already")]);
}

#[test]
fn b001_9_marks_and_line_ends_of_editors_are_no_matter() {
    for text in [
        "\u{feff}---\nname: pdf\ndescription: d\n---\nbody",
        "\u{feff}---\r\nname: pdf\r\ndescription: d\r\n---\r\nbody",
        "---  \nname: pdf\ndescription: d\n---  \nbody",
    ] {
        let reading = read(vec![file("pdf/SKILL.md", text)]);
        assert_eq!(said(&reading), [""; 0], "{text:?}");
        assert_eq!(reading.skills[0].instruction, "body");
        assert_eq!(skill_md_fields(text.as_bytes()).unwrap()["name"], "pdf");
    }
}

#[test]
fn b001_9_the_limits_are_those_of_the_format() {
    let with = |fields: &str| one(&format!("---\nname: pdf\n{fields}\n---\nbody"));
    let text = |field: &str, length: usize| format!("{field}: {}", "é".repeat(length));
    for allowed in [
        "description: d".to_owned(),
        text("description", 1_024),
        format!("description: d\n{}", text("compatibility", 500)),
        "description: d\nallowed-tools: [Read, 'Bash(git:*)']".to_owned(),
        "description: >-\n  two\n  lines".to_owned(),
        "description: d\nmetadata: {version: '1.0', author: me}".to_owned(),
    ] {
        assert_eq!(with(&allowed), [""; 0], "{allowed}");
    }
    for (refused, keyword) in [
        (String::new(), "1 required"),
        ("description:".to_owned(), "3 empty"),
        ("description: '  '".to_owned(), "3 empty"),
        ("description: 7".to_owned(), "3 ?type"),
        (
            "description: d\nmetadata: {version: 1.0, author: me}".to_owned(),
            "4 ?type",
        ),
        (text("description", 1_025), "3 ?length"),
        (
            format!("description: d\n{}", text("compatibility", 501)),
            "4 ?length",
        ),
        ("description: a: b".to_owned(), "3 syntax"),
        ("description: &a d".to_owned(), "3 syntax"),
        ("description: d\ndescription: e".to_owned(), "4 syntax"),
    ] {
        let said = with(&refused);
        let ends = said.iter().any(|said| {
            let line = said.strip_prefix("pdf/SKILL.md:").unwrap();
            line == keyword || keyword == "1 required" && line.ends_with("required")
        });
        assert!(ends, "{refused}: {said:?}");
    }
    for broken in ["", "name: pdf", "---\nname: pdf\n", "\n---\n---\n"] {
        assert_eq!(one(broken), ["pdf/SKILL.md:1 frontmatter"], "{broken:?}");
    }
    assert_eq!(
        one("---\r\nname: pdf\r\ndescription: d\r\n---\r\nbody"),
        [""; 0]
    );
}

/// Editors save byte order marks, other line ends and other encodings; the skill is the same.
#[test]
fn b001_9_a_skill_md_is_read_however_its_editor_saved_it() {
    let text = "---\nname: pdf\ndescription: \"R\u{e9}sum\u{e9}s \\ud83e\\udd80\"\n---\nbody\n";
    let wide = |little: bool| -> Vec<u8> {
        let units = text.encode_utf16();
        let bytes = units.map(|unit| match little {
            true => unit.to_le_bytes(),
            false => unit.to_be_bytes(),
        });
        bytes.flatten().collect()
    };
    let marked = |mark: &[u8], bytes: &[u8]| [mark, bytes].concat();
    for content in [
        text.as_bytes().to_vec(),
        marked(b"\xef\xbb\xbf", text.as_bytes()),
        marked(b"\xff\xfe", &wide(true)),
        marked(b"\xfe\xff", &wide(false)),
        wide(true),
        text.replace('\n', "\r\n").into_bytes(),
        text.replace('\n', "\r").into_bytes(),
        text.replace("---\n", "---  \t\n").into_bytes(),
    ] {
        let shown = String::from_utf8_lossy(&content).into_owned();
        let found = SkillFile {
            content: content.clone().into(),
            ..file("pdf/SKILL.md", "")
        };
        let reading = read(vec![found]);
        assert_eq!(said(&reading), [""; 0], "{shown:?}");
        let skill = &reading.skills[0];
        assert_eq!(
            skill.summary.as_str(),
            "R\u{e9}sum\u{e9}s \u{1f980}",
            "{shown:?}"
        );
        assert_eq!(skill.instruction.trim_end(), "body", "{shown:?}");
        // The file stays what it was.
        assert_eq!(&*skill.files[0].content, &content[..], "{shown:?}");
        let fields = skill_md_fields(&content).unwrap();
        assert_eq!(fields["name"], "pdf", "{shown:?}");
    }
}

#[test]
fn b001_9_what_is_no_text_is_named_with_its_line() {
    let bytes = b"---\nname: pdf\ndescription: caf\xe9\n---\n";
    let broken = SkillFile {
        content: (&bytes[..]).into(),
        ..file("pdf/SKILL.md", "")
    };
    let reading = read(vec![broken]);
    assert_eq!(said(&reading), ["pdf/SKILL.md:3 utf8"]);
    assert_eq!(reading.problems[0].message, "byte 30 is not UTF-8");
    // A line that only looks like the end of the frontmatter is none.
    let separated = "---\nname: pdf\ndescription: a\u{2028}---\u{2028}b\nlicense: MIT\n---\nbody";
    assert_eq!(one(separated), [""; 0]);
    assert_eq!(
        one("---\nname: pdf\ndescription: a\0b\n---\n"),
        ["pdf/SKILL.md:3 syntax"]
    );
    assert_eq!(
        one("---\rname: pdf\rdescription: a\rdescription: b\r---\r"),
        ["pdf/SKILL.md:4 syntax"]
    );
}

#[test]
fn b001_9_names_are_those_of_the_format() {
    for good in ["a", "0", "pdf-processing", "a1-b2-c3", &"a".repeat(64)] {
        assert!(is_skill_name(good), "{good}");
    }
    let long = "a".repeat(65);
    for bad in [
        "", "A", "a_b", "a b", "-a", "a-", "a--b", "é", "a.b", "a/b", &long,
    ] {
        assert!(!is_skill_name(bad), "{bad}");
    }
}

#[test]
fn paths_stay_where_they_are_put() {
    let long = "a/".repeat(SKILL_LEVELS) + "a";
    for path in [
        "", "/a", "a//b", "a/", "../a", "a/../b", "./a", "a\\b", "a\nb", "a\0", &long,
    ] {
        assert!(check_path(path).is_err(), "{path:?}");
    }
    assert_eq!(check_path("a/.b/c d é.md"), Ok(()));
    let reading = read(vec![
        file("pdf/SKILL.md", &skill_md("pdf")),
        file("pdf/../../etc/passwd", "x"),
        file("pdf/a", "x"),
        file("pdf/a/b", "x"),
        file("src/main.rs", "x"),
        file("src/lib/mod.rs", "x"),
        file("x/skill.md", "x"),
        file("SKILL.md", &skill_md("root")),
    ]);
    assert_eq!(
        said(&reading),
        [
            "SKILL.md:1 layout",
            "pdf/../../etc/passwd:1 ?path",
            "pdf/a/b:1 ?path",
            "src:1 ?layout",
            "x/skill.md:1 layout",
        ]
    );
    let files: Vec<_> = reading.skills[0]
        .files
        .iter()
        .map(|f| f.path.as_str())
        .collect();
    assert_eq!((reading.skills.len(), files), (1, vec!["SKILL.md", "a"]));
    assert_eq!(reading.left_out, ["x"]);
}

#[test]
fn sizes_are_bounded() {
    let big = SkillFile {
        content: vec![b'x'; SKILL_FILE_BYTES + 1].into(),
        ..file("pdf/big", "")
    };
    let reading = read(vec![file("pdf/SKILL.md", &skill_md("pdf")), big]);
    assert_eq!(said(&reading), ["pdf/big:1 ?too_large"]);
    assert_eq!(reading.skills[0].files.len(), 1);
    let largest = SkillFile {
        content: vec![b'x'; SKILL_FILE_BYTES].into(),
        ..file("pdf/largest", "")
    };
    let reading = read(vec![file("pdf/SKILL.md", &skill_md("pdf")), largest]);
    assert_eq!(said(&reading), [""; 0]);
    let kept = reading.skills[0]
        .files
        .iter()
        .map(|file| file.content.len());
    assert_eq!(kept.max(), Some(SKILL_FILE_BYTES));
    let head = skill_md("pdf") + &"x".repeat(SKILL_MD_BYTES);
    assert_eq!(one(&head), ["pdf/SKILL.md:1 too_large"]);
    let binary = SkillFile {
        content: vec![b'-', 0xff].into(),
        ..file("pdf/SKILL.md", "")
    };
    assert_eq!(said(&read(vec![binary])), ["pdf/SKILL.md:1 utf8"]);
    assert_eq!(said(&read(vec![])), ["SKILL.md:1 required"]);
}

/// Frontmatter is a few fields; a megabyte of it only costs the reader time.
#[test]
fn the_frontmatter_is_bounded() {
    let padded = |bytes: usize| {
        let head = format!(
            "name: pdf\ndescription: Does pdf.\n#{}\n",
            "x".repeat(bytes)
        );
        (head.len(), format!("---\n{head}---\n"))
    };
    let (own, _) = padded(0);
    let (most, text) = padded(FRONTMATTER_BYTES - own);
    assert_eq!((most, one(&text)), (FRONTMATTER_BYTES, vec![]));
    assert!(skill_md_fields(text.as_bytes()).is_some());
    let (_, text) = padded(FRONTMATTER_BYTES - own + 1);
    assert_eq!(one(&text), ["pdf/SKILL.md:1 too_large"]);
    assert_eq!(skill_md_fields(text.as_bytes()), None);
}

/// All frontmatters of an import share one allowance, and reading them can be cancelled.
#[test]
fn an_import_holds_so_many_values_and_no_more() {
    let list = "1,".repeat(30_000);
    let files = (0..40).map(|at| {
        let name = format!("s{at}");
        let head = format!("name: {name}\ndescription: d\nallowed-tools: [{list}]\n");
        file(&format!("{name}/SKILL.md"), &format!("---\n{head}---\n"))
    });
    let files: Vec<SkillFile> = files.collect();
    let reading = read(files.clone());
    let limits = reading.problems.iter().filter(|p| p.keyword == "limit");
    let limits: Vec<&str> = limits.map(|p| p.message.as_str()).collect();
    let message = "the files up to here hold more than 500000 values (PACKAGE_VALUES)";
    assert_eq!(limits, [message]);
    let cancel = Cancellation::default();
    cancel.cancel();
    let cancelled = super::read(files, &cancel);
    assert_eq!(said(&cancelled), ["SKILL.md:1 cancelled"]);
    assert!(cancelled.skills.is_empty());
}

/// What is written reads back.
#[test]
fn a_written_skill_md_is_one() {
    let description = "Says \"hi\": to # everybody\nand 'you'";
    let text = write_skill_md("pdf", description, "# Do it\n").unwrap();
    let reading = read(vec![file("pdf/SKILL.md", &text)]);
    assert_eq!(said(&reading), [""; 0]);
    assert_eq!(reading.skills[0].summary.as_str(), description);
    assert_eq!(reading.skills[0].instruction, "# Do it\n");
    assert_eq!(write_skill_md("SQL_SKILL", "d", ""), None);
    assert_eq!(write_skill_md("pdf", &"d".repeat(1_025), ""), None);
}
