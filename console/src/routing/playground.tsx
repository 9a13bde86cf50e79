/** Where a query would go and why, with these thresholds or others. Nothing is run and nothing is kept. */

import type { RoutedVerdict, Thresholds } from "@charter/client";
import { Button, Group, NativeSelect, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { SearchField } from "~/parts/search-field";
import { Section } from "~/parts/section";
import { Candidates } from "~/routing/candidates";
import { Compared } from "~/routing/compared";
import { Sliders } from "~/routing/sliders";
import { useCharter } from "~/session/session";

/** Candidates that are asked for. */
const CANDIDATES = 20;

const route = getRouteApi("/routing");

/** What each verdict means. */
const MEANS: Record<RoutedVerdict["kind"], { tone: Tone; what: string }> = {
  narrow: { tone: "good", what: "One candidate is the answer: a skill is run, a playbook shows its plan and waits." },
  broad: { tone: "warn", what: "Several may be the answer: the best few are run, or one question is asked back." },
  miss: { tone: "bad", what: "Nothing registered fits: nothing is run, and the nearest agents are looked at." },
};

export function Playground() {
  const charter = useCharter();
  const { q, purpose, ...chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const verdict = useQuery({
    queryKey: ["routing", q, purpose, chosen],
    queryFn: () =>
      charter.get("/v1/route", {
        params: {
          query: { query: q ?? "", top_k: CANDIDATES, ...(purpose === undefined ? {} : { purpose }), ...givenOf(chosen) },
        },
      }),
    enabled: q !== undefined,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead
        title="Routing"
        lead="Type a question or request. The page shows its route and the reason. Nothing is run or stored."
      />
      <div className="toolbar">
        <SearchField
          label="A question or request"
          isMultiline
          placeholder="Which of my security groups are open to the internet?"
          value={q ?? ""}
          onChange={(text) => void navigate({ search: (last) => ({ ...last, q: text || undefined }), replace: true })}
        />
        <NativeSelect
          aria-label="What is looked among"
          value={purpose ?? "request"}
          data={[
            { value: "request", label: "What the intent asks for" },
            { value: "skills", label: "Skills only" },
            { value: "playbooks", label: "Playbooks only" },
            { value: "agents", label: "Agents" },
          ]}
          onChange={(event) => {
            const word = event.currentTarget.value as NonNullable<typeof purpose>;
            void navigate({
              search: (last) => ({ ...last, purpose: word === "request" ? undefined : word }),
              replace: true,
            });
          }}
        />
      </div>
      {q === undefined ? (
        <EmptyState title="Ask something" command='charter route "are any buckets public?"'>
          First the intent is read: a question, a change, a rule, or nothing that is looked after here. Skills, or
          playbooks for a change, are compared with it by words and, where there is an embedding model, by meaning. Three thresholds then say whether one of them is the answer, several may be, or none is.
        </EmptyState>
      ) : (
        <Loaded query={verdict}>
          {(found) => (
            <Shown
              verdict={found}
              chosen={chosen}
              onChoose={(next) => void navigate({ search: (last) => ({ ...last, ...next }), replace: true })}
            />
          )}
        </Loaded>
      )}
    </>
  );
}

type Chosen = Partial<Thresholds>;

/** The thresholds that were chosen, without those that were not. */
function givenOf(chosen: Chosen): Chosen {
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
}

interface ShownProps {
  verdict: RoutedVerdict;
  chosen: Chosen;
  onChoose: (next: Chosen) => void;
}

function Shown({ verdict, chosen, onChoose }: ShownProps) {
  const { tone, what } = MEANS[verdict.kind];
  const isOther = Object.keys(givenOf(chosen)).length > 0;
  return (
    <div className="panes">
      <div className="sections">
        <Section title="Verdict" lead={isOther ? "As it would be with the thresholds you chose." : undefined}>
          <Group gap="sm" align="center">
            <Title order={3} className="verdict" data-tone={tone}>
              {verdict.kind}
            </Title>
            <Text>{what}</Text>
          </Group>
          <Text mt="sm" className="reason">
            {verdict.reason}
          </Text>
          <div className="section-body">
            <Facts
              rows={[
                ["Intent", verdict.intent ? `${verdict.intent}: ${verdict.intent_reason ?? ""}` : "not asked for"],
                ["Words compared", verdict.subject],
                ["Compared by", verdict.model === null ? "words only" : `words and meaning, ${verdict.model}`],
                ["Candidates", `${verdict.candidates.length} at or above the floor, ${verdict.dropped.length} below it`],
              ]}
            />
          </div>
        </Section>
        <Compared verdict={verdict} />
        <Section
          title="Thresholds"
          lead="Move one to see what the verdict would be. What is in force does not change."
          actions={
            isOther && (
              <Button
                size="compact-xs"
                variant="default"
                onClick={() => onChoose({ floor: undefined, narrow: undefined, margin: undefined })}
              >
                Back to those in force
              </Button>
            )
          }
        >
          <Sliders inForce={verdict.in_force} chosen={verdict.thresholds} onChoose={onChoose} />
        </Section>
      </div>
      <Section
        title="Candidates"
        lead="The score is the estimated chance that a candidate is right; floor and narrow refer to it. The margin refers to the lead in the fused score, by which candidates are ranked."
      >
        {verdict.candidates.length + verdict.dropped.length === 0 ? (
          <Text>Nothing that is registered has anything in common with it.</Text>
        ) : (
          <Candidates verdict={verdict} />
        )}
        {verdict.model === null && (
          <Text size="sm" c="dimmed" mt="sm">
            <Mark tone="warn">words only</Mark> This server has no embedding model, so questions in other words than
            those registered are missed. <span className="mono">charter model fetch</span> gets one.
          </Text>
        )}
      </Section>
    </div>
  );
}
