//! Cases of calibrations.

use charter_store::Store;
use charter_store::calibration::CalibrationRecord;

use super::Outcome;
use super::sample::at;

/// There is one calibration per model: the newest.
///
/// # Errors
/// Any error of the store.
pub async fn a_calibration_replaces_the_previous_one(store: &dyn Store) -> Outcome {
    let mut calibration = CalibrationRecord {
        model: "all-MiniLM-L6-v2/f32".to_owned(),
        body: r#"{"narrow":0.6}"#.to_owned(),
        at: at(0)?,
    };
    assert_eq!(store.calibration(&calibration.model).await?, None);
    store.put_calibration(&calibration).await?;
    r#"{"narrow":0.7}"#.clone_into(&mut calibration.body);
    calibration.at = at(1)?;
    store.put_calibration(&calibration).await?;
    let read = store.calibration(&calibration.model).await?;
    assert_eq!(read, Some(calibration));
    assert_eq!(store.calibration("all-MiniLM-L6-v2/int8").await?, None);
    Ok(())
}
