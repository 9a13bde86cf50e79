//! Channels and rules of one tenant.

use super::*;
use crate::{Caller, TenantNotifications};

fn umbra() -> TenantId {
    TenantId::parse("umbra").unwrap()
}

fn bell() -> Label {
    Label::parse("bell").unwrap()
}

/// The channels `bell` and `ops` of the tenant umbra, in which Eve decides, and its only rule.
fn own() -> TenantNotifications {
    let eve = SlackPerson {
        tenant: umbra(),
        ..slack_person("eve")
    };
    let slack = SlackPeople {
        team: "T9".to_owned(),
        people: BTreeMap::from([("U9".to_owned(), eve)]),
    };
    let channel = ChannelSettings {
        slack: Some(slack),
        ..channel()
    };
    let rule = NotificationRule {
        channels: BTreeSet::from([bell()]),
        ..rule()
    };
    TenantNotifications {
        channels: BTreeMap::from([(ops(), channel.clone()), (bell(), channel)]),
        rules: Some(vec![rule]),
    }
}

/// All tenants share the channel `ops`, but for umbra, which has its own.
async fn rig() -> Rig {
    let settings = NotificationSettings {
        tenants: BTreeMap::from([(umbra(), own())]),
        ..settings(channel(), rule())
    };
    Rig::with_settings(settings, Vec::new()).await
}

#[tokio::test]
async fn a_tenants_own_channel_gets_its_tenants_events_alone() {
    let rig = rig().await;
    rig.waiting().await;
    let payload = json!({
        "schedule_id": "nightly", "occurrence": "f1", "domain": "security", "severity": "high", "count": 1,
    });
    let found = NewMessage {
        topic: "finding.new".to_owned(),
        tenant: Some("umbra".to_owned()),
        user_id: None,
        payload: payload.to_string(),
        at: rig.clock.now(),
    };
    rig.store.publish(vec![found]).await.unwrap();
    rig.work().await;
    let sent = rig.sent();
    let sent: BTreeSet<_> = sent
        .iter()
        .map(|message| {
            let topic = message.content.topic.as_str();
            (message.tenant.as_str(), message.channel.as_str(), topic)
        })
        .collect();
    let expected = [
        ("acme", "ops", "approval.requested"),
        ("umbra", "bell", "finding.new"),
    ];
    assert_eq!(sent, BTreeSet::from(expected));
}

/// Another tenant can neither see nor test them.
#[tokio::test]
async fn a_tenants_own_channels_are_hidden_from_others() {
    let rig = rig().await;
    rig.waiting().await;
    rig.work().await;
    let notifications = &rig.rig.services.notifications;
    let channels = |admin: &Caller| -> Vec<Label> {
        let views = notifications.channels(admin).unwrap();
        views.into_iter().map(|view| view.channel).collect()
    };
    let mut ann = person("ann");
    ann.role = Role::Admin;
    let mut eve = ann.clone();
    eve.tenant = umbra();
    assert_eq!(channels(&ann), [ops()]);
    assert_eq!(channels(&eve), [bell(), ops()]);
    let unknown = notifications.test(&ann, &bell()).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);
    let page = PageRequest::new(None, 10);
    let listed = async |admin: &Caller| {
        let listed = notifications.list(admin, None, None, &page).await;
        listed.unwrap().entries.len()
    };
    // The approval, and the announcement of its end.
    assert_eq!(listed(&ann).await, 2);
    assert_eq!(listed(&eve).await, 0);
}

/// The app of one tenant cannot decide on the approval of another, whose id it knows.
#[tokio::test]
async fn a_tenants_own_app_does_not_see_the_approvals_of_others() {
    let rig = rig().await;
    let (_, approval) = rig.waiting().await;
    *rig.recorder.signing_tenant.lock().unwrap() = Some(umbra());
    let refused = rig.click(("T9", "U9"), &approval, "v0=01").await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(rig.state(&approval).await, "pending");
}
