/** One agent skill: what it is for, what it points at, its instruction and files. */

import { Anchor, Group, List, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { Source } from "~/parts/source";
import { useCharter } from "~/session/session";

/** The largest file that is shown, in bytes. */
const MOST_SHOWN_BYTES = 512 << 10;

/** Children that are listed beside the tree, which has them all. */
const MOST_LISTED = 50;

const route = getRouteApi("/skills");

export function SkillPane({ id }: { id: string }) {
  const charter = useCharter();
  const path = { params: { path: { id } } };
  const skill = useQuery({
    queryKey: ["skills", "skill", id],
    queryFn: () => charter.get("/v1/agent-skills/{id}", path),
  });
  const instruction = useQuery({
    queryKey: ["skills", "instruction", id],
    queryFn: () => charter.get("/v1/agent-skills/{id}/instruction", path),
  });
  return (
    <Loaded query={skill}>
      {({ summary, is_folder, scope }) => (
        <article className="panes">
          <header>
            <Group gap="sm">
              <Title order={2} className="mono">
                {id}
              </Title>
              <Mark tone={is_folder ? "info" : "calm"}>{is_folder ? "folder" : "leaf"}</Mark>
              <Mark tone={scope === "tenant" ? "info" : "calm"}>{scope}</Mark>
            </Group>
            <Text mt={4}>{summary}</Text>
          </header>
          {is_folder && <PointsAt id={id} />}
          <Loaded query={instruction}>
            {({ instruction: text }) =>
              text.trim() === "" ? (
                <Text c="dimmed">It has no instruction of its own.</Text>
              ) : (
                <Source text={text} label="Instruction" />
              )
            }
          </Loaded>
          <Files id={id} />
        </article>
      )}
    </Loaded>
  );
}

function PointsAt({ id }: { id: string }) {
  const charter = useCharter();
  const children = useQuery({
    queryKey: ["skills", "first children", id],
    queryFn: () =>
      charter.get("/v1/agent-skills/{id}/children", { params: { path: { id }, query: { limit: MOST_LISTED } } }),
  });
  return (
    <Section title="Points at">
      <Loaded query={children}>
        {({ entries, next }) => (
          <List listStyleType="none" spacing={4}>
            {entries.map((child) => (
              <List.Item key={child.skill_id}>
                <Link
                  from="/skills"
                  to="/skills"
                  search={(last) => ({ ...last, skill: child.skill_id, file: undefined })}
                  className="mono"
                >
                  {child.skill_id}
                </Link>{" "}
                <Text span size="sm" c="dimmed">
                  {child.summary}
                </Text>
              </List.Item>
            ))}
            {next != null && (
              <List.Item>
                <Text span c="dimmed">
                  and more, in the tree.
                </Text>
              </List.Item>
            )}
          </List>
        )}
      </Loaded>
    </Section>
  );
}

function Files({ id }: { id: string }) {
  const charter = useCharter();
  const { file } = route.useSearch();
  const files = useQuery({
    queryKey: ["skills", "files", id],
    queryFn: () => charter.get("/v1/agent-skills/{id}/files", { params: { path: { id } } }),
  });
  return (
    <Loaded query={files}>
      {({ files: found }) =>
        found.length === 0 ? null : (
          <Section title="Files" lead="As they were imported, byte for byte.">
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Path</Table.Th>
                  <Table.Th ta="right">Bytes</Table.Th>
                  <Table.Th>Digest</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {found.map((entry) => (
                  <Table.Tr key={entry.path}>
                    <Table.Td>
                      <Anchor
                        renderRoot={(props) => (
                          <Link from="/skills" to="/skills" search={(last) => ({ ...last, file: entry.path })} {...props} />
                        )}
                        className="mono"
                      >
                        {entry.path}
                      </Anchor>{" "}
                      {entry.executable && <Mark tone="warn">executable</Mark>}
                    </Table.Td>
                    <Table.Td ta="right">{entry.bytes.toLocaleString("en")}</Table.Td>
                    <Table.Td className="mono" title={entry.digest}>
                      {entry.digest.slice(0, 19)}…
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            {file !== undefined && found.some(({ path }) => path === file) && (
              <File id={id} path={file} bytes={found.find(({ path }) => path === file)?.bytes ?? 0} />
            )}
          </Section>
        )
      }
    </Loaded>
  );
}

function File({ id, path, bytes }: { id: string; path: string; bytes: number }) {
  const charter = useCharter();
  const isShown = bytes <= MOST_SHOWN_BYTES;
  const text = useQuery({
    queryKey: ["skills", "file", id, path],
    queryFn: async () => {
      const words = path.split("/").map(encodeURIComponent).join("/");
      const response = await charter.download(`/v1/agent-skills/${encodeURIComponent(id)}/files/${words}`);
      return response.text();
    },
    enabled: isShown,
  });
  if (!isShown) {
    return (
      <Text mt="md" c="dimmed">
        This file is too large to be shown here. <span className="mono">charter skills show {id} --file {path}</span>{" "}
        prints it.
      </Text>
    );
  }
  return <div className="file-shown"><Loaded query={text}>{(found) => <Source text={found} label={path} />}</Loaded></div>;
}
