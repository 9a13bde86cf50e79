/** New findings: those of the latest reports of schedules; without a report, those of the newest requests. */

import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { type LatestReport, useLatestReports, useRecentRequests } from "~/home/recent";
import { Loaded, Waiting } from "~/parts/loaded";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { FindingCounts } from "~/requests/finding-counts";
import { countedBySeverity, numbersOf } from "~/schedules/words";

/** Entries that are listed. */
const FIRST = 6;

export function NewFindings() {
  const { reports, isPending } = useLatestReports();
  if (reports.length > 0) return <OfSchedules reports={reports} />;
  if (isPending) {
    return (
      <Section title="New findings">
        <Waiting />
      </Section>
    );
  }
  return <OfRequests />;
}

function OfSchedules({ reports }: { reports: LatestReport[] }) {
  const found = reports
    .filter(({ occurrence }) => (occurrence.report?.new ?? 0) > 0)
    .sort((one, other) => other.occurrence.due_at.localeCompare(one.occurrence.due_at));
  return (
    <Section title="New findings" lead="The latest reports of schedules, compared with the reports before.">
      {found.length === 0 ? (
        <Text size="sm">
          {reports.length === 1 ? "The latest report of a schedule has" : `The latest reports of ${reports.length} schedules have`} no
          new finding.
        </Text>
      ) : (
        <List listStyleType="none" className="queue" aria-label="New findings">
          {found.slice(0, FIRST).map((latest) => (
            <List.Item key={latest.schedule.schedule_id}>
              <OfSchedule latest={latest} />
            </List.Item>
          ))}
        </List>
      )}
      {found.length > FIRST && (
        <Anchor size="sm" renderRoot={(props) => <Link to="/schedules" {...props} />}>
          All schedules
        </Anchor>
      )}
    </Section>
  );
}

function OfSchedule({ latest: { schedule, occurrence } }: { latest: LatestReport }) {
  const { report, due_at: at, occurrence: key } = occurrence;
  const items = (report?.items ?? []).filter(({ change }) => change === "new");
  return (
    <>
      <div className="queue-head">
        <FindingCounts findings={countedBySeverity(items)} />
        <Anchor
          renderRoot={(props) => (
            <Link to="/schedules/$schedule/report" params={{ schedule: schedule.schedule_id }} search={{ occurrence: key }} {...props} />
          )}
        >
          {schedule.title}
        </Anchor>
      </div>
      <Text size="sm" c="dimmed">
        {report !== undefined && `${numbersOf(report)}, `}
        <Moment at={at} />
      </Text>
    </>
  );
}

function OfRequests() {
  const requests = useRecentRequests();
  return (
    <Section title="New findings" lead="The newest answers with findings. No schedule has a report.">
      <Loaded query={requests}>
        {({ entries }) => {
          const found = entries.filter(({ findings }) => findings.length > 0).slice(0, FIRST);
          if (found.length === 0) return <Text size="sm">The last {entries.length} requests found nothing.</Text>;
          return (
            <List listStyleType="none" className="queue" aria-label="New findings">
              {found.map(({ request_id: request, input, findings, user_id: user, created_at: at }) => (
                <List.Item key={request}>
                  <div className="queue-head">
                    <FindingCounts findings={findings} />
                    <Anchor renderRoot={(props) => <Link to="/requests/$request" params={{ request }} {...props} />}>{input}</Anchor>
                  </div>
                  <Text size="sm" c="dimmed">
                    {user} asked <Moment at={at} />
                  </Text>
                </List.Item>
              ))}
            </List>
          );
        }}
      </Loaded>
    </Section>
  );
}
