/** What a mission proposes to change, with the decision on each where it waits for one. */

import type { MissionProposal, MissionShown } from "@charter/client";
import { Anchor, Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Decide } from "~/approvals/decide";
import { PROPOSALS } from "~/missions/words";
import { EmptyState } from "~/parts/empty-state";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { JsonSource } from "~/parts/source";
import { inWords } from "~/runs/words";
import { useCharter } from "~/session/session";

export function Proposals({ mission }: { mission: MissionShown }) {
  if (mission.proposals.length === 0) {
    return (
      <EmptyState title="It proposes nothing">
        Where its type allows it, the review may propose changes. Each waits here for a decision before it is carried out.
      </EmptyState>
    );
  }
  return (
    <div className="sections">
      {mission.proposals.map((shown) => (
        <Proposal key={shown.proposal.proposal_id} shown={shown} />
      ))}
    </div>
  );
}

function Proposal({ shown: { proposal, state, reason, run_id: run, approval_id: approval } }: { shown: MissionProposal }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const { reason: why, ...payload } = proposal.payload as { reason?: string } & Record<string, unknown>;
  return (
    <Section
      title={`${proposal.proposal_id}: ${inWords(proposal.action_type)}`}
      lead={why}
      actions={<Mark tone={PROPOSALS[state]}>{inWords(state)}</Mark>}
    >
      <Facts
        rows={[
          ["Changes", <span className="mono">{proposal.target_entity_id}</span>],
          ["Which is", <span className="mono">{proposal.target_entity_type}</span>],
          ["Proposed by", proposal.producer],
          ["Why not done", reason],
          [
            "Carried out by",
            run && (
              <Anchor className="mono" renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
                {run}
              </Anchor>
            ),
          ],
        ]}
      />
      <div className="below">
        <JsonSource value={payload} label="With" />
      </div>
      {approval !== undefined && (
        <>
          <div className="proposal-actions">
            <Button size="compact-sm" variant={isOpen ? "default" : "filled"} onClick={toggle} aria-expanded={isOpen}>
              {isOpen ? "Not now" : "Decide"}
            </Button>
            <Anchor size="sm" renderRoot={(props) => <Link to="/approvals/$approval" params={{ approval }} {...props} />}>
              See the exact call
            </Anchor>
          </div>
          {isOpen && <Decision approval={approval} />}
        </>
      )}
    </Section>
  );
}

function Decision({ approval: id }: { approval: string }) {
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["approvals", "one", id],
    queryFn: () => charter.get("/v1/approvals/{id}", { params: { path: { id } } }),
  });
  return (
    <div className="below">
      <Loaded query={query}>
        {(approval) => (
          <>
            <Text size="sm" c="dimmed" pb="xs" className="check-detail">
              Bound to <span className="mono">{approval.digest}</span>
            </Text>
            <JsonSource value={approval.call.parameters} label={`Exact call of ${approval.call.tool}`} />
            <div className="below">
              <Decide approval={approval} />
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}
