//! Limits of a package: its files, their values, its plans, and its reported problems.

use std::time::{Duration, Instant};

use charter_contract::bounds::{
    FILE_NAME_BYTES, PACKAGE_BYTES, PACKAGE_FILES, PACKAGE_PATH_BYTES, PACKAGE_PATH_PARTS,
    PACKAGE_PROBLEMS, PACKAGE_TESTS, YAML_VALUES,
};

use super::*;

/// Far more time than bounded work needs, and far less than unbounded work.
const PROMPT: Duration = Duration::from_secs(20);

/// Adds files to the package, and returns file, keyword and message of each problem of parsing it.
fn shown_problems(more: Vec<(String, String)>) -> Vec<(String, String, String)> {
    let mut bundle = files(&[]);
    bundle.files.extend(more);
    let problems = read(bundle, &Cancellation::default()).problems.into_iter();
    problems.map(|p| (p.file, p.keyword, p.message)).collect()
}

fn line(file: &str, keyword: &str, message: &str) -> (String, String, String) {
    (file.to_owned(), keyword.to_owned(), message.to_owned())
}

/// A call writes every file into a folder.
#[test]
fn files_that_no_call_could_use_are_refused() {
    let one = |path: &str| shown_problems(vec![(path.to_owned(), "x".to_owned())]);
    let deep = |names: usize| vec!["d"; names].join("/");
    let wide = |bytes: usize| format!("docs/{}", "n".repeat(bytes));
    let long = |bytes: usize| {
        let path = vec!["n".repeat(99); 20].join("/");
        path[..bytes].to_owned()
    };
    for sound in [
        deep(PACKAGE_PATH_PARTS),
        wide(FILE_NAME_BYTES),
        long(PACKAGE_PATH_BYTES),
        "docs/a b\u{e9}.md".to_owned(),
    ] {
        assert_eq!(one(&sound), [], "{sound}");
    }
    let cases = [
        (
            deep(PACKAGE_PATH_PARTS + 1),
            "limit",
            "the path has more than 64 names (PACKAGE_PATH_PARTS)",
        ),
        (
            wide(FILE_NAME_BYTES + 1),
            "limit",
            "a name is longer than 255 bytes (FILE_NAME_BYTES)",
        ),
        (
            "scripts".to_owned(),
            "path",
            "`scripts` is a folder in every package, so it cannot be a file",
        ),
        (
            "docs/../a".to_owned(),
            "path",
            "the path is not plain and relative",
        ),
        (
            "scripts/list.py/a".to_owned(),
            "path",
            "`scripts/list.py` is a file and cannot contain others",
        ),
    ];
    for (path, keyword, message) in cases {
        // A file with the path of a folder also conflicts with the folder's files.
        assert_eq!(one(&path).first(), Some(&line(&path, keyword, message)));
    }
    let path = long(PACKAGE_PATH_BYTES + 1);
    let shown = format!("{}…", &path[..PACKAGE_PATH_BYTES]);
    let message = "the path is longer than 1024 bytes (PACKAGE_PATH_BYTES)";
    assert_eq!(one(&path), [line(&shown, "limit", message)]);
}

#[test]
fn a_package_has_so_many_files_and_bytes_and_no_more() {
    let own = files(&[]).files.len();
    let many = |count: usize| {
        let paths = (0..count - own).map(|at| format!("docs/{at}.md"));
        shown_problems(paths.map(|path| (path, String::new())).collect())
    };
    assert_eq!(many(PACKAGE_FILES), []);
    let message = "the package has 4097 files; the limit is 4096 (PACKAGE_FILES)";
    assert_eq!(many(PACKAGE_FILES + 1), [line(MANIFEST, "limit", message)]);
    let large = vec![("docs/a.md".to_owned(), "x".repeat(PACKAGE_BYTES))];
    let found = shown_problems(large);
    let keywords: Vec<(&str, &str)> = found.iter().map(|p| (p.0.as_str(), p.1.as_str())).collect();
    assert_eq!(keywords, [(MANIFEST, "limit")]);
}

#[test]
fn a_pdf_is_bytes_in_base64() {
    let one =
        |content: &str| shown_problems(vec![("docs/manual.pdf".to_owned(), content.to_owned())]);
    assert_eq!(one("JVBERi0xLjcK"), []);
    let path = "docs/manual.pdf";
    assert_eq!(
        one("%PDF-1.7"),
        [line(path, "pdf", "the content is not base64")]
    );
    assert_eq!(
        one("PGh0bWw+"),
        [line(
            path,
            "pdf",
            "not a PDF: the content does not begin with `%PDF-`"
        )]
    );
}

/// 15 MiB of text in files of up to 8 MiB: a script, a page, and a document.
#[test]
fn a_package_of_the_largest_size_is_read() {
    let text = "  Orders, of [any] kind: {late} or not; a - b, 'c' & \"d\".\n";
    let test = format!(
        "- expect_miss: true\n  query: |\n{}",
        format!("  {text}").repeat((6 << 20) / text.len())
    );
    let found = shown_problems(vec![
        ("scripts/long.py".to_owned(), "#x\n".repeat((8 << 20) / 3)),
        ("docs/short.md".to_owned(), "y".repeat(1 << 20)),
        ("tests/long.yaml".to_owned(), test),
    ]);
    assert_eq!(found, []);
}

/// All files of a package share one allowance; once it is exhausted, no further file is parsed.
#[test]
fn a_package_holds_so_many_values_and_no_more() {
    let text = format!("{{\"a\": [{}1]}}", "1,".repeat(YAML_VALUES - 3));
    let many = (0..50).map(|at| (format!("templates/t{at:02}.yaml"), text.clone()));
    let began = Instant::now();
    let found = shown_problems(many.collect());
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    let limits: Vec<_> = found.iter().filter(|p| p.1 == "limit").cloned().collect();
    let message = "the files up to here have more than 500000 values (PACKAGE_VALUES)";
    assert_eq!(limits, [line("templates/t02.yaml", "limit", message)]);
    assert!(found.iter().all(|p| p.0.as_str() <= "templates/t02.yaml"));
}

#[test]
fn a_package_has_so_many_routing_tests_and_no_more() {
    let tests = |count: usize| {
        let text = "- {query: q, expect_miss: true}\n".repeat(count);
        let found = shown_problems(vec![("tests/many.yaml".to_owned(), text)]);
        let messages = found.into_iter().map(|p| p.2);
        messages.collect::<Vec<_>>()
    };
    assert_eq!(tests(PACKAGE_TESTS), Vec::<String>::new());
    let message = "the package has more than 2000 routing tests (PACKAGE_TESTS)";
    assert_eq!(tests(PACKAGE_TESTS + 1), [message]);
}

/// Each problem quotes its line; a late line of a long file must not cost more than an early one.
#[test]
fn so_many_problems_are_shown_and_no_more() {
    let text = "# x\n".repeat(1 << 20) + &"- {}\n".repeat(20_000);
    let began = Instant::now();
    let bundle = files(&[("tools/many.yaml", &text)]);
    let reading = read(bundle, &Cancellation::default());
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    assert!(reading.package.is_none());
    assert_eq!(reading.problems.len(), PACKAGE_PROBLEMS + 1);
    let first = &reading.problems[1];
    assert_eq!(
        (first.file.as_str(), first.line, first.excerpt.as_str()),
        ("tools/many.yaml", (1 << 20) + 1, "- {}")
    );
    let more = &reading.problems[0];
    assert_eq!(
        (more.file.as_str(), more.message.as_str()),
        (
            MANIFEST,
            "1000 errors are shown; there may be more (PACKAGE_PROBLEMS)"
        )
    );
}

/// Warnings alone never prevent registration.
#[test]
fn warnings_that_are_not_shown_are_counted() {
    let stray = (0..PACKAGE_PROBLEMS + 5).map(|at| (format!("odd/{at:04}.yaml"), String::new()));
    let mut bundle = files(&[]);
    bundle.files.extend(stray);
    let reading = read(bundle, &Cancellation::default());
    assert!(reading.package.is_some());
    assert_eq!(reading.problems.len(), PACKAGE_PROBLEMS + 1);
    let last = reading.problems.last().unwrap();
    assert_eq!(
        (last.file.as_str(), last.message.as_str()),
        (MANIFEST, "5 more warnings are not shown (PACKAGE_PROBLEMS)")
    );
}

#[test]
fn a_cancelled_check_admits_nothing() {
    let cancel = Cancellation::default();
    let package = read(files(&[]), &cancel).package.unwrap();
    cancel.cancel();
    let reading = read(files(&[]), &cancel);
    assert!(reading.package.is_none());
    let cancelled = |problems: &[Problem]| {
        let found = problems
            .iter()
            .filter(|p| p.severity == ProblemSeverity::Error);
        let found = found.map(|p| (p.file.clone(), p.keyword.clone()));
        found.collect::<Vec<_>>()
    };
    let expected = [(MANIFEST.to_owned(), "cancelled".to_owned())];
    assert_eq!(cancelled(&reading.problems), expected);
    let origin = Origin {
        scope: Scope::Global,
        package: package.manifest.value.name.clone(),
        version: "1.0.0".into(),
    };
    let view = catalogue();
    let against = Against {
        scope: &origin.scope,
        before: &view,
        after: &view,
        origin: &origin,
        cancel: &cancel,
    };
    assert_eq!(cancelled(&check(&package, &against)), expected);
}

/// A skill in which each step waits for all previous steps.
#[test]
fn a_plan_of_too_many_dependencies_is_refused_with_its_place() {
    let wide = |steps: usize| {
        let step = |at: usize| {
            let before: Vec<String> = (0..at).map(|at| format!("step_{at}")).collect();
            format!(
                "    - step_id: step_{at}\n      type: read\n      tool_id: demo.list\n      \
                 parameters: {{region: a}}\n      depends_on: [{}]\n",
                before.join(", ")
            )
        };
        let start = SKILL.find("    - step_id").unwrap();
        let end = SKILL.find("analysis:").unwrap();
        let steps: String = (0..steps).map(step).collect();
        format!("{}{steps}{}", &SKILL[..start], &SKILL[end..])
    };
    let found = |steps: usize| problems(&[("skills/find.yaml", &wide(steps))]);
    assert_eq!(found(141), Vec::<String>::new());
    assert_eq!(
        found(142),
        [
            "skills/find.yaml:12:3 the plan has more than 10000 dependencies between its steps (PLAN_EDGES): split \
             it into two plans"
        ]
    );
}
