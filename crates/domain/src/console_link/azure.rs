//! Links to the Azure portal, and to Azure DevOps for evidence about code.

use charter_contract::catalogue::evidence::{EvidenceSource, EvidenceType};

use super::{Link, encode, encode_path, text};

pub(super) fn link(kind: EvidenceType, source: &EvidenceSource) -> Link {
    let directory =
        text(&source.tenant_id).map_or_else(String::new, |tenant| format!("@{}/", encode(tenant)));
    let portal = format!("https://portal.azure.com/#{directory}");
    let native_id = source.native_id.as_str();
    // A resource id is a path: its slashes are kept, and its parts are encoded.
    let resource = format!("{portal}resource/{}", encode_path(native_id));
    match kind {
        EvidenceType::AzureActivityLog | EvidenceType::CloudtrailEvent => Link::new(
            "View activity log in the Azure portal",
            format!("{resource}/eventlogs"),
        ),
        EvidenceType::IamPolicy => Link::new(
            "View access control in the Azure portal",
            format!("{resource}/users"),
        ),
        EvidenceType::BillingLine => {
            let view = "view/Microsoft_Azure_CostManagement/Menu/~/costanalysis";
            Link::new("View costs in the Azure portal", format!("{portal}{view}"))
        }
        EvidenceType::MetricPoint => Link::new(
            "View metrics in the Azure portal",
            format!("{resource}/metrics"),
        ),
        EvidenceType::LogLine => {
            Link::new("View logs in the Azure portal", format!("{resource}/logs"))
        }
        EvidenceType::DeploymentRecord => {
            let view = "view/HubsExtension/DeploymentDetailsBlade/~/overview/id";
            let id = encode(&format!("/{}", native_id.trim_matches('/')));
            let href = format!("{portal}{view}/{id}");
            Link::new("View deployment in the Azure portal", href)
        }
        EvidenceType::PrRecord => {
            let href = repository(native_id, "pullrequest");
            Link::new("View pull request in Azure DevOps", href)
        }
        EvidenceType::CommitRecord => Link::new(
            "View commit in Azure DevOps",
            repository(native_id, "commit"),
        ),
        EvidenceType::ApprovalRecord => {
            let (project, run) = native_id.rsplit_once('/').unwrap_or((native_id, ""));
            let (project, run) = (encode_path(project), encode(run));
            let href = format!("https://dev.azure.com/{project}/_build/results?buildId={run}");
            Link::new("View approval in Azure DevOps", href)
        }
        EvidenceType::ConfigSnapshot | EvidenceType::ApiCall | EvidenceType::ManualNote => {
            Link::new(
                "View resource in the Azure portal",
                format!("{resource}/overview"),
            )
        }
    }
}

/// Builds the link to a view of `organisation/project/repository/id`.
fn repository(native_id: &str, view: &str) -> String {
    let mut parts = native_id.rsplitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(id), Some(repository), Some(project)) => format!(
            "https://dev.azure.com/{}/_git/{}/{view}/{}",
            encode_path(project),
            encode(repository),
            encode(id)
        ),
        _ => format!("https://dev.azure.com/{}", encode_path(native_id)),
    }
}
