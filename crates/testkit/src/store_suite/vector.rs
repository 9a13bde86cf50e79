//! Cases of embeddings.

use charter_store::Store;
use charter_store::vector::{StoredVector, TextHash};

use super::Outcome;

const MODEL: &str = "all-MiniLM-L6-v2/f32";

fn vector(text: u8, component: f32) -> StoredVector {
    StoredVector {
        text: TextHash([text; 32]),
        bytes: [component; 384]
            .iter()
            .flat_map(|c| c.to_le_bytes())
            .collect(),
    }
}

fn sorted(mut vectors: Vec<StoredVector>) -> Vec<StoredVector> {
    vectors.sort_by_key(|vector| vector.text);
    vectors
}

/// All vectors are returned, or those of given keys; missing keys are omitted.
///
/// # Errors
/// Any error of the store.
pub async fn vectors_read_back(store: &dyn Store) -> Outcome {
    assert_eq!(store.all_vectors(MODEL).await?, Vec::new());
    let all = vec![vector(1, 0.5), vector(2, -0.25), vector(3, 1.0)];
    store.put_vectors(MODEL, all.clone()).await?;
    assert_eq!(sorted(store.all_vectors(MODEL).await?), all);
    let asked = [9, 3, 1].map(|text| TextHash([text; 32]));
    let found = sorted(store.vectors(MODEL, &asked).await?);
    assert_eq!(found, vec![all[0].clone(), all[2].clone()]);
    Ok(())
}

/// A vector is a function of its key: a second write is equal or wrong.
///
/// # Errors
/// Any error of the store.
pub async fn a_key_keeps_its_first_vector(store: &dyn Store) -> Outcome {
    store.put_vectors(MODEL, vec![vector(1, 0.5)]).await?;
    let batch = vec![vector(1, 0.75), vector(2, 0.75)];
    store.put_vectors(MODEL, batch).await?;
    let all = sorted(store.all_vectors(MODEL).await?);
    assert_eq!(all, vec![vector(1, 0.5), vector(2, 0.75)]);
    Ok(())
}

/// Ruling 4: vectors of different models are never mixed.
///
/// # Errors
/// Any error of the store.
pub async fn vectors_of_models_are_separate(store: &dyn Store) -> Outcome {
    let int8 = "all-MiniLM-L6-v2/int8";
    store.put_vectors(MODEL, vec![vector(1, 0.5)]).await?;
    store.put_vectors(int8, vec![vector(1, 0.75)]).await?;
    assert_eq!(store.all_vectors(MODEL).await?, vec![vector(1, 0.5)]);
    assert_eq!(store.all_vectors(int8).await?, vec![vector(1, 0.75)]);
    assert_eq!(store.retain_vectors(MODEL, &[]).await?, 1);
    assert_eq!(store.all_vectors(MODEL).await?, Vec::new());
    let text = TextHash([1; 32]);
    let left = store.vectors(int8, &[text]).await?;
    assert_eq!(left, vec![vector(1, 0.75)]);
    Ok(())
}

/// A key to be retained may be missing.
///
/// # Errors
/// Any error of the store.
pub async fn retain_deletes_all_other_vectors(store: &dyn Store) -> Outcome {
    let all = (1..=5).map(|text| vector(text, 0.5)).collect();
    store.put_vectors(MODEL, all).await?;
    let keep = [2, 4, 9].map(|text| TextHash([text; 32]));
    assert_eq!(store.retain_vectors(MODEL, &keep).await?, 3);
    let left = sorted(store.all_vectors(MODEL).await?);
    assert_eq!(left, vec![vector(2, 0.5), vector(4, 0.5)]);
    assert_eq!(store.retain_vectors("unknown", &keep).await?, 0);
    Ok(())
}
