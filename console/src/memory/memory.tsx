/** One memory: what it says, its versions, and the word on a proposed one. */

import type { MemoryShown } from "@charter/client";
import { Button, Group, Modal, Text, Timeline } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { StateMark } from "~/memory/state-mark";
import { Difference } from "~/parts/difference";
import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const route = getRouteApi("/memory/$id");

export function Memory() {
  const charter = useCharter();
  const { id } = route.useParams();
  const path = { params: { path: { id } } };
  const memory = useQuery({
    queryKey: ["memory", "shown", id],
    queryFn: () => charter.get("/v1/memories/{id}", path),
  });
  const history = useQuery({
    queryKey: ["memory", "history", id],
    queryFn: () => charter.get("/v1/memories/{id}/history", path),
  });
  return (
    <Loaded query={memory}>
      {(shown) => (
        <>
          <PageHead
            title={shown.memory?.title ?? "Removed memory"}
            crumbs={[<Link to="/memory">Memory</Link>, <span className="mono">{id}</span>]}
            marks={<StateMark shown={shown} />}
            actions={shown.removed_at === undefined && <Forget id={id} />}
          />
          <Loaded query={history}>
            {(versions) => (
              <div className="panes">
                <Proposal versions={versions} />
                <div className="sections">
                  <About shown={shown} />
                  <Section title="Versions" lead="Newest first. Each change is a version; what was stays readable.">
                    <Versions versions={versions} />
                  </Section>
                </div>
              </div>
            )}
          </Loaded>
        </>
      )}
    </Loaded>
  );
}

function About({ shown }: { shown: MemoryShown }) {
  const { memory } = shown;
  return (
    <Section title="What it says">
      {memory === undefined ? (
        <Text c="dimmed">Its content was removed. That it existed stays.</Text>
      ) : (
        <Text className="prose">{memory.content}</Text>
      )}
      <div className="section-body">
        <Facts
          rows={[
            ["Tags", <Tags tags={memory?.tags ?? []} />],
            ["Source", memory?.metadata?.source?.replaceAll("_", " ")],
            ["Importance", memory?.metadata?.importance],
            ["Owner", shown.owner],
            ["Seen by", shown.visibility === "private" ? "its owner alone" : "everybody of the tenant"],
            ["Kept until", shown.expires_at === undefined ? "for good" : <Moment at={shown.expires_at} />],
            ["Removed", shown.removed_at === undefined ? undefined : <Moment at={shown.removed_at} />],
          ]}
        />
      </div>
    </Section>
  );
}

function Tags({ tags }: { tags: string[] }) {
  return (
    <span className="marks">
      {tags.map((tag) => (
        <Link key={tag} to="/memory" search={{ tag }}>
          <Mark>{tag}</Mark>
        </Link>
      ))}
    </span>
  );
}

/** The version that waits, compared with the one in force. */
function Proposal({ versions }: { versions: MemoryShown[] }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const proposed = versions.find(({ state }) => state === "proposed");
  const current = versions.find(({ state }) => state === "accepted");
  const decide = useMutation({
    mutationFn: (word: "accept" | "reject") => {
      const path = { id: proposed?.memory_id ?? "", version: proposed?.version ?? 0 };
      return word === "accept"
        ? charter.post("/v1/memories/{id}/versions/{version}/accept", { params: { path } })
        : charter.post("/v1/memories/{id}/versions/{version}/reject", { params: { path } });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["memory"] }),
  });
  if (proposed?.memory === undefined) return null;
  const writer = proposed.agent_id === undefined ? proposed.author : `the agent ${proposed.agent_id} for ${proposed.author}`;
  return (
    <Section
      title={`Version ${proposed.version} waits for a word`}
      lead={
        <>
          Written by {writer}, <Moment at={proposed.at} />.
          {current === undefined ? " Nothing is in force until it is accepted." : " Below is what it would change."}
        </>
      }
    >
      <Difference
        label="What the proposal changes"
        before={current?.memory === undefined ? "" : textOf(current.memory)}
        after={textOf(proposed.memory)}
      />
      {decide.error !== null && <Failure error={decide.error} />}
      <Group mt="md" gap="sm">
        <Button size="xs" loading={decide.isPending} onClick={() => decide.mutate("accept")}>
          Accept
        </Button>
        <Button size="xs" variant="default" disabled={decide.isPending} onClick={() => decide.mutate("reject")}>
          Reject
        </Button>
      </Group>
    </Section>
  );
}

/** A memory as a text that can be compared. */
function textOf(memory: NonNullable<MemoryShown["memory"]>): string {
  const { title, content, tags, metadata } = memory;
  return `${title}\n\n${content}\n\nTags: ${tags.join(", ")}\nImportance: ${metadata?.importance ?? "not said"}\n`;
}

function Versions({ versions }: { versions: MemoryShown[] }) {
  return (
    <Timeline bulletSize={14} lineWidth={2} active={-1}>
      {versions.map((version) => (
        <Timeline.Item
          key={version.version}
          title={
            <>
              Version {version.version} <StateMark shown={version} />
            </>
          }
        >
          <Text size="sm" c="dimmed">
            <Moment at={version.at} /> by {version.author}
            {version.agent_id !== undefined && `, written by the agent ${version.agent_id}`}
            {version.supersedes !== undefined && `; supersedes version ${version.supersedes}`}
            {version.decided_by !== undefined && `; decided by ${version.decided_by}`}
          </Text>
          <Text className="prose" mt={4}>
            {version.memory?.content}
          </Text>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}

/** Removes the content for good, once it was said twice. */
function Forget({ id }: { id: string }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [opened, { open, close }] = useDisclosure(false);
  const remove = useMutation({
    mutationFn: () => charter.delete("/v1/memories/{id}", { params: { path: { id } } }),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: ["memory"] }),
  });
  return (
    <>
      <Button size="xs" variant="default" onClick={open}>
        Remove
      </Button>
      <Modal opened={opened} onClose={close} title="Remove this memory?">
        <Text>
          The content of all its versions is overwritten. That it existed, when and whose it was, stays. This cannot be
          undone.
        </Text>
        {remove.error !== null && <Failure error={remove.error} />}
        <Group mt="md" gap="sm">
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Remove the content
          </Button>
          <Button variant="default" onClick={close}>
            Keep it
          </Button>
        </Group>
      </Modal>
    </>
  );
}
