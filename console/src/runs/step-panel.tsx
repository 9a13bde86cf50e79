/** The selected step: its call, what the gate said, what it gave or why it failed, and its evidence. */

import type { GateSaid, RuleSaid, RunShown } from "@charter/client";
import { Anchor, CloseButton, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { RULES } from "~/approvals/words";
import { Facts } from "~/parts/facts";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import type { FoldedStep } from "~/runs/fold";
import { inWords, stepTone } from "~/runs/words";

interface Props {
  run: RunShown;
  step: FoldedStep;
  onClose: () => void;
}

export function StepPanel({ run, step, onClose }: Props) {
  const { plan, standing } = step;
  const call = plan.action.do === "call" ? plan.action : undefined;
  const failure = standing.state === "failed" ? standing.failure : undefined;
  return (
    <div className="step-panel">
      <Section title={plan.id} actions={<CloseButton aria-label="Close the step" onClick={onClose} />}>
        <Facts
          rows={[
            ["Stands at", <Mark tone={stepTone(standing.state)}>{inWords(standing.state)}</Mark>],
            ["Tool", call && <span className="mono">{call.tool}</span>],
            ["Does", call === undefined ? inWords(plan.action.do) : call.writes ? "writes" : "reads"],
            ["Takes back", plan.reverses && <span className="mono">{plan.reverses}</span>],
            ["Waits for", plan.entry.edges.map(({ from, on }) => `${from} (${on})`).join(", ")],
            ["Only when", plan.entry.when && <span className="mono">{plan.entry.when}</span>],
            ["Skipped", standing.state === "skipped" && because(standing.reason)],
            ["Tried again", standing.state === "retrying" && <Moment at={standing.due} />],
            ["Attempts", step.attempts > 1 ? step.attempts : undefined],
            ["Took", step.duration_ms !== undefined && `${step.duration_ms} ms`],
            ["Result", step.source !== undefined && sourceOf(step.source)],
            [
              "Approval",
              step.approval && (
                <Anchor renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval: step.approval ?? "" }} {...props} />}>
                  {standing.state === "awaiting_approval" ? "waits for a decision" : "see the decision"}
                </Anchor>
              ),
            ],
            ["Gate", step.gate && <Gate said={step.gate} />],
          ]}
        />
        {run.in_doubt.includes(plan.id) && (
          <Text mt="sm" size="sm">
            <Mark tone="bad">in doubt</Mark> Its write was begun and nobody knows whether it happened.
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
              value={step.parameters ?? call.parameters}
              label={step.parameters === undefined ? "Arguments as planned" : "Arguments of the call"}
            />
          </div>
        )}
        {step.output !== undefined && (
          <div className="below">
            <LongJson value={step.output} label="Output" />
          </div>
        )}
        <StepEvidence run={run} step={step} />
      </Section>
    </div>
  );
}

function StepEvidence({ run, step }: { run: RunShown; step: FoldedStep }) {
  const found = run.evidence.filter((record) => record.step === step.plan.id);
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

function Gate({ said }: { said: GateSaid }) {
  const rules: RuleSaid[] = said.verdict === "allow" ? [...said.permitted_by, ...said.warnings] : said.rules;
  const tone = said.verdict === "deny" ? "bad" : said.verdict === "allow" ? "good" : "warn";
  return (
    <>
      <Mark tone={tone}>{inWords(said.verdict)}</Mark>
      {rules.map(({ kind, id, message }) => (
        <Text size="sm" key={`${kind} ${id}`} mt={2}>
          <span className="quiet">{RULES[kind]}</span> <span className="mono">{id}</span>
          {message !== "" && `: ${message}`}
        </Text>
      ))}
    </>
  );
}

function because(reason: { because: string; step?: string }): string {
  if (reason.because === "source") return `because of ${reason.step ?? "an earlier step"}`;
  return reason.because === "dry_run" ? "a dry run changes nothing" : "its condition does not hold";
}

function sourceOf(source: NonNullable<FoldedStep["source"]>): string {
  if (source === "fresh") return "of this call";
  if (source === "cached") return "of an earlier call, still fresh enough";
  if (source === "decided") return "worked out, nothing was called";
  return `as ${source.reported.by} reported${source.reported.reason === undefined ? "" : `: ${source.reported.reason}`}`;
}
