/** One record of evidence: what it shows, where the original is, what it supports, and its verification. */

import type { EvidenceAttachment, EvidenceShown } from "@charter/client";
import { Anchor, List, Text } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Verification } from "~/evidence/verification";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { inWords } from "~/runs/words";
import { useCharter } from "~/session/session";

const route = getRouteApi("/evidence/$id");

export function OneRecord() {
  const { id } = route.useParams();
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["evidence", "one", id],
    queryFn: async () => (await charter.get("/v1/evidence/{id}", { params: { path: { id } } })) as EvidenceShown,
  });
  return <Loaded query={query}>{(record) => <Shown key={id} record={record} />}</Loaded>;
}

function Shown({ record }: { record: EvidenceShown }) {
  const { source, payload_absent: absent } = record;
  return (
    <>
      <PageHead
        title={record.summary}
        crumbs={[<Link to="/evidence">Evidence</Link>, <span>{record.id}</span>]}
        marks={<Mark>{inWords(record.type)}</Mark>}
        lead={
          <>
            Captured <Moment at={record.captured_at} /> from {source.system}.
          </>
        }
      />
      <div className="approval-parts first-parts">
        <div className="approval-column">
          <Section title="Where it is from">
            <Facts
              rows={[
                ["System", <span className="mono">{source.system}</span>],
                ["Subject", <span className="mono">{source.native_id}</span>],
                ["Region", source.region],
                ["Account", source.account_id],
                ["Call", source.api_call && <span className="mono">{source.api_call}</span>],
                ["Captured", record.captured_at],
                ["Redaction class", record.redaction_class],
              ]}
            />
            <List listStyleType="none" spacing={4} mt="sm">
              {record.console_links.map(({ label, href }) => (
                <List.Item key={href}>
                  <Anchor href={href} target="_blank" rel="noreferrer noopener">
                    {label} <IconExternalLink size={14} aria-label="in a new tab" />
                  </Anchor>
                </List.Item>
              ))}
            </List>
          </Section>
          <Section title="What it supports" lead="A record is attached to what rests on it. Later attachments are leaves of their own.">
            <Attachments attached={record.attached_to ?? []} />
          </Section>
        </div>
        <div className="approval-column">
          <Verification record={record} />
        </div>
      </div>
      <Section title="Payload">
        {absent === undefined || absent === null ? (
          <LongJson value={record.payload} label="What the tool was asked and answered" />
        ) : (
          <Text>
            <Mark tone="warn">{absent.reason}</Mark> {absent.note}
          </Text>
        )}
      </Section>
    </>
  );
}

/** How many attachments are shown; a record of a large reading supports hundreds of findings. */
const MOST = 12;

function Attachments({ attached }: { attached: EvidenceAttachment[] }) {
  if (attached.length === 0) return <Text size="sm">Nothing yet.</Text>;
  const runs = attached.flatMap(({ run_id }) => run_id ?? []);
  const others = attached.flatMap((one) =>
    Object.entries(one).flatMap(([kind, id]) => (kind === "run_id" || !id ? [] : [{ kind: inWords(kind.replace(/_id$/, "")), id }])),
  );
  return (
    <List listStyleType="none" spacing={4}>
      {runs.map((run) => (
        <List.Item key={run}>
          <span className="quiet">run</span>{" "}
          <Anchor className="mono" renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
            {run}
          </Anchor>
        </List.Item>
      ))}
      {others.slice(0, MOST).map(({ kind, id }) => (
        <List.Item key={`${kind} ${id}`}>
          <span className="quiet">{kind}</span>{" "}
          {kind === "finding" ? (
            <Anchor className="mono" renderRoot={(props) => <Link to="/evidence" search={{ of: id }} {...props} />}>
              {id}
            </Anchor>
          ) : (
            <span className="mono">{id}</span>
          )}
        </List.Item>
      ))}
      {others.length > MOST && <List.Item>and {others.length - MOST} more</List.Item>}
    </List>
  );
}
