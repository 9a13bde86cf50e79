//! A search node for tests: OpenSearch with its k-NN plugin, or Elasticsearch where somebody asks for it, one for
//! each test process, in a temporary directory, listening on this machine only. It is there as long as the process
//! is, however that ends.
//!
//! The programs are those that `make opensearch` installs, or the Elasticsearch of `make check-elasticsearch`;
//! without them a test fails and says so. This file knows no index: tests choose names of their own.

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

/// Names the directory of an Elasticsearch, for which the tests are run in the place of OpenSearch.
const ELASTICSEARCH: &str = "CHARTER_TEST_ELASTICSEARCH";

/// Starts the node with its log to standard output. Its own settings for a small heap and a quick start stand in
/// the place of its scripts'.
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

/// The same of Elasticsearch, on the Java of this machine: its server with a start of our own.
const START_ELASTICSEARCH: &str = r#"
cd "$2" || exit 1
java -Xms512m -Xmx512m -XX:+UseSerialGC -Djna.tmpdir="$2/tmp" -Djava.io.tmpdir="$2/tmp" \
    -Dlog4j2.disable.jmx=true -Dlog4j.configurationFile="$2/config/log4j2.properties" \
    -Des.path.home="$1" -Des.path.conf="$2/config" -Des.distribution.type=zip \
    --module-path "$1/lib" --patch-module org.elasticsearch.server="$1/start" \
    --add-modules=jdk.net,jdk.unsupported,ALL-MODULE-PATH \
    -m org.elasticsearch.server/charter.Start < /dev/null 2>&1 &
"#;

/// Ends the node when nobody holds the other end of its input any more. The output is the node's alone: who reads
/// it sees when the node ends by itself.
const HOLD: &str = r#"
node=$!
exec > /dev/null
read -r _
kill -KILL "$node" 2> /dev/null
wait "$node" 2> /dev/null
cd /
rm -rf "$2"
"#;

/// The node's settings. The disk of a test machine may be as full as it likes.
const SETTINGS: &str = "cluster.name: charter
discovery.type: single-node
network.host: 127.0.0.1
http.port: 0
transport.port: 0
cluster.routing.allocation.disk.threshold_enabled: false
";

/// Where the log says that the node listens for requests.
const LISTENS: &str = "AbstractHttpServerTransport";

/// A setting that Elasticsearch no longer has.
const NO_FILTER: &str = "bootstrap.system_call_filter: false\n";

/// What runs: each product has its programs, and a script that starts them.
struct Product {
    name: &'static str,
    installed: PathBuf,
    start: &'static str,
    /// The file of its settings, and settings of its own.
    settings: (&'static str, &'static str),
}

impl Product {
    /// The one that the tests are run for.
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
    /// The node ends when this does.
    _held: ChildStdin,
}

impl SearchServer {
    /// The node of this process; the first call starts it, which takes 10 to 30 seconds.
    ///
    /// # Panics
    /// When the programs are missing, or do not start.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<SearchServer> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// What its product is called.
    #[must_use]
    pub fn product(&self) -> &'static str {
        self.product
    }

    /// Its address, e.g. `127.0.0.1:40123`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its address, as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A name for an index that nobody else uses.
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
        let child = programs.held(&script, &[programs.place().as_ref(), folder.as_ref()]);
        let (held, address) = listening(product.name, child);
        Self {
            product: product.name,
            address,
            indexes: AtomicU32::new(0),
            _held: held,
        }
    }
}

/// The node's folder, with its settings.
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

/// Waits until the node listens; returns what ends it, and its address.
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
            // Somebody has to read on, or the node would wait to write.
            std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
            return (held, address);
        }
    }
}

/// A way to a server that can be closed, with every connection on it, and opened again.
#[derive(Debug)]
pub struct Gate {
    address: String,
    open: Arc<AtomicBool>,
    under_way: Arc<Mutex<Vec<TcpStream>>>,
}

impl Gate {
    /// An open way to an address.
    ///
    /// # Panics
    /// When this machine gives no port.
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

    /// The URL of its near end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Cuts what is under way and lets nobody through.
    pub fn close(&self) {
        self.open.store(false, Ordering::SeqCst);
        let mut known = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for end in known.drain(..) {
            // One that has ended by itself is closed already.
            drop(end.shutdown(Shutdown::Both));
        }
    }

    /// Lets through whoever comes from now on.
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
