/** One search over everything that the caller may read. */

import { Anchor, List, Text } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { PageHead } from "~/parts/page-head";
import { SearchField } from "~/parts/search-field";
import { Section } from "~/parts/section";
import { foundIn, type Hit, SOURCES } from "~/search/sources";
import { useCharter } from "~/session/session";

const route = getRouteApi("/search");

export function Search() {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // After the shell has moved the focus to the content.
    const timer = setTimeout(() => frame.current?.querySelector<HTMLInputElement>("[data-search]")?.focus());
    return () => clearTimeout(timer);
  }, []);
  return (
    <>
      <PageHead title="Search" lead="Everything that you may read: approvals, requests, runs, missions, documents, evidence and knowledge." />
      <div className="toolbar" ref={frame}>
        <SearchField
          label="Search everywhere"
          placeholder="A word, or an id"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: { q: text.trim() || undefined }, replace: true })}
        />
      </div>
      {q === undefined ? (
        <EmptyState title="Type a word or an id">
          Words are compared with titles, texts and ids. The id of a run, request, approval or record leads straight there.
        </EmptyState>
      ) : (
        <Found text={q} />
      )}
    </>
  );
}

function Found({ text }: { text: string }) {
  const charter = useCharter();
  const results = useQueries({
    queries: SOURCES.map((source) => ({
      queryKey: ["search", source.name, text],
      queryFn: () => foundIn(source, charter, text),
    })),
  });
  const hits = results.reduce((sum, { data }) => sum + (data?.hits.length ?? 0), 0);
  const isReading = results.some(({ isPending }) => isPending);
  return (
    <>
      <Text size="sm" c="dimmed" role="status" pb="sm">
        {isReading ? `${hits} found so far` : hits === 0 ? `Nothing has “${text}”` : `${hits} found`}
      </Text>
      <div className="sections">
        {SOURCES.map(({ name }, at) => {
          const { data, error } = results[at] ?? {};
          const found = data?.hits ?? [];
          if (found.length === 0 && (error ?? null) === null) return null;
          return (
            <Section key={name} title={name}>
              {(error ?? null) !== null ? <Failure error={error} /> : <Hits hits={found} label={name} />}
            </Section>
          );
        })}
        <Section title="Searched">
          <Facts rows={SOURCES.map(({ name }, at) => [name, results[at]?.data?.searched])} />
        </Section>
      </div>
    </>
  );
}

function Hits({ hits, label }: { hits: Hit[]; label: string }) {
  return (
    <List listStyleType="none" spacing="xs" aria-label={label}>
      {hits.map(({ to, search, title, note }) => (
        <List.Item key={`${to} ${title}`}>
          <Anchor className="hit-title" renderRoot={(props) => <Link {...addressOf(to, search)} {...props} />}>
            {title}
          </Anchor>
          {note !== undefined && (
            <Text size="sm" c="dimmed" className="hit-note">
              {note}
            </Text>
          )}
        </List.Item>
      ))}
    </List>
  );
}

/** An address that is known only when it is found, as the router takes it. */
function addressOf(to: string, search: Hit["search"]): { to: string } {
  return search === undefined ? { to } : ({ to, search } as { to: string });
}
