//! The lenses of a package on its road into the catalogue.

use super::admit::AdmittedPackage;
use super::{Mode, RegistrationReport, refusal};
use crate::knowledge::lenses::{LensIndexed, LensJob};
use crate::{Engine, EngineError};

impl Engine {
    /// Work that goes on when whoever asked for it goes away: lenses may take minutes.
    pub(super) async fn run_detached(
        &self,
        work: impl Future<Output = Result<RegistrationReport, EngineError>> + Send + 'static,
    ) -> Result<RegistrationReport, EngineError> {
        let working = self.tasks().spawn(work);
        working
            .await
            .map_err(|error| EngineError::internal("changing a package", error))?
    }

    /// The indexes of a package's lenses; one that cannot be had refuses the package.
    pub(super) async fn indexed(
        &self,
        admitted: &AdmittedPackage,
        mode: Mode,
    ) -> Result<LensJob, EngineError> {
        let mut job = self
            .index_package(&admitted.package, &admitted.origin, mode)
            .await?;
        let problems = std::mem::take(&mut job.problems);
        if problems.is_empty() {
            return Ok(job);
        }
        Err(refusal(&admitted.report(problems, Vec::new())))
    }

    /// What became of the sources of a package that is in force as it is.
    pub(super) async fn looked_at_again(
        &self,
        admitted: &AdmittedPackage,
    ) -> Result<Vec<LensIndexed>, EngineError> {
        let (done, problems) = self
            .reindex_package(&admitted.package, &admitted.origin)
            .await?;
        if problems.is_empty() {
            return Ok(done);
        }
        Err(refusal(&admitted.report(problems, Vec::new())))
    }
}
