/** The types of evidence, in the order of `docs/reference/evidence.md`. */
export const TYPES = [
  "cloudtrail_event",
  "azure_activity_log",
  "config_snapshot",
  "iam_policy",
  "billing_line",
  "metric_point",
  "log_line",
  "deployment_record",
  "pr_record",
  "commit_record",
  "approval_record",
  "api_call",
  "manual_note",
] as const;
