//! Channels that hang, records that are damaged, and storage that does not answer.

use charter_contract::ids::{ApprovalId, NotificationId};
use charter_contract::run_status::RunStatus;
use charter_store::journal::GENESIS;
use charter_store::notification::NewNotification;
use charter_testkit::store_suite::sample;
use uuid::Uuid;

use super::faults::ReadFault;
use super::*;
use crate::NotificationView;
use crate::engine::tests::eventually;

impl Rig {
    /// Waits until a channel was sent so many messages.
    async fn received(&self, channel: &Label, count: usize) {
        eventually(async || (self.count_of(channel) >= count).then_some(())).await;
    }

    fn count_of(&self, channel: &Label) -> usize {
        let sent = self.sent().into_iter();
        sent.filter(|message| message.channel == *channel).count()
    }

    async fn listed(&self, state: Option<&str>) -> Vec<NotificationView> {
        let mut admin = person("ann");
        admin.role = Role::Admin;
        let page = PageRequest::new(None, 100);
        let notifications = &self.rig.services.notifications;
        let listed = notifications.list(&admin, state, None, &page).await;
        listed.unwrap().entries
    }

    async fn publish(&self, topic: &str, payload: &Value) {
        let message = NewMessage {
            topic: topic.to_owned(),
            tenant: Some("acme".to_owned()),
            user_id: None,
            payload: payload.to_string(),
            at: self.clock.now(),
        };
        self.store.publish(vec![message]).await.unwrap();
    }
}

#[tokio::test]
async fn a_channel_that_hangs_occupies_one_sender() {
    let mail = Label::parse("mail").unwrap();
    let both = NotificationRule {
        channels: BTreeSet::from([mail.clone(), ops()]),
        ..rule()
    };
    let rig = Rig::new(channel(), both).await;
    rig.recorder.hanging.lock().unwrap().insert(ops());
    let found = ["f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8"];
    let found = found.map(|occurrence| (occurrence, Severity::High));
    rig.announce(&found).await;
    let notifications = Arc::clone(&rig.rig.services.notifications);
    let delivering = tokio::spawn(notifications.deliver_forever());
    rig.received(&mail, 8).await;
    // Later events do not wait for it either.
    rig.announce(&[("f9", Severity::High)]).await;
    rig.received(&mail, 9).await;
    assert!(rig.count_of(&ops()) <= 1, "one message at a time");
    delivering.abort();
}

#[tokio::test]
async fn the_rest_of_a_channel_grows_over_its_messages() {
    let rig = Rig::new(channel(), rule()).await;
    rig.fail(&[ChannelFault::Unavailable; 3]);
    let found = ["f1", "f2", "f3", "f4"].map(|occurrence| (occurrence, Severity::High));
    rig.announce(&found).await;
    rig.work().await;
    for (rest, attempts) in [(15, 2), (30, 3)] {
        rig.work_after(rest - 1).await;
        assert_eq!(rig.sent().len(), attempts - 1, "it rests");
        rig.work_after(1).await;
        assert_eq!(rig.sent().len(), attempts);
    }
    // It answers the next attempt, so the rest of the messages follow at their times.
    rig.work_after(60).await;
    let delivered = rig.listed(Some("delivered")).await.len();
    assert_eq!(delivered, 4);
}

#[tokio::test]
async fn messages_to_a_channel_that_never_answers_are_given_up() {
    let rig = Rig::new(channel(), rule()).await;
    rig.fail(&[ChannelFault::Unavailable; 1_000]);
    let found: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    let found: Vec<_> = found
        .iter()
        .map(|name| (name.as_str(), Severity::High))
        .collect();
    rig.announce(&found).await;
    for _ in 0..110 {
        rig.work_after(900).await;
    }
    assert_eq!(rig.listed(Some("failed")).await.len(), 50);
}

#[tokio::test]
async fn a_message_whose_content_cannot_be_made_fails_in_the_end() {
    let rig = Rig::new(channel(), rule()).await;
    let now = rig.clock.now();
    let body = json!({"about": "mission", "run_id": sample::run(1)});
    let damaged = NewNotification {
        notification_id: NotificationId::from_uuid(Uuid::from_u128(1)),
        tenant_id: TenantId::parse("acme").unwrap(),
        channel: ops(),
        topic: NotificationTopic::MissionAwaitingApproval,
        digest: None,
        created_at: now,
        due_at: now,
        body: body.to_string(),
    };
    let position = rig.store.notification_position().await.unwrap();
    let put = rig
        .store
        .put_notifications(position, position.unwrap(), vec![damaged]);
    put.await.unwrap();
    rig.faults.set(Some(("run", ReadFault::Damaged)));
    rig.announce(&[("f1", Severity::High)]).await;
    rig.work().await;
    assert_eq!(rig.titles(), ["2 new findings"]);
    let waiting = rig.listed(Some("pending")).await.remove(0);
    assert_eq!(waiting.attempts, 1);
    for _ in 0..100 {
        rig.work_after(3_601).await;
    }
    let failed = rig.listed(Some("failed")).await.remove(0);
    assert!((20..40).contains(&failed.attempts), "{}", failed.attempts);
    let detail = failed.detail.unwrap();
    assert!(
        detail.starts_with("its content could not be made"),
        "{detail}"
    );
}

/// An event that cannot be read is left out; storage that does not answer loses none.
#[tokio::test]
async fn a_damaged_event_does_not_stop_the_others() {
    let rig = Rig::new(channel(), rule()).await;
    let approval = json!({
        "approval_id": ApprovalId::from_uuid(Uuid::from_u128(1)), "run_id": sample::run(1),
    });
    rig.publish("approval.requested", &approval).await;
    rig.announce(&[("f1", Severity::High)]).await;
    rig.faults.set(Some(("approval", ReadFault::Unavailable)));
    let notifications = &rig.rig.services.notifications;
    let stopped = notifications.collect_all().await;
    assert!(stopped.unwrap_err().is_transient());
    rig.faults.set(Some(("approval", ReadFault::Damaged)));
    rig.work().await;
    assert_eq!(rig.titles(), ["2 new findings"]);
}

/// The title of a run names what a user chose; its journal has its kind.
#[tokio::test]
async fn a_plan_that_is_called_a_mission_is_not_announced_as_one() {
    let rig = Rig::new(channel(), rule()).await;
    let (run, _) = rig.waiting().await;
    let acme = TenantId::parse("acme").unwrap();
    let first = rig.store.events(&acme, &run, 0, 1).await.unwrap();
    let events = sample::events(GENESIS, 0, &[first[0].payload.as_str()]).unwrap();
    let (mut record, _) = sample::new_run("acme", 7, 0).unwrap();
    record.title = "mission to shut the doors".to_owned();
    record.status = RunStatus::AwaitingApproval;
    let made = rig.store.create_run(&record, events, vec![], vec![]);
    made.await.unwrap();
    let status = json!({"run_id": record.run_id, "status": "awaiting_approval"});
    rig.publish("run.status", &status).await;
    rig.work().await;
    let mission = NotificationTopic::MissionAwaitingApproval;
    let all = rig.listed(None).await;
    assert!(all.iter().all(|one| one.topic != mission), "{all:?}");
}
