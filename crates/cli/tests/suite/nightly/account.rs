//! A gateway before the simulated account: it counts the changes that the account made, from outside of Charter, and
//! holds one of them until its process is dead.

use std::io::Read;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use charter_testkit::http_stub::{HttpStub, Reply, Request};

use crate::home::DEADLINE;

/// The calls of EC2 that change a security group.
const CHANGES: [&str; 2] = [
    "RevokeSecurityGroupIngress",
    "AuthorizeSecurityGroupIngress",
];

/// Headers of one connection, which are not forwarded.
const OF_CONNECTION: [&str; 6] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "transfer-encoding",
];

/// The moment at which the process of a held call dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillMoment {
    /// The account has not received the call.
    BeforeChange,
    /// The account has made the change, and its answer is lost.
    AfterChange,
}

/// The gateway.
pub(super) struct AccountGateway {
    stub: HttpStub,
    /// The bodies of the calls that changed something, in order.
    changes: Arc<Mutex<Vec<String>>>,
    next_hold: Arc<Mutex<Option<HoldOrder>>>,
}

/// The order to hold the next change of a group.
struct HoldOrder {
    group: String,
    moment: KillMoment,
    arrived: Sender<()>,
    released: Receiver<()>,
}

/// A held change; dropping it closes the connection of the call.
pub(super) struct HeldChange {
    arrived: Receiver<()>,
    _release: Sender<()>,
}

impl HeldChange {
    /// Waits until the call is there.
    pub(super) fn arrives(&self) {
        self.arrived.recv_timeout(DEADLINE).unwrap();
    }
}

impl AccountGateway {
    /// Starts a gateway before the account at this address.
    pub(super) fn before(endpoint: &str) -> Self {
        let changes: Arc<Mutex<Vec<String>>> = Arc::default();
        let next_hold: Arc<Mutex<Option<HoldOrder>>> = Arc::default();
        let (made, orders) = (Arc::clone(&changes), Arc::clone(&next_hold));
        let endpoint = endpoint.to_owned();
        let stub = HttpStub::start(move |request, _| {
            let body = String::from_utf8_lossy(&request.bytes).into_owned();
            if !CHANGES.iter().any(|action| is_call_of(&body, action)) {
                return forward(&endpoint, request);
            }
            let is_held = |order: &mut HoldOrder| body.contains(&order.group);
            let order = orders.lock().unwrap().take_if(is_held);
            let is_lost = order
                .as_ref()
                .is_some_and(|order| order.moment == KillMoment::BeforeChange);
            let reply = (!is_lost).then(|| forward(&endpoint, request));
            if reply.as_ref().is_some_and(|reply| reply.status == 200) {
                made.lock().unwrap().push(body);
            }
            if let Some(order) = order {
                order.arrived.send(()).unwrap();
                // Nothing is sent: it ends when the test drops the held change.
                assert!(order.released.recv().is_err());
                return Reply::hang_up();
            }
            reply.unwrap_or_else(Reply::hang_up)
        });
        Self {
            stub: stub.unwrap(),
            changes,
            next_hold,
        }
    }

    pub(super) fn url(&self) -> String {
        self.stub.url("")
    }

    pub(super) fn address(&self) -> String {
        self.stub.address().to_string()
    }

    /// The bodies of the calls of this action that changed something.
    pub(super) fn changes(&self, action: &str) -> Vec<String> {
        let changes = self.changes.lock().unwrap();
        let of_action = changes.iter().filter(|body| is_call_of(body, action));
        of_action.cloned().collect()
    }

    /// Holds the next change of a group.
    pub(super) fn hold(&self, group: &str, moment: KillMoment) -> HeldChange {
        let (arrived, arrives) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let order = HoldOrder {
            group: group.to_owned(),
            moment,
            arrived,
            released,
        };
        *self.next_hold.lock().unwrap() = Some(order);
        HeldChange {
            arrived: arrives,
            _release: release,
        }
    }
}

fn is_call_of(body: &str, action: &str) -> bool {
    body.split('&')
        .any(|field| field.strip_prefix("Action=") == Some(action))
}

/// Sends a request to the account; returns its answer.
fn forward(endpoint: &str, request: &Request) -> Reply {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(DEADLINE))
        .proxy(None)
        .build()
        .into();
    let mut sent = ureq::http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("{endpoint}{}", request.path));
    for (name, value) in &request.headers {
        if !OF_CONNECTION.contains(&name.as_str()) {
            sent = sent.header(name, value);
        }
    }
    let response = agent
        .run(sent.body(request.bytes.clone()).unwrap())
        .unwrap();
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type");
    let kind = kind.map_or("", |kind| kind.to_str().unwrap()).to_owned();
    let mut body = Vec::new();
    let mut reader = response.into_body().into_reader();
    reader.read_to_end(&mut body).unwrap();
    Reply::new(status, &kind, body)
}

/// Opens a further security group of the account: a search cluster that every address reaches.
pub(super) fn open_group(endpoint: &str) {
    let scope = "AWS4-HMAC-SHA256 Credential=simulated/20260101/us-east-1/ec2/aws4_request, \
                 SignedHeaders=host, Signature=0";
    let headers = [
        ("authorization", scope),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let call = |body: String| {
        let request = Request {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            body: serde_json::Value::Null,
            bytes: body.into_bytes(),
        };
        let reply = forward(endpoint, &request);
        let answer = String::from_utf8(reply.body).unwrap();
        assert_eq!(reply.status, 200, "{answer}");
        answer
    };
    let named = "GroupName=demo-search&GroupDescription=search";
    let made = call(format!(
        "Action=CreateSecurityGroup&Version=2016-11-15&{named}"
    ));
    let (_, group) = made.split_once("<groupId>").unwrap();
    let (group, _) = group.split_once("</groupId>").unwrap();
    call(format!(
        "Action=AuthorizeSecurityGroupIngress&Version=2016-11-15&GroupId={group}\
         &IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=9200&IpPermissions.1.ToPort=9200\
         &IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0%2F0"
    ));
}
