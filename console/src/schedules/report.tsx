/** The report of an occurrence: new, unchanged and resolved findings, each with the evidence that supports it. */

import { CharterError, type ReportItem, type ScheduleOccurrence, type ScheduleReport } from "@charter/client";
import { Anchor, Button, List, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { SEVERITIES } from "~/parts/severities";
import { EvidenceLinks } from "~/requests/cited";
import { CHANGES, isUnfinished, numbersOf, OCCURRENCE_TONES } from "~/schedules/words";
import { Started } from "~/schedules/work";
import { useCharter } from "~/session/session";

/** Items of a section that are drawn at first. */
const FIRST = 50;

/** How often an occurrence is read again until its work has ended, in milliseconds. */
const UNTIL_ENDED_MS = 3_000;

/** The key of the latest occurrence with a report. */
const LATEST = "latest";

const route = getRouteApi("/schedules/$schedule/report");

export function Report() {
  const { schedule: id } = route.useParams();
  const { occurrence: key = LATEST } = route.useSearch();
  const charter = useCharter();
  const schedule = useQuery({
    queryKey: ["schedules", "one", id],
    queryFn: () => charter.get("/v1/schedules/{id}", { params: { path: { id } } }),
  });
  const occurrence = useQuery({
    queryKey: ["schedules", "report", id, key],
    queryFn: () =>
      charter.get("/v1/schedules/{id}/occurrences/{occurrence}", { params: { path: { id, occurrence: key } } }),
    refetchInterval: ({ state }) => (state.data !== undefined && isUnfinished(state.data) ? UNTIL_ENDED_MS : false),
  });
  const title = schedule.data?.title ?? id;
  const hasNone = key === LATEST && occurrence.error instanceof CharterError && occurrence.error.status === 404;
  return (
    <>
      <PageHead
        title={`Report: ${title}`}
        crumbs={[
          <Link to="/schedules">Schedules</Link>,
          <Link to="/schedules/$schedule" params={{ schedule: id }}>
            {title}
          </Link>,
          <span>Report</span>,
        ]}
        marks={occurrence.data !== undefined && <Mark tone={OCCURRENCE_TONES[occurrence.data.state]}>{occurrence.data.state}</Mark>}
        lead={occurrence.data && <Lead occurrence={occurrence.data} />}
        actions={occurrence.data?.report && <Download schedule={id} occurrence={occurrence.data.occurrence} />}
      />
      {hasNone ? <NoReport /> : <Loaded query={occurrence}>{({ report, note }) => <Shown report={report} note={note} />}</Loaded>}
    </>
  );
}

function Lead({ occurrence: { due_at: at, report, work } }: { occurrence: ScheduleOccurrence }) {
  return (
    <>
      Occurrence of <Moment at={at} />
      {report !== undefined && `: ${numbersOf(report)}`}
      {work !== undefined && (
        <>
          {" "}
          (<Started work={work} />)
        </>
      )}
    </>
  );
}

function Download({ schedule, occurrence }: { schedule: string; occurrence: string }) {
  const charter = useCharter();
  const download = useMutation({
    mutationFn: async () => {
      const path = `/v1/schedules/${encodeURIComponent(schedule)}/occurrences/${encodeURIComponent(occurrence)}/report`;
      const response = await charter.download(path);
      save(await response.blob(), `${schedule}.md`);
    },
  });
  return (
    <>
      <Button size="compact-md" variant="default" loading={download.isPending} onClick={() => download.mutate()}>
        Download as Markdown
      </Button>
      {download.error !== null && <Failure error={download.error} />}
    </>
  );
}

/** Saves bytes as a file of the user. */
function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function Shown({ report, note }: { report: ScheduleReport | undefined; note: string | undefined }) {
  if (report === undefined) return <NoReport note={note} />;
  if (report.items.length === 0) {
    return <EmptyState title="No findings">Neither this occurrence nor the previous one found anything.</EmptyState>;
  }
  return (
    <div className="stacked">
      {CHANGES.map(({ change, title, lead, tone }) => {
        const items = report.items.filter((item) => item.change === change);
        if (items.length === 0 && report[change] === 0) return null;
        return (
          <Section key={change} title={`${title} (${report[change]})`} lead={lead} actions={<Mark tone={tone}>{change}</Mark>}>
            <Items items={items} label={`${title} findings`} />
          </Section>
        );
      })}
      {report.omitted > 0 && (
        <Text size="sm" c="dimmed">
          {report.omitted} more findings are not in the report, because a report has a bounded number of items.
        </Text>
      )}
    </div>
  );
}

function Items({ items, label }: { items: ReportItem[]; label: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? items : items.slice(0, FIRST);
  return (
    <>
      <List listStyleType="none" spacing="sm" aria-label={label}>
        {shown.map((item) => (
          <List.Item key={item.report_item_id} id={item.report_item_id}>
            <Item item={item} />
          </List.Item>
        ))}
      </List>
      {shown.length < items.length && (
        <Button variant="default" size="compact-sm" mt="sm" onClick={() => setIsWhole(true)}>
          Show all {items.length}
        </Button>
      )}
    </>
  );
}

function Item({ item }: { item: ReportItem }) {
  const { severity, resource_type: type, resource_id: resource, rule_id: rule, skill_id: skill, evidence_ids: evidence } = item;
  return (
    <>
      <Text className="hit-title">
        <Mark tone={SEVERITIES[severity]}>{severity}</Mark> {type} <span className="mono">{resource}</span>
      </Text>
      <Text size="sm" c="dimmed" className="hit-note">
        Rule <span className="mono">{rule}</span> of{" "}
        <Anchor
          className="mono"
          size="sm"
          underline="always"
          renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind: "skill", id: skill }} {...props} />}
        >
          {skill}
        </Anchor>
      </Text>
      <EvidenceLinks ids={evidence} />
    </>
  );
}

function NoReport({ note }: { note?: string | undefined }) {
  return (
    <EmptyState title="No report yet">
      {note ?? "A report is written when the work of an occurrence has ended."}
    </EmptyState>
  );
}
