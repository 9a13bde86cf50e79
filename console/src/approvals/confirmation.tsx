/** A plan that waits for a confirmation, as an entry of a queue. Its run shows the plan and takes the confirmation. */

import type { PendingConfirmation } from "@charter/client";
import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { inWords, runTone } from "~/runs/words";

export function Confirmation({ confirmation }: { confirmation: PendingConfirmation }) {
  const { run_id: run, run_title: title, requested_by: by, requested_at: at } = confirmation;
  return (
    <>
      <div className="queue-head">
        <Mark tone={runTone("awaiting_confirmation")}>{inWords("awaiting_confirmation")}</Mark>
        <Anchor fw={600} renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>
          {title}
        </Anchor>
      </div>
      <Text size="sm" c="dimmed">
        Requested {by !== null && `by ${by} `}
        <Moment at={at} />
      </Text>
    </>
  );
}
