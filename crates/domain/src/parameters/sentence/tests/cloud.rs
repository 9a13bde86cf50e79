//! Clouds: regions, profiles, ids, ages, sizes, dry runs.

use serde_json::{Value, json};

use super::{asks, states};

fn declared() -> Value {
    json!([
        {"name": "region", "type": "string", "required": true, "description": "Region to look at",
         "example": "eu-south-1", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]+$"},
        {"name": "profile", "type": "string", "required": true, "description": "CLI profile", "example": "ops_admin"},
        {"name": "volume_ids", "type": "array", "description": "Only these volumes", "example": ["vol-0a1b2c3d"]},
        {"name": "min_age_days", "type": "integer", "description": "Age in days", "default": 30},
        {"name": "max_size_gb", "type": "number", "description": "Largest size"},
        {"name": "dry_run", "type": "boolean", "description": "Run without making changes", "default": false},
    ])
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table of cases")]
fn a_sentence_about_a_cloud_states_its_regions_profiles_and_ids() {
    states(
        &declared(),
        &[
            (
                "delete stale volumes in eu-central-2 with profile night_shift",
                json!({"region": "eu-central-2", "profile": "night_shift"}),
            ),
            (
                "region=us-west-1 profile=audit",
                json!({"region": "us-west-1", "profile": "audit"}),
            ),
            (
                "region: us-west-1, profile: audit",
                json!({"region": "us-west-1", "profile": "audit"}),
            ),
            (
                "Use profile finance and list volumes.",
                json!({"profile": "finance"}),
            ),
            (
                "use the finance profile, please",
                json!({"profile": "finance"}),
            ),
            (
                "with the 'blue team' profile",
                json!({"profile": "blue team"}),
            ),
            (
                "profile \"blue team\" in ap-south-2",
                json!({"profile": "blue team", "region": "ap-south-2"}),
            ),
            ("set the profile to archive", json!({"profile": "archive"})),
            (
                "via profile archive-ro, us-east-2",
                json!({"profile": "archive-ro", "region": "us-east-2"}),
            ),
            (
                "--profile archive --region us-east-2",
                json!({"profile": "archive", "region": "us-east-2"}),
            ),
            ("what is a profile?", json!({})),
            ("which profile do I need for that?", json!({})),
            ("my profile picture is broken", json!({})),
            ("the same profile as yesterday", json!({})),
            ("profile settings", json!({})),
            ("is the profile expired?", json!({})),
            ("use the default profile", json!({})),
            ("use a different profile", json!({})),
            (
                "LIST VOLUMES IN EU-NORTH-1 NOW",
                json!({"region": "eu-north-1"}),
            ),
            (
                "anything in (us-gov-west-1)?",
                json!({"region": "us-gov-west-1"}),
            ),
            (
                "volumes of eu-west-3's old cluster",
                json!({"region": "eu-west-3"}),
            ),
            (
                "clean vol-0aa11bb2 and vol-0cc33dd4",
                json!({"volume_ids": ["vol-0aa11bb2", "vol-0cc33dd4"]}),
            ),
            (
                "clean vol-0aa11bb2, vol-0cc33dd4 & vol-0ee55ff6 in me-central-1",
                json!({"volume_ids": ["vol-0aa11bb2", "vol-0cc33dd4", "vol-0ee55ff6"], "region": "me-central-1"}),
            ),
            (
                "vol-0aa11bb2 twice: vol-0aa11bb2",
                json!({"volume_ids": ["vol-0aa11bb2"]}),
            ),
            (
                "{\"volume\":\"vol-0aa11bb2\",\"region\":\"eu-west-3\",\"size\":\"20\"}\ndelete this",
                json!({"volume_ids": ["vol-0aa11bb2"], "region": "eu-west-3"}),
            ),
            ("everything except vol-0aa11bb2", json!({})),
            (
                "everything but vol-0aa11bb2 in eu-west-3",
                json!({"region": "eu-west-3"}),
            ),
            (
                "clean vol-0cc33dd4, not vol-0aa11bb2",
                json!({"volume_ids": ["vol-0cc33dd4"]}),
            ),
            ("clean all volumes but not in eu-west-3", json!({})),
            (
                "in eu-west-3 rather than eu-west-2",
                json!({"region": "eu-west-3"}),
            ),
            (
                "instead of eu-west-2 look at eu-west-3",
                json!({"region": "eu-west-3"}),
            ),
            (
                "not eu-west-2 but eu-west-3",
                json!({"region": "eu-west-3"}),
            ),
            (
                "look at eu-west-2, oops, eu-west-3",
                json!({"region": "eu-west-3"}),
            ),
            (
                "look at eu-west-2. Wait, eu-west-3!",
                json!({"region": "eu-west-3"}),
            ),
            (
                "clean vol-0aa11bb2, scratch that, vol-0cc33dd4",
                json!({"volume_ids": ["vol-0cc33dd4"]}),
            ),
            ("volumes older than 45 days", json!({"min_age_days": 45})),
            ("volumes older than six weeks", json!({"min_age_days": 42})),
            (
                "volumes that are 1,200 days old",
                json!({"min_age_days": 1200}),
            ),
            ("younger than 45 days", json!({})),
            ("created in the last 45 days", json!({})),
            ("made 45 days ago", json!({})),
            ("smaller than 500 GB", json!({"max_size_gb": 500})),
            ("up to 1.5 TB", json!({"max_size_gb": 1500})),
            ("over 500 GB", json!({})),
            ("500 GB", json!({"max_size_gb": 500})),
            ("as a dry run", json!({"dry_run": true})),
            ("dry-run it first", json!({"dry_run": true})),
            (
                "--dry-run in eu-west-3",
                json!({"dry_run": true, "region": "eu-west-3"}),
            ),
            ("dry_run=false", json!({"dry_run": false})),
            ("no dry run this time", json!({"dry_run": false})),
            ("not a dry run", json!({"dry_run": false})),
            ("do it without a dry run", json!({"dry_run": false})),
            ("simulate the cleanup", json!({"dry_run": true})),
            ("the dry season", json!({})),
            ("run it", json!({})),
            ("there are 3 volumes on port 22", json!({})),
            ("tell me about us", json!({})),
            ("", json!({})),
            ("?!", json!({})),
            ("在 eu-central-2 里的卷", json!({"region": "eu-central-2"})),
            (
                "清理vol-0aa11bb2和vol-0cc33dd4",
                json!({"volume_ids": ["vol-0aa11bb2", "vol-0cc33dd4"]}),
            ),
            (
                "Volumes, die älter als 90 Tage sind, in eu-central-2",
                json!({"min_age_days": 90, "region": "eu-central-2"}),
            ),
        ],
    );
}

#[test]
fn a_region_or_an_age_that_is_not_understood_is_asked_about() {
    asks(
        &declared(),
        &[
            ("open ports in Ireland", json!({}), &["region"]),
            ("region: mars", json!({}), &["region"]),
            ("region=mars", json!({}), &["region"]),
            ("volumes in us-west", json!({}), &["region"]),
            ("volumes in europe-west4", json!({}), &["region"]),
            ("compare eu-west-1 with eu-west-2", json!({}), &["region"]),
            (
                "eu-west-1 or eu-west-2, profile audit_ro",
                json!({"profile": "audit_ro"}),
                &["region"],
            ),
            ("volumes older than a year", json!({}), &["min_age_days"]),
            ("volumes older than 3 months", json!({}), &["min_age_days"]),
            ("older than 36 hours", json!({}), &["min_age_days"]),
            (
                "vol-0aa11bb2 through vol-0aa11bb9",
                json!({}),
                &["volume_ids"],
            ),
            (
                "use profile audit or profile finance",
                json!({}),
                &["profile"],
            ),
        ],
    );
}

/// A parameter without a pattern is read by its example.
#[test]
fn an_example_shows_what_a_code_looks_like() {
    let declared = json!([
        {"name": "zone", "type": "string", "example": "eu-west-1a"},
        {"name": "host", "type": "string", "example": "db.example.org"},
        {"name": "cidr", "type": "string", "example": "10.1.0.0/16"},
        {"name": "address", "type": "string", "example": "10.1.2.3"},
        {"name": "bucket_arn", "type": "string", "example": "arn:aws:s3:::logs"},
        {"name": "account", "type": "string", "example": "210987654321"},
        {"name": "instance", "type": "string", "example": "i-0f00ba4"},
        {"name": "release", "type": "string", "example": "v1.2.3"},
    ]);
    states(
        &declared,
        &[
            ("in us-east-1b", json!({"zone": "us-east-1b"})),
            (
                "ping api.shop.test from here",
                json!({"host": "api.shop.test"}),
            ),
            ("close 192.168.0.0/24", json!({"cidr": "192.168.0.0/24"})),
            ("block 192.168.0.7!", json!({"address": "192.168.0.7"})),
            ("block 2001:db8::7", json!({"address": "2001:db8::7"})),
            (
                "who may read arn:aws:s3:::photos?",
                json!({"bucket_arn": "arn:aws:s3:::photos"}),
            ),
            ("account 555566667777", json!({"account": "555566667777"})),
            ("call 5555", json!({})),
            ("restart i-0abcdef12", json!({"instance": "i-0abcdef12"})),
            ("roll back to v2.0.1", json!({"release": "v2.0.1"})),
            ("in us-east-1", json!({})),
            ("write to ann@example.org", json!({})),
        ],
    );
}
