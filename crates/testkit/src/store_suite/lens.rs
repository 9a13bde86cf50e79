//! Cases of lens indexes.

use charter_contract::catalogue::DocumentKind;
use charter_contract::ids::{LensId, PackageName, TenantId};
use charter_contract::scope::Scope;
use charter_store::catalogue::{CatalogueRevision, NewDocument};
use charter_store::lens::{
    LensChunk, LensGeneration, LensRecord, LensText, NearestPassages, NewLensIndex, PassageKey,
};
use charter_store::{Store, StoreError};

use super::{Outcome, sample};
use crate::assert_refused;

const LENS: &str = "security.baseline";

fn document(body: &str) -> NewDocument {
    NewDocument {
        kind: DocumentKind::DomainLens,
        ..sample::skill(LENS, body)
    }
}

fn vector(components: &[f32]) -> Vec<u8> {
    components.iter().flat_map(|c| c.to_le_bytes()).collect()
}

fn chunk(text: &str) -> LensChunk {
    LensChunk {
        text: text.to_owned(),
        place: format!("{{\"start\":0,\"end\":{}}}", text.len()),
        vectors: vec![vector(&[1.0, 0.0]), vector(&[0.6, 0.8])],
    }
}

fn text(text: &str) -> LensText {
    let LensChunk { text, place, .. } = chunk(text);
    LensText { text, place }
}

fn index(
    body: &str,
    texts: &[&str],
) -> Result<NewLensIndex, Box<dyn std::error::Error + Send + Sync>> {
    Ok(NewLensIndex {
        lens_id: LensId::parse(LENS)?,
        body: body.to_owned(),
        chunks: texts.iter().map(|text| chunk(text)).collect(),
    })
}

/// Registers the lens with an index; the catalogue is at revision `expected` before.
async fn register(
    store: &dyn Store,
    expected: u64,
    documents: Vec<NewDocument>,
    lenses: Vec<NewLensIndex>,
) -> Result<CatalogueRevision, Box<dyn std::error::Error + Send + Sync>> {
    let mut registration =
        sample::registration(&Scope::Global, "lenses", "0.1.0", expected, documents)?;
    registration.lenses = lenses;
    Ok(store.register(registration).await?)
}

async fn only(store: &dyn Store) -> Result<LensRecord, Box<dyn std::error::Error + Send + Sync>> {
    let mut found = store.lens_indexes().await?;
    assert_eq!(found.len(), 1);
    found.pop().ok_or_else(|| "no index".into())
}

/// B000-16: document and index come into force in one transaction.
///
/// # Errors
/// Any error of the store.
pub async fn b000_16_an_index_is_registered_with_its_lens(store: &dyn Store) -> Outcome {
    register(
        store,
        0,
        vec![document("a")],
        vec![index("{}", &["one", "two"])?],
    )
    .await?;
    let found = only(store).await?;
    assert_eq!((found.scope, found.body.as_str()), (Scope::Global, "{}"));
    let chunks = store.lens_chunks(&Scope::Global, found.generation).await?;
    assert_eq!(chunks, [chunk("one"), chunk("two")]);
    let texts = store.lens_texts(&Scope::Global, found.generation).await?;
    assert_eq!(texts, [text("one"), text("two")]);
    let tenant = Scope::Tenant(sample::tenant("acme")?);
    assert_refused!(
        store.lens_chunks(&tenant, found.generation).await,
        StoreError::NotFound { .. }
    );
    assert_refused!(
        store.lens_texts(&tenant, found.generation).await,
        StoreError::NotFound { .. }
    );
    assert_refused!(
        store
            .note_lens_source(&tenant, found.generation, "{}")
            .await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// B000-16: a refused registration leaves no index.
///
/// # Errors
/// Any error of the store.
pub async fn b000_16_a_refused_registration_leaves_the_index(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    let stale = register(store, 0, vec![document("b")], vec![index("{}", &["two"])?]).await;
    assert!(stale.is_err());
    assert_eq!(only(store).await?, before);
    Ok(())
}

/// An index is replaced completely, and the previous one is gone.
///
/// # Errors
/// Any error of the store.
pub async fn b000_16_an_index_is_replaced_whole(store: &dyn Store) -> Outcome {
    register(
        store,
        0,
        vec![document("a")],
        vec![index("{}", &["one", "two"])?],
    )
    .await?;
    let before = only(store).await?;
    let second = index("{\"n\":2}", &["three"])?;
    let expected = Some(before.generation);
    let after = store
        .replace_lens_index(&Scope::Global, second, expected)
        .await?;
    assert!(after > before.generation);
    assert_eq!(
        store.lens_chunks(&Scope::Global, after).await?,
        [chunk("three")]
    );
    assert_refused!(
        store.lens_chunks(&Scope::Global, before.generation).await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// One of two replacements of the same index is refused.
///
/// # Errors
/// Any error of the store.
pub async fn replacing_another_index_is_refused(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    for expected in [None, Some(LensGeneration(before.generation.0 + 7))] {
        let other = index("{}", &["two"])?;
        assert_refused!(
            store
                .replace_lens_index(&Scope::Global, other, expected)
                .await,
            StoreError::VersionConflict { .. }
        );
    }
    assert_eq!(only(store).await?, before);
    Ok(())
}

/// An index needs a lens that is in force in its scope.
///
/// # Errors
/// Any error of the store.
pub async fn an_index_without_a_lens_is_refused(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], Vec::new()).await?;
    let tenant = Scope::Tenant(sample::tenant("acme")?);
    assert_refused!(
        store
            .replace_lens_index(&tenant, index("{}", &["one"])?, None)
            .await,
        StoreError::NotFound { .. }
    );
    let first = index("{}", &["one"])?;
    store
        .replace_lens_index(&Scope::Global, first, None)
        .await?;
    Ok(())
}

/// B000-16: unregistering a lens deletes its index; other packages do not affect it.
///
/// # Errors
/// Any error of the store.
pub async fn b000_16_an_index_is_deleted_with_its_lens(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let other = sample::registration(&Scope::Global, "other", "0.1.0", 1, Vec::new())?;
    store.register(other).await?;
    let kept = only(store).await?;
    register(store, 2, Vec::new(), Vec::new()).await?;
    assert_eq!(store.lens_indexes().await?, Vec::new());
    assert_refused!(
        store.lens_chunks(&Scope::Global, kept.generation).await,
        StoreError::NotFound { .. }
    );
    register(store, 3, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let package = PackageName::parse("lenses")?;
    let (user, at) = (sample::user()?, sample::at(9)?);
    store
        .unregister(&Scope::Global, &package, CatalogueRevision(4), &user, at)
        .await?;
    assert_eq!(store.lens_indexes().await?, Vec::new());
    Ok(())
}

/// A note about a source changes nothing else.
///
/// # Errors
/// Any error of the store.
pub async fn a_note_leaves_the_chunks(store: &dyn Store) -> Outcome {
    register(store, 0, vec![document("a")], vec![index("{}", &["one"])?]).await?;
    let before = only(store).await?;
    store
        .note_lens_source(&Scope::Global, before.generation, "{\"seen\":1}")
        .await?;
    let after = only(store).await?;
    assert_eq!(
        (after.generation, after.body.as_str()),
        (before.generation, "{\"seen\":1}")
    );
    assert_eq!(
        store.lens_chunks(&Scope::Global, after.generation).await?,
        [chunk("one")]
    );
    assert_refused!(
        store
            .note_lens_source(&Scope::Global, LensGeneration(99), "{}")
            .await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// Returns the indexes of a tenant's lens and of a global lens, in this order.
async fn of_two_scopes(
    store: &dyn Store,
) -> Result<[LensGeneration; 2], Box<dyn std::error::Error + Send + Sync>> {
    register(
        store,
        0,
        vec![document("a")],
        vec![index("{}", &["one", "two"])?],
    )
    .await?;
    let tenant = Scope::Tenant(sample::tenant("acme")?);
    let mut own = sample::registration(&tenant, "own", "0.1.0", 1, vec![document("b")])?;
    let mut others = index("{}", &["three"])?;
    others.chunks[0].vectors = vec![vector(&[0.0, 2.0])];
    own.lenses = vec![others];
    store.register(own).await?;
    let found = store.lens_indexes().await?;
    let of = |scope: &Scope| found.iter().find(|record| record.scope == *scope);
    match (of(&tenant), of(&Scope::Global)) {
        (Some(own), Some(global)) => Ok([own.generation, global.generation]),
        _ => Err("two indexes are expected".into()),
    }
}

/// B000-1: a passage is visible to its scope only: all tenants, or one.
///
/// # Errors
/// Any error of the store.
pub async fn b000_1_passages_are_read_within_a_tenant(store: &dyn Store) -> Outcome {
    let [own, global] = of_two_scopes(store).await?;
    let of = |generation, ordinal| PassageKey {
        generation,
        ordinal,
    };
    let (acme, other) = (sample::tenant("acme")?, sample::tenant("other")?);
    let wanted = [of(global, 1), of(own, 0), of(global, 0), of(global, 1)];
    assert_eq!(
        store.passages(&acme, &wanted).await?,
        [text("two"), text("three"), text("one"), text("two")]
    );
    assert_eq!(store.passages(&acme, &[]).await?, []);
    assert_eq!(
        store.passages(&other, &[of(global, 0)]).await?,
        [text("one")]
    );
    for gone in [of(own, 0), of(global, 2), of(LensGeneration(99), 0)] {
        let wanted = [of(global, 0), gone];
        assert_refused!(
            store.passages(&other, &wanted).await,
            StoreError::NotFound { .. }
        );
    }
    Ok(())
}

/// Returns the found parts in order, with their cosines in thousandths.
async fn nearest_parts(
    store: &dyn Store,
    tenant: &TenantId,
    asked: &NearestPassages<'_>,
) -> Result<Vec<(LensGeneration, usize, Vec<i32>)>, StoreError> {
    let parts = store.nearest_passages(tenant, asked).await?.into_iter();
    let mut found: Vec<_> = parts
        .map(|part| {
            let cosines = part.cosines.iter();
            let rounded = cosines.map(|cosine| (cosine * 1000.0).round() as i32);
            let PassageKey {
                generation,
                ordinal,
            } = part.passage;
            (generation, ordinal, rounded.collect())
        })
        .collect();
    found.sort();
    Ok(found)
}

/// B000-16, if storage compares vectors: parts are found in the named indexes only, every requested index is compared,
/// however far its parts are, and a missing index is an error.
///
/// # Errors
/// Any error of the store.
pub async fn b000_16_the_nearest_passages_are_those_of_the_indexes_named(
    store: &dyn Store,
) -> Outcome {
    let [own, global] = of_two_scopes(store).await?;
    let (acme, other) = (sample::tenant("acme")?, sample::tenant("other")?);
    let (x, y) = ([1.0, 0.0], [0.0, 1.0]);
    let both = [own, global];
    let asked = NearestPassages {
        indexes: &both,
        vectors: &[&x, &y],
        most: 2,
        also: &[],
    };
    if !store.searches_passages().await? {
        assert_refused!(
            store.nearest_passages(&acme, &asked).await,
            StoreError::Refused { .. }
        );
        return Ok(());
    }
    let part = |generation, ordinal, cosines: [i32; 2]| (generation, ordinal, cosines.to_vec());
    let global_parts = [
        part(global, 0, [600, 800]),
        part(global, 0, [1000, 0]),
        part(global, 1, [600, 800]),
        part(global, 1, [1000, 0]),
    ];
    assert_eq!(nearest_parts(store, &acme, &asked).await?, global_parts);
    let one_more = [PassageKey {
        generation: own,
        ordinal: 0,
    }];
    let mut all = [&[part(own, 0, [0, 1000])], &global_parts[..]].concat();
    all.sort();
    let also = NearestPassages {
        also: &one_more,
        ..asked
    };
    assert_eq!(nearest_parts(store, &acme, &also).await?, all);
    let only_own = NearestPassages {
        indexes: &both[..1],
        ..asked
    };
    assert_eq!(
        nearest_parts(store, &acme, &only_own).await?,
        [part(own, 0, [0, 1000])]
    );
    assert_refused!(
        store.nearest_passages(&other, &asked).await,
        StoreError::NotFound { .. }
    );
    let none = NearestPassages {
        vectors: &[],
        ..asked
    };
    assert_refused!(
        store.nearest_passages(&acme, &none).await,
        StoreError::Refused { .. }
    );
    let other_dims = NearestPassages {
        vectors: &[&[1.0, 0.0, 0.0]],
        ..asked
    };
    assert_eq!(nearest_parts(store, &acme, &other_dims).await?, []);
    Ok(())
}
