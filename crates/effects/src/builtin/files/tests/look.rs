//! The answers and limits of reading, listing and searching.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;

#[test]
fn b003_a_file_is_read_whole_or_by_lines() {
    let field = FilesFixture::new(&[("dir/a.txt", "one\ntwo\nthree\n"), ("empty", "")]);
    let answer = field.read("dir/a.txt").unwrap();
    let after = content_of("one\ntwo\nthree\n");
    let (kind, details) = action(&answer);
    assert_eq!(kind, "command_execution");
    assert_eq!(
        details,
        json!({"operation": "read", "root": "work", "path": "dir/a.txt", "before": after})
    );
    assert_eq!(answer["content"], "one\ntwo\nthree\n");
    let lines = |start: u64, end: u64| {
        let range = json!({"start_line": start, "end_line": end});
        let given = json!({"path": "dir/a.txt", "range": range});
        let answer = field.call(Builtin::FsRead, given).unwrap();
        (answer["content"].clone(), answer["lines"].clone())
    };
    assert_eq!(
        lines(2, 3),
        (
            json!("two\nthree\n"),
            json!({"start_line": 2, "end_line": 3})
        )
    );
    assert_eq!(
        lines(3, 9),
        (json!("three\n"), json!({"start_line": 3, "end_line": 3}))
    );
    assert_eq!(lines(4, 9), (json!(""), json!(null)));
    assert_eq!(field.read("empty").unwrap()["content"], "");
    let missing = (
        ErrorType::InputError,
        "there is no `work:absent`".to_owned(),
    );
    assert_eq!(field.read("absent"), Err(missing));
    let directory = (
        ErrorType::InputError,
        "`work:dir` is a directory".to_owned(),
    );
    assert_eq!(field.read("dir"), Err(directory));
}

#[test]
fn b003_binary_files_are_reported_and_not_mangled() {
    let field = FilesFixture::new(&[]);
    for bytes in [&b"\xff\xfe\x00text"[..], b"nul\0", b"caf\xe9"] {
        std::fs::write(field.path("binary"), bytes).unwrap();
        let text = field.read("binary").unwrap();
        assert_eq!(
            (&text["binary"], &text["content"]),
            (&json!(true), &json!(null))
        );
        let coded = field.call(
            Builtin::FsRead,
            json!({"path": "binary", "encoding": "base64"}),
        );
        let coded = coded.unwrap();
        let write = json!({"path": "copy", "content": coded["content"], "encoding": "base64", "overwrite": true});
        field.call(Builtin::FsCreate, write).unwrap();
        assert_eq!(std::fs::read(field.path("copy")).unwrap(), bytes);
        let edits = json!([{"start_line": 1, "end_line": 1, "replacement": "x"}]);
        let refused = field.call(Builtin::FsEdit, json!({"path": "binary", "edits": edits}));
        let message = "`work:binary` is not UTF-8 text".to_owned();
        assert_eq!(refused, Err((ErrorType::InputError, message)));
    }
    let given = json!({"path": ".", "pattern": ".*"});
    let found = field.call(Builtin::FsSearch, given).unwrap();
    assert_eq!(
        (&found["binary_files"], &found["files_searched"]),
        (&json!(2), &json!(0))
    );
}

#[test]
fn b003_huge_files_are_read_by_lines_or_not_at_all() {
    let field = FilesFixture::new(&[("huge", "first\nsecond\n")]);
    let huge = std::fs::File::options()
        .write(true)
        .open(field.path("huge"))
        .unwrap();
    huge.set_len(1 << 40).unwrap();
    let refused = field.read("huge").unwrap_err();
    assert_eq!(refused.0, ErrorType::ResourceError);
    let lines = |start: u64, end: u64| {
        let range = json!({"start_line": start, "end_line": end});
        field.call(Builtin::FsRead, json!({"path": "huge", "range": range}))
    };
    let read = lines(1, 2).unwrap();
    assert_eq!(
        (&read["content"], &read["hash"]),
        (&json!("first\nsecond\n"), &json!(null))
    );
    assert_eq!(lines(3, 3).unwrap_err().0, ErrorType::ResourceError);
    let found = field
        .call(Builtin::FsSearch, json!({"path": ".", "pattern": "first"}))
        .unwrap();
    assert_eq!(
        (&found["matches"], &found["skipped_files"]),
        (&json!([]), &json!(1))
    );
    let copied = field.call(Builtin::FsCopy, json!({"path": "huge", "destination": "b"}));
    assert_eq!(copied.unwrap_err().0, ErrorType::ResourceError);
    let long = "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1);
    let written = field.call(Builtin::FsCreate, json!({"path": "b", "content": long}));
    assert_eq!(written.unwrap_err().0, ErrorType::ResourceError);
    assert_eq!(field.names(), ["huge"]);
}

#[test]
fn b003_a_listing_is_in_order_filtered_and_bounded() {
    let field = FilesFixture::new(&[
        ("b.tf", "1"),
        ("a/c.tf", "22"),
        ("a/d.md", ""),
        ("a/.hidden", ""),
    ]);
    let list = |given: Value| {
        let answer = field.call(Builtin::FsList, given).unwrap();
        let entries = answer["entries"].as_array().unwrap();
        let shown = |entry: &Value| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            (text("path"), text("kind"), entry["size"].clone())
        };
        let found: Vec<(String, String)> = entries
            .iter()
            .map(shown)
            .map(|(path, kind, _)| (path, kind))
            .collect();
        (found, answer["truncated"].as_bool().unwrap())
    };
    let named = |path: &str, kind: &str| (path.to_owned(), kind.to_owned());
    assert_eq!(
        list(json!({"path": "."})),
        (vec![named("a", "directory"), named("b.tf", "file")], false)
    );
    assert_eq!(
        list(json!({"path": ".", "recursive": true, "pattern": "*.tf"})),
        (vec![named("a/c.tf", "file"), named("b.tf", "file")], false)
    );
    assert_eq!(
        list(json!({"path": "a", "max_results": 2})),
        (vec![named(".hidden", "file"), named("c.tf", "file")], true)
    );
    let too_many = field.call(Builtin::FsList, json!({"path": ".", "max_results": 10_001}));
    let message = "`max_results` is 10001; the limit is 10000".to_owned();
    assert_eq!(too_many, Err((ErrorType::InputError, message)));
    let file = field
        .call(Builtin::FsList, json!({"path": "b.tf"}))
        .unwrap_err();
    assert_eq!(
        file,
        (
            ErrorType::InputError,
            "a part of `work:b.tf` is not a directory".into()
        )
    );
}

#[test]
fn b003_names_that_are_not_utf8_are_shown_and_cannot_be_used() {
    let field = FilesFixture::new(&[]);
    std::fs::write(field.path("").join(OsStr::from_bytes(b"\xff")), "secret").unwrap();
    let listed = field.call(Builtin::FsList, json!({"path": "."})).unwrap();
    let entry = &listed["entries"][0];
    assert_eq!(
        (&entry["path"], &entry["usable"]),
        (&json!("\u{fffd}"), &json!(false))
    );
    // The system allows a colon in a name; the contract does not.
    std::fs::write(field.path("a:b"), "").unwrap();
    let given = json!({"path": ".", "pattern": "a*"});
    let listed = field.call(Builtin::FsList, given).unwrap();
    assert_eq!(listed["entries"][0]["usable"], false);
    std::fs::remove_file(field.path("a:b")).unwrap();
    let found = field
        .call(Builtin::FsSearch, json!({"path": ".", "pattern": "secret"}))
        .unwrap();
    assert_eq!(found["files_searched"], 0);
}

#[test]
fn b003_directories_are_walked_to_a_depth() {
    let field = FilesFixture::new(&[]);
    let deep: Vec<&str> = vec!["d"; 64];
    std::fs::create_dir_all(field.path(&deep.join("/"))).unwrap();
    let given = json!({"path": ".", "recursive": true});
    let message = "`work:.` is deeper than 64 directories".to_owned();
    let walked = field.call(Builtin::FsList, given);
    assert_eq!(walked, Err((ErrorType::ResourceError, message)));
    let named = field.call(Builtin::FsStat, json!({"path": vec!["d"; 65].join("/")}));
    let message = "the path has 65 parts; the limit is 64".to_owned();
    assert_eq!(named, Err((ErrorType::InputError, message)));
    let long = field.call(Builtin::FsStat, json!({"path": "n".repeat(256)}));
    assert_eq!(long.unwrap_err().0, ErrorType::InputError);
}

#[test]
fn b003_a_search_finds_lines_by_pattern_and_glob() {
    let field = FilesFixture::new(&[
        ("a.tf", "cidr = \"0.0.0.0/0\"\ncidr = \"10x0\"\n"),
        ("mod/b.tf", "0.0.0.0/0"),
        ("mod/c.md", "0.0.0.0/0"),
    ]);
    let search = |mut given: Value| {
        given["path"] = json!(".");
        given["recursive"] = json!(true);
        let answer = field.call(Builtin::FsSearch, given).unwrap();
        assert_eq!(action(&answer).0, "search");
        let places = answer["matches"].as_array().unwrap().iter();
        let places = places.map(|hit| format!("{}:{}", hit["path"].as_str().unwrap(), hit["line"]));
        (
            places.collect::<Vec<_>>(),
            answer["truncated"].as_bool().unwrap(),
        )
    };
    let regex = search(json!({"pattern": "0.0", "include": ["**/*.tf"]}));
    assert_eq!(
        regex,
        (
            vec!["a.tf:1".into(), "a.tf:2".into(), "mod/b.tf:1".into()],
            false
        )
    );
    let literal = json!({"pattern": "0.0", "pattern_type": "literal", "include": ["mod/*"]});
    assert_eq!(
        search(literal),
        (vec!["mod/b.tf:1".into(), "mod/c.md:1".into()], false)
    );
    // `*` stays within a directory.
    assert_eq!(
        search(json!({"pattern": "0", "include": ["*.tf"], "max_results": 1})).0,
        ["a.tf:1"]
    );
    assert!(search(json!({"pattern": "0", "max_results": 1})).1);
    let one = field
        .call(Builtin::FsSearch, json!({"path": "a.tf", "pattern": "10x"}))
        .unwrap();
    assert_eq!(
        one["matches"],
        json!([{"path": "a.tf", "line": 2, "text": "cidr = \"10x0\""}])
    );
    for pattern in ["(", "(?:x{1000}){1000}"] {
        let refused = field.call(Builtin::FsSearch, json!({"path": ".", "pattern": pattern}));
        assert_eq!(refused.unwrap_err().0, ErrorType::InputError, "{pattern}");
    }
    let refused = field.call(
        Builtin::FsSearch,
        json!({"path": ".", "pattern": "x", "include": ["["]}),
    );
    assert_eq!(refused.unwrap_err().0, ErrorType::InputError);
}
