//! A decision as a person reads it: the call or the plan, its arguments, its reason, and what it would change. All of it
//! is foreign text, which must not control the terminal.

use charter_contract::time::Timestamp;
use charter_domain::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::find::Decision;
use crate::client::Client;
use crate::commands::encoded;
use crate::local_time;
use crate::screen::{self, Emphasis};

/// Lines of arguments, and changes of the state, that a card shows before it refers to the details.
const BRIEF_LINES: usize = 24;

/// How much of a decision is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The facts that a decision needs.
    Brief,
    /// Everything, with ids and digests.
    Whole,
}

/// The whole of a decision, with what it would change.
pub(super) async fn whole(client: &Client, decision: &Decision) -> String {
    let preview = preview(client, decision).await;
    card(decision, &preview, Extent::Whole)
}

/// The effect of an approval's call; `null` for a plan, and without a known effect.
pub(super) async fn preview(client: &Client, decision: &Decision) -> Value {
    let Decision::Approval(approval) = decision else {
        return Value::Null;
    };
    if approval["state"] != "pending" {
        return Value::Null;
    }
    let id = approval["approval_id"].as_str().unwrap_or_default();
    let path = format!("/v1/approvals/{}/preview", encoded(id));
    // A call can be decided on without its preview.
    match client.post(&path, None).await {
        Ok(preview) => preview,
        Err(error) => json!({ "note": format!("the preview failed: {error}") }),
    }
}

/// A decision as text.
pub(super) fn card(decision: &Decision, preview: &Value, extent: Extent) -> String {
    let lines = match decision {
        Decision::Approval(approval) => of_call(approval, preview, extent),
        Decision::Confirmation(run) => of_plan(run, extent),
    };
    screen::plain_lines(&lines)
}

fn of_call(approval: &Value, preview: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let call = &approval["call"];
    let mut lines = vec![
        (Emphasis::Strong, text(&call["tool"])),
        fact("for", &text(&approval["run_title"])),
        fact("asked by", &asked_by(approval)),
    ];
    for rule in list(&approval["rules"]) {
        let message = text(&rule["message"]);
        let reason = match message.is_empty() {
            true => format!("{} {}", text(&rule["kind"]), text(&rule["id"])),
            false => message,
        };
        lines.push(fact("because", &reason));
    }
    if let Some(group) = approval["group"].as_str() {
        lines.push(fact("waits for", group));
    }
    lines.extend(call_lines(approval, extent));
    lines.extend(preview_lines(preview, extent));
    if extent == Extent::Whole {
        for (name, value) in [
            ("approval", &approval["approval_id"]),
            ("state", &approval["state"]),
            ("run", &call["run_id"]),
            ("step", &call["step"]),
            ("tool hash", &call["tool_hash"]),
            ("digest", &approval["digest"]),
            ("four eyes", &approval["four_eyes"]),
        ] {
            lines.push(fact(name, &text(value)));
        }
        if let Some(plan) = approval["plan_digest"].as_str() {
            lines.push(fact("confirms", plan));
        }
        for rule in list(&approval["rules"]) {
            let rule = format!("{} {}", text(&rule["kind"]), text(&rule["id"]));
            lines.push(fact("rule", &rule));
        }
    }
    lines
}

/// The arguments of the call, or each call of a list, none of which is left out.
fn call_lines(approval: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let count = list(&approval["list"]).count();
    if count == 0 {
        return value_lines("arguments", &approval["call"]["parameters"], extent);
    }
    let mut lines = vec![fact("calls", &count.to_string())];
    for call in list(&approval["list"]) {
        let (step, tool) = (text(&call["step"]), text(&call["tool"]));
        let line = format!("    {step}: {tool} with {}", call["parameters"]);
        lines.push((Emphasis::Plain, line));
    }
    lines
}

fn of_plan(run: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let mut lines = vec![
        (Emphasis::Strong, text(&run["title"])),
        fact("since", &time(&run["created_at"])),
    ];
    let steps = list(&run["steps"]);
    let forward = steps.filter(|step| extent == Extent::Whole || step["reverses"].is_null());
    for step in forward {
        let (id, tool) = (text(&step["step"]), text(&step["tool"]));
        let shown = match step["writes"].as_bool() {
            Some(true) => format!("{id} writes {tool}{}", planned_arguments(run, &id)),
            Some(false) | None => format!("{id} reads {tool}"),
        };
        lines.push(fact("step", &shown));
    }
    lines.extend(value_lines("parameters", &run["parameters"], extent));
    for note in list(&run["notes"]) {
        lines.push(fact("note", &text(note)));
    }
    if extent == Extent::Whole {
        lines.push(fact("run", &text(&run["run_id"])));
        lines.push(fact("digest", &text(&run["plan_digest"])));
    }
    lines
}

/// The arguments of a write as the plan has them: without four eyes, the confirmation approves the call.
fn planned_arguments(run: &Value, step: &str) -> String {
    let mut planned = list(&run["events"][0]["graph"]["steps"]);
    let action = planned.find(|planned| planned["id"] == step);
    let Some(action) = action.map(|planned| &planned["action"]) else {
        return String::new();
    };
    match action.get("each") {
        Some(each) => format!(
            " with {} for each item of {}",
            each["parameters"], action["items"]
        ),
        None => format!(" with {}", action["parameters"]),
    }
}

fn asked_by(approval: &Value) -> String {
    let by = text(&approval["requested_by"]);
    let expires = time(&approval["expires_at"]);
    let requested = approval["requested_at"].as_str().unwrap_or_default();
    match (Timestamp::parse(requested), SystemClock::start()) {
        (Ok(requested), Ok(clock)) => {
            let age = local_time::age(requested, clock.now());
            format!("{by} {age} ago, expires {expires}")
        }
        _ => format!("{by}, expires {expires}"),
    }
}

/// A value as indented JSON.
fn value_lines(name: &str, value: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let mut lines = vec![fact(name, "")];
    let shown = format!("{value:#}");
    let count = shown.lines().count();
    let most = match extent {
        Extent::Brief => BRIEF_LINES,
        Extent::Whole => count,
    };
    let body = shown.lines().take(most);
    lines.extend(body.map(|line| (Emphasis::Plain, format!("    {line}"))));
    if count > most {
        let rest = format!("    … {} more lines: see the details", count - most);
        lines.push((Emphasis::Faint, rest));
    }
    lines
}

/// The effect of the call, or of each call of a list.
fn preview_lines(preview: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let mut lines = effect_lines(preview, extent);
    for call in list(&preview["calls"]) {
        lines.push(fact("step", &text(&call["step"])));
        lines.extend(effect_lines(call, extent));
    }
    lines
}

/// The present state beside the state after.
fn effect_lines(preview: &Value, extent: Extent) -> Vec<(Emphasis, String)> {
    let mut lines = Vec::new();
    if let Some(note) = preview["note"].as_str() {
        lines.push(fact("preview", note));
    }
    if preview["after"].is_null() {
        return lines;
    }
    if preview["before"].is_null() {
        lines.extend(value_lines("afterwards", &preview["after"], extent));
        return lines;
    }
    let mut changes = Vec::new();
    changed(
        &mut changes,
        String::new(),
        (&preview["before"], &preview["after"]),
    );
    if changes.is_empty() {
        lines.push(fact("effect", "the state would not change"));
        return lines;
    }
    lines.push(fact("effect", ""));
    let most = match extent {
        Extent::Brief => BRIEF_LINES,
        Extent::Whole => changes.len(),
    };
    for (path, before, after) in changes.iter().take(most) {
        let path = match path.as_str() {
            "" => "(the whole)",
            path => path,
        };
        lines.push((Emphasis::Plain, format!("    {path}")));
        lines.push((Emphasis::Removed, format!("      now    {before}")));
        lines.push((Emphasis::Added, format!("      after  {after}")));
    }
    if changes.len() > most {
        let rest = format!(
            "    … {} more changes: see the details",
            changes.len() - most
        );
        lines.push((Emphasis::Faint, rest));
    }
    lines
}

/// Collects the parts in which two values differ, each with its JSON pointer. An absent part is `(absent)`.
fn changed(
    found: &mut Vec<(String, String, String)>,
    path: String,
    (before, after): (&Value, &Value),
) {
    if before == after {
        return;
    }
    let (Value::Object(earlier), Value::Object(later)) = (before, after) else {
        found.push((path, before.to_string(), after.to_string()));
        return;
    };
    let added = later.keys().filter(|name| !earlier.contains_key(*name));
    for name in earlier.keys().chain(added) {
        let below = format!("{path}/{name}");
        match (earlier.get(name), later.get(name)) {
            (Some(before), Some(after)) => changed(found, below, (before, after)),
            (before, after) => {
                let shown = |part: Option<&Value>| {
                    part.map_or_else(|| "(absent)".to_owned(), Value::to_string)
                };
                found.push((below, shown(before), shown(after)));
            }
        }
    }
}

fn fact(name: &str, value: &str) -> (Emphasis, String) {
    let line = format!("  {name:<10} {value}");
    (Emphasis::Plain, line.trim_end().to_owned())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn time(value: &Value) -> String {
    let written = value.as_str().unwrap_or_default();
    local_time::local(written).unwrap_or_else(|| written.to_owned())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval() -> Decision {
        Decision::Approval(json!({
            "approval_id": "apr-1", "state": "pending", "requested_by": "ann",
            "requested_at": "2026-04-14T12:00:00Z", "expires_at": "2026-04-15T12:00:00Z",
            "run_title": "playbook db.tidy", "digest": "sha256:00", "four_eyes": true,
            "call": {"tool": "db.drop", "run_id": "run-1", "step": "drop", "tool_hash": "sha256:11",
                     "parameters": {"table": "a\u{1b}[2Jb"}},
            "rules": [{"kind": "guardrail", "id": "db.ask", "message": "A table is lost."}],
        }))
    }

    #[test]
    fn a_card_shows_the_call_its_arguments_and_its_reason() {
        let shown = card(&approval(), &Value::Null, Extent::Brief);
        for part in [
            "db.drop",
            "because    A table is lost.",
            "\"table\"",
            "for        playbook db.tidy",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(
            !shown.contains("sha256:00") && !shown.contains('\u{1b}'),
            "{shown}"
        );
        let shown = card(&approval(), &Value::Null, Extent::Whole);
        assert!(shown.contains("digest     sha256:00"), "{shown}");
    }

    /// The confirmation may also approve the calls.
    #[test]
    fn a_plan_shows_the_arguments_of_its_writes() {
        let call = |parameters: Value| json!({"do": "call", "parameters": parameters});
        let run = json!({
            "title": "plan p", "parameters": {}, "steps": [
                {"step": "a", "tool": "db.look", "writes": false},
                {"step": "b", "tool": "db.drop", "writes": true},
                {"step": "c", "tool": "db.drop", "writes": true},
            ],
            "events": [{"event": "started", "graph": {"steps": [
                {"id": "a", "action": call(json!({"name": "n"}))},
                {"id": "b", "action": call(json!({"table": "t"}))},
                {"id": "c", "action": {
                    "do": "for_each", "items": "${user.all}", "each": call(json!({"table": "${item}"})),
                }},
            ]}}],
        });
        let shown = card(&Decision::Confirmation(run), &Value::Null, Extent::Brief);
        for step in [
            "step       a reads db.look\n",
            "step       b writes db.drop with {\"table\":\"t\"}\n",
            "step       c writes db.drop with {\"table\":\"${item}\"} for each item of \"${user.all}\"\n",
        ] {
            assert!(shown.contains(step), "{step}: {shown}");
        }
    }

    #[test]
    fn a_list_shows_each_of_its_calls() {
        let Decision::Approval(mut several) = approval() else {
            unreachable!("it is an approval");
        };
        several["list"] = json!([
            {"step": "drop.1", "tool": "db.drop", "parameters": {"table": "a"}},
            {"step": "drop.2", "tool": "db.drop", "parameters": {"table": "b"}},
        ]);
        let shown = card(&Decision::Approval(several), &Value::Null, Extent::Brief);
        for call in [
            "calls      2",
            "    drop.1: db.drop with {\"table\":\"a\"}",
            "    drop.2: db.drop with {\"table\":\"b\"}",
        ] {
            assert!(shown.contains(call), "{call}: {shown}");
        }
    }

    #[test]
    fn a_preview_shows_the_present_state_beside_the_state_after() {
        let preview = json!({
            "before": {"name": "a", "rules": ["any"], "old": 1},
            "after": {"name": "a", "rules": [], "new": {"x": 2}},
        });
        let shown = card(&approval(), &preview, Extent::Brief);
        for effect in [
            "    /old\n      now    1\n      after  (absent)",
            "    /rules\n      now    [\"any\"]\n      after  []",
            "    /new\n      now    (absent)\n      after  {\"x\":2}",
        ] {
            assert!(shown.contains(effect), "{effect}: {shown}");
        }
        assert!(!shown.contains("/name"), "{shown}");
        let same = json!({"before": {"a": 1}, "after": {"a": 1}});
        let shown = card(&approval(), &same, Extent::Brief);
        assert!(shown.contains("the state would not change"), "{shown}");
        let failed = json!({"note": "the preview failed: no access"});
        let shown = card(&approval(), &failed, Extent::Brief);
        assert!(
            shown.contains("preview    the preview failed: no access"),
            "{shown}"
        );
    }

    #[test]
    fn a_preview_of_a_list_shows_each_call_and_the_number_left_out() {
        let preview = json!({
            "note": "1 of 3 calls have no preview",
            "calls": [
                {"step": "drop.1", "before": {"rows": 2}, "after": {"rows": 0}},
                {"step": "drop.2", "note": "`db.drop` declares no preview"},
            ],
        });
        let shown = card(&approval(), &preview, Extent::Brief);
        for part in [
            "  preview    1 of 3 calls have no preview\n  step       drop.1\n  effect\n    /rows\n",
            "      now    2\n      after  0\n  step       drop.2\n  preview    `db.drop` declares no preview",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn long_arguments_are_cut_in_a_card_and_whole_in_the_details() {
        let numbers: Vec<u32> = (0..100).collect();
        let Decision::Approval(mut long) = approval() else {
            unreachable!("it is an approval");
        };
        long["call"]["parameters"] = json!({ "numbers": numbers });
        let long = Decision::Approval(long);
        let brief = card(&long, &Value::Null, Extent::Brief);
        assert!(brief.contains("more lines: see the details"), "{brief}");
        assert!(card(&long, &Value::Null, Extent::Whole).contains("99"));
    }
}
