//! A search node for tests: OpenSearch with its k-NN plugin, or Elasticsearch on request. Each test process has its
//! own, in a temporary directory, listening on this machine only. It ends with the process in every case.
//!
//! `make opensearch` or `make check-elasticsearch` installs the programs; without them a test fails with a message.
//! This file knows no index: tests choose their own names.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test without its server has failed"
)]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::server_process::{Programs, installed};

/// Environment variable with the directory of an Elasticsearch, which then replaces OpenSearch in the tests.
const ELASTICSEARCH: &str = "CHARTER_TEST_ELASTICSEARCH";

/// Starts OpenSearch with its log on standard output. Settings for a small heap and a quick start replace those of its
/// own scripts.
const START_OPENSEARCH: &str = r#"
cd "$2" || exit 1
"$1/runtime/bin/java" -Xms512m -Xmx512m -XX:+UseSerialGC -Xss1m -Djava.awt.headless=true \
    -Dfile.encoding=UTF-8 -Djna.nosys=true -Djna.tmpdir="$2/tmp" -Djava.io.tmpdir="$2/tmp" \
    -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true \
    -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true \
    -javaagent:"$1/agent/opensearch-agent.jar" \
    --add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED \
    -Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1 \
    -Dopensearch.path.home="$1" -Dopensearch.path.conf="$2/config" \
    -Dopensearch.distribution.type=zip -Dopensearch.bundled_jdk=false \
    -cp "$1/lib/*" org.opensearch.bootstrap.OpenSearch < /dev/null 2>&1 &
"#;

/// Starts Elasticsearch likewise, on the Java of this machine, with a start class of this project.
const START_ELASTICSEARCH: &str = r#"
cd "$2" || exit 1
java -Xms512m -Xmx512m -XX:+UseSerialGC -Djna.tmpdir="$2/tmp" -Djava.io.tmpdir="$2/tmp" \
    -Dlog4j2.disable.jmx=true -Dlog4j.configurationFile="$2/config/log4j2.properties" \
    -Des.path.home="$1" -Des.path.conf="$2/config" -Des.distribution.type=zip \
    --module-path "$1/lib" --patch-module org.elasticsearch.server="$1/start" \
    --add-modules=jdk.net,jdk.unsupported,ALL-MODULE-PATH \
    -m org.elasticsearch.server/charter.Start < /dev/null 2>&1 &
"#;

/// Ends the node when the other end of the shell's input is closed. Only the node writes to the output, so its reader
/// notices the end of the node.
const HOLD: &str = r#"
node=$!
exec > /dev/null
read -r _
kill -KILL "$node" 2> /dev/null
wait "$node" 2> /dev/null
cd /
rm -rf "$2"
"#;

/// Settings of the node. The disk of a test machine may be almost full.
const SETTINGS: &str = "cluster.name: charter
discovery.type: single-node
network.host: 127.0.0.1
http.port: 0
transport.port: 0
cluster.routing.allocation.disk.threshold_enabled: false
";

/// Log text that precedes the node's listening address.
const LISTENS: &str = "AbstractHttpServerTransport";

/// A setting that Elasticsearch has removed.
const NO_FILTER: &str = "bootstrap.system_call_filter: false\n";

/// A product: its programs and the script that starts them.
struct Product {
    name: &'static str,
    installed: PathBuf,
    start: &'static str,
    /// File of its settings, and additional settings.
    settings: (&'static str, &'static str),
}

impl Product {
    /// Returns the product to test.
    fn chosen() -> Self {
        match std::env::var_os(ELASTICSEARCH) {
            Some(installed) => Self {
                name: "Elasticsearch",
                installed: installed.into(),
                start: START_ELASTICSEARCH,
                settings: ("elasticsearch.yml", ""),
            },
            None => Self {
                name: "OpenSearch",
                installed: installed("OpenSearch", "opensearch", "opensearch/node"),
                start: START_OPENSEARCH,
                settings: ("opensearch.yml", NO_FILTER),
            },
        }
    }
}

/// A running node.
#[derive(Debug)]
pub struct SearchServer {
    product: &'static str,
    address: String,
    indexes: AtomicU32,
    /// The node ends when this is dropped.
    _held: ChildStdin,
}

impl SearchServer {
    /// Returns the node of this process; the first call starts it, which takes 10 to 30 seconds.
    ///
    /// # Panics
    /// If the programs are missing or do not start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<SearchServer> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// Returns the name of the product.
    #[must_use]
    pub fn product(&self) -> &'static str {
        self.product
    }

    /// Returns the address, e.g. `127.0.0.1:40123`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a unique name for an index.
    pub fn index(&self) -> String {
        let number = self.indexes.fetch_add(1, Ordering::Relaxed);
        format!("case{number}_agent_skills")
    }

    fn start() -> Self {
        let product = Product::chosen();
        let folder = std::env::temp_dir().join(format!("charter-search-{}", std::process::id()));
        prepare(&product, &folder);
        let programs = Programs::over(product.installed, &folder);
        let script = format!("{}{HOLD}", product.start);
        let child = programs.spawn_held(&script, &[programs.place().as_ref(), folder.as_ref()]);
        let (held, address) = listening(product.name, child);
        Self {
            product: product.name,
            address,
            indexes: AtomicU32::new(0),
            _held: held,
        }
    }
}

/// Creates the directory of the node, with its settings.
fn prepare(product: &Product, folder: &Path) {
    let config = folder.join("config");
    std::fs::create_dir_all(&config).expect("a directory for the node");
    std::fs::create_dir(folder.join("tmp")).expect("a directory for the node");
    let paths = format!(
        "path.data: {0}/data\npath.logs: {0}/logs\n",
        folder.display()
    );
    let (file, own) = product.settings;
    let settings = format!("{SETTINGS}{own}{paths}");
    std::fs::write(config.join(file), settings).expect("the node's settings");
    let log = "config/log4j2.properties";
    std::fs::copy(product.installed.join(log), folder.join(log))
        .expect("the node's settings of its log");
}

/// Waits until the node listens, and returns the handle that ends it, and its address.
fn listening(product: &str, mut child: Child) -> (ChildStdin, String) {
    let held = child.stdin.take().expect("the shell's input");
    let mut output = BufReader::new(child.stdout.take().expect("the shell's output"));
    let mut said = String::new();
    loop {
        let from = said.len();
        let read = output.read_line(&mut said).expect("the node's log");
        assert!(read > 0, "{product} does not start: {said}");
        let line = &said[from..];
        if line.contains(LISTENS)
            && let Some((_, rest)) = line.split_once("publish_address {")
            && let Some((address, _)) = rest.split_once('}')
        {
            let address = address.to_owned();
            // The output must be drained, or the node would block on writing.
            std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
            return (held, address);
        }
    }
}

/// A TCP proxy to a server that can be closed, with every connection, and opened again.
#[derive(Debug)]
pub struct Gate {
    address: String,
    open: Arc<AtomicBool>,
    under_way: Arc<Mutex<Vec<TcpStream>>>,
}

impl Gate {
    /// Creates an open proxy to an address.
    ///
    /// # Panics
    /// If no port is available.
    #[must_use]
    pub fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("the port").to_string();
        let open = Arc::new(AtomicBool::new(true));
        let under_way = Arc::new(Mutex::new(Vec::new()));
        let (is_open, known, server) =
            (Arc::clone(&open), Arc::clone(&under_way), server.to_owned());
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                if !is_open.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server) else {
                    continue;
                };
                let ends = [&caller, &server].map(|end| end.try_clone().expect("a connection"));
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.extend(ends);
                forward(&caller, &server);
            }
        });
        Self {
            address,
            open,
            under_way,
        }
    }

    /// Returns the URL of the proxy.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes all connections and refuses new ones.
    pub fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        let mut known = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for end in known.drain(..) {
            // A connection that has ended is already closed.
            drop(end.shutdown(Shutdown::Both));
        }
    }

    /// Accepts new connections again.
    pub fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn forward(caller: &TcpStream, server: &TcpStream) {
    for (from, to) in [(caller, server), (server, caller)] {
        let (mut from, mut to) = (
            from.try_clone().expect("a connection"),
            to.try_clone().expect("a connection"),
        );
        std::thread::spawn(move || {
            let mut bytes = [0; 16 << 10];
            loop {
                match from.read(&mut bytes) {
                    Ok(0) => break,
                    Ok(read) if to.write_all(&bytes[..read]).is_ok() => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(_) | Err(_) => break,
                }
            }
            drop(to.shutdown(Shutdown::Write));
        });
    }
}
