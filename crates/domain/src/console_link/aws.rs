//! The AWS console.

use charter_contract::catalogue::evidence::{EvidenceSource, EvidenceType};

use super::{Link, encode, text};

/// The region for services without regions.
const HOME_REGION: &str = "us-east-1";

pub(super) fn link(kind: EvidenceType, service: &str, source: &EvidenceSource) -> Link {
    let region = encode(text(&source.region).unwrap_or(HOME_REGION));
    let console = Console { region };
    let native_id = source.native_id.as_str();
    let id = encode(native_id);
    match kind {
        EvidenceType::CloudtrailEvent => {
            let href = console.home("cloudtrail", &format!("#/events/{id}"));
            Link::new("View event in CloudTrail", href)
        }
        EvidenceType::IamPolicy => iam(native_id),
        EvidenceType::BillingLine => {
            let console = Console {
                region: HOME_REGION.to_owned(),
            };
            let href = console.home("costmanagement", "#/cost-explorer");
            Link::new("View costs in Cost Explorer", href)
        }
        EvidenceType::MetricPoint => {
            let href = console.home("cloudwatch", "#metricsV2");
            Link::new("View metrics in CloudWatch", href)
        }
        EvidenceType::LogLine => {
            // This view requires names to be encoded twice, with `$` for the outer `%`.
            let group = encode(&id).replace('%', "$");
            let view = format!("#logsV2:log-groups/log-group/{group}");
            Link::new("View log in CloudWatch", console.home("cloudwatch", &view))
        }
        EvidenceType::DeploymentRecord => {
            let href = console.suite(&format!("codedeploy/deployments/{id}"));
            Link::new("View deployment in CodeDeploy", href)
        }
        EvidenceType::PrRecord => {
            let view = |id: &str| format!("pull-requests/{id}/details");
            Link::new(
                "View pull request in CodeCommit",
                console.repository(native_id, view),
            )
        }
        EvidenceType::CommitRecord => {
            let view = |id: &str| format!("commit/{id}");
            Link::new(
                "View commit in CodeCommit",
                console.repository(native_id, view),
            )
        }
        EvidenceType::ApprovalRecord => {
            let href = console.suite(&format!("codepipeline/pipelines/{id}/view"));
            Link::new("View approval in CodePipeline", href)
        }
        EvidenceType::ConfigSnapshot
        | EvidenceType::AzureActivityLog
        | EvidenceType::ApiCall
        | EvidenceType::ManualNote => resource(&console, service, native_id),
    }
}

struct Console {
    /// The region, percent-encoded.
    region: String,
}

impl Console {
    fn home(&self, service: &str, view: &str) -> String {
        let region = &self.region;
        format!("https://{region}.console.aws.amazon.com/{service}/home?region={region}{view}")
    }

    fn suite(&self, path: &str) -> String {
        let region = &self.region;
        format!("https://{region}.console.aws.amazon.com/codesuite/{path}?region={region}")
    }

    /// Builds the link to a view within the repository of `repository/id`.
    fn repository(&self, native_id: &str, view: impl FnOnce(&str) -> String) -> String {
        match arn_resource(native_id).rsplit_once('/') {
            Some((repository, id)) => {
                let (repository, view) = (encode(repository), view(&encode(id)));
                self.suite(&format!("codecommit/repositories/{repository}/{view}"))
            }
            None => self.suite(&format!(
                "codecommit/repositories/{}/browse",
                encode(native_id)
            )),
        }
    }
}

/// Builds the link to a policy, or to the user, group or role that has it. IAM has no regions.
fn iam(native_id: &str) -> Link {
    let (kind, name) = arn_resource(native_id)
        .split_once('/')
        .unwrap_or(("policy", ""));
    let last = encode(name.rsplit('/').next().unwrap_or(name));
    let (label, view) = match kind {
        "role" => ("View role in IAM", format!("roles/details/{last}")),
        "user" => ("View user in IAM", format!("users/details/{last}")),
        "group" => ("View group in IAM", format!("groups/details/{last}")),
        "policy" if !name.is_empty() => (
            "View policy in IAM",
            format!("policies/details/{}", encode(native_id)),
        ),
        _ => ("View policies in IAM", "policies".to_owned()),
    };
    let console = Console {
        region: HOME_REGION.to_owned(),
    };
    Link::new(label, console.home("iam", &format!("#/{view}")))
}

/// Builds the link to the resource that the evidence is about.
fn resource(console: &Console, service: &str, native_id: &str) -> Link {
    let resource = arn_resource(native_id);
    let buckets = "https://s3.console.aws.amazon.com/s3/buckets";
    let region = &console.region;
    match service.split('.').next().unwrap_or_default() {
        "ec2" | "vpc" | "elb" | "elbv2" | "elasticloadbalancing" => {
            let (label, view) = ec2(resource);
            let href = console.home("ec2", &format!("#{view}"));
            Link::new(format!("View {label} in EC2"), href)
        }
        "s3" if resource == "*" => {
            Link::new("View buckets in S3", format!("{buckets}?region={region}"))
        }
        "s3" => {
            let href = format!("{buckets}/{}?region={region}", encode(resource));
            Link::new("View bucket in S3", href)
        }
        "iam" => iam(native_id),
        "cloudwatch" => {
            let href = console.home("cloudwatch", "#metricsV2");
            Link::new("View metrics in CloudWatch", href)
        }
        "" => Link::new("View in AWS", console.home("console", "")),
        other => Link::new(format!("View in {other}"), console.home(&encode(other), "")),
    }
}

/// Returns the resource of an ARN (`arn:partition:service:region:account:resource`), or the id itself if it is not an
/// ARN.
fn arn_resource(native_id: &str) -> &str {
    match native_id.strip_prefix("arn:") {
        Some(rest) => rest.splitn(5, ':').nth(4).unwrap_or(rest),
        None => native_id,
    }
}

/// EC2 resource types as written in ARNs, with the prefix of their ids, their names, and the console's views of one
/// resource and of all.
const EC2_VIEWS: [(&str, &str, &str, &str, &str); 7] = [
    (
        "security-group",
        "sg",
        "security group",
        "SecurityGroup:groupId=",
        "SecurityGroups:",
    ),
    (
        "network-acl",
        "acl",
        "network ACL",
        "NetworkAclDetails:networkAclId=",
        "acls:",
    ),
    (
        "instance",
        "i",
        "instance",
        "InstanceDetails:instanceId=",
        "Instances:",
    ),
    (
        "volume",
        "vol",
        "volume",
        "VolumeDetails:volumeId=",
        "Volumes:",
    ),
    (
        "snapshot",
        "snap",
        "snapshot",
        "SnapshotDetails:snapshotId=",
        "Snapshots:",
    ),
    (
        "elastic-ip",
        "eipalloc",
        "address",
        "ElasticIpDetails:AllocationId=",
        "Addresses:",
    ),
    (
        "loadbalancer",
        "",
        "load balancer",
        "LoadBalancers:search=",
        "LoadBalancers:",
    ),
];

/// Returns the EC2 console's view of `type/id`, `type/*` or a bare id.
fn ec2(resource: &str) -> (String, String) {
    let (kind, id) = resource.split_once('/').unwrap_or(("", resource));
    let prefix = id.split('-').next().unwrap_or_default();
    let known = EC2_VIEWS.iter().find(|(name, start, ..)| {
        *name == kind || (kind.is_empty() && !start.is_empty() && *start == prefix)
    });
    match known {
        Some((_, _, label, _, all)) if id == "*" => (format!("{label}s"), (*all).to_owned()),
        Some((_, _, label, one, _)) => ((*label).to_owned(), format!("{one}{}", encode(id))),
        None => (
            "resources".to_owned(),
            format!("Home:search={}", encode(resource)),
        ),
    }
}
