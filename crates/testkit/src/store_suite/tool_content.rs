//! Cases of the content of tool results.

use charter_contract::content::{ContentDigest, ToolContent};
use charter_store::Store;

use super::sample::{at, tenant};
use super::{Outcome, sample};

/// Makes content with the bytes of a text; its digest is made up.
///
/// # Errors
/// None for a hexadecimal digit.
pub fn content(digit: char, text: &str) -> sample::Made<ToolContent> {
    let digits: String = std::iter::repeat_n(digit, 64).collect();
    Ok(ToolContent {
        digest: ContentDigest::parse(&format!("sha256:{digits}"))?,
        media_type: "image/png".to_owned(),
        bytes: text.as_bytes().to_vec(),
    })
}

/// All content of a result reads back.
///
/// # Errors
/// Any error of the store.
pub async fn content_reads_back_by_its_digest(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let contents = [content('a', "one")?, content('b', "")?];
    store.put_tool_contents(&acme, &[], at(0)?).await?;
    store.put_tool_contents(&acme, &contents, at(0)?).await?;
    for expected in &contents {
        let read = store.tool_content(&acme, &expected.digest).await?;
        assert_eq!(read.as_ref(), Some(expected));
    }
    let unknown = content('c', "")?.digest;
    assert_eq!(store.tool_content(&acme, &unknown).await?, None);
    Ok(())
}

/// Each tenant has its own content, also of one digest.
///
/// # Errors
/// Any error of the store.
pub async fn tenants_are_isolated(store: &dyn Store) -> Outcome {
    let (acme, other) = (tenant("acme")?, tenant("other")?);
    let own = content('a', "own")?;
    let contents = std::slice::from_ref(&own);
    store.put_tool_contents(&acme, contents, at(0)?).await?;
    assert_eq!(store.tool_content(&other, &own.digest).await?, None);
    store.put_tool_contents(&other, contents, at(9)?).await?;
    assert_eq!(store.sweep_tool_contents(at(5)?).await?, 1);
    assert_eq!(store.tool_content(&acme, &own.digest).await?, None);
    assert_eq!(store.tool_content(&other, &own.digest).await?, Some(own));
    Ok(())
}

/// Content that is written again is kept from then on, and not less long.
///
/// # Errors
/// Any error of the store.
pub async fn content_that_is_written_again_is_kept_longer(store: &dyn Store) -> Outcome {
    let acme = tenant("acme")?;
    let kept = content('a', "kept")?;
    let contents = std::slice::from_ref(&kept);
    for second in [1, 8, 3] {
        store
            .put_tool_contents(&acme, contents, at(second)?)
            .await?;
    }
    assert_eq!(store.sweep_tool_contents(at(8)?).await?, 0);
    assert_eq!(store.tool_content(&acme, &kept.digest).await?, Some(kept));
    assert_eq!(store.sweep_tool_contents(at(9)?).await?, 1);
    Ok(())
}
