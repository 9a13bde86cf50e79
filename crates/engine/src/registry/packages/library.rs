//! The lenses of a package during its registration.

use super::PackageService;
use super::admit::AdmittedPackage;
use super::{Mode, RegistrationReport, refusal};
use crate::EngineError;
use crate::knowledge::lenses::{LensIndexingResult, LensJob};

impl PackageService {
    /// Runs work that continues if its caller goes away: lenses may take minutes.
    pub(super) async fn run_detached(
        &self,
        work: impl Future<Output = Result<RegistrationReport, EngineError>> + Send + 'static,
    ) -> Result<RegistrationReport, EngineError> {
        let working = self.tasks.spawn(work);
        working
            .await
            .map_err(|error| EngineError::internal("changing a package", error))?
    }

    /// Indexes a package's lenses; a lens that cannot be indexed refuses the package.
    pub(super) async fn indexed(
        &self,
        admitted: &AdmittedPackage,
        mode: Mode,
    ) -> Result<LensJob, EngineError> {
        let mut job = self
            .lenses
            .index_package(&admitted.package, &admitted.origin, mode)
            .await?;
        let problems = std::mem::take(&mut job.problems);
        if problems.is_empty() {
            return Ok(job);
        }
        Err(refusal(&admitted.report(problems, Vec::new())))
    }

    /// Checks the sources of a package that is in force unchanged.
    pub(super) async fn looked_at_again(
        &self,
        admitted: &AdmittedPackage,
    ) -> Result<Vec<LensIndexingResult>, EngineError> {
        let (done, problems) = self
            .lenses
            .reindex_package(&admitted.package, &admitted.origin)
            .await?;
        if problems.is_empty() {
            return Ok(done);
        }
        Err(refusal(&admitted.report(problems, Vec::new())))
    }
}
