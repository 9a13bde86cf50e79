//! Denials that hold under any approver, and those that are left to the question after the approval.

use super::*;

const APPROVED: &str = "@id(\"a\") permit (principal in Role::\"operator\", action, resource) when { context.run.approved };";

/// Returns the denial before an approval, as text.
fn before(role: Role, cedar: &str) -> Option<String> {
    let approver = UserId::parse("approver").unwrap();
    let mut asked = call();
    asked.run.approvers = vec![approver.clone()];
    asked.run.approvals = 1;
    let tenant = TenantId::parse("acme").unwrap();
    let policies = [policy("p.one", "aws.*", cedar)];
    let set = PolicySet::compile(view(&[lock()], &policies, &[]));
    let denial = set.denies_under_any_approver(&PolicyQuestion {
        principal: Principal {
            tenant: &tenant,
            user: &approver,
            role,
        },
        tool: &asked.tool,
        arguments: asked.arguments.as_object().unwrap(),
        dry_run: asked.dry_run,
        run: &asked.run,
    });
    denial.map(|denial| denial.to_string())
}

#[test]
fn a_call_that_only_lacks_its_approval_is_not_denied_ahead() {
    assert_eq!(before(Role::Operator, APPROVED), None);
    // No approval makes the caller an operator.
    let unpermitted = "no rule of `p.one` permits it".to_owned();
    assert_eq!(before(Role::User, APPROVED), Some(unpermitted));
}

#[test]
fn a_rule_that_forbids_the_arguments_denies_ahead() {
    let forbid = "@id(\"b\") forbid (principal, action, resource) when { context.parameters.region == \"eu-west-1\" };";
    let both = format!("{APPROVED}\n{forbid}");
    let forbidden = "forbidden by `p.one#b`".to_owned();
    assert_eq!(before(Role::Operator, &both), Some(forbidden));
}

/// Rules about the approvers, or about the number of approvals, have no answer before the approval.
#[test]
fn rules_about_approvers_are_left_to_the_question_after_the_approval() {
    for condition in [
        "context.run.approvers.contains(\"bob\")",
        "context.run.approvals == 2",
    ] {
        let permit = permit(condition);
        assert_eq!(before(Role::Operator, &permit), None, "{condition}");
        let forbid = format!(
            "{APPROVED}\n@id(\"b\") forbid (principal, action, resource) unless {{ {condition} }};"
        );
        assert_eq!(before(Role::Operator, &forbid), None, "{condition}");
    }
}
