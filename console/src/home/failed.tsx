/** Failed runs of the last days. */

import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { DAYS, useRecentRuns } from "~/home/recent";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { inWords, isWrong, runTone } from "~/runs/words";

/** Runs that are listed. */
const FIRST = 6;

export function FailedRuns() {
  const recent = useRecentRuns();
  const failed = (recent.data?.entries ?? []).filter(({ status }) => isWrong(status));
  return (
    <Section
      title="Runs that went wrong"
      lead={`In the last ${DAYS} days. Each leads to its cause.`}
      actions={failed.length > 0 && <Mark tone="bad">{failed.length}</Mark>}
    >
      <Loaded query={recent}>
        {() =>
          failed.length === 0 ? (
            <Text size="sm">No run went wrong.</Text>
          ) : (
            <List listStyleType="none" className="queue" aria-label="Runs that went wrong">
              {failed.slice(0, FIRST).map(({ run_id: run, title, status, updated_at: at }) => (
                <List.Item key={run}>
                  <div className="queue-head">
                    <Mark tone={runTone(status)}>{inWords(status)}</Mark>
                    <Anchor renderRoot={(props) => <Link to="/runs/$run" params={{ run }} {...props} />}>{title}</Anchor>
                  </div>
                  <Text size="sm" c="dimmed">
                    Ended <Moment at={at} />
                  </Text>
                </List.Item>
              ))}
            </List>
          )
        }
      </Loaded>
      {failed.length > FIRST && (
        <Anchor size="sm" renderRoot={(props) => <Link to="/runs" search={{ status: "ended" }} {...props} />}>
          All runs that ended
        </Anchor>
      )}
    </Section>
  );
}
