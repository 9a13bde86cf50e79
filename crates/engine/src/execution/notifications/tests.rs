//! Notifications over SQLite, with a simulated clock and a channel that records what it gets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use charter_contract::catalogue::schedule::{OccurrenceState, ScheduleState};
use charter_contract::catalogue::vocabulary::Severity;
use charter_contract::error_code::ErrorCode;
use charter_contract::finding::Finding;
use charter_contract::identity::Rights;
use charter_contract::ids::{Label, RunId, ScheduleId, TenantId, UserId};
use charter_contract::notification::NotificationTopic;
use charter_contract::page::PageRequest;
use charter_contract::run_status::RunStatus;
use charter_contract::time::Timestamp;
use charter_domain::clock::Clock;
use charter_domain::notification::{NotificationRule, QuietHours};
use charter_domain::rate_limit::Rate;
use charter_domain::schedule::{ScheduleReport, compare};
use charter_effects::channel::{
    ButtonAnswer, ChannelFailure, ChannelFault, ChannelKey, ChannelMessage, Channels, SlackRequest,
};
use charter_store::SharedStore;
use charter_store::outbox::NewMessage;
use charter_store::schedule::{
    OccurrenceAdded, OccurrenceRecord, ScheduleCause, ScheduleRecord, ScheduleStored,
};
use charter_testkit::clock::SimulatedClock;
use charter_testkit::watched_store::WatchedStore;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use self::faults::ReadFaults;
use super::SlackDecision;
use crate::engine::tests::ExecutionRig;
use crate::execution::tests::{rested, rig_with, start, start_steps};
use crate::identity::caller::tests::person;
use crate::{
    AccessScope, AccessScopes, Approval, ApprovalAnswer, ApprovalDecision, ApproverGroup,
    CatalogueRole, ChannelSettings, Confirmation, EngineError, NotificationSettings, Role, RunView,
    SkillGrants, SlackPeople, SlackPerson, Tier,
};

mod confirmations;
mod faults;
mod findings;
mod outages;
mod tenants;

/// Noon.
const NOW: &str = "2026-04-14T12:00:00Z";

/// The request that an occurrence started.
const REQUEST: &str = "req-01930000-0000-7000-8000-000000000009";

/// Records messages; fails as often as it is told to.
#[derive(Default)]
struct Recorder {
    sent: Mutex<Vec<ChannelMessage>>,
    failures: Mutex<VecDeque<ChannelFault>>,
    /// Channels that never answer.
    hanging: Mutex<BTreeSet<Label>>,
    answers: Mutex<Vec<(String, ButtonAnswer)>>,
    /// The tenant whose app signs requests; none for the shared one.
    signing_tenant: Mutex<Option<TenantId>>,
}

#[async_trait]
impl Channels for Recorder {
    async fn send(
        &self,
        message: &ChannelMessage,
        _: &CancellationToken,
    ) -> Result<(), ChannelFailure> {
        self.sent.lock().unwrap().push(message.clone());
        let hangs = self.hanging.lock().unwrap().contains(&message.channel);
        if hangs {
            std::future::pending::<()>().await;
        }
        match self.failures.lock().unwrap().pop_front() {
            None => Ok(()),
            Some(fault) => Err(ChannelFailure {
                fault,
                message: "it is closed".to_owned(),
                retry_after: None,
            }),
        }
    }

    /// Every signature that begins with `v0=` is valid.
    fn signers(&self, request: &SlackRequest<'_>) -> Vec<ChannelKey> {
        let valid = request.signature.starts_with("v0=");
        let key = ChannelKey {
            tenant: self.signing_tenant.lock().unwrap().clone(),
            channel: ops(),
        };
        valid.then_some(key).into_iter().collect()
    }

    async fn answer(
        &self,
        _: &ChannelKey,
        _: &str,
        text: &str,
        answers: ButtonAnswer,
    ) -> Result<(), ChannelFailure> {
        self.answers
            .lock()
            .unwrap()
            .push((text.to_owned(), answers));
        Ok(())
    }
}

fn ops() -> Label {
    Label::parse("ops").unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn slack_person(user: &str) -> SlackPerson {
    let scopes = [AccessScope::ApprovalsRead, AccessScope::ApprovalsWrite];
    SlackPerson {
        tenant: TenantId::parse("acme").unwrap(),
        user: UserId::parse(user).unwrap(),
        rights: Rights {
            role: Role::Operator,
            tier: Tier::Basic,
            catalogue: CatalogueRole::Viewer,
            agent_skills: SkillGrants::default(),
            scopes: AccessScopes::Only(BTreeSet::from(scopes)),
            profile: None,
        },
    }
}

fn channel() -> ChannelSettings {
    let people = [("U1", "ann"), ("U2", "bob")];
    let people = people.map(|(id, user)| (id.to_owned(), slack_person(user)));
    ChannelSettings {
        kind: "slack",
        quiet: None,
        rate: None,
        slack: Some(SlackPeople {
            team: "T1".to_owned(),
            people: BTreeMap::from(people),
        }),
    }
}

fn rule() -> NotificationRule {
    NotificationRule {
        topics: NotificationTopic::ALL.iter().copied().collect(),
        channels: BTreeSet::from([ops()]),
        severity: Some(Severity::High),
        domains: BTreeSet::new(),
        digest: None,
    }
}

/// The settings of every tenant: one rule, and its channels, which are alike.
fn settings(channel: ChannelSettings, rule: NotificationRule) -> NotificationSettings {
    let names = rule.channels.iter().cloned();
    NotificationSettings {
        channels: names.zip(std::iter::repeat(channel)).collect(),
        rules: vec![rule],
        public_url: Some("https://charter.example.com/".to_owned()),
        ..NotificationSettings::default()
    }
}

/// Findings of one rule, the last of which is the most severe.
fn findings(count: usize) -> Vec<Finding> {
    let found = (1..=count).map(|n| {
        let severity = if n == count { "critical" } else { "high" };
        serde_json::from_value(json!({
            "finding_id": format!("fnd_{n}"), "rule_id": "open_door", "skill_id": "doors.watch",
            "severity": severity, "resource_type": "door", "resource_id": format!("door-{n}"),
        }))
        .unwrap()
    });
    found.collect()
}

struct Rig {
    rig: ExecutionRig,
    store: SharedStore,
    clock: SimulatedClock,
    recorder: Arc<Recorder>,
    faults: Arc<ReadFaults>,
    _dir: TempDir,
}

impl Rig {
    async fn new(channel: ChannelSettings, rule: NotificationRule) -> Self {
        Self::with_groups(channel, rule, Vec::new()).await
    }

    async fn with_groups(
        channel: ChannelSettings,
        rule: NotificationRule,
        approver_groups: Vec<ApproverGroup>,
    ) -> Self {
        Self::with_settings(settings(channel, rule), approver_groups).await
    }

    async fn with_settings(
        notifications: NotificationSettings,
        approver_groups: Vec<ApproverGroup>,
    ) -> Self {
        let clock = SimulatedClock::at(at(NOW));
        let recorder = Arc::new(Recorder::default());
        let faults = Arc::new(ReadFaults::default());
        let (rig, store, dir) = rig_with(|ports, settings| {
            ports.clock = Arc::new(clock.clone());
            ports.channels = Arc::<Recorder>::clone(&recorder);
            let watcher = Arc::<ReadFaults>::clone(&faults);
            ports.store = Arc::new(WatchedStore::new(Arc::clone(&ports.store), watcher));
            settings.four_eyes = Some(true);
            settings.approver_groups = approver_groups;
            settings.notifications = notifications;
        })
        .await;
        let made = Self {
            rig,
            store,
            clock,
            recorder,
            faults,
            _dir: dir,
        };
        made.work().await;
        made
    }

    async fn work(&self) {
        let notifications = &self.rig.services.notifications;
        notifications.collect_all().await.unwrap();
        notifications.send_all().await.unwrap();
    }

    async fn work_after(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds)).unwrap();
        self.work().await;
    }

    fn sent(&self) -> Vec<ChannelMessage> {
        self.recorder.sent.lock().unwrap().clone()
    }

    fn titles(&self) -> Vec<String> {
        let sent = self.sent().into_iter();
        sent.map(|message| message.content.title).collect()
    }

    fn fail(&self, faults: &[ChannelFault]) {
        self.recorder.failures.lock().unwrap().extend(faults);
    }

    /// A run of Ann's that waits for an approval.
    async fn waiting(&self) -> (RunId, Approval) {
        let started = start(&self.rig, "doors.shut").await.run();
        let (run, ann) = (started.summary.run_id, person("ann"));
        rested(&self.rig, &run).await;
        let page = PageRequest::new(None, 10);
        let approvals = &self.rig.services.approvals;
        let listed = approvals
            .list(&ann, Some("pending"), Some(&run), &page)
            .await;
        (run, listed.unwrap().entries.remove(0).approval)
    }

    /// A click in Slack at the present time.
    async fn click(
        &self,
        (team, user): (&str, &str),
        approval: &Approval,
        signature: &str,
    ) -> Result<SlackDecision, EngineError> {
        let timestamp = self.clock_seconds().to_string();
        self.click_at(&timestamp, (team, user), approval, signature)
            .await
    }

    async fn click_at(
        &self,
        timestamp: &str,
        (team, user): (&str, &str),
        approval: &Approval,
        signature: &str,
    ) -> Result<SlackDecision, EngineError> {
        let button = json!({
            "channel": "ops", "approval": approval.approval_id, "digest": approval.digest,
        });
        let payload = json!({
            "type": "block_actions", "team": {"id": team}, "user": {"id": user},
            "response_url": "https://hooks.slack.com/1",
            "actions": [{"action_id": "approve", "value": button.to_string()}],
        });
        let body = format!("payload={payload}");
        let request = SlackRequest {
            timestamp,
            signature,
            body: body.as_bytes(),
        };
        let notifications = &self.rig.services.notifications;
        notifications.decide_in_slack(request).await
    }

    fn clock_seconds(&self) -> i64 {
        self.clock.now().as_micros() / 1_000_000
    }

    async fn state(&self, approval: &Approval) -> &'static str {
        let approvals = &self.rig.services.approvals;
        let found = approvals.get(&person("bob"), &approval.approval_id).await;
        found.unwrap().approval.state.word()
    }

    /// Stores an occurrence of the schedule `nightly`, the work of which was a request.
    async fn record(&self, occurrence: &str, report: &ScheduleReport) {
        let now = self.clock.now();
        let schedule = ScheduleRecord {
            tenant_id: TenantId::parse("acme").unwrap(),
            schedule_id: ScheduleId::parse("nightly").unwrap(),
            user_id: UserId::parse("ann").unwrap(),
            definition: "{}".to_owned(),
            identity: "{}".to_owned(),
            cause: ScheduleCause::Time,
            state: ScheduleState::Active,
            hook: None,
            id_secret: "secret".to_owned(),
            enabled_at: now,
            next_at: None,
            version: 1,
        };
        let found = self
            .store
            .schedule(&schedule.tenant_id, &schedule.schedule_id);
        let expected = found.await.unwrap().map(|found| found.version);
        let put = self
            .store
            .put_schedule(&schedule, expected, 10, Vec::new())
            .await;
        assert_eq!(put.unwrap(), ScheduleStored::Stored);
        let one = OccurrenceRecord {
            tenant_id: schedule.tenant_id,
            schedule_id: schedule.schedule_id,
            occurrence: occurrence.to_owned(),
            due_at: now,
            start_at: now,
            state: OccurrenceState::Ended,
            event: None,
            work: Some(json!({"request": REQUEST}).to_string()),
            note: None,
            report: Some(serde_json::to_string(report).unwrap()),
            failing_since: None,
            updated_at: now,
        };
        let added = self.store.add_occurrence(&one, 10, vec![]).await.unwrap();
        assert_eq!(added, OccurrenceAdded::Added);
    }

    /// Publishes that an occurrence of a schedule has changed findings.
    async fn announce_changes(&self, topic: &str, occurrence: &str, count: usize) {
        let payload = json!({
            "schedule_id": "nightly", "occurrence": occurrence, "domain": "security",
            "severity": "high", "count": count,
        });
        let message = NewMessage {
            topic: topic.to_owned(),
            tenant: Some("acme".to_owned()),
            user_id: None,
            payload: payload.to_string(),
            at: self.clock.now(),
        };
        self.store.publish(vec![message]).await.unwrap();
    }

    /// Publishes that occurrences of a schedule have new findings.
    async fn announce(&self, found: &[(&str, Severity)]) {
        let messages = found.iter().map(|(occurrence, severity)| {
            let payload = json!({
                "schedule_id": "nightly", "occurrence": occurrence, "domain": "security",
                "severity": severity, "count": 2,
            });
            NewMessage {
                topic: "finding.new".to_owned(),
                tenant: Some("acme".to_owned()),
                user_id: None,
                payload: payload.to_string(),
                at: self.clock.now(),
            }
        });
        self.store.publish(messages.collect()).await.unwrap();
    }
}

#[tokio::test]
async fn an_approval_is_sent_once_with_a_link_and_announced_again_before_it_expires() {
    let rig = Rig::new(channel(), rule()).await;
    let (_, approval) = rig.waiting().await;
    rig.work().await;
    rig.work().await;
    let sent = rig.sent();
    let [message] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let content = &message.content;
    assert_eq!(content.title, "Approval requested: doors.shut");
    let link = format!(
        "https://charter.example.com/console/approvals/{}",
        approval.approval_id
    );
    assert_eq!(content.link.as_ref(), Some(&link));
    let button = content.decision.as_ref().unwrap();
    assert_eq!(button.digest, approval.digest.to_string());
    assert_eq!(content.data["calls"][0]["tool"], "doors.shut");
    // It lasts a day.
    rig.work_after(23 * 3_600 - 1).await;
    assert_eq!(rig.sent().len(), 1);
    rig.work_after(1).await;
    assert_eq!(rig.titles()[1..], ["Approval expires soon: doors.shut"]);
}

#[tokio::test]
async fn a_decided_approval_is_not_announced_any_more() {
    let rig = Rig::new(channel(), rule()).await;
    let (_, approval) = rig.waiting().await;
    let decided = rig.click(("T1", "U2"), &approval, "v0=01").await.unwrap();
    assert_eq!(decided.state.as_deref(), Some("approved"));
    rig.work_after(23 * 3_600).await;
    let titles = rig.titles();
    assert!(
        !titles.iter().any(|title| title.contains("Approval")),
        "{titles:?}"
    );
}

/// The next group gets a message as the first one does, with its name and a button.
#[tokio::test]
async fn an_approval_that_goes_to_the_next_group_is_announced() {
    let group = |name: &str, user: &str| ApproverGroup {
        name: Label::parse(name).unwrap(),
        tenant: None,
        users: [UserId::parse(user).unwrap()].into(),
        answers_within: Duration::from_secs(1_800),
    };
    let groups = vec![group("on-call", "bob"), group("leads", "cid")];
    let rig = Rig::with_groups(channel(), rule(), groups).await;
    let (_, approval) = rig.waiting().await;
    rig.work().await;
    let approvals = &rig.rig.services.approvals;
    let bob = person("bob");
    let handed_on = approvals.hand_on(&bob, &approval.approval_id);
    handed_on.await.unwrap();
    rig.work().await;
    rig.work().await;
    let sent = rig.sent();
    let told = sent.iter().map(|message| {
        let content = &message.content;
        let group = content.data["group"].as_str().unwrap();
        (content.title.as_str(), group, content.decision.is_some())
    });
    let expected = [
        ("Approval requested: doors.shut", "on-call", true),
        ("Approval escalated: doors.shut", "leads", true),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_run_whose_call_was_rejected_is_announced_with_its_status() {
    let rig = Rig::new(channel(), rule()).await;
    let (run, approval) = rig.waiting().await;
    let say = ApprovalDecision {
        answer: ApprovalAnswer::Reject,
        digest: approval.digest.to_string(),
        reason: None,
    };
    let approvals = &rig.rig.services.approvals;
    let bob = person("bob");
    let decided = approvals.decide(&bob, &approval.approval_id, say);
    decided.await.unwrap();
    let ended = async {
        while !rested(&rig.rig, &run).await.summary.status.is_final() {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, ended).await.unwrap();
    rig.work().await;
    let sent = rig.sent();
    let [message] = sent.as_slice() else {
        panic!("{sent:?}");
    };
    let content = &message.content;
    assert_eq!(content.topic, "run.failed");
    assert!(content.title.starts_with("Run rejected: "), "{content:?}");
    assert_eq!(content.data["status"], "rejected");
}

#[tokio::test]
async fn a_message_is_retried_under_its_id_and_not_for_ever() {
    let rig = Rig::new(channel(), rule()).await;
    rig.fail(&[ChannelFault::Unavailable; 2]);
    rig.announce(&[("f1", Severity::High)]).await;
    rig.work().await;
    rig.work_after(14).await;
    assert_eq!(rig.sent().len(), 1, "it waits");
    rig.work_after(1).await;
    rig.work_after(30).await;
    rig.work_after(3_600).await;
    let sent = rig.sent();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|message| message.id == sent[0].id));
    rig.fail(&[ChannelFault::Unavailable; 100]);
    rig.announce(&[("f2", Severity::High)]).await;
    for _ in 0..100 {
        rig.work_after(3_601).await;
    }
    let attempts = rig.sent().len() - 3;
    assert!((24..40).contains(&attempts), "{attempts}");
    let page = PageRequest::new(None, 10);
    let mut admin = person("ann");
    admin.role = Role::Admin;
    let failed = rig
        .rig
        .services
        .notifications
        .list(&admin, Some("failed"), None, &page);
    let failed = failed.await.unwrap().entries;
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].detail.as_deref(), Some("it is closed"));
}

#[tokio::test]
async fn a_refused_message_is_not_sent_again() {
    let rig = Rig::new(channel(), rule()).await;
    rig.fail(&[ChannelFault::Refused]);
    rig.announce(&[("f1", Severity::Critical)]).await;
    rig.work().await;
    rig.work_after(7_200).await;
    assert_eq!(rig.sent().len(), 1);
}

#[tokio::test]
async fn quiet_hours_hold_everything_but_the_exceptions() {
    let except = BTreeSet::from([NotificationTopic::ApprovalRequested]);
    let quiet = ChannelSettings {
        quiet: Some(QuietHours::new("11:00", "13:00", "UTC", except).unwrap()),
        ..channel()
    };
    let rig = Rig::new(quiet, rule()).await;
    rig.announce(&[("f1", Severity::High)]).await;
    rig.waiting().await;
    rig.work_after(3_599).await;
    assert_eq!(rig.titles(), ["Approval requested: doors.shut"]);
    rig.work_after(1).await;
    assert_eq!(rig.titles()[1..], ["2 new findings"]);
}

#[tokio::test]
async fn a_channel_gets_no_more_than_its_rate() {
    let slow = ChannelSettings {
        rate: Some(Rate::new(NonZeroU64::MIN, NonZeroU64::MIN)),
        ..channel()
    };
    let rig = Rig::new(slow, rule()).await;
    rig.announce(&[("f1", Severity::High), ("f2", Severity::High)])
        .await;
    rig.work().await;
    rig.work_after(59).await;
    assert_eq!(rig.sent().len(), 1);
    rig.work_after(1).await;
    assert_eq!(rig.sent().len(), 2);
}

/// Each refusal has its reason, and changes nothing.
#[tokio::test]
async fn ruling_28_a_decision_in_slack_has_the_checks_of_any_other() {
    let rig = Rig::new(channel(), rule()).await;
    let (_, approval) = rig.waiting().await;
    let bob = ("T1", "U2");
    let old = (rig.clock_seconds() - 301).to_string();
    let mut another = approval.clone();
    another.digest = crate::Digest::claimed("sha256:0");
    let refusals = [
        (
            rig.click(bob, &approval, "none").await,
            ErrorCode::Unauthenticated,
            "no signature",
        ),
        (
            rig.click_at(&old, bob, &approval, "v0=01").await,
            ErrorCode::Unauthenticated,
            "older",
        ),
        (
            rig.click_at("x", bob, &approval, "v0=01").await,
            ErrorCode::Unauthenticated,
            "no time",
        ),
        (
            rig.click(("T2", "U2"), &approval, "v0=02").await,
            ErrorCode::PermissionDenied,
            "workspace `T2`",
        ),
        (
            rig.click(("T1", "U9"), &approval, "v0=03").await,
            ErrorCode::PermissionDenied,
            "`U9` has no identity",
        ),
        (
            rig.click(("T1", "U1"), &approval, "v0=04").await,
            ErrorCode::PermissionDenied,
            "`ann` requested this",
        ),
        (
            rig.click(bob, &another, "v0=05").await,
            ErrorCode::VersionConflict,
            "read it again",
        ),
        (
            rig.click(bob, &approval, "v0=05").await,
            ErrorCode::IllegalTransition,
            "received before",
        ),
    ];
    for (refused, code, reason) in refusals {
        let error = refused.unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(reason), "{error}");
    }
    assert_eq!(rig.state(&approval).await, "pending");
    let decided = rig.click(bob, &approval, "v0=06").await.unwrap();
    assert_eq!(decided.approval_id, Some(approval.approval_id.clone()));
    assert_ne!(rig.state(&approval).await, "pending");
    let again = rig.click(bob, &approval, "v0=07").await.unwrap_err();
    assert_eq!(again.code, ErrorCode::IllegalTransition);
    let answers = rig.recorder.answers.lock().unwrap();
    let replaced = answers
        .iter()
        .filter(|(_, how)| *how == ButtonAnswer::Replaces);
    let replaced: Vec<&str> = replaced.map(|(text, _)| text.as_str()).collect();
    assert_eq!(replaced, ["doors.shut: approved by bob"]);
}

/// The digits of a signature are valid in either case, so a replay in the other one is the same request.
#[tokio::test]
async fn a_replay_in_other_letter_case_is_refused() {
    let rig = Rig::new(channel(), rule()).await;
    let (_, approval) = rig.waiting().await;
    let mut another = approval.clone();
    another.digest = crate::Digest::claimed("sha256:0");
    let bob = ("T1", "U2");
    let first = rig.click(bob, &another, "v0=5a").await.unwrap_err();
    assert_eq!(first.code, ErrorCode::VersionConflict);
    let replay = rig.click(bob, &approval, "v0=5A").await.unwrap_err();
    assert_eq!(replay.code, ErrorCode::IllegalTransition);
    assert!(replay.message.contains("received before"), "{replay}");
    assert_eq!(rig.state(&approval).await, "pending");
}
