//! Guarantees of the in-process embedder other than accuracy: order, limits, sharing.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use charter_embed::{MiniLm, MiniLmOptions, ModelLoadError, WeightsMemory};
use charter_search::embed::{
    EmbedError, Embedder, EmbeddingModel, MAX_TEXTS_PER_CALL, Quantisation, Vector, is_for_english,
};
use sha2::{Digest, Sha256};

use crate::model;

fn load_with(threads: usize, token_limit: usize) -> Result<MiniLm, ModelLoadError> {
    let options = MiniLmOptions {
        threads: NonZeroUsize::new(threads).unwrap(),
        token_limit,
        ..MiniLmOptions::default()
    };
    MiniLm::load(&model::directory(), &options)
}

/// Texts of very different lengths.
fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|index| format!("text {index} {}", "about firewalls ".repeat(index * 7 % 60)))
        .collect()
}

fn assert_same(found: &[Vector], expected: &[Vector]) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found.dot(expected) > 0.99999, "vector {index}");
    }
}

#[tokio::test]
async fn ruling_4_the_identity_names_model_dims_and_quantisation() {
    let embedder = model::load();
    let expected = EmbeddingModel {
        name: "all-MiniLM-L6-v2".to_owned(),
        dims: 384,
        quantisation: Quantisation::F32,
    };
    assert_eq!(embedder.model(), &expected);
    assert_eq!(embedder.model().to_string(), "all-MiniLM-L6-v2/f32");
    let stored = serde_json::to_string(embedder.model()).unwrap();
    assert_eq!(
        stored,
        r#"{"name":"all-MiniLM-L6-v2","dims":384,"quantisation":"f32"}"#
    );
    assert_eq!(
        serde_json::from_str::<EmbeddingModel>(&stored).unwrap(),
        expected
    );
}

/// Verdicts over texts in other languages depend on this.
#[test]
fn the_model_is_for_english_and_knows_english_words_beyond_its_vocabulary() {
    let embedder = model::load();
    assert!(is_for_english(&embedder));
    for word in [
        "which",
        "buckets",
        "unencrypted",
        "outage",
        "retries",
        "mutex",
    ] {
        assert_eq!(embedder.knows_word(word), Some(true), "{word}");
    }
    for word in ["bukcets", "anzeigen", "públicos", "rembourse"] {
        assert_eq!(embedder.knows_word(word), Some(false), "{word}");
    }
}

#[tokio::test]
async fn an_empty_batch_gives_an_empty_answer() {
    let embedder = model::load();
    assert_eq!(embedder.embed(Vec::new()).await.unwrap(), []);
    assert_eq!(embedder.embed_now(&[]).unwrap(), []);
}

#[tokio::test]
async fn a_call_with_too_many_texts_is_refused() {
    let embedder = model::load();
    let texts = vec![String::new(); MAX_TEXTS_PER_CALL + 1];
    assert!(matches!(
        embedder.embed(texts).await,
        Err(EmbedError::TooManyTexts { found, limit })
            if found == MAX_TEXTS_PER_CALL + 1 && limit == MAX_TEXTS_PER_CALL
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_at_once_get_their_own_answers_in_order() {
    let embedder = Arc::new(model::load());
    let all = texts(24);
    let borrowed: Vec<&str> = all.iter().map(String::as_str).collect();
    let expected = embedder.embed_now(&borrowed).unwrap();
    let calls: Vec<_> = (0..100)
        .map(|call: usize| {
            let embedder = Arc::clone(&embedder);
            let places: Vec<usize> = (0..1 + call % 5).map(|n| (call * 3 + n * 7) % 24).collect();
            let texts = places.iter().map(|&place| all[place].clone()).collect();
            let answer = tokio::spawn(async move { embedder.embed(texts).await });
            (places, answer)
        })
        .collect();
    for (places, answer) in calls {
        let expected: Vec<Vector> = places
            .iter()
            .map(|&place| expected[place].clone())
            .collect();
        assert_same(&answer.await.unwrap().unwrap(), &expected);
    }
}

#[tokio::test]
async fn any_number_of_threads_gives_the_same_vectors() {
    let all = texts(9);
    let borrowed: Vec<&str> = all.iter().map(String::as_str).collect();
    let expected = model::load().embed_now(&borrowed).unwrap();
    for threads in [1, 2, 3, 5, 16] {
        let embedder = load_with(threads, 256).unwrap();
        let mut found = Vec::new();
        for text in &all {
            found.extend(embedder.embed(vec![text.clone()]).await.unwrap());
        }
        assert_same(&found, &expected);
        assert_same(&embedder.embed(all.clone()).await.unwrap(), &expected);
    }
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_hold_up_the_next() {
    let embedder = load_with(1, 256).unwrap();
    let long = vec!["a rather long text ".repeat(60); MAX_TEXTS_PER_CALL];
    let mut abandoned = Box::pin(embedder.embed(long));
    tokio::select! {
        biased;
        _ = &mut abandoned => panic!("4096 long texts cannot be done at once"),
        () = std::future::ready(()) => {}
    }
    drop(abandoned);
    let vectors = embedder.embed(vec!["short".to_owned()]).await.unwrap();
    assert_same(&vectors, &embedder.embed_now(&["short"]).unwrap());
}

#[tokio::test]
async fn a_text_beyond_the_limit_is_cut_at_the_limit() {
    let embedder = load_with(2, 16).unwrap();
    let text = "one two three four five six seven eight nine ten ".repeat(3);
    let cut = "one two three four five six seven eight nine ten one two three four";
    assert_eq!(embedder.count_tokens(cut), Some(16));
    assert_eq!(embedder.count_tokens(&text), Some(32));
    let vectors = embedder.embed_now(&[&text, cut]).unwrap();
    assert_eq!(vectors[0].as_slice(), vectors[1].as_slice());
    let longer = load_with(2, 512).unwrap();
    assert!(longer.embed_now(&[&text]).unwrap()[0].dot(&vectors[0]) < 0.999);
}

#[test]
fn a_limit_that_the_model_cannot_meet_is_refused() {
    for asked in [0, 2, 513] {
        assert!(matches!(
            load_with(1, asked),
            Err(ModelLoadError::TokenLimit { asked: told }) if told == asked
        ));
    }
}

#[test]
fn a_text_at_the_greatest_limit_is_embedded() {
    let embedder = load_with(2, 512).unwrap();
    let text = "word ".repeat(2000);
    assert_eq!(embedder.embed_now(&[&text]).unwrap()[0].dims(), 384);
}

#[test]
fn a_directory_without_a_model_is_an_error_that_names_the_file() {
    let empty = tempfile::tempdir().unwrap();
    let error = MiniLm::load(empty.path(), &MiniLmOptions::default())
        .err()
        .unwrap();
    assert!(matches!(
        error,
        ModelLoadError::Weights { .. } | ModelLoadError::Tokenizer { .. }
    ));
}

#[test]
fn damaged_weights_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json"] {
        std::fs::copy(model::directory().join(file), directory.path().join(file)).unwrap();
    }
    let weights = std::fs::read(model::directory().join("model.safetensors")).unwrap();
    let mut endless = weights[..4096].to_vec();
    endless[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let path = directory.path().join("model.safetensors");
    for damaged in [&[][..], &weights[..4], &weights[..100_000], &endless] {
        std::fs::write(&path, damaged).unwrap();
        let error = MiniLm::load(directory.path(), &MiniLmOptions::default()).err();
        assert!(
            matches!(error, Some(ModelLoadError::Weights { .. })),
            "{} bytes: {error:?}",
            damaged.len()
        );
    }
}

/// Loads the model with shared weights: from the prepacked file if the directory has one.
fn load_shared(directory: &Path) -> MiniLm {
    let options = MiniLmOptions {
        weights: WeightsMemory::Shared,
        ..MiniLmOptions::default()
    };
    MiniLm::load(directory, &options).unwrap()
}

/// Copies the model's files to a directory to which others may be added.
fn copy_of_model() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let original = model::directory().join(file).canonicalize().unwrap();
        std::os::unix::fs::symlink(original, directory.path().join(file)).unwrap();
    }
    directory
}

#[test]
fn mapped_weights_give_the_vectors_of_the_models_own_files() {
    let directory = copy_of_model();
    let prepacked = directory.path().join("prepacked.f32");
    let texts = ["a bucket that is public", "a firewall", ""];
    let expected = model::load().embed_now(&texts).unwrap();
    assert_eq!(
        load_shared(directory.path()).embed_now(&texts).unwrap(),
        expected
    );
    let written = std::fs::metadata(&prepacked).unwrap().modified().unwrap();
    assert_eq!(
        load_shared(directory.path()).embed_now(&texts).unwrap(),
        expected
    );
    // The second load wrote nothing: it used the file of the first.
    assert_eq!(
        std::fs::metadata(&prepacked).unwrap().modified().unwrap(),
        written
    );
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

/// A file of another layout would be used and give other vectors: if this test fails, change `MAGIC` in `prepacked.rs`,
/// and the digest here.
#[test]
fn another_layout_of_prepacked_weights_is_another_form() {
    let directory = copy_of_model();
    drop(load_shared(directory.path()));
    let written = std::fs::read(directory.path().join("prepacked.f32")).unwrap();
    let digest = Sha256::digest(&written[64..]);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let expected = "632c989c6c85d204a2954cf7fc65d975156fae46683c55aa15579c2a0730f7cd";
    assert_eq!(
        (&written[..8], digest.as_str()),
        (&b"charter1"[..], expected)
    );
}

#[test]
fn prepacked_weights_of_another_form_length_or_source_are_replaced() {
    let directory = copy_of_model();
    let prepacked = directory.path().join("prepacked.f32");
    let expected = load_shared(directory.path())
        .embed_now(&["a firewall"])
        .unwrap();
    let whole = std::fs::read(&prepacked).unwrap();
    let mut other_form = whole.clone();
    other_form[7] = b'0';
    let mut other_source = whole.clone();
    other_source[40] ^= 1;
    let mut endless = whole[..64].to_vec();
    endless[16..24].copy_from_slice(&u64::MAX.to_ne_bytes());
    let short = &whole[..whole.len() - 64];
    for wrong in [
        &[][..],
        &whole[..64],
        short,
        &other_form,
        &other_source,
        &endless,
    ] {
        std::fs::remove_file(&prepacked).unwrap();
        std::fs::write(&prepacked, wrong).unwrap();
        let found = load_shared(directory.path())
            .embed_now(&["a firewall"])
            .unwrap();
        assert_eq!(found, expected, "{} bytes", wrong.len());
        assert!(
            std::fs::read(&prepacked).unwrap() == whole,
            "{} bytes",
            wrong.len()
        );
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_no_failure() {
    let directory = copy_of_model();
    // Renaming a file onto a directory fails for every user, root included.
    std::fs::create_dir(directory.path().join("prepacked.f32")).unwrap();
    let found = load_shared(directory.path())
        .embed_now(&["a firewall"])
        .unwrap();
    assert_eq!(found, model::load().embed_now(&["a firewall"]).unwrap());
}
