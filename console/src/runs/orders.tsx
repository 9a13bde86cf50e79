/** What people may order a run to do: pause, go on, end, take back. */

import type { RunShown } from "@charter/client";
import { Button, Checkbox, Group, Modal, Textarea, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Failure } from "~/parts/failure";
import { isOver } from "~/runs/words";
import { useCharter } from "~/session/session";

const ENDING = new Set(["stopping", "rolling_back"]);

export function Orders({ run }: { run: RunShown }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isEnding, ending] = useDisclosure(false);
  const params = { path: { id: run.run_id } };
  const shown = (after: RunShown) => queries.setQueryData(["run", run.run_id], after);
  const pause = useMutation({ mutationFn: () => charter.post("/v1/runs/{id}/pause", { params }), onSuccess: shown });
  const resume = useMutation({ mutationFn: () => charter.post("/v1/runs/{id}/resume", { params }), onSuccess: shown });
  const rollBack = useMutation({
    mutationFn: () => charter.post("/v1/runs/{id}/rollback", { params }),
    onSuccess: ({ run_id }) => navigate({ to: "/runs/$run", params: { run: run_id } }),
  });
  const failed = pause.error ?? resume.error ?? rollBack.error;
  const wrote = run.steps.some(({ writes, reverses, state }) => writes && reverses === null && state === "succeeded");
  const mayRollBack = isOver(run.status) && run.status !== "rolled_back" && wrote && !run.dry_run;
  return (
    <>
      {(run.status === "working" || run.status === "awaiting_approval") && (
        <Button variant="default" size="compact-md" loading={pause.isPending} onClick={() => pause.mutate()}>
          Pause
        </Button>
      )}
      {run.status === "paused" && !run.awaited_run && (
        <Button size="compact-md" loading={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      )}
      {!isOver(run.status) && !ENDING.has(run.status) && (
        <Button variant="default" size="compact-md" onClick={ending.open}>
          Abort
        </Button>
      )}
      {mayRollBack && (
        <Button variant="default" size="compact-md" loading={rollBack.isPending} onClick={() => rollBack.mutate()}>
          Roll back
        </Button>
      )}
      {failed !== null && (
        <Modal opened onClose={() => [pause, resume, rollBack].forEach((one) => one.reset())} title="It was not done">
          <Failure error={failed} />
        </Modal>
      )}
      <Modal opened={isEnding} onClose={ending.close} title="Abort the run">
        <Ending run={run} onDone={ending.close} />
      </Modal>
    </>
  );
}

function Ending({ run, onDone }: { run: RunShown; onDone: () => void }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const [rollBack, setRollBack] = useState(true);
  const abort = useMutation({
    mutationFn: () =>
      charter.post("/v1/runs/{id}/abort", {
        params: { path: { id: run.run_id } },
        body: { roll_back: rollBack, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) },
      }),
    onSuccess: (after) => {
      queries.setQueryData(["run", run.run_id], after);
      onDone();
    },
  });
  return (
    <>
      <Text size="sm">Nothing new starts. What is under way ends first.</Text>
      <Textarea
        mt="sm"
        label="Reason"
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
      <Checkbox
        mt="sm"
        label="Take back what it wrote"
        description="Completed writes are reversed, the last one first."
        checked={rollBack}
        onChange={(event) => setRollBack(event.currentTarget.checked)}
      />
      {abort.error !== null && (
        <div className="below">
          <Failure error={abort.error} />
        </div>
      )}
      <Group mt="md" justify="flex-end">
        <Button variant="default" onClick={onDone}>
          Let it go on
        </Button>
        <Button color="red" loading={abort.isPending} onClick={() => abort.mutate()}>
          Abort the run
        </Button>
      </Group>
    </>
  );
}
