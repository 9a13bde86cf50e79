//! Forms in which a change is ordered, postponed, permitted, reported or only named.

use super::*;

fn offered(doubt: Doubt) -> Option<ChangeTiming> {
    Some(ChangeTiming::Offer(doubt))
}

fn assert_starts(texts: &[&str], expected: Option<ChangeTiming>) {
    for text in texts {
        assert_eq!(start(text), expected, "{text}: {:?}", read(text));
    }
}

#[test]
fn b000_20_a_plain_order_begins_whatever_capitals_it_has() {
    assert_starts(
        &[
            "Restart pump-7",
            "RESTART PUMP-7",
            "Restart Pump pump-7 now",
            "Refund Ida 12 euros",
            "lock Ida out of the archive",
            "restart Jenkins",
            "Close all valves in hall-3",
            "order 5 more filters",
            "restart pump-7, please",
            "delete the daily backup b-7",
            "stop the nightly job j-7",
            "delete all readings created before 2024-01-01",
            "revoke the passes expiring soon",
            "restart pump-7 today",
            "hey charter, restart pump-7",
            "Charter: restart pump-7",
            "pleas restart pump-7",
        ],
        Some(ChangeTiming::Now),
    );
}

#[test]
fn b000_20_a_title_and_the_name_of_a_record_are_no_orders() {
    assert_starts(
        &[
            "Open Work Permits",
            "OPEN WORK PERMITS",
            "Open Work Permits in hall-3",
            "Refund Requests",
            "Lock Status of gate-3",
            "Order K-1002: where is it?",
            "Order K-1002 again",
            "Issue T-44: who has it?",
        ],
        None,
    );
    assert_starts(
        &[
            "Restart Pump Stations",
            "Fix Priority for Leaks",
            "Close Work Permit findings",
            "Charge Codes 2025",
        ],
        offered(Doubt::Verb),
    );
}

#[test]
fn b000_20_an_order_for_another_time_is_offered() {
    assert_starts(
        &[
            "restart pump-7 at 22:00",
            "restart pump-7 at 10 pm",
            "restart pump-7 at ten",
            "restart pump-7 by Friday",
            "restart pump-7 on 2026-12-01",
            "restart pump-7 on December 1st",
            "restart pump-7 after midnight",
            "restart pump-7 at the weekend",
            "restart pump-7 in the maintenance window",
            "restart pump-7 in 10 seconds",
            "restart pump-7 in a few minutes",
            "restart pump-7 every night",
            "restart pump-7 daily",
            "restart pump-7 soon",
            "restart pump-7 before the inspection",
            "restart pump-7 Friday night",
            "On Monday, restart pump-7",
            "Restart pump-7. Tomorrow.",
            "restart pump-7 during the night",
            "restart pump-7 by the end of the week",
        ],
        offered(Doubt::Later),
    );
}

#[test]
fn b000_20_an_order_that_depends_on_something_is_offered() {
    assert_starts(
        &[
            "restart pump-7 as needed",
            "wait for approval and then restart pump-7",
            "Wait for Ida. Then restart pump-7",
            "ask Ida and then restart pump-7",
            "restart pump-7 but only with approval from Ida",
            "restart pump-7 with Ida's approval",
            "Restart pump-7. But only if Ida agrees.",
            "restart pump-7, unless it is busy",
            "restart pump-7 depending on the pressure",
        ],
        offered(Doubt::Condition),
    );
}

#[test]
fn b000_20_a_wish_a_suggestion_and_a_permission_are_offered() {
    assert_starts(
        &[
            "maybe restart pump-7",
            "restart pump-7 perhaps",
            "I need pump-7 restarted",
            "I'd like pump-7 restarted, please",
            "we need a restart of pump-7",
            "pump-7 needs a restart",
            "we should restart pump-7",
            "I think we should restart pump-7",
            "someone has to restart pump-7",
            "it would be great if you could restart pump-7",
            "I would be grateful if you restarted pump-7",
            "If you could restart pump-7, that would be lovely",
            "would it be possible to restart pump-7?",
            "may I ask you to restart pump-7",
            "could pump-7 be restarted please",
            "don't hesitate to restart pump-7",
            "feel free to restart pump-7",
            "I suggest restarting pump-7",
            "a restart of pump-7, please",
        ],
        offered(Doubt::Indirect),
    );
}

#[test]
fn b000_20_a_playbook_that_is_named_by_its_title_is_offered() {
    assert_starts(
        &[
            "run the playbook Restart a pump on pump-7",
            "Please execute playbook Restart a pump with pump-7",
        ],
        offered(Doubt::Name),
    );
    for text in ["how do I write a playbook", "which playbooks are there"] {
        assert_eq!(read(text).intent, Intent::None, "{text}");
    }
}

#[test]
fn b000_20_an_order_not_to_act_begins_nothing() {
    assert_starts(
        &[
            "make sure pump-7 is not restarted",
            "we should not restart pump-7",
            "avoid restarting pump-7",
            "refrain from restarting pump-7",
            "hold off on restarting pump-7",
            "we should have restarted it",
            "should we restart pump-7?",
        ],
        None,
    );
}

#[test]
fn b000_20_an_order_in_a_forwarded_mail_is_reported() {
    let mail = "From: ida@example.org\nTo: ops@example.org\nSubject: restart pump-7\n\nPlease restart pump-7.";
    assert_eq!(start(mail), offered(Doubt::Reported));
    for question in ["Can you check whether that is allowed?", "Is this fine?"] {
        assert_eq!(start(&format!("{mail}\n\n{question}")), None, "{question}");
    }
    let own = "Please restart pump-7.\n\nFrom: Ida\nTo: Bob\n\nit leaks";
    assert_eq!(start(own), Some(ChangeTiming::Now));
}

#[test]
fn b000_20_a_prohibition_hides_no_question_beside_it() {
    for text in [
        "late parcels, don't refund them",
        "public cameras, do not include the one in hall-3",
        "pumps in hall-3, do not include stopped ones",
        "Do not restart anything. Pumps in hall-3.",
        "unpaid invoices (do not send reminders)",
    ] {
        assert_eq!(read(text).intent, Intent::Read, "{text}");
    }
    for text in [
        "parcel K-1002, do not refund it",
        "please don't restart pump-7, pump-8 or the others",
    ] {
        assert_eq!(read(text).remark, Some(Remark::Forbids), "{text}");
    }
}

#[test]
fn b000_20_how_and_whether_something_can_be_changed_is_knowledge() {
    for text in [
        "how do I restart pump-7",
        "How can we restart pump-7?",
        "can pump-7 be restarted?",
        "may ticket K-1002 be refunded?",
    ] {
        let reading = read(text);
        assert_eq!(reading.intent, Intent::Knowledge, "{text}");
        assert!(reading.asks_how, "{text}");
    }
    assert_eq!(read("can any pumps be restarted?").intent, Intent::Read);
}
