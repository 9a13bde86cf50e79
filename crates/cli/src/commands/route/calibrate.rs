//! `charter route calibrate`

use anyhow::Context;
use charter_engine::Caller;
use charter_search::eval::{EvalReport, EvalSet, Trial};
use charter_search::{BrokenBound, CalibrationSet, RouteSettings, calibrate};
use serde_json::json;

use super::{Calibrate, figures, of_parts, prepare};
use crate::boot;
use crate::config::Config;
use crate::failure::{EXIT_OK, ReportedFailure};
use crate::output::{self, Format};

/// Fits weights and thresholds to every named set, and stores them with the index.
pub(super) async fn run(of: &Calibrate, config: &Config, format: Format) -> anyhow::Result<u8> {
    let running = boot::start(config).await?;
    let mut trials = Vec::new();
    if let Some(queries) = &of.queries {
        let out_of_scope = of.labelled.out_of_scope.as_deref();
        let set = match &of.labelled.catalogue {
            Some(catalogue) => EvalSet::read(catalogue, queries, out_of_scope)?,
            None => {
                let entries = running.engine.indexes().routed_entries(&Caller::local()?);
                EvalSet::over(entries, queries, out_of_scope)?
            }
        };
        let set = of_parts(set, &of.labelled);
        let name = queries.display().to_string();
        trials.push((name, prepare(set, &of.labelled, config).await?));
    }
    for folder in &of.sets {
        let set = EvalSet::read_folder(folder)?;
        let name = folder.display().to_string();
        trials.push((name, prepare(set, &of.labelled, config).await?));
    }
    let base = running.engine.live().settings;
    let sets: Vec<CalibrationSet<'_>> = trials
        .iter()
        .map(|(name, trial)| CalibrationSet { name, trial })
        .collect();
    let calibration = calibrate(&sets, &base).context("fitting")?;
    let before = reports(&trials, &base)?;
    let after = reports(&trials, &calibration.settings)?;
    let adopted = running
        .engine
        .indexes()
        .adopt_calibration(&calibration)
        .await
        .map_err(ReportedFailure::from);
    running.stop().await?;
    adopted?;
    let names = trials.iter().map(|(name, _)| name);
    let by_set: Vec<_> = names
        .zip(before.iter().zip(&after))
        .map(|(name, (before, after))| json!({"set": name, "before": before, "after": after}))
        .collect();
    let report = json!({"calibration": calibration, "sets": by_set});
    output::print(format, &report, |report| {
        let of_sets = report["sets"].as_array().into_iter().flatten();
        let shown = of_sets.map(|of| {
            let name = of["set"].as_str().unwrap_or_default();
            format!(
                "{name}\n\nbefore\n{}\n\nafter\n{}",
                figures(&of["before"]),
                figures(&of["after"])
            )
        });
        let parts: Vec<String> = shown.chain(broken(&calibration.broken)).collect();
        parts.join("\n\n")
    })?;
    Ok(EXIT_OK)
}

fn reports(
    trials: &[(String, Trial)],
    settings: &RouteSettings,
) -> anyhow::Result<Vec<EvalReport>> {
    let reports = trials.iter().map(|(_, trial)| trial.evaluate(settings));
    Ok(reports.collect::<Result<_, _>>()?)
}

/// The bounds that the fitted settings violate; `None` if there are none.
fn broken(broken: &[BrokenBound]) -> Option<String> {
    if broken.is_empty() {
        return None;
    }
    let lines = broken.iter().map(|bound| format!("\n  {bound}"));
    let lines: String = lines.collect();
    Some(format!(
        "no settings satisfy every bound; the closest violate:{lines}"
    ))
}

#[cfg(test)]
mod tests {
    use charter_search::NarrowBound;

    use super::*;

    #[test]
    fn broken_bounds_are_listed_with_their_sets() {
        assert_eq!(broken(&[]), None);
        let bound = BrokenBound {
            set: "tickets".to_owned(),
            bound: NarrowBound::MissesNarrow,
            share: 0.125,
        };
        assert_eq!(
            broken(&[bound]).unwrap(),
            "no settings satisfy every bound; the closest violate:\n  `tickets`: 0.125 of the queries that nothing \
             answers are routed narrowly; the maximum is 0.05"
        );
    }
}
