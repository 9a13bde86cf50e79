//! One server that tests share, each with its own tenants: a start takes longer than most tests. A test needs a
//! separate server if it configures, stops or restarts it, registers for all tenants, or examines data that tenants
//! share: logs, metrics, the evidence log, the data directory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use charter_contract::identity::AccessScope;
use charter_testkit::http_stub::{HttpStub, Reply};
use serde_json::{Value, json};

use crate::home::{Api, Home, Key, Server, configured_key};

/// The number of configured tenants: more than tests use.
const TENANTS: u32 = 1_000;

/// Further tenants whose route `tier_fast` leads to a model of the tests.
const WITH_MODEL: u32 = 20;

/// The answer of each such tenant's model, by tenant id.
static DRAFTS: Mutex<BTreeMap<String, Value>> = Mutex::new(BTreeMap::new());

/// The number of lines of the server's log that a failing test shows.
const LINES_SHOWN: usize = 100;

/// The tenants of one test.
pub(crate) struct Tenants {
    /// The admin of the only tenant, or the caller for the first key.
    pub(crate) api: Api,
    callers: BTreeMap<String, Api>,
    ids: BTreeMap<String, String>,
}

impl Tenants {
    /// A tenant with an admin of tier `advanced`, who has the rights of every caller of a server without keys.
    pub(crate) fn one() -> Self {
        let (id, api) = next();
        Self {
            api,
            callers: BTreeMap::new(),
            ids: BTreeMap::from([("own".to_owned(), id)]),
        }
    }

    /// A tenant as in [`Tenants::one`], with a model behind the route `tier_fast` that always answers with this draft.
    pub(crate) fn with_draft(draft: &Value) -> Self {
        static GIVEN: AtomicU32 = AtomicU32::new(0);
        let n = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(n < WITH_MODEL, "tests need more than {WITH_MODEL} models");
        let (key, id) = (key(TENANTS + n), tenant(TENANTS + n));
        DRAFTS.lock().unwrap().insert(id.clone(), draft.clone());
        Self {
            api: server().api.with_key(&key),
            callers: BTreeMap::new(),
            ids: BTreeMap::from([("own".to_owned(), id)]),
        }
    }

    /// A tenant for each one in the keys, with other ids, and a caller for each key.
    pub(crate) fn with_keys(keys: &[Key]) -> Self {
        let mut admins: BTreeMap<String, Api> = BTreeMap::new();
        let mut ids = BTreeMap::new();
        let mut callers = BTreeMap::new();
        for (key, tenant, user, role) in keys {
            let admin = admins.entry((*tenant).to_owned()).or_insert_with(|| {
                let (id, admin) = next();
                ids.insert((*tenant).to_owned(), id);
                admin
            });
            let order = json!({"name": "tests", "user": user, "role": role});
            let made = admin.post("/v1/keys", &order).expect(201);
            let caller = admin.with_key(made["secret"].as_str().unwrap());
            callers.insert((*key).to_owned(), caller);
        }
        let (first, ..) = keys[0];
        Self {
            api: callers[first].clone(),
            callers,
            ids,
        }
    }

    /// The same caller with a key that names each scope, so that its answers through a client are decisions.
    pub(crate) fn decider(&self) -> Api {
        let order = json!({
            "name": "decides", "role": "admin", "tier": "advanced", "scopes": AccessScope::ALL,
        });
        let made = self.api.post("/v1/keys", &order).expect(201);
        self.api.with_key(made["secret"].as_str().unwrap())
    }

    /// The API with the credential of the caller for this key.
    #[track_caller]
    pub(crate) fn key(&self, key: &str) -> Api {
        self.callers[key].clone()
    }

    /// The id of the tenant with this name in the keys.
    #[track_caller]
    pub(crate) fn id(&self, tenant: &str) -> &str {
        &self.ids[tenant]
    }
}

impl Drop for Tenants {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = server().log();
            let end: Vec<&str> = log.lines().rev().take(LINES_SHOWN).collect();
            eprintln!("the server that tests share said last:");
            for line in end.into_iter().rev() {
                eprintln!("{line}");
            }
        }
    }
}

/// The next unused tenant, and its admin.
fn next() -> (String, Api) {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let n = GIVEN.fetch_add(1, Ordering::Relaxed);
    assert!(n < TENANTS, "tests need more than {TENANTS} tenants");
    (tenant(n), server().api.with_key(&key(n)))
}

fn server() -> &'static Server {
    static SERVER: OnceLock<&'static Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let keys = (0..TENANTS + WITH_MODEL).map(|n| {
            configured_key(&(&key(n), &tenant(n), "root", "admin")) + "tier = \"advanced\"\n"
        });
        let home = Home::new().configured(&(keys.collect::<String>() + &models()));
        // Seals the secrets of webhook triggers.
        let sealing_key = home.path("sealing.key");
        let home = home.with(
            "CHARTER_CREDENTIALS__KEY_FILE",
            sealing_key.to_str().unwrap(),
        );
        // Requesters may approve their own runs, as on a server without keys.
        home.with("CHARTER_APPROVALS__FOUR_EYES", "false")
            // Tests delay calls: on a machine with many processors, more at once than the default allows.
            .with("CHARTER_TOOLS__CONCURRENCY", "256")
            .serve_to_the_end()
    })
}

/// A provider that runs as long as this process, and the routes of the tenants with a model.
fn models() -> String {
    let provider = HttpStub::start(|request, _| {
        let tenant = request.body["model"].as_str().unwrap_or_default();
        let draft = DRAFTS.lock().unwrap().get(tenant).cloned();
        let content = draft.unwrap_or_default().to_string();
        let completion = json!({
            "object": "chat.completion", "model": tenant,
            "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": 70, "completion_tokens": 9, "total_tokens": 79},
        });
        Reply::json(200, completion.to_string())
    });
    let provider = provider.unwrap();
    let mut text = format!(
        "[models.providers.lab]\napi = \"openai\"\nbase_url = \"{}\"\nstream = false\n",
        provider.url("/v1")
    );
    for n in TENANTS..TENANTS + WITH_MODEL {
        let tenant = tenant(n);
        text += &format!("[models.tenants.{tenant}]\nroutes.tier_fast = \"lab/{tenant}\"\n");
    }
    std::mem::forget(provider);
    text
}

fn key(n: u32) -> String {
    format!("root-of-tenant-{n}")
}

fn tenant(n: u32) -> String {
    format!("tenant-{n}")
}
