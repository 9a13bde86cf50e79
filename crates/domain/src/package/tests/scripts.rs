//! Scripts of playbooks, checked when they are registered.

use super::*;

const WRITES: &str = r"
tool_id: demo.change
name: change
provider: demo
tool_class: write
domain: security
description: Changes a thing.
language: python
";

/// A playbook with one script with this body, which begins in line 10.
fn playbook(language: &str, body: &str) -> String {
    let body: Vec<String> = body.lines().map(|line| format!("      {line}\n")).collect();
    format!(
        "playbook_id: demo.mend\nname: Mend\ndomain: security\ntrigger_conditions: [mend the thing]\n\
         steps:\n  - {{step_id: mend, type: write, tool_id: demo.change}}\nscripts:\n  - step_id: mend\n    \
         language: {language}\n    body: |\n{}mandatory_parameters:\n  - {{name: zone, type: string}}\n\
         safety: {{safety_class: supervised}}\n",
        body.concat()
    )
}

fn found(language: &str, body: &str) -> Vec<String> {
    let playbook = playbook(language, body);
    problems(&[
        ("tools/change.yaml", WRITES),
        ("playbooks/mend.yaml", &playbook),
    ])
}

/// Ruling 31: a quoted placeholder is data; elsewhere it is an error with the file, the line and the script's line.
#[test]
fn ruling_31_a_placeholder_outside_of_quotes_is_an_error_with_its_line() {
    let sound =
        "import sys\nprint('${user.zone}', f'{sys.argv}')\nreturn {'zone': \"${user.zone}\"}\n";
    assert_eq!(found("python", sound), Vec::<String>::new());
    assert_eq!(
        found("bash", "echo ${HOME} ${zone}\n"),
        Vec::<String>::new()
    );
    let [fault] = &found("python", "import a\na.mend(${user.zone})\n")[..] else {
        panic!("one problem");
    };
    let named =
        "playbooks/mend.yaml:10:5 line 2 of the script: `${user.zone}` is outside a string literal";
    assert!(fault.starts_with(named), "{fault}");
    let faults = found("bash", "rm ${user.zone}\n");
    assert!(
        faults[0].contains("line 1 of the script: `${user.zone}` is not allowed in a shell script")
    );
}

/// Ruling 12: an undefined name is a warning when the playbook is registered.
#[test]
fn ruling_12_an_undefined_name_of_a_script_is_a_warning() {
    let body = "x = '${zone}'\n";
    assert_eq!(
        found("python", body),
        ["playbooks/mend.yaml:10:5 `${zone}`: no step `zone` runs before `mend`"]
    );
}
