/** One run: its status, its steps, its journal, and its state at any event. */

import type { RunEventShown, RunShown } from "@charter/client";
import { Tabs } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useMemo } from "react";

import { oneAtATime } from "~/live/one-at-a-time";
import { between, durationOf } from "~/parts/duration";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Asked } from "~/runs/asked";
import { Cause } from "~/runs/cause";
import { Journal } from "~/runs/journal";
import { useJournal } from "~/runs/journal-query";
import { Orders } from "~/runs/orders";
import { RunEvidence, RunValues, RunVersions } from "~/runs/about";
import { Past } from "~/runs/past";
import { Question } from "~/runs/question";
import { useRunAt } from "~/runs/run-at";
import { Scrubber } from "~/runs/scrubber";
import { StepGraph } from "~/runs/step-graph";
import { historyOf, plansOf } from "~/runs/step-history";
import { StepPanel } from "~/runs/step-panel";
import { Timeline } from "~/runs/timeline";
import { inWords, runTone } from "~/runs/words";
import { useCharter } from "~/session/session";

const route = getRouteApi("/runs/$run");

export function OneRun() {
  const { run: id } = route.useParams();
  const charter = useCharter();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ["run", id],
    queryFn: () => charter.get("/v1/runs/{id}", { params: { path: { id } } }),
  });
  const again = useMemo(() => oneAtATime(() => queries.invalidateQueries({ queryKey: ["run", id] })), [queries, id]);
  const journal = useJournal<RunEventShown>("runs", id, again);
  return (
    <Loaded query={query}>
      {(run) => <Loaded query={journal}>{(events) => <Shown key={id} run={run} events={events} />}</Loaded>}
    </Loaded>
  );
}

function Shown({ run, events }: { run: RunShown; events: RunEventShown[] }) {
  const { step: selected, at, tab } = route.useSearch();
  const navigate = route.useNavigate();
  const last = events.at(-1)?.sequence ?? 0;
  const isPast = at !== undefined && at < last;
  const wanted = useRunAt(run, isPast ? at : undefined);
  // The picture follows as fast as it can, and the scrubber never waits for it.
  const then = useDeferredValue(wanted.then);
  const until = then.sequence;
  const go = useCallback(
    (to: { step?: string | undefined; at?: number | undefined; tab?: typeof tab }) =>
      void navigate({ search: (now) => ({ ...now, ...to }), replace: true, resetScroll: false }),
    [navigate],
  );
  const seek = useCallback((to: number) => go({ at: to >= last ? undefined : to }), [go, last]);
  const plans = useMemo(() => plansOf(events, until), [events, until]);
  const choose = useCallback((step: string | undefined) => go({ step }), [go]);
  const started = events[0];
  const chosen = selected === undefined ? undefined : then.steps.find(({ step }) => step === selected);
  return (
    <>
      <PageHead
        title={run.title}
        crumbs={[<Link to="/runs">Runs</Link>, <span>{run.run_id}</span>]}
        marks={
          <>
            <Mark tone={runTone(run.status)}>{inWords(run.status)}</Mark>
            {run.dry_run && <Mark>dry run: changes nothing</Mark>}
          </>
        }
        lead={
          <>
            {started?.event === "started" ? `For ${started.by} (${started.role}), started ` : "Started "}
            <Moment at={run.created_at} />, last change <Moment at={run.updated_at} />, after{" "}
            {durationOf(between(run.created_at, run.updated_at))}.
          </>
        }
        actions={<Orders run={run} />}
      />
      <div className="run-first">
        <Cause run={run} />
        <Question run={run} started={started} />
      </div>
      <Asked run={run} />
      <Scrubber events={events} at={isPast ? at : last} onSeek={seek} />
      {isPast && <Past at={at} last={last} wanted={wanted} then={then} onNow={() => go({ at: undefined })} />}
      <div className="run-parts" data-wide={chosen === undefined} aria-busy={wanted.isReading}>
        <StepGraph
          steps={then.steps}
          plans={plans}
          selected={selected}
          onSelect={choose}
          graphKey={run.run_id}
        />
        {chosen !== undefined && (
          <StepPanel
            run={run.run_id}
            step={chosen}
            history={historyOf(events, chosen.step, until)}
            isInDoubt={then.in_doubt.includes(chosen.step)}
            evidence={run.evidence}
            onClose={() => choose(undefined)}
          />
        )}
      </div>
      <Tabs value={tab ?? "journal"} onChange={(to) => go({ tab: to as typeof tab })} keepMounted={false} className="run-tabs">
        <Tabs.List>
          <Tabs.Tab value="journal">Journal ({last})</Tabs.Tab>
          <Tabs.Tab value="timeline">Timeline</Tabs.Tab>
          <Tabs.Tab value="values">Values</Tabs.Tab>
          <Tabs.Tab value="evidence">Evidence ({run.evidence.length})</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="journal" pt="sm">
          <Journal events={events} at={until} onSeek={seek} onStep={choose} />
        </Tabs.Panel>
        <Tabs.Panel value="timeline" pt="sm">
          <Timeline events={events} onStep={choose} />
        </Tabs.Panel>
        <Tabs.Panel value="values" pt="sm">
          <RunValues run={then} events={events} />
        </Tabs.Panel>
        <Tabs.Panel value="evidence" pt="sm">
          <RunEvidence run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" pt="sm">
          <RunVersions run={run} started={started} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
