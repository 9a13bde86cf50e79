/** The result of a change, the second response of its request: each change with the state before and after, evidence, steps left undone. */

import type { ChangeMade, ResponseMetadata, ResponseShown, StepUndone } from "@charter/client";
import { List, Text } from "@mantine/core";

import { JsonDifference } from "~/parts/difference";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { Warnings } from "~/requests/answer";
import { EvidenceLinks } from "~/requests/cited";
import { inWords, runTone } from "~/runs/words";

export function Result({ result }: { result: ResponseShown }) {
  const metadata: ResponseMetadata = result.metadata ?? {};
  const { changes = [], undone = [], missing_evidence: missing = [], evidence_ids = [], warnings = [], status } = metadata;
  return (
    <Section
      title="Result of the change"
      lead={
        <>
          The run ended <Moment at={result.timestamp} />.
        </>
      }
      actions={status !== undefined && <Mark tone={runTone(status)}>{inWords(status)}</Mark>}
    >
      <Warnings warnings={warnings} />
      {missing.length > 0 && <Warnings warnings={[`Evidence is missing: ${missing.join(", ")}`]} />}
      <h3 className="part">Changed ({changes.length})</h3>
      {changes.length === 0 ? (
        <Text size="sm">Nothing was changed.</Text>
      ) : (
        <List listStyleType="none" spacing="md">
          {changes.map((change) => (
            <List.Item key={change.step_id}>
              <Made change={change} />
            </List.Item>
          ))}
        </List>
      )}
      <h3 className="part">Left undone ({undone.length})</h3>
      {undone.length === 0 ? (
        <Text size="sm">Nothing was left undone.</Text>
      ) : (
        <List listStyleType="none" spacing="sm">
          {undone.map((step) => (
            <List.Item key={step.step_id}>
              <NotDone step={step} />
            </List.Item>
          ))}
        </List>
      )}
      {evidence_ids.length > 0 && (
        <>
          <h3 className="part">Evidence</h3>
          <EvidenceLinks ids={evidence_ids} />
        </>
      )}
    </Section>
  );
}

function Made({ change }: { change: ChangeMade }) {
  const { step_id: step, tool_id: tool, before, after, reversed } = change;
  return (
    <>
      <Text>
        <span className="mono">{tool ?? step}</span>{" "}
        <Text span size="sm" c="dimmed">
          {step}
        </Text>{" "}
        {reversed && <Mark tone="warn">taken back since</Mark>}
      </Text>
      <EvidenceLinks ids={change.evidence_ids} />
      <div className="below">
        {before === null && after === null ? (
          <Text size="sm" c="dimmed">
            Its state before and after is not known here; see its evidence and the run.
          </Text>
        ) : before === null ? (
          <LongJson value={after} label={`After ${step}`} />
        ) : (
          <JsonDifference before={before} after={after} label={`Before and after ${step}`} />
        )}
      </div>
    </>
  );
}

const WHY: Record<StepUndone["reason"], string> = {
  not_begun: "not begun",
  failed: "failed",
  skipped: "left out",
  excluded: "excluded from the approval",
  in_doubt: "may have happened",
  reversed: "taken back",
  reversal_failed: "could not be taken back",
  dry_run: "dry run",
};

function NotDone({ step }: { step: StepUndone }) {
  return (
    <>
      <Text>
        <span className="mono">{step.tool_id ?? step.step_id}</span>{" "}
        <Mark tone={step.writes ? "warn" : "calm"}>{step.writes ? "writes" : "reads"}</Mark>{" "}
        <Mark>{WHY[step.reason] ?? inWords(step.reason)}</Mark>
      </Text>
      <Text size="sm">{step.detail}</Text>
      {step.planned_change !== undefined && (
        <div className="below">
          <LongJson value={step.planned_change} label={`What ${step.step_id} would do`} />
        </div>
      )}
    </>
  );
}
