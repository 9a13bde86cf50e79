//! TLS to a server: the certificates that a store trusts, and the error messages for others.

use std::path::{Path, PathBuf};
use std::process::Command;

use charter_store::calibration::Calibrations;
use charter_store_sql::postgres::{PostgresOptions, PostgresStore, TrustedRoots, examine};
use charter_testkit::postgres_server::PostgresServer;
use charter_testkit::store_suite::Outcome;

use crate::postgres::database::raw;
use crate::postgres::opening::all_that_is_said;

/// A certificate authority of a test.
struct Authority {
    directory: tempfile::TempDir,
}

impl Authority {
    fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = Self { directory };
        authority.openssl(&format!(
            "req -x509 -newkey rsa:2048 -nodes -keyout authority.key -out authority.pem -days 2 -subj /CN={name}"
        ));
        authority
    }

    fn openssl(&self, arguments: &str) {
        let mut command = Command::new("openssl");
        command
            .current_dir(&self.directory)
            .args(arguments.split(' '));
        let done = command.output().expect("openssl");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "openssl {arguments}: {said}");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Creates a certificate for `localhost` that is valid for `days` days from now, and its key.
    fn certificate(&self, days: i32) -> (PathBuf, PathBuf) {
        std::fs::write(self.file("names"), "subjectAltName=DNS:localhost").unwrap();
        self.openssl(
            "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=localhost",
        );
        self.openssl(&format!(
            "x509 -req -in request.pem -CA authority.pem -CAkey authority.key -CAcreateserial \
             -out certificate.pem -extfile names -days {days}"
        ));
        (self.file("certificate.pem"), self.file("key.pem"))
    }

    fn roots(&self) -> TrustedRoots {
        TrustedRoots::File(self.file("authority.pem"))
    }
}

fn server(authority: &Authority, days: i32) -> &'static PostgresServer {
    let (certificate, key) = authority.certificate(days);
    PostgresServer::with_tls(&certificate, &key)
}

fn options(url: &str, sslmode: &str, roots: TrustedRoots) -> PostgresOptions {
    let mut options = PostgresOptions::new(format!("{url}?sslmode={sslmode}"));
    options.roots = roots;
    options
}

/// Returns the error of a store that cannot open; an examination must return the same error.
async fn refusal(options: &PostgresOptions) -> String {
    let opened = PostgresStore::connect(options).await;
    let said = all_that_is_said(&opened.expect_err("a store that does not open"));
    let examined = examine(options).await;
    let looked = all_that_is_said(&examined.expect_err("a database that is not examined"));
    assert_eq!(said, looked);
    said
}

fn assert_says(said: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

#[tokio::test]
async fn a_server_that_the_given_authority_vouches_for_is_spoken_to_in_secret() -> Outcome {
    let authority = Authority::new("ours");
    let database = server(&authority, 2).database();
    let url = database.url_over_tcp("localhost");
    for sslmode in ["require", "verify-full", "prefer"] {
        let options = options(&url, sslmode, authority.roots());
        let store = PostgresStore::connect(&options).await?;
        assert_eq!(store.calibration("none").await?, None);
        // Every connection of the process, from the server's statistics.
        let client = raw(&database).await;
        let sql = "SELECT count(*), count(*) FILTER (WHERE ssl), min(version) FROM pg_stat_ssl
                   JOIN pg_stat_activity USING (pid) WHERE usename = 'charter'";
        let row = client.query_one(sql, &[]).await?;
        let (all, secret): (i64, i64) = (row.get(0), row.get(1));
        assert!(all >= 1 && all == secret, "{sslmode}: {secret} of {all}");
        assert_eq!(row.get::<_, &str>(2), "TLSv1.3");
        store.close();
    }
    Ok(())
}

#[tokio::test]
async fn a_server_with_another_authoritys_certificate_is_refused() -> Outcome {
    let ours = Authority::new("ours");
    let database = server(&Authority::new("theirs"), 2).database();
    let url = database.url_over_tcp("localhost");
    for roots in [ours.roots(), TrustedRoots::Platform] {
        for sslmode in ["require", "verify-full", "prefer"] {
            let said = refusal(&options(&url, sslmode, roots.clone())).await;
            let wanted = [
                "localhost:",
                "not signed by a trusted authority",
                "store.certificates",
            ];
            assert_says(&said, &wanted);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() -> Outcome {
    let authority = Authority::new("ours");
    let database = server(&authority, 2).database();
    let url = database.url_over_tcp("127.0.0.1");
    for sslmode in ["require", "verify-full", "prefer"] {
        let said = refusal(&options(&url, sslmode, authority.roots())).await;
        assert_says(&said, &["127.0.0.1:", "for another name", "store.url"]);
    }
    Ok(())
}

#[tokio::test]
async fn an_expired_certificate_is_refused() -> Outcome {
    let authority = Authority::new("ours");
    let database = server(&authority, -1).database();
    let url = database.url_over_tcp("localhost");
    let said = refusal(&options(&url, "require", authority.roots())).await;
    assert_says(&said, &["has expired", "give the server a new one"]);
    Ok(())
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_tls_is_demanded() -> Outcome {
    let authority = Authority::new("ours");
    let database = PostgresServer::in_the_clear().database();
    let url = database.url_over_tcp("localhost");
    for sslmode in ["require", "verify-full"] {
        let said = refusal(&options(&url, sslmode, authority.roots())).await;
        assert_says(
            &said,
            &["does not support TLS", "ssl = on", "sslmode=disable"],
        );
    }
    let store = PostgresStore::connect(&options(&url, "disable", TrustedRoots::Platform)).await?;
    assert_eq!(store.calibration("none").await?, None);
    Ok(())
}

/// Later connections detect a certificate that replaced a trusted one.
#[tokio::test]
async fn connections_made_later_are_checked_too() -> Outcome {
    let authority = Authority::new("ours");
    let server = server(&authority, 2);
    let database = server.database();
    let options = options(
        &database.url_over_tcp("localhost"),
        "require",
        authority.roots(),
    );
    let store = PostgresStore::connect(&options).await?;
    assert_eq!(store.calibration("none").await?, None);
    let theirs = Authority::new("theirs");
    let (certificate, key) = theirs.certificate(2);
    replace(server, &certificate, &key);
    let mut said = String::new();
    // The pool may hand out the cut connection once more.
    for _ in 0..3 {
        if let Err(error) = store.calibration("none").await {
            said = all_that_is_said(&error);
        }
    }
    assert_says(
        &said,
        &["not signed by a trusted authority", "store.certificates"],
    );
    Ok(())
}

fn replace(server: &PostgresServer, certificate: &Path, key: &Path) {
    server.kill();
    server.present(certificate, key);
    server.restart();
}
