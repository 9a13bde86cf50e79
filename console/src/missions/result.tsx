/** What a mission came to: claims with what supports them, contradictions, and what was not covered. */

import type { ArtifactShown, components, MissionShown } from "@charter/client";
import { List, Text } from "@mantine/core";

import { contradictionsOf, Contradictions } from "~/missions/contradictions";
import { Citations, type Cited, useCited } from "~/missions/citations";
import { isOver } from "~/missions/words";
import { EmptyState } from "~/parts/empty-state";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { SEVERITIES } from "~/parts/severities";

type Aggregation = components["schemas"]["aggregation_packet"];
type Remark = NonNullable<Aggregation["contradictions"]>[number];

type SupportedClaim = NonNullable<Aggregation["evidence_matrix"]>[number];

/** What a review approved: the fields of the mission's output that are shown here. */
interface Output {
  summary?: string;
  claims?: SupportedClaim[];
  contradictions?: Remark[];
}

interface Aggregated {
  contradictions?: Remark[];
  coverage_gaps?: Remark[];
}

type Reviewed = components["schemas"]["review_packet"];

export function Result({ mission, artifacts }: { mission: MissionShown; artifacts: ArtifactShown[] }) {
  const output: Output | undefined = mission.output;
  const cited = useCited(mission.mission_id, mission.run_id, artifacts);
  const last = (kind: string) => artifacts.findLast((shown) => shown.kind === kind)?.artifact;
  const aggregated = last("aggregation_packet") as Aggregated | undefined;
  const review = last("review_packet") as Reviewed | undefined;
  if (aggregated === undefined && output === undefined) {
    return (
      <EmptyState title={isOver(mission.state) ? "It came to nothing" : "There is no result yet"}>
        {isOver(mission.state)
          ? (mission.reason ?? "The mission ended before its results were brought together. Its artifacts are kept.")
          : "It is shown here as soon as the workers' results were brought together and reviewed."}
      </EmptyState>
    );
  }
  const contradictions = contradictionsOf([...(aggregated?.contradictions ?? []), ...(output?.contradictions ?? [])]);
  return (
    <div className="mission-result">
      <div className="approval-column">
        <Section
          title="Summary"
          actions={
            review?.review_status !== undefined && (
              <Mark tone={review.review_status === "approved" ? "good" : "warn"}>review: {review.review_status.replaceAll("_", " ")}</Mark>
            )
          }
        >
          <Summary text={output?.summary ?? "The review approved no output."} />
        </Section>
        {contradictions.length > 0 && <Contradictions contradictions={contradictions} cited={cited} />}
        <Section title={`Claims (${output?.claims?.length ?? 0})`} lead="Each cites what it rests on; evidence can be verified.">
          <Claims claims={output?.claims ?? []} cited={cited} />
        </Section>
      </div>
      <div className="approval-column">
        {contradictions.length === 0 && (
          <Remarks title="Contradictions" none="The sources do not disagree." remarks={[]} cited={cited} />
        )}
        <Remarks title="Not covered" none="Nothing is said to be missing." remarks={unique(aggregated?.coverage_gaps ?? [])} cited={cited} />
        <Review issues={review?.issues ?? []} edits={review?.required_edits ?? []} />
      </div>
    </div>
  );
}

/** A summary line by line; what is counted or listed in it hangs on its number or dash. */
function Summary({ text }: { text: string }) {
  return (
    <div className="mission-summary">
      {text.split("\n").map((line, at) => (
        <p key={at} data-listed={/^(\d+\.|-) /.test(line)}>
          {line}
        </p>
      ))}
    </div>
  );
}

function Claims({ claims, cited }: { claims: SupportedClaim[]; cited: Cited }) {
  return (
    <List type="ordered" spacing="md" className="claims">
      {claims.map(({ claim, support_refs }) => (
        <List.Item key={claim}>
          <Text size="sm">{claim}</Text>
          <Citations refs={support_refs} cited={cited} />
        </List.Item>
      ))}
    </List>
  );
}

function Review({ issues, edits }: { issues: NonNullable<Reviewed["issues"]>; edits: string[] }) {
  const found = issues.length + edits.length;
  return (
    <Section title="What the review found" actions={found > 0 && <Mark tone="warn">{found}</Mark>}>
      {found === 0 && (
        <Text size="sm" c="dimmed">
          It had nothing to object.
        </Text>
      )}
      <List spacing="xs" size="sm" listStyleType="none">
        {edits.map((edit) => (
          <List.Item key={edit}>
            <Mark tone="info">edit</Mark> {edit}
          </List.Item>
        ))}
        {issues.map(({ severity, message }) => (
          <List.Item key={message}>
            <Mark tone={SEVERITIES[severity]}>{severity}</Mark> {message}
          </List.Item>
        ))}
      </List>
    </Section>
  );
}

interface RemarksProps {
  title: string;
  /** Said where there are none. */
  none: string;
  remarks: Remark[];
  cited: Cited;
  }

function Remarks({ title, none, remarks, cited }: RemarksProps) {
  return (
    <Section title={title} actions={remarks.length > 0 && <Mark tone="warn">{remarks.length}</Mark>}>
      {remarks.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <List spacing="sm" listStyleType="none">
          {remarks.map((remark) => (
            <List.Item key={textOf(remark)}>
              <Text size="sm">{textOf(remark)}</Text>
              {typeof remark !== "string" && <Citations refs={remark.refs ?? []} cited={cited} />}
            </List.Item>
          ))}
        </List>
      )}
    </Section>
  );
}

function textOf(remark: Remark): string {
  return typeof remark === "string" ? remark : remark.description;
}

/** Each remark once: the reviewed output repeats those that were brought together. */
function unique(remarks: Remark[]): Remark[] {
  return [...new Map(remarks.map((remark) => [textOf(remark), remark])).values()];
}
