/** One package: everything that happened to it, and what a version changed. */

import type { DocumentVersionChange, PackageShown, VersionDiff } from "@charter/client";
import { Button, Group, NativeSelect, Radio, Table, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { RollBack } from "~/packages/roll-back";
import { EmptyState } from "~/parts/empty-state";
import { JsonDifference } from "~/parts/difference";
import { Failure } from "~/parts/failure";
import { Loaded, Waiting } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const route = getRouteApi("/packages/$scope/$name");

export function PackageHistory() {
  const charter = useCharter();
  const { scope, name } = route.useParams();
  const history = useQuery({
    queryKey: ["packages", "history", scope, name],
    queryFn: () =>
      charter.get("/v1/packages/{name}/history", { params: { path: { name }, query: { scope } } }),
  });
  return (
    <>
      <PageHead
        title={name}
        crumbs={[
          <Link key="packages" to="/packages">
            Packages
          </Link>,
          <span key="name" className="mono">
            {name}
          </span>,
        ]}
        marks={<Mark tone={scope === "tenant" ? "info" : "calm"}>{scope}</Mark>}
        actions={
          <Button
            variant="default"
            size="xs"
            renderRoot={(props) => (
              <Link to="/catalogue/$kind" params={{ kind: "skill" }} search={{ package: name }} {...props} />
            )}
          >
            Its documents
          </Button>
        }
      />
      <Loaded query={history}>
        {(entries) =>
          entries.length === 0 ? (
            <EmptyState title="There is no such package">Nothing of this name was ever registered here.</EmptyState>
          ) : (
            <div className="panes">
              <History entries={[...entries].reverse()} />
              <Changes entries={entries} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}

const CHANGES: Record<PackageShown["change"], { word: string; tone: Tone }> = {
  registered: { word: "registered", tone: "good" },
  rolled_back: { word: "rolled back", tone: "warn" },
  unregistered: { word: "unregistered", tone: "bad" },
};

function History({ entries }: { entries: PackageShown[] }) {
  const { scope, name } = route.useParams();
  const navigate = route.useNavigate();
  const again = revisionsToReturnTo(entries);
  const inForce = entries[0]?.change === "unregistered" ? undefined : entries[0]?.version;
  const compare = (from: string) =>
    void navigate({ search: (last) => ({ ...last, from, to: inForce, open: undefined }), replace: true, resetScroll: false });
  return (
    <Section title="What happened to it" lead="Newest first. A version's files are kept, so that it can be put in force again.">
      <div className="wide" tabIndex={0} role="region" aria-label="History, to be scrolled sideways">
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Version</Table.Th>
              <Table.Th>What</Table.Th>
              <Table.Th ta="right">Documents</Table.Th>
              <Table.Th>By</Table.Th>
              <Table.Th>When</Table.Th>
              <Table.Th ta="right">Revision</Table.Th>
              <Table.Th>Content</Table.Th>
              <Table.Th>
                <span className="unseen">Actions</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {entries.map((entry) => (
              <Table.Tr key={entry.revision}>
                <Table.Td>{entry.version}</Table.Td>
                <Table.Td>
                  <Mark tone={CHANGES[entry.change].tone}>{CHANGES[entry.change].word}</Mark>
                </Table.Td>
                <Table.Td className="number">{entry.documents}</Table.Td>
                <Table.Td>{entry.actor}</Table.Td>
                <Table.Td>
                  <Moment at={entry.at} />
                </Table.Td>
                <Table.Td className="number">{entry.revision}</Table.Td>
                <Table.Td className="mono" title={entry.content_hash}>
                  {entry.content_hash.slice(0, 19)}…
                </Table.Td>
                <Table.Td>
                  {again.has(entry.revision) && (
                    <RollBack scope={scope} name={name} version={entry.version} onCompare={() => compare(entry.version)} />
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Section>
  );
}

/** The newest entry of each version that is not in force, by its revision. `entries` are newest first. */
function revisionsToReturnTo(entries: PackageShown[]): ReadonlySet<number> {
  const first = entries[0];
  const seen = new Set(first === undefined || first.change === "unregistered" ? [] : [first.version]);
  const found = new Set<number>();
  for (const { version, revision, change } of entries) {
    if (change === "unregistered" || seen.has(version)) continue;
    seen.add(version);
    found.add(revision);
  }
  return found;
}

/** What one version changed against another. */
function Changes({ entries }: { entries: PackageShown[] }) {
  const charter = useCharter();
  const { scope, name } = route.useParams();
  const { from, to } = route.useSearch();
  const navigate = route.useNavigate();
  const versions = [...new Set(entries.map(({ version }) => version))].reverse();
  const diff = useInfiniteQuery({
    queryKey: ["packages", "diff", scope, name, from, to],
    queryFn: ({ pageParam }) =>
      charter.get("/v1/packages/{name}/diff", {
        params: {
          path: { name },
          query: {
            scope,
            ...(from === undefined ? {} : { from }),
            ...(to === undefined ? {} : { to }),
            ...(pageParam === undefined ? {} : { after: pageParam }),
          },
        },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: VersionDiff) => last.next ?? undefined,
  });
  const first = diff.data?.pages[0];
  const choose = (which: "from" | "to", version: string) =>
    void navigate({ search: (last) => ({ ...last, [which]: version || undefined, open: undefined }), replace: true });
  return (
    <Section
      title="What a version changed"
      actions={
        <Group gap="xs">
          <NativeSelect
            aria-label="Compared with"
            size="xs"
            value={from ?? ""}
            data={[{ value: "", label: "the version before" }, ...versions]}
            onChange={(event) => choose("from", event.currentTarget.value)}
          />
          <Text size="sm" aria-hidden>
            →
          </Text>
          <NativeSelect
            aria-label="Version"
            size="xs"
            value={to ?? ""}
            data={[{ value: "", label: "the last version" }, ...versions]}
            onChange={(event) => choose("to", event.currentTarget.value)}
          />
        </Group>
      }
    >
      {diff.error !== null && <Failure error={diff.error} onRetry={() => void diff.refetch()} />}
      {diff.isPending && <Waiting />}
      {first !== undefined && (
        <Differences
          diff={first}
          changes={diff.data?.pages.flatMap(({ changes }) => changes) ?? []}
          onMore={diff.hasNextPage ? () => void diff.fetchNextPage() : undefined}
        />
      )}
    </Section>
  );
}

const DIFFERENCES: Record<DocumentVersionChange["difference"], Tone> = {
  added: "good",
  changed: "warn",
  removed: "bad",
};

interface DifferencesProps {
  diff: VersionDiff;
  changes: DocumentVersionChange[];
  onMore: (() => void) | undefined;
}

function Differences({ diff, changes, onMore }: DifferencesProps) {
  const { open, only } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = changes.filter(({ difference }) => only === undefined || difference === only);
  const what = diff.from === null ? `Version ${diff.to} was the first.` : `From ${diff.from} to ${diff.to}.`;
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Text>
          {what} {changes.length === 1 ? "One document differs." : `${changes.length}${onMore === undefined ? "" : " and more"} documents differ.`}
        </Text>
        <Radio.Group
          aria-label="Which differences"
          value={only ?? "all"}
          onChange={(value) => {
            const word = value === "added" || value === "changed" || value === "removed" ? value : undefined;
            void navigate({ search: (last) => ({ ...last, only: word }), replace: true });
          }}
        >
          <Group gap="sm">
            <Radio size="xs" value="all" label="All" />
            <Radio size="xs" value="added" label="Added" />
            <Radio size="xs" value="changed" label="Changed" />
            <Radio size="xs" value="removed" label="Removed" />
          </Group>
        </Radio.Group>
      </Group>
      <ul className="changes">
        {shown.map((change) => {
          const key = `${change.kind} ${change.id}`;
          return (
            <li key={key}>
              <details
                open={open === key}
                onToggle={(event) => {
                  const isOpen = event.currentTarget.open;
                  if (isOpen === (open === key)) return;
                  void navigate({
                    search: (last) => ({ ...last, open: isOpen ? key : undefined }),
                    replace: true,
                    resetScroll: false,
                  });
                }}
              >
                <summary>
                  <Mark tone={DIFFERENCES[change.difference]}>{change.difference}</Mark>{" "}
                  <span className="quiet">{change.kind}</span> <span className="mono">{change.id}</span>{" "}
                  <span className="quiet">{change.fields.join(", ")}</span>
                </summary>
                {open === key && <JsonDifference label={`Changes of ${change.id}`} before={change.before} after={change.after} />}
              </details>
            </li>
          );
        })}
      </ul>
      {onMore !== undefined && (
        <Button variant="default" size="xs" onClick={onMore}>
          Show more
        </Button>
      )}
    </>
  );
}
