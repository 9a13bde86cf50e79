//! Tests of links, and of the table in the documentation.

use serde_json::json;

use super::*;

fn href(kind: &str, source: serde_json::Value) -> String {
    let kind: EvidenceType = serde_json::from_value(json!(kind)).unwrap();
    let source: EvidenceSource = serde_json::from_value(source).unwrap();
    link(kind, &source, None).unwrap().href
}

/// B000-19: links are a pure function of type, source and native id, for three clouds.
#[test]
fn b000_19_links_lead_into_the_console_of_the_source() {
    let aws =
        |system: &str, id: &str| json!({"system": system, "region": "us-east-1", "native_id": id});
    let cases = [
        (
            href(
                "cloudtrail_event",
                aws("aws.cloudtrail", "e-1234-5678-90ab"),
            ),
            "https://us-east-1.console.aws.amazon.com/cloudtrail/home?region=us-east-1#/events/e-1234-5678-90ab",
        ),
        (
            href("config_snapshot", aws("aws.ec2", "sg-0a1")),
            "https://us-east-1.console.aws.amazon.com/ec2/home?region=us-east-1#SecurityGroup:groupId=sg-0a1",
        ),
        (
            href(
                "config_snapshot",
                aws(
                    "aws.ec2",
                    "arn:aws:ec2:us-east-1:123456789012:security-group/*",
                ),
            ),
            "https://us-east-1.console.aws.amazon.com/ec2/home?region=us-east-1#SecurityGroups:",
        ),
        (
            href(
                "config_snapshot",
                aws("aws.ec2", "arn:aws:ec2:us-east-1:123456789012:volume/vol-1"),
            ),
            "https://us-east-1.console.aws.amazon.com/ec2/home?region=us-east-1#VolumeDetails:volumeId=vol-1",
        ),
        (
            href(
                "config_snapshot",
                aws(
                    "aws.elasticloadbalancing",
                    "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/*",
                ),
            ),
            "https://us-east-1.console.aws.amazon.com/ec2/home?region=us-east-1#LoadBalancers:",
        ),
        (
            href("config_snapshot", aws("aws.s3", "arn:aws:s3:::*")),
            "https://s3.console.aws.amazon.com/s3/buckets?region=us-east-1",
        ),
        (
            href("config_snapshot", aws("aws.s3", "my-bucket")),
            "https://s3.console.aws.amazon.com/s3/buckets/my-bucket?region=us-east-1",
        ),
        (
            href(
                "azure_activity_log",
                json!({"system": "azure.network", "tenant_id": "contoso.com",
                "native_id": "/subscriptions/s/resourceGroups/g"}),
            ),
            "https://portal.azure.com/#@contoso.com/resource/subscriptions/s/resourceGroups/g/eventlogs",
        ),
        (
            href(
                "log_line",
                json!({"system": "gcp.logging", "account_id": "p-1", "native_id": "abc"}),
            ),
            "https://console.cloud.google.com/logs/query;query=insertId%3D%22abc%22?project=p-1",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_hostile_id_cannot_change_where_a_link_leads() {
    let found = href(
        "config_snapshot",
        json!({"system": "aws.s3", "region": "x/../evil.example#", "native_id": "a?b#c/@evil.example"}),
    );
    assert_eq!(
        found,
        "https://s3.console.aws.amazon.com/s3/buckets/a%3Fb%23c%2F%40evil.example?region=x%2F..%2Fevil.example%23"
    );
    assert!(!is_known("github.actions"));
}

/// B000-19: for a system that is not a cloud, the tool names the page. The link is a function of the same inputs, and a
/// page cannot replace Charter's links to a cloud.
#[test]
fn b000_19_a_tool_names_the_page_of_a_system_that_is_no_cloud() {
    let page: ConsolePage = serde_json::from_value(json!({
        "label": "View order", "href": "https://shop.example/admin/${native_id}?tab=log#${native_id}",
    }))
    .unwrap();
    let own = |native_id: &str| {
        let source = json!({"system": "shop.orders", "native_id": native_id});
        let source: EvidenceSource = serde_json::from_value(source).unwrap();
        link(EvidenceType::ApiCall, &source, Some(&page)).unwrap()
    };
    assert_eq!(own("A-1").label, "View order");
    for (native_id, expected) in [
        ("A-1", "https://shop.example/admin/A-1?tab=log#A-1"),
        (
            "eu/a b",
            "https://shop.example/admin/eu/a%20b?tab=log#eu/a%20b",
        ),
        (
            "a/../../login",
            "https://shop.example/admin/a%2F..%2F..%2Flogin?tab=log#a%2F..%2F..%2Flogin",
        ),
        ("..", "https://shop.example/admin/?tab=log#"),
        (
            "//evil.example",
            "https://shop.example/admin/%2F%2Fevil.example?tab=log#%2F%2Fevil.example",
        ),
        (
            "${native_id}?x=1#y",
            "https://shop.example/admin/%24%7Bnative_id%7D%3Fx%3D1%23y?tab=log#%24%7Bnative_id%7D%3Fx%3D1%23y",
        ),
    ] {
        let href = own(native_id).href;
        assert_eq!(href, expected);
        assert!(charter_contract::text::HttpsUrl::parse(&href).is_ok());
    }
    let without_id = "https://shop.example/admin/?tab=log#";
    assert!(own(&"x".repeat(100_000)).href.len() > 200_000);
    assert_eq!(own(&"x".repeat(200_000)).href, without_id);
    let source: EvidenceSource =
        serde_json::from_value(json!({"system": "aws.s3", "native_id": "b"})).unwrap();
    let of_cloud = link(EvidenceType::ConfigSnapshot, &source, Some(&page)).unwrap();
    assert_eq!(of_cloud.label, "View bucket in S3");
}

/// The native ids in the documentation's table, for AWS, Azure and Google Cloud.
fn example(kind: EvidenceType) -> [&'static str; 3] {
    const VM: &str =
        "subscriptions/s1/resourceGroups/g1/providers/Microsoft.Compute/virtualMachines/vm1";
    match kind {
        EvidenceType::CloudtrailEvent | EvidenceType::AzureActivityLog => ["e-1234", VM, "1a2b"],
        EvidenceType::ConfigSnapshot | EvidenceType::ApiCall | EvidenceType::ManualNote => {
            ["i-0a1b", VM, "vm1"]
        }
        EvidenceType::IamPolicy => ["arn:aws:iam::123456789012:policy/p1", VM, "vm1"],
        EvidenceType::BillingLine => ["li-1", VM, "li-1"],
        EvidenceType::MetricPoint => ["CPUUtilization", VM, "cpu"],
        EvidenceType::LogLine => ["/aws/lambda/f1", VM, "1a2b"],
        EvidenceType::DeploymentRecord => [
            "d-1",
            "subscriptions/s1/resourceGroups/g1/providers/Microsoft.Resources/deployments/d1",
            "d1",
        ],
        EvidenceType::PrRecord => ["repo/12", "org/project/repo/12", "repo/12"],
        EvidenceType::CommitRecord => ["repo/0f1e", "org/project/repo/0f1e", "repo/0f1e"],
        EvidenceType::ApprovalRecord => ["pipeline1", "org/project/77", "a1"],
    }
}

/// B000-19: every type of evidence has a link for each of the three clouds, as documented.
#[test]
fn b000_19_each_type_links_into_each_cloud_as_documented() {
    let mut table =
        String::from("| Type | Cloud | Native id | Shown as | Link |\n|---|---|---|---|---|\n");
    for kind in EvidenceType::ALL {
        let clouds = [
            ("aws.ec2", "AWS"),
            ("azure.compute", "Azure"),
            ("gcp.compute", "Google Cloud"),
        ];
        for ((system, cloud), native_id) in clouds.into_iter().zip(example(*kind)) {
            let source: EvidenceSource = serde_json::from_value(json!({
                "system": system, "region": "eu-west-1", "account_id": "project1", "native_id": native_id,
            }))
            .unwrap();
            let link = link(*kind, &source, None).unwrap();
            let href = charter_contract::text::HttpsUrl::parse(&link.href);
            assert!(href.is_ok(), "{}", link.href);
            table += &format!(
                "| `{kind}` | {cloud} | `{native_id}` | {} | `{}` |\n",
                link.label, link.href
            );
        }
    }
    let documented = include_str!("../../../../docs/reference/evidence.md");
    assert!(
        documented.contains(&table),
        "docs/reference/evidence.md should have:\n{table}"
    );
}

#[test]
fn a_hostile_id_stays_inside_every_link() {
    let hosts = [
        "amazonaws",
        ".console.aws.amazon.com/",
        "https://portal.azure.com/#",
        "https://dev.azure.com/",
        "https://console.cloud.google.com/",
        "https://source.cloud.google.com/",
        "https://s3.console.aws.amazon.com/",
    ];
    for kind in EvidenceType::ALL {
        for system in [
            "aws.ec2",
            "aws.s3",
            "azure.compute",
            "gcp.compute",
            "gcp.storage",
        ] {
            let source: EvidenceSource = serde_json::from_value(json!({
                "system": system, "account_id": "@evil.example", "tenant_id": "@evil.example/",
                "native_id": "@evil.example/..//?q=1#x%0d\"<y>\\",
            }))
            .unwrap();
            let href = link(*kind, &source, None).unwrap().href;
            let at = hosts
                .iter()
                .filter_map(|host| Some(href.find(host)? + host.len()))
                .min();
            let rest = &href[at.unwrap_or_else(|| panic!("{href}"))..];
            assert!(
                !rest.contains(['"', '<', '>', '\\', ' ']) && !rest.contains("@evil"),
                "{href}"
            );
        }
    }
}
