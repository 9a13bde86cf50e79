/** One mission: its state, tasks, result, proposals and artifacts. */

import type { MissionEvent, MissionShown } from "@charter/client";
import { Anchor, Button, Modal, Progress, Tabs, Text, Textarea } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { oneAtATime } from "~/live/one-at-a-time";
import { Artifacts } from "~/missions/artifacts";
import { useArtifacts } from "~/missions/artifacts-query";
import { Proposals } from "~/missions/proposals";
import { Result } from "~/missions/result";
import { Tasks } from "~/missions/tasks";
import { isOver, missionTone, PHASES } from "~/missions/words";
import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Journal } from "~/runs/journal";
import { useJournal } from "~/runs/journal-query";
import { inWords } from "~/runs/words";
import { useCharter } from "~/session/session";

const route = getRouteApi("/missions/$mission");

export function OneMission() {
  const { mission: id } = route.useParams();
  const charter = useCharter();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ["mission", id],
    queryFn: () => charter.get("/v1/missions/{id}", { params: { path: { id } } }),
  });
  const again = useMemo(() => oneAtATime(() => queries.invalidateQueries({ queryKey: ["mission", id] })), [queries, id]);
  const journal = useJournal<MissionEvent>("missions", id, again);
  return (
    <Loaded query={query}>
      {(mission) => <Shown key={id} mission={mission} events={journal.data ?? []} />}
    </Loaded>
  );
}

function Shown({ mission, events }: { mission: MissionShown; events: MissionEvent[] }) {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const artifacts = useArtifacts(mission.mission_id);
  const open = mission.proposals.filter(({ state }) => state === "proposed").length;
  const toRun = useCallback(
    (search: { at?: number; step?: string }) =>
      void navigate({ to: "/runs/$run", params: { run: mission.run_id }, search }),
    [navigate, mission.run_id],
  );
  return (
    <>
      <PageHead
        title={mission.goal}
        crumbs={[<Link to="/missions">Missions</Link>, <span>{mission.mission_id}</span>]}
        marks={
          <>
            <Mark tone={missionTone(mission.state)}>{inWords(mission.state)}</Mark>
            {mission.imported_at !== undefined && <Mark>imported: read only</Mark>}
          </>
        }
        actions={!isOver(mission.state) && mission.imported_at === undefined && <Cancel mission={mission} />}
      />
      <Phases mission={mission} />
      <div className="mission-facts panel section">
        <Facts
          rows={[
            [
              "Type",
              <Anchor
                className="mono"
                renderRoot={(props) => (
                  <Link
                    to="/catalogue/$kind/$id"
                    params={{ kind: "mission_type", id: mission.mission_type }}
                    {...props}
                  />
                )}
              >
                {mission.mission_type}
              </Anchor>,
            ],
            ["Answered by", mission.offline ? "the offline provider: extractive, no model is asked" : "models"],
            [
              "Run",
              <Anchor
                className="mono"
                renderRoot={(props) => <Link to="/runs/$run" params={{ run: mission.run_id }} {...props} />}
              >
                {mission.run_id}
              </Anchor>,
            ],
          ]}
        />
        <Facts
          rows={[
            ["Started", <Moment at={mission.created_at} />],
            ["Last change", <Moment at={mission.updated_at} />],
            ["Tokens", <Tokens mission={mission} />],
            ["Why it ended", mission.reason],
          ]}
        />
      </div>
      <Tabs
        value={tab ?? "result"}
        onChange={(to) => void navigate({ search: (now) => ({ ...now, tab: to as typeof tab }), replace: true })}
        keepMounted={false}
        className="run-tabs"
      >
        <Tabs.List>
          <Tabs.Tab value="result">Result</Tabs.Tab>
          <Tabs.Tab value="tasks">Tasks ({mission.tasks.length})</Tabs.Tab>
          <Tabs.Tab value="proposals">
            Proposals ({mission.proposals.length}
            {open > 0 ? `, ${open} to decide` : ""})
          </Tabs.Tab>
          <Tabs.Tab value="artifacts">Artifacts ({mission.artifacts})</Tabs.Tab>
          <Tabs.Tab value="journal">Journal ({events.length})</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="result" pt="sm">
          <Loaded query={artifacts}>{(found) => <Result mission={mission} artifacts={found} />}</Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="tasks" pt="sm">
          <Tasks mission={mission} />
        </Tabs.Panel>
        <Tabs.Panel value="proposals" pt="sm">
          <Proposals mission={mission} />
        </Tabs.Panel>
        <Tabs.Panel value="artifacts" pt="sm">
          <Loaded query={artifacts}>{(found) => <Artifacts artifacts={found} />}</Loaded>
        </Tabs.Panel>
        <Tabs.Panel value="journal" pt="sm">
          <Journal events={events} at={0} onSeek={(at) => toRun({ at })} onStep={(step) => toRun({ step })} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

/** The states on the way to the end, and where the mission is among them. */
function Phases({ mission: { state } }: { mission: MissionShown }) {
  const at = (PHASES as readonly string[]).indexOf(state);
  const ended = at < 0 ? [state] : [];
  return (
    <ol className="phases" aria-label="Phases">
      {[...PHASES, ...ended].map((phase, place) => {
        const isHere = phase === state;
        const isDone = at >= 0 && place < at;
        return (
          <li key={phase} data-done={isDone} data-tone={isHere ? missionTone(state) : "calm"} aria-current={isHere ? "step" : undefined}>
            {inWords(phase)}
          </li>
        );
      })}
    </ol>
  );
}

function Tokens({ mission: { tokens, token_budget: budget } }: { mission: MissionShown }) {
  const used = tokens.input + tokens.output;
  if (budget === undefined) return <>{used} used, no limit</>;
  return (
    <>
      {used.toLocaleString("en")} of {budget.toLocaleString("en")} used
      <Progress value={Math.min(100, (100 * used) / budget)} mt={4} maw={260} aria-label="Tokens used" />
    </>
  );
}

function Cancel({ mission }: { mission: MissionShown }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const [reason, setReason] = useState("");
  const cancel = useMutation({
    mutationFn: () =>
      charter.post("/v1/missions/{id}/cancel", {
        params: { path: { id: mission.mission_id } },
        body: reason.trim() === "" ? {} : { reason: reason.trim() },
      }),
    onSuccess: (after) => {
      queries.setQueryData(["mission", mission.mission_id], after);
      close();
    },
  });
  return (
    <>
      <Button variant="default" size="compact-md" onClick={open}>
        Cancel the mission
      </Button>
      <Modal opened={isOpen} onClose={close} title="Cancel the mission">
        <Text size="sm">A call that is under way ends first. What the mission produced is kept.</Text>
        <Textarea mt="sm" label="Reason" value={reason} onChange={(event) => setReason(event.currentTarget.value)} data-autofocus />
        {cancel.error !== null && (
          <div className="below">
            <Failure error={cancel.error} />
          </div>
        )}
        <Button mt="md" color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel it
        </Button>
      </Modal>
    </>
  );
}
