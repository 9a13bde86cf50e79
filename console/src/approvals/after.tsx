/** The result of a decision: its author and reason, and the status of the steps and the run. */

import type { Approval, RunShown } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { callsOf } from "~/approvals/listed";
import { decisionOf, excludedOf, hasHappened } from "~/approvals/words";
import { Facts } from "~/parts/facts";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { inWords, runTone, stepTone } from "~/runs/words";
import { useCharter } from "~/session/session";

const TITLES: Record<Approval["state"], string> = {
  pending: "Pending",
  approved: "Approved: the run continues",
  rejected: "Rejected: no call was made",
  consumed: "Approved and used",
  lapsed: "Lapsed: no decision in time, or the run ended first",
};

export function After({ approval }: { approval: Approval }) {
  const { run_id: id } = approval.call;
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["runs", "one", id],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id } } }),
  });
  const run = query.data;
  const calls = callsOf(approval).map(({ step }) => step);
  const [only] = calls;
  const decision = decisionOf(approval);
  const title = hasHappened(approval) ? "Reported as done" : TITLES[approval.state];
  return (
    <Section title={title}>
      <Facts
        rows={[
          ["By", decision?.by],
          ["When", decision && <Moment at={decision.at} />],
          ["Reason", decision?.reason],
          ["Excluded", excludedOf(approval).join(", ")],
          [
            "Run",
            run && (
              <>
                <Mark tone={runTone(run.status)}>{inWords(run.status)}</Mark>{" "}
                <Anchor renderRoot={(props) => <Link to="/runs/$run" params={{ run: id }} search={{ step: only }} {...props} />}>
                  {run.title}
                </Anchor>
              </>
            ),
          ],
        ]}
      />
      {run !== undefined && <Results run={run} steps={calls} />}
    </Section>
  );
}

/** The status of each step, with its failure. The output is shown if there is one step. */
function Results({ run, steps }: { run: RunShown; steps: string[] }) {
  const shown = run.steps.filter(({ step }) => steps.includes(step));
  const succeeded = run.events.findLast((event) => event.event === "step_succeeded" && event.step === steps[0]);
  return (
    <div className="below">
      <List listStyleType="none" spacing={4} className="results" aria-label="Steps" tabIndex={0}>
        {shown.map((step) => (
          <List.Item key={step.step}>
            <Mark tone={stepTone(step.state)}>{inWords(step.state)}</Mark>{" "}
            <Anchor
              className="mono"
              renderRoot={(props) => <Link to="/runs/$run" params={{ run: run.run_id }} search={{ step: step.step }} {...props} />}
            >
              {step.step}
            </Anchor>
            {step.state === "failed" && (
              <Text size="sm">
                <span className="mono">{step.failure.code}</span>: {step.failure.message}
              </Text>
            )}
          </List.Item>
        ))}
      </List>
      {steps.length === 1 && succeeded?.event === "step_succeeded" && (
        <div className="below">
          <LongJson value={succeeded.output} label="Output" />
        </div>
      )}
    </div>
  );
}
