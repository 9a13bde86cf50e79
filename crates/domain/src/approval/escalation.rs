//! Escalation: an approval goes from one group of approvers to the next, at a set time or when a member hands it on.
//! Earlier groups may still decide. Without groups, every approver of the tenant may. Reads no clock.

use std::collections::BTreeSet;

use charter_contract::ids::{Label, UserId};
use charter_contract::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Approval;

/// A group of approvers, from the time at which it may decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EscalationStep")]
pub struct EscalationStep {
    /// The group's name.
    pub group: Label,
    /// Its members.
    pub users: BTreeSet<UserId>,
    /// When its turn begins.
    pub from: Timestamp,
}

/// The groups of an approval, in their order, and how many of their turns were announced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApprovalEscalation")]
pub struct Escalation {
    /// The groups; empty if every approver of the tenant may decide.
    pub steps: Vec<EscalationStep>,
    /// The number of groups whose turn was announced.
    pub announced: usize,
}

impl Escalation {
    /// Returns whether there are no groups.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the steps whose turn has come, in their order.
    fn begun(&self, now: Timestamp) -> impl Iterator<Item = &EscalationStep> {
        self.steps.iter().filter(move |step| step.from <= now)
    }

    /// Returns the group whose turn began last.
    #[must_use]
    pub fn group(&self, now: Timestamp) -> Option<&Label> {
        self.begun(now).last().map(|step| &step.group)
    }

    /// Returns whether a user may decide at this time.
    #[must_use]
    pub fn admits(&self, user: &UserId, now: Timestamp) -> bool {
        self.is_none() || self.begun(now).any(|step| step.users.contains(user))
    }

    /// Returns when the next group's turn begins that was not announced.
    #[must_use]
    pub fn next_turn(&self) -> Option<Timestamp> {
        self.steps.get(self.announced).map(|step| step.from)
    }
}

impl Approval {
    /// Returns the approval after the turns that have begun by now were announced; `None` if all of them were.
    #[must_use]
    pub fn escalated(&self, now: Timestamp) -> Option<Self> {
        let begun = self.escalation.begun(now).count();
        (begun > self.escalation.announced).then(|| {
            let mut after = self.clone();
            after.escalation.announced = begun;
            after
        })
    }

    /// Returns the approval after it was handed on to the next group, whose turn begins now; `None` if there is none,
    /// or the approval has expired.
    #[must_use]
    pub fn handed_on(&self, now: Timestamp) -> Option<Self> {
        if now >= self.expires_at {
            return None;
        }
        let mut after = self.clone();
        let next = after
            .escalation
            .steps
            .iter_mut()
            .find(|step| step.from > now);
        next?.from = now;
        after.escalated(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::tests::{at, pending, user};

    fn escalating() -> Approval {
        let step = |name: &str, users: &[&str], from: i64| EscalationStep {
            group: Label::parse(name).unwrap(),
            users: users.iter().map(|name| user(name)).collect(),
            from: at(from),
        };
        let mut approval = pending(false);
        approval.escalation = Escalation {
            steps: vec![
                step("on-call", &["bob"], 0),
                step("leads", &["ruth"], 20),
                step("board", &["zoe"], 40),
            ],
            announced: 1,
        };
        approval
    }

    #[test]
    fn an_approval_goes_to_the_next_group_after_its_time() {
        let escalation = escalating().escalation;
        for (now, group, admitted) in [
            (0, "on-call", &["bob"][..]),
            (19, "on-call", &["bob"]),
            (20, "leads", &["bob", "ruth"]),
            (40, "board", &["bob", "ruth", "zoe"]),
        ] {
            assert_eq!(escalation.group(at(now)).map(Label::as_str), Some(group));
            let all = ["ann", "bob", "ruth", "zoe"];
            let may: Vec<&str> = all
                .into_iter()
                .filter(|name| escalation.admits(&user(name), at(now)))
                .collect();
            assert_eq!(may, admitted, "{now}");
        }
        let none = Escalation::default();
        assert!(none.admits(&user("ann"), at(0)) && none.group(at(0)).is_none());
    }

    #[test]
    fn each_turn_is_announced_once() {
        let approval = escalating();
        assert_eq!(approval.escalation.next_turn(), Some(at(20)));
        assert_eq!(approval.escalated(at(19)), None);
        let second = approval.escalated(at(20)).unwrap();
        assert_eq!(second.escalation.announced, 2);
        assert_eq!(second.escalated(at(39)), None);
        // A process that was away announces the last turn alone.
        let last = approval.escalated(at(50)).unwrap();
        assert_eq!(last.escalation.announced, 3);
        assert_eq!(last.escalation.next_turn(), None);
    }

    #[test]
    fn a_member_hands_an_approval_on_before_its_time() {
        let handed = escalating().handed_on(at(5)).unwrap();
        assert!(handed.escalation.admits(&user("ruth"), at(5)));
        assert!(!handed.escalation.admits(&user("zoe"), at(5)));
        assert_eq!(handed.escalation.announced, 2);
        let again = handed.handed_on(at(6)).unwrap();
        assert_eq!(again.handed_on(at(7)), None);
    }

    #[test]
    fn an_expired_approval_is_not_handed_on() {
        let mut approval = escalating();
        approval.expires_at = at(30);
        assert!(approval.handed_on(at(29)).is_some());
        assert_eq!(approval.handed_on(at(30)), None);
    }
}
