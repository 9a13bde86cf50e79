//! Deep links from evidence into the cloud console that shows the original (seed 000 §2.14).
//!
//! A link is a pure function of evidence type, source and native id, for AWS, Azure and Google
//! Cloud. Every value that goes into a link is percent-encoded, so it cannot change where the
//! link leads.

use charter_contract::catalogue::evidence::{EvidenceSource, EvidenceType};
use charter_contract::text::ShortText;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that stand in a URL as they are (RFC 3986 §2.3), and the hyphen-like rest encoded.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A link with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What the reader will see there.
    pub label: String,
    /// An https URL.
    pub href: String,
}

/// Whether links can be made for a system: it is named `aws.…`, `azure.…` or `gcp.…`.
#[must_use]
pub fn supports(system: &str) -> bool {
    Cloud::of(system).is_some()
}

/// The link to what the evidence was taken from; `None` for a system that no console shows.
#[must_use]
pub fn link(kind: EvidenceType, source: &EvidenceSource) -> Option<Link> {
    let (cloud, service) = Cloud::of(source.system.as_ref())?;
    let (label, href) = match cloud {
        Cloud::Aws => aws(kind, service, source),
        Cloud::Azure => azure(kind, source),
        Cloud::Google => google(kind, service, source),
    };
    Some(Link { label, href })
}

#[derive(Debug, Clone, Copy)]
enum Cloud {
    Aws,
    Azure,
    Google,
}

impl Cloud {
    fn of(system: &str) -> Option<(Self, &str)> {
        let (cloud, service) = system.split_once('.').unwrap_or((system, ""));
        match cloud {
            "aws" => Some((Self::Aws, service)),
            "azure" => Some((Self::Azure, service)),
            "gcp" => Some((Self::Google, service)),
            _ => None,
        }
    }
}

fn text(field: &Option<ShortText>) -> Option<&str> {
    field.as_ref().map(ShortText::as_str)
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

fn aws(kind: EvidenceType, service: &str, source: &EvidenceSource) -> (String, String) {
    let region = encode(text(&source.region).unwrap_or("us-east-1"));
    let home = |service: &str| {
        format!("https://{region}.console.aws.amazon.com/{service}/home?region={region}")
    };
    let native_id = source.native_id.as_str();
    let id = encode(native_id);
    if kind == EvidenceType::CloudtrailEvent {
        let href = format!("{}#/events/{id}", home("cloudtrail"));
        return ("View event in CloudTrail".to_owned(), href);
    }
    let resource = arn_resource(native_id);
    match service.split('.').next().unwrap_or_default() {
        "ec2" | "vpc" | "elb" | "elbv2" | "elasticloadbalancing" => {
            let (label, fragment) = ec2(resource);
            (
                format!("View {label} in EC2"),
                format!("{}#{fragment}", home("ec2")),
            )
        }
        "s3" if resource == "*" => (
            "View buckets in S3".to_owned(),
            format!("https://s3.console.aws.amazon.com/s3/buckets?region={region}"),
        ),
        "s3" => (
            "View bucket in S3".to_owned(),
            format!(
                "https://s3.console.aws.amazon.com/s3/buckets/{}?region={region}",
                encode(resource)
            ),
        ),
        "cloudwatch" => (
            "View metrics in CloudWatch".to_owned(),
            format!("{}#metricsV2", home("cloudwatch")),
        ),
        "" => ("View in AWS".to_owned(), home("console")),
        other => (format!("View in {other}"), home(&encode(other))),
    }
}

/// The resource that an ARN names (`arn:partition:service:region:account:resource`), or the id
/// itself when it is no ARN.
fn arn_resource(native_id: &str) -> &str {
    match native_id.strip_prefix("arn:") {
        Some(rest) => rest.splitn(5, ':').nth(4).unwrap_or(rest),
        None => native_id,
    }
}

/// Resource types of EC2 as ARNs name them, with the prefix of their ids, what they are called and
/// where the console shows one and all of them.
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

/// The EC2 console's view of `type/id`, `type/*` or a bare id.
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

fn azure(kind: EvidenceType, source: &EvidenceSource) -> (String, String) {
    let directory =
        text(&source.tenant_id).map_or_else(String::new, |tenant| format!("@{}", encode(tenant)));
    // A resource id is a path: its slashes stay, everything between them is encoded.
    let path: String = source
        .native_id
        .as_str()
        .trim_start_matches('/')
        .split('/')
        .map(|segment| format!("/{}", encode(segment)))
        .collect();
    let blade = if kind == EvidenceType::AzureActivityLog {
        "/eventlogs"
    } else {
        "/overview"
    };
    (
        "View resource in the Azure portal".to_owned(),
        format!("https://portal.azure.com/#{directory}/resource{path}{blade}"),
    )
}

fn google(kind: EvidenceType, service: &str, source: &EvidenceSource) -> (String, String) {
    let project = encode(text(&source.account_id).unwrap_or_default());
    let id = encode(source.native_id.as_str());
    let base = "https://console.cloud.google.com";
    if kind == EvidenceType::LogLine {
        let href = format!("{base}/logs/query;query=insertId%3D%22{id}%22?project={project}");
        return ("View entry in Cloud Logging".to_owned(), href);
    }
    match service.split('.').next().unwrap_or_default() {
        "storage" => (
            "View bucket in Cloud Storage".to_owned(),
            format!("{base}/storage/browser/{id}?project={project}"),
        ),
        "compute" => (
            "View resource in Compute Engine".to_owned(),
            format!("{base}/compute/instances?project={project}&q={id}"),
        ),
        other => (
            "View resource in Google Cloud".to_owned(),
            format!(
                "{base}/welcome?project={project}&service={}&q={id}",
                encode(other)
            ),
        ),
    }
}

#[cfg(test)]
mod tests;
