/** The skill tree: search it, walk it, read one instruction at a time. */

import type { AgentSkillHit } from "@charter/client";
import { Button, Group, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { EmptyState } from "~/parts/empty-state";
import { Failure } from "~/parts/failure";
import { Loaded, Waiting } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { SearchField } from "~/parts/search-field";
import { useCharter } from "~/session/session";
import { LintFindings } from "~/skills/lint";
import { SkillPane } from "~/skills/skill-pane";
import { useTree } from "~/skills/tree";
import { TreeView } from "~/skills/tree-view";

/** Hits of a search. */
const HITS = 50;

const route = getRouteApi("/skills");

export function AgentSkills() {
  const charter = useCharter();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { q, only, skill } = search;
  const hits = useQuery({
    queryKey: ["skills", "search", q, only],
    queryFn: () =>
      charter.post("/v1/agent-skills/search", { body: { query: q ?? "", top_k: HITS, only: only ?? null } }),
    enabled: q !== undefined,
  });
  const select = (id: string) => void navigate({ search: (last) => ({ ...last, skill: id, file: undefined }) });
  return (
    <>
      <PageHead
        title="Agent skills"
        lead="Instructions for agents, as a tree: a folder points at skills, a leaf says how something is done. A search reads summaries; an instruction is fetched one at a time."
      />
      <div className="toolbar">
        <SearchField
          label="Find a skill by what it does"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: (last) => ({ ...last, q: text || undefined }), replace: true })}
        />
        {q !== undefined && (
          <SegmentedControl
            aria-label="What is found"
            size="xs"
            value={only ?? "all"}
            data={[
              { value: "all", label: "All" },
              { value: "folders", label: "Folders" },
              { value: "leaves", label: "Leaves" },
            ]}
            onChange={(value) => {
              const kind = value === "folders" || value === "leaves" ? value : undefined;
              void navigate({ search: (last) => ({ ...last, only: kind }), replace: true });
            }}
          />
        )}
        {skill !== undefined && (
          <Button
            variant="default"
            size="compact-sm"
            renderRoot={(props) => (
              <Link from="/skills" to="/skills" search={(last) => ({ ...last, skill: undefined, file: undefined })} {...props} />
            )}
          >
            Check all skills
          </Button>
        )}
      </div>
      <div className="split">
        {q === undefined ? (
          <Tree selected={skill} onSelect={select} />
        ) : (
          <Loaded query={hits}>{(found) => <Hits hits={found.hits} />}</Loaded>
        )}
        <div className="split-main">{skill === undefined ? <LintFindings /> : <SkillPane id={skill} />}</div>
      </div>
    </>
  );
}

function Tree({ selected, onSelect }: { selected: string | undefined; onSelect: (id: string) => void }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const { roots, rows, error } = useTree(open);
  if (roots.error !== null) return <Failure error={roots.error} onRetry={roots.refetch} />;
  if (roots.isPending) return <Waiting />;
  if (rows.length === 0) {
    return (
      <EmptyState title="No agent skills yet" command="charter skills import DIR">
        A directory of Agent Skills, each with its SKILL.md, becomes a tree that agents search, walk and read from. Your
        key may also reach none of those that there are.
      </EmptyState>
    );
  }
  const toggle = (path: string) => {
    const turned = new Set(open);
    if (!turned.delete(path)) turned.add(path);
    setOpen(turned);
  };
  return (
    <div className="split-side">
      {error !== null && <Failure error={error} />}
      <TreeView rows={rows} selected={selected} onSelect={onSelect} onToggle={toggle} onMore={roots.onMore} />
    </div>
  );
}

function Hits({ hits }: { hits: AgentSkillHit[] }) {
  if (hits.length === 0) {
    return (
      <EmptyState title="No skill is like that">
        The search compares what you type with the summaries and ids of the skills that you may reach.
      </EmptyState>
    );
  }
  return (
    <ol className="hits panel split-side" aria-label="Skills that were found">
      {hits.map((hit) => (
        <li key={hit.skill_id}>
          <Link from="/skills" to="/skills" search={(last) => ({ ...last, skill: hit.skill_id, file: undefined })} className="hit">
            <Group gap="xs" justify="space-between" wrap="nowrap">
              <span className="mono hit-id">{hit.skill_id}</span>
              <Group gap={6} wrap="nowrap">
                {hit.is_folder && <Mark>folder</Mark>}
                <Mark tone="info">{Math.round(hit.score * 100)} %</Mark>
              </Group>
            </Group>
            <Text size="sm" c="dimmed" lineClamp={2}>
              {hit.summary}
            </Text>
          </Link>
        </li>
      ))}
    </ol>
  );
}
