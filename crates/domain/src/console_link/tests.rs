use serde_json::json;

use super::*;

fn href(kind: &str, source: serde_json::Value) -> String {
    let kind: EvidenceType = serde_json::from_value(json!(kind)).unwrap();
    let source: EvidenceSource = serde_json::from_value(source).unwrap();
    link(kind, &source).unwrap().href
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
    assert!(!supports("github.actions"));
}
