/** Enables a schedule: one that a package brings, or a definition that is in no package. */

import type { EnabledSchedule, Listed } from "@charter/client";
import { Anchor, Button, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useEnable } from "~/schedules/enabling";
import { ScheduleForm } from "~/schedules/form";
import { useCharter } from "~/session/session";

/** Schedules that are listed. */
const MOST = 1_000;

export function Enable() {
  const charter = useCharter();
  const registered = useQuery({
    queryKey: ["catalogue", "schedules"],
    queryFn: () =>
      charter.get("/v1/list/{kind}", { params: { path: { kind: "schedule" }, query: { limit: MOST, status: "active" } } }),
  });
  const enabled = useQuery({
    queryKey: ["schedules", "enabled"],
    queryFn: () => charter.get("/v1/schedules", { params: { query: { limit: MOST } } }),
  });
  return (
    <>
      <PageHead
        title="Enable a schedule"
        crumbs={[<Link to="/schedules">Schedules</Link>, <span>Enable</span>]}
        lead="Its work runs with your rights, as they are now. You count as a requester of the work, so you cannot give an approval that needs four eyes."
      />
      <div className="stacked">
        <Section title="From a package" lead="The definition is used as it is registered now.">
          <Loaded query={registered}>
            {({ entries }) => <Registered schedules={entries} enabled={enabled.data?.entries ?? []} />}
          </Loaded>
        </Section>
        <Section title="By definition" lead="A schedule that is in no package.">
          <ScheduleForm />
        </Section>
      </div>
    </>
  );
}

function Registered({ schedules, enabled }: { schedules: Listed[]; enabled: EnabledSchedule[] }) {
  const { enable, secret } = useEnable();
  if (schedules.length === 0) return <Text size="sm">No registered package has a schedule.</Text>;
  const known = new Map(enabled.map((schedule) => [schedule.schedule_id, schedule]));
  return (
    <>
      <List listStyleType="none" className="queue" aria-label="Schedules of packages">
        {schedules.map(({ id, title, summary }) => {
          const found = known.get(id);
          return (
            <List.Item key={id}>
              <div className="queue-head">
                <Anchor fw={600} renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind: "schedule", id }} {...props} />}>
                  {title ?? id}
                </Anchor>
                <span className="mono quiet">{id}</span>
                {found !== undefined && <Mark tone={found.is_outdated ? "warn" : "good"}>{found.is_outdated ? "enabled, outdated" : "enabled"}</Mark>}
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-label={`Enable ${title ?? id}`}
                  disabled={enable.isPending}
                  onClick={() => enable.mutate({ schedule_id: id })}
                >
                  {found === undefined ? "Enable" : "Enable again"}
                </Button>
              </div>
              {summary !== null && summary !== undefined && (
                <Text size="sm" c="dimmed">
                  {summary}
                </Text>
              )}
            </List.Item>
          );
        })}
      </List>
      {enable.error !== null && (
        <div className="below">
          <Failure error={enable.error} />
        </div>
      )}
      {secret}
    </>
  );
}
