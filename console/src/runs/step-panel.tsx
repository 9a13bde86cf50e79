/** The selected step: its call, the decision of the gate, its output or failure, and its evidence. */

import type { GateDecision, ResultSource, RuleResult, RunShown, StepShown } from "@charter/client";
import { Anchor, CloseButton, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { RULES } from "~/approvals/words";
import { Facts } from "~/parts/facts";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { StepContent } from "~/runs/content";
import type { StepHistory } from "~/runs/step-history";
import { inWords, stepTone } from "~/runs/words";

interface Props {
  /** The id of the run. */
  run: string;
  step: StepShown;
  history: StepHistory;
  /** Whether its write started and its outcome is unknown. */
  isInDoubt: boolean;
  /** Records of the run. */
  evidence: RunShown["evidence"];
  onClose: () => void;
}

export function StepPanel({ run, step, history, isInDoubt, evidence, onClose }: Props) {
  const action = history.plan?.action;
  const call = action?.do === "call" ? action : undefined;
  const failure = step.state === "failed" ? step.failure : undefined;
  return (
    <div className="step-panel">
      <Section title={step.step} actions={<CloseButton aria-label="Close the step" onClick={onClose} />}>
        <Facts
          rows={[
            ["State", <Mark tone={stepTone(step.state)}>{inWords(step.state)}</Mark>],
            ["Tool", step.tool && <span className="mono">{step.tool}</span>],
            ["Does", action !== undefined && call === undefined ? inWords(action.do) : step.writes ? "writes" : "reads"],
            ["Takes back", step.reverses && <span className="mono">{step.reverses}</span>],
            ["Waits for", step.entry.edges.map(({ from, on }) => `${from} (${on})`).join(", ")],
            ["Only when", step.entry.when && <span className="mono">{step.entry.when}</span>],
            ["Skipped", step.state === "skipped" && because(step.reason)],
            ["Tried again", step.state === "retrying" && <Moment at={step.due} />],
            ["Attempts", history.attempts > 1 ? history.attempts : undefined],
            ["Took", history.duration_ms !== undefined && `${history.duration_ms} ms`],
            ["Result", history.source !== undefined && sourceOf(history.source)],
            [
              "Approval",
              history.approval && (
                <Anchor renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval: history.approval ?? "" }} {...props} />}>
                  {step.state === "awaiting_approval" ? "waits for a decision" : "see the decision"}
                </Anchor>
              ),
            ],
            ["Gate", history.gate && <Gate decision={history.gate} />],
          ]}
        />
        {isInDoubt && (
          <Text mt="sm" size="sm">
            <Mark tone="bad">in doubt</Mark> Its write started, and its outcome is unknown.
          </Text>
        )}
        {failure !== undefined && (
          <div className="step-failure" role="note" aria-label="Failure">
            <span className="mono">{failure.code}</span>
            <Text size="sm">{failure.message}</Text>
            <Text size="sm" c="dimmed">
              {failure.retryable ? "The same call may succeed later." : "The same call would fail again."}
            </Text>
          </div>
        )}
        {call !== undefined && (
          <div className="below">
            <LongJson
              value={history.parameters ?? call.parameters}
              label={history.parameters === undefined ? "Arguments as planned" : "Arguments of the call"}
            />
          </div>
        )}
        {history.output !== undefined && (
          <div className="below">
            <LongJson value={history.output} label="Output" />
          </div>
        )}
        <StepContent run={run} output={history.output} />
        <StepEvidence found={evidence.filter((record) => record.step === step.step)} />
      </Section>
    </div>
  );
}

function StepEvidence({ found }: { found: RunShown["evidence"] }) {
  if (found.length === 0) return null;
  return (
    <>
      <Text fw={600} size="sm" mt="sm">
        Evidence
      </Text>
      {found.map(({ evidence_id: id, summary }) => (
        <Text key={id} size="sm">
          <Anchor renderRoot={(props) => <Link to="/evidence/$id" params={{ id }} {...props} />}>{summary}</Anchor>
        </Text>
      ))}
    </>
  );
}

function Gate({ decision }: { decision: GateDecision }) {
  const rules: RuleResult[] = decision.verdict === "allow" ? [...decision.permitted_by, ...decision.warnings] : decision.rules;
  const tone = decision.verdict === "deny" ? "bad" : decision.verdict === "allow" ? "good" : "warn";
  return (
    <>
      <Mark tone={tone}>{inWords(decision.verdict)}</Mark>
      {rules.map(({ kind, id, message }) => (
        <Text size="sm" key={`${kind} ${id}`} mt={2}>
          <span className="quiet">{RULES[kind]}</span> <span className="mono">{id}</span>
          {message !== "" && `: ${message}`}
        </Text>
      ))}
    </>
  );
}

function because(reason: { because: string; step?: string; by?: string }): string {
  if (reason.because === "source") return `because of ${reason.step ?? "an earlier step"}`;
  if (reason.because === "excluded") return `${reason.by ?? "the approver"} excluded it from the approval`;
  return reason.because === "dry_run" ? "a dry run changes nothing" : "its condition does not hold";
}

function sourceOf(source: ResultSource): string {
  if (source === "fresh") return "of this call";
  if (source === "cached") return "of an earlier call, from the cache";
  if (source === "decided") return "computed without a call";
  return `as ${source.reported.by} reported${source.reported.reason === undefined ? "" : `: ${source.reported.reason}`}`;
}
