/** The channels of the tenant: what rules send to each, and a test message. */

import type { NotificationChannel } from "@charter/client";
import { Button, List, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";

import { CHANNEL_KINDS } from "~/notifications/words";
import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** Reads the channels of the tenant. */
export function useChannels() {
  const charter = useCharter();
  return useQuery({ queryKey: ["notifications", "channels"], queryFn: () => charter.get("/v1/notifications/channels") });
}

export function Channels() {
  const query = useChannels();
  return (
    <Section title="Channels" lead="Destinations of messages, from the configuration. Rules send topics to them.">
      <Loaded query={query}>
        {(channels) =>
          channels.length === 0 ? (
            <EmptyState title="No channels yet" command="charter config schema">
              The configuration has channels and rules below <span className="mono">notifications</span>: Slack, e-mail or
              webhooks. The command describes every setting.
            </EmptyState>
          ) : (
            <List listStyleType="none" className="queue" aria-label="Channels">
              {channels.map((channel) => (
                <List.Item key={channel.channel}>
                  <Channel channel={channel} />
                </List.Item>
              ))}
            </List>
          )
        }
      </Loaded>
    </Section>
  );
}

function Channel({ channel: { channel: name, kind, topics, deciders } }: { channel: NotificationChannel }) {
  const charter = useCharter();
  const test = useMutation({
    mutationFn: () => charter.post("/v1/notifications/channels/{name}/test", { params: { path: { name } } }),
  });
  return (
    <>
      <div className="queue-head">
        <span className="mono">{name}</span>
        <Mark>{CHANNEL_KINDS[kind]}</Mark>
        {deciders > 0 && (
          <Text span size="sm" c="dimmed">
            {deciders} {deciders === 1 ? "person" : "people"} may decide with buttons
          </Text>
        )}
        <Button size="compact-xs" variant="default" aria-label={`Test ${name}`} loading={test.isPending} onClick={() => test.mutate()}>
          Send a test
        </Button>
      </div>
      <Text size="sm" className="queue-what">
        {topics.length === 0 ? "No rule sends anything to it." : topics.join(", ")}
      </Text>
      {test.data !== undefined && (
        <Text size="sm" role="status" className="queue-what">
          <Mark tone={test.data.accepted ? "good" : "bad"}>{test.data.accepted ? "accepted" : "not accepted"}</Mark>{" "}
          {test.data.failure ?? `Message ${test.data.message_id}`}
        </Text>
      )}
      {test.error !== null && (
        <div className="below">
          <Failure error={test.error} />
        </div>
      )}
    </>
  );
}
