/** Links to the work of schedules: the document that one starts, and the work that an occurrence started. */

import type { ScheduleDefinition, StartedWork } from "@charter/client";
import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { workOf } from "~/schedules/words";

/** The work that a schedule starts. */
export function Work({ run }: { run: ScheduleDefinition["run"] }) {
  const { what, kind, id } = workOf(run);
  if (kind === undefined || id === undefined) return <span title={what}>{what}</span>;
  return (
    <>
      {what}{" "}
      <Anchor className="mono" underline="always" renderRoot={(props) => <Link to="/catalogue/$kind/$id" params={{ kind, id }} {...props} />}>
        {id}
      </Anchor>
    </>
  );
}

/** The work that an occurrence started. */
export function Started({ work }: { work: StartedWork }) {
  if ("request" in work) {
    return (
      <Anchor underline="always" renderRoot={(props) => <Link to="/requests/$request" params={{ request: work.request }} {...props} />}>request</Anchor>
    );
  }
  if ("run" in work) {
    return <Anchor underline="always" renderRoot={(props) => <Link to="/runs/$run" params={{ run: work.run }} {...props} />}>run</Anchor>;
  }
  if ("runs" in work) {
    return (
      <>
        {work.runs.map((run, at) => (
          <span key={run}>
            {at > 0 && ", "}
            <Anchor underline="always" renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
              run {at + 1}
            </Anchor>
          </span>
        ))}
      </>
    );
  }
  return <Anchor underline="always" renderRoot={(props) => <Link to="/missions/$mission" params={{ mission: work.mission }} {...props} />}>mission</Anchor>;
}
