/** What a person sees after deciding: who said what, and what the run made of it. */

import type { Approval } from "@charter/client";
import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { decisionOf, hasHappened } from "~/approvals/words";
import { Facts } from "~/parts/facts";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { inWords, runTone, stepTone } from "~/runs/words";
import { useCharter } from "~/session/session";

const TITLES: Record<Approval["state"], string> = {
  pending: "Waits",
  approved: "Approved: the run goes on with this call",
  rejected: "Rejected: the step failed, and nothing was called",
  consumed: "Approved, and used for this one call",
  lapsed: "Lapsed: nobody decided in time, or the run ended first",
};

export function After({ approval }: { approval: Approval }) {
  const { run_id: run, step } = approval.call;
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["runs", "one", run],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id: run } } }),
  });
  const shown = query.data?.steps.find((one) => one.step === step);
  const succeeded = query.data?.events.findLast((event) => event.event === "step_succeeded" && event.step === step);
  const failure = shown?.state === "failed" ? shown.failure : undefined;
  const decision = decisionOf(approval);
  const title = hasHappened(approval) ? "It happened, as was reported" : TITLES[approval.state];
  return (
    <Section title={title}>
      <Facts
        rows={[
          ["By", decision?.by],
          ["When", decision && <Moment at={decision.at} />],
          ["Reason", decision?.reason],
          ["The step", shown && <Mark tone={stepTone(shown.state)}>{inWords(shown.state)}</Mark>],
          [
            "The run",
            query.data && (
              <>
                <Mark tone={runTone(query.data.status)}>{inWords(query.data.status)}</Mark>{" "}
                <Anchor
                  renderRoot={(props) => <Link to="/runs/$run" params={{ run }} search={{ step }} {...props} />}
                >
                  {query.data.title}
                </Anchor>
              </>
            ),
          ],
        ]}
      />
      {failure !== undefined && (
        <Text mt="sm">
          <span className="mono">{failure.code}</span>: {failure.message}
        </Text>
      )}
      {succeeded?.event === "step_succeeded" && (
        <div className="below">
          <LongJson value={succeeded.output} label="What it gave" />
        </div>
      )}
    </Section>
  );
}
