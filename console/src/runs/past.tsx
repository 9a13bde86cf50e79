/** Says that the run is shown as it was, and which event it is shown after while another one is read. */

import { Alert, Button, Group, Loader, Text } from "@mantine/core";

import { Failure } from "~/parts/failure";
import type { RunAt, RunThen } from "~/runs/run-at";
import { inWords } from "~/runs/words";

interface Props {
  /** The event that is asked for. */
  at: number;
  last: number;
  wanted: RunAt;
  /** What is shown. */
  then: RunThen;
  onNow: () => void;
}

export function Past({ at, last, wanted, then, onNow }: Props) {
  const { isReading, error, retry } = wanted;
  return (
    <>
      <Alert variant="light" color="lake" className="past" mt="sm" p="xs">
        <Group justify="space-between">
          <Text size="sm">
            {then.sequence >= last ? (
              <>Event {at} of {last} is not read yet. Graph, step and values are those of now.</>
            ) : (
              <>
                As of event {then.sequence} of {last}: the run was <strong>{inWords(then.status)}</strong>. Graph, step
                and values are those of then.
              </>
            )}
          </Text>
          <Group gap="sm">
            {isReading && <Loader size="xs" role="status" aria-label={`Reading event ${at}`} />}
            <Button size="compact-sm" variant="default" onClick={onNow}>
              Back to now
            </Button>
          </Group>
        </Group>
      </Alert>
      {error !== null && (
        <div className="below">
          <Failure error={error} onRetry={retry} />
        </div>
      )}
    </>
  );
}
