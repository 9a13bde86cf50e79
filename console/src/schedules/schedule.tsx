/** One schedule: its definition, what can be done with it, and its occurrences. */

import type { EnabledSchedule } from "@charter/client";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Command } from "~/parts/command";
import { durationOf } from "~/parts/duration";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { LongJson } from "~/parts/long-json";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { Actions, EnableAgain } from "~/schedules/actions";
import { Occurrences } from "~/schedules/occurrences";
import { SCHEDULE_TONES, timingOf } from "~/schedules/words";
import { Work } from "~/schedules/work";
import { useCharter } from "~/session/session";

const route = getRouteApi("/schedules/$schedule");

export function OneSchedule() {
  const { schedule: id } = route.useParams();
  const charter = useCharter();
  const query = useQuery({
    queryKey: ["schedules", "one", id],
    queryFn: () => charter.get("/v1/schedules/{id}", { params: { path: { id } } }),
  });
  return <Loaded query={query}>{(schedule) => <Shown key={id} schedule={schedule} />}</Loaded>;
}

function Shown({ schedule }: { schedule: EnabledSchedule }) {
  const { schedule_id: id, title, state, definition, is_outdated: isOutdated } = schedule;
  return (
    <>
      <PageHead
        title={title}
        crumbs={[<Link to="/schedules">Schedules</Link>, <span className="mono">{id}</span>]}
        marks={
          <>
            <Mark tone={SCHEDULE_TONES[state]}>{state}</Mark>
            {isOutdated && <Mark tone="warn">outdated</Mark>}
          </>
        }
        lead={definition.description || undefined}
        actions={<Actions schedule={schedule} />}
      />
      <div className="stacked">
        {isOutdated && (
          <Section title="The catalogue has another definition">
            <Text size="sm" mb="sm">
              The schedule runs as it was enabled. Enable it again to run the registered definition, with your rights.
            </Text>
            <EnableAgain schedule={id} />
          </Section>
        )}
        <Definition schedule={schedule} />
        <Occurrences schedule={id} />
      </div>
    </>
  );
}

const MISSED = {
  run_once: "the latest missed occurrence starts late",
  skip: "missed occurrences do not start",
  run_all: "each missed occurrence starts, the oldest first",
} as const;

const OVERLAP = {
  skip: "an occurrence is skipped while earlier work is unfinished",
  queue: "an occurrence waits while earlier work is unfinished",
  allow: "an occurrence starts while earlier work is unfinished",
} as const;

function Definition({ schedule }: { schedule: EnabledSchedule }) {
  const { definition, state, next_at: next, user, enabled_at: at, hook_path: hook } = schedule;
  const { parameters = {}, parameters_from: taken = {}, jitter_s: jitter } = definition;
  return (
    <Section title="Definition">
      <Facts
        rows={[
          ["When", timingOf(definition.when)],
          ["Starts", <Work run={definition.run} />],
          ["Next", state === "active" && next !== null && <Moment at={next} />],
          [
            "Enabled",
            <>
              by {user}, <Moment at={at} />; its work has the rights of this user
            </>,
          ],
          ["If missed", MISSED[definition.missed ?? "run_once"]],
          ["Overlap", OVERLAP[definition.overlap ?? "skip"]],
          ["Jitter", typeof jitter === "number" && `up to ${durationOf(jitter * 1_000)}`],
          ["Webhook", hook !== undefined && <Command text={`POST ${hook}`} />],
        ]}
      />
      {Object.keys(parameters).length > 0 && (
        <div className="below">
          <LongJson value={parameters} label="Parameters" />
        </div>
      )}
      {Object.keys(taken).length > 0 && (
        <div className="below">
          <LongJson value={taken} label="Parameters from the event" />
        </div>
      )}
      {"plan" in definition.run && (
        <div className="below">
          <LongJson value={definition.run.plan} label="Plan" />
        </div>
      )}
    </Section>
  );
}
