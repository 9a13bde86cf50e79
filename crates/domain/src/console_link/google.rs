//! Links to the Google Cloud console, and to Cloud Source Repositories for evidence about code.

use charter_contract::catalogue::evidence::{EvidenceSource, EvidenceType};

use super::{Link, encode, encode_path, text};

const CONSOLE: &str = "https://console.cloud.google.com";

pub(super) fn link(kind: EvidenceType, service: &str, source: &EvidenceSource) -> Link {
    let project = encode(text(&source.account_id).unwrap_or_default());
    let native_id = source.native_id.as_str();
    let id = encode(native_id);
    let page = |path: &str| format!("{CONSOLE}/{path}?project={project}");
    let entry = || page(&format!("logs/query;query=insertId%3D%22{id}%22"));
    match kind {
        EvidenceType::LogLine => Link::new("View entry in Cloud Logging", entry()),
        EvidenceType::CloudtrailEvent | EvidenceType::AzureActivityLog => {
            Link::new("View audit entry in Cloud Logging", entry())
        }
        EvidenceType::IamPolicy => Link::new("View access in IAM", page("iam-admin/iam")),
        EvidenceType::BillingLine => {
            Link::new("View costs in Cloud Billing", page("billing/linkedaccount"))
        }
        EvidenceType::MetricPoint => {
            let href = page("monitoring/metrics-explorer");
            Link::new("View metrics in Cloud Monitoring", href)
        }
        EvidenceType::DeploymentRecord => {
            let href = page("deploy/delivery-pipelines");
            Link::new("View deployments in Cloud Deploy", href)
        }
        EvidenceType::PrRecord => {
            let href = repository(&project, native_id, |repository, _| repository);
            Link::new("View repository in Cloud Source Repositories", href)
        }
        EvidenceType::CommitRecord => {
            let href = repository(&project, native_id, |repository, commit| {
                format!("{repository}/+/{commit}")
            });
            Link::new("View commit in Cloud Source Repositories", href)
        }
        EvidenceType::ApprovalRecord => {
            let href = page("security/access-approval");
            Link::new("View approvals in Access Approval", href)
        }
        EvidenceType::ConfigSnapshot | EvidenceType::ApiCall | EvidenceType::ManualNote => {
            resource(service, &project, &id)
        }
    }
}

/// Builds the link to a view within the repository of `repository/id`.
fn repository(
    project: &str,
    native_id: &str,
    view: impl FnOnce(String, String) -> String,
) -> String {
    let (repository, id) = native_id.rsplit_once('/').unwrap_or((native_id, ""));
    let view = view(encode_path(repository), encode(id));
    format!("https://source.cloud.google.com/{project}/{view}")
}

/// Builds the link to the resource that the evidence is about.
fn resource(service: &str, project: &str, id: &str) -> Link {
    match service.split('.').next().unwrap_or_default() {
        "storage" => Link::new(
            "View bucket in Cloud Storage",
            format!("{CONSOLE}/storage/browser/{id}?project={project}"),
        ),
        "compute" => Link::new(
            "View resource in Compute Engine",
            format!("{CONSOLE}/compute/instances?project={project}&q={id}"),
        ),
        other => Link::new(
            "View resource in Google Cloud",
            format!(
                "{CONSOLE}/welcome?project={project}&service={}&q={id}",
                encode(other)
            ),
        ),
    }
}
