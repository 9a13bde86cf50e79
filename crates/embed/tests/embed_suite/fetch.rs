//! Fetching the model: from directories, and from a local HTTP server as the hub.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use charter_embed::fetch::{FetchError, FetchProgress, ModelSource, SourceError, fetch_model};
use tempfile::TempDir;

use crate::model;

const FILES: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
const WEIGHTS_BYTES: u64 = 90_868_376;

fn quiet(_: FetchProgress) {}

/// A hub that serves the files of a directory.
async fn hub(directory: PathBuf) -> ModelSource {
    crate::install_tls_provider();
    let app = Router::new().route(
        "/files/{name}",
        get(
            |axum::extract::Path(name): axum::extract::Path<String>| async move {
                fs::read(directory.join(name)).map_err(|_| StatusCode::NOT_FOUND)
            },
        ),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    ModelSource::Hub {
        base: format!("http://{address}/files"),
    }
}

fn unreachable_hub() -> ModelSource {
    crate::install_tls_provider();
    ModelSource::Hub {
        base: "http://127.0.0.1:1".to_owned(),
    }
}

fn assert_whole_model(directory: &Path) {
    for file in FILES {
        let found = fs::read(directory.join(file)).unwrap();
        let expected = fs::read(model::directory().join(file)).unwrap();
        assert!(found == expected, "{file} differs");
    }
}

/// Asserts that the cache contains only the model.
fn assert_clean(cache: &Path) {
    let names: Vec<_> = fs::read_dir(cache)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["all-MiniLM-L6-v2"]);
}

fn attempts(error: FetchError) -> Vec<(ModelSource, SourceError)> {
    match error {
        FetchError::AllFailed { attempts } => attempts,
        FetchError::Cache { .. } => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_complete_cache_asks_no_source() {
    let cache = TempDir::new().unwrap();
    let target = cache.path().join("all-MiniLM-L6-v2");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("config.json"), "{}").unwrap();
    File::create(target.join("tokenizer.json"))
        .unwrap()
        .set_len(466_247)
        .unwrap();
    File::create(target.join("model.safetensors"))
        .unwrap()
        .set_len(WEIGHTS_BYTES)
        .unwrap();
    assert_eq!(
        fetch_model(&[], cache.path(), &quiet).await.unwrap(),
        target
    );
}

#[tokio::test]
async fn a_directory_is_used_where_it_is() {
    let cache = TempDir::new().unwrap();
    let sources = [ModelSource::Directory(model::directory())];
    let found = fetch_model(&sources, cache.path(), &quiet).await.unwrap();
    assert_eq!(found, model::directory());
}

#[tokio::test]
async fn the_hub_fills_the_cache_and_it_works_offline_afterwards() {
    let cache = TempDir::new().unwrap();
    let seen = Mutex::new(Vec::new());
    let progress = |event: FetchProgress| seen.lock().unwrap().push(event);
    let source = hub(model::directory()).await;
    let sources = [source.clone()];
    let found = fetch_model(&sources, cache.path(), &progress)
        .await
        .unwrap();
    assert_whole_model(&found);
    assert_clean(cache.path());
    let last = seen.lock().unwrap().last().cloned();
    let expected = FetchProgress {
        source,
        file: "model.safetensors".to_owned(),
        bytes: WEIGHTS_BYTES,
        total: Some(WEIGHTS_BYTES),
    };
    assert_eq!(last, Some(expected));
    let again = fetch_model(&[unreachable_hub()], cache.path(), &quiet)
        .await
        .unwrap();
    assert_eq!(again, found);
}

#[tokio::test]
async fn two_fetches_at_once_both_end_with_the_model() {
    let cache = TempDir::new().unwrap();
    let sources = [hub(model::directory()).await];
    let (first, second) = tokio::join!(
        fetch_model(&sources, cache.path(), &quiet),
        fetch_model(&sources, cache.path(), &quiet)
    );
    assert_eq!(first.unwrap(), second.unwrap());
    assert_whole_model(&cache.path().join("all-MiniLM-L6-v2"));
    assert_clean(cache.path());
}

#[tokio::test]
async fn half_a_model_in_the_cache_is_replaced() {
    let cache = TempDir::new().unwrap();
    let target = cache.path().join("all-MiniLM-L6-v2");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("model.safetensors"), "half").unwrap();
    let sources = [hub(model::directory()).await];
    fetch_model(&sources, cache.path(), &quiet).await.unwrap();
    assert_whole_model(&target);
    assert_clean(cache.path());
}

#[tokio::test]
async fn files_that_are_not_the_model_are_refused() {
    let wrong = TempDir::new().unwrap();
    let cache = TempDir::new().unwrap();
    for file in FILES {
        fs::write(wrong.path().join(file), "something else").unwrap();
    }
    let sources = [
        ModelSource::Directory(wrong.path().to_owned()),
        hub(wrong.path().to_owned()).await,
    ];
    let error = fetch_model(&sources, cache.path(), &quiet)
        .await
        .err()
        .unwrap();
    for (source, reason) in attempts(error) {
        assert!(
            matches!(
                reason,
                SourceError::Digest {
                    file: "tokenizer.json",
                    ..
                }
            ),
            "{source}: {reason}"
        );
    }
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_file_that_does_not_end_is_cut_off() {
    let wrong = TempDir::new().unwrap();
    let cache = TempDir::new().unwrap();
    fs::write(wrong.path().join("config.json"), vec![b' '; 1 << 17]).unwrap();
    let sources = [hub(wrong.path().to_owned()).await];
    let error = fetch_model(&sources, cache.path(), &quiet)
        .await
        .err()
        .unwrap();
    assert!(matches!(
        attempts(error)[..],
        [(
            _,
            SourceError::TooLong {
                file: "config.json",
                limit: 65_536
            }
        )]
    ));
}

#[tokio::test]
async fn one_error_names_every_source_and_why_it_failed() {
    let empty = TempDir::new().unwrap();
    let cache = TempDir::new().unwrap();
    let sources = [
        ModelSource::Directory(empty.path().to_owned()),
        hub(empty.path().to_owned()).await,
        unreachable_hub(),
    ];
    let error = fetch_model(&sources, cache.path(), &quiet)
        .await
        .err()
        .unwrap();
    let text = error.to_string();
    for source in &sources {
        assert!(text.contains(&source.to_string()), "{text}");
    }
    for reason in ["config.json: No such file", "status 404", "refused"] {
        assert!(text.contains(reason), "{reason:?} in {text}");
    }
    assert_eq!(attempts(error).len(), sources.len());
}
