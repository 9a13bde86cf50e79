//! The commands of the container image are commands of the binary. `release/test_image.py` tests the rest of the image's
//! list of contents.

use crate::home::{Home, project};

/// The program's file in the image.
const PROGRAM: &str = "/usr/local/bin/charter";

/// The health check, and the command that a container runs.
#[test]
fn the_health_check_is_a_command_of_the_image() {
    let list = std::fs::read_to_string(project().join("release/image.toml")).unwrap();
    let lists = list
        .lines()
        .filter_map(|line| line.strip_prefix("command = "));
    let commands: Vec<Vec<String>> = lists
        .map(|words| serde_json::from_str(words).unwrap())
        .collect();
    assert_eq!(commands, [vec!["serve"], vec![PROGRAM, "health"]]);
    let home = Home::new();
    for command in &commands {
        let words = command.iter().map(String::as_str);
        let mut arguments: Vec<&str> = words.filter(|word| *word != PROGRAM).collect();
        arguments.push("--help");
        let helped = home.bare(&arguments).output().unwrap();
        assert!(helped.status.success(), "{arguments:?}");
    }
}
