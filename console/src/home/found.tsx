/** The newest requests whose answers have findings. */

import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { useRecentRequests } from "~/home/recent";
import { Loaded } from "~/parts/loaded";
import { Moment } from "~/parts/moment";
import { Section } from "~/parts/section";
import { FindingCounts } from "~/requests/finding-counts";

/** Requests that are listed. */
const FIRST = 6;

export function NewFindings() {
  const requests = useRecentRequests();
  return (
    <Section title="New findings" lead="The newest answers that found something.">
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
