/** How many findings of each severity there are. */

import type { RequestSummary } from "@charter/client";

import { Mark } from "~/parts/mark";
import { SEVERITIES } from "~/parts/severities";

export function FindingCounts({ findings }: { findings: RequestSummary["findings"] }) {
  return (
    <span className="marks">
      {findings.map(({ severity, findings: count }) => (
        <Mark key={severity} tone={SEVERITIES[severity]}>
          {count} {severity}
        </Mark>
      ))}
    </span>
  );
}
