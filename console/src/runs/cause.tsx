/** The cause of a failed run: first on its screen. */

import type { RunShown } from "@charter/client";
import { Alert, Anchor, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";

import { causeOf } from "~/runs/cause-of";
import { inWords } from "~/runs/words";

export function Cause({ run }: { run: RunShown }) {
  const cause = causeOf(run);
  if (cause === undefined) return null;
  return (
    <Alert
      variant="outline"
      color="red"
      icon={<IconAlertTriangle size={18} />}
      title={cause.code === undefined ? `The run is ${inWords(run.status)}` : <span className="mono">{cause.code}</span>}
      className="failure cause"
      role="region"
    >
      <Text>{cause.message}</Text>
      {cause.step !== undefined && (
        <Text size="sm" mt={4}>
          At the step{" "}
          <Anchor
            className="mono"
            underline="always"
            renderRoot={(props) => <Link to="/runs/$run" params={{ run: run.run_id }} search={{ step: cause.step }} {...props} />}
          >
            {cause.step}
          </Anchor>
          {cause.retryable !== undefined && (cause.retryable ? ". The same call may succeed later." : ". The same call would fail again.")}
        </Text>
      )}
      {cause.left.length > 0 && (
        <Text size="sm" mt={4}>
          Not taken back: <span className="mono">{cause.left.join(", ")}</span>
        </Text>
      )}
    </Alert>
  );
}
