/** The actions on an enabled schedule: run it now, pause, resume, delete, enable the registered definition. */

import type { EnabledSchedule } from "@charter/client";
import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { Failure } from "~/parts/failure";
import { useEnable } from "~/schedules/enabling";
import { isByTime } from "~/schedules/words";
import { useCharter } from "~/session/session";

/** A change of an enabled schedule. */
type Change = "pause" | "resume" | "start";

export function Actions({ schedule }: { schedule: EnabledSchedule }) {
  const { schedule_id: id, state, definition, title } = schedule;
  const charter = useCharter();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async (to: Change): Promise<unknown> => {
      const params = { path: { id } };
      if (to === "pause") return charter.post("/v1/schedules/{id}/pause", { params });
      if (to === "resume") return charter.post("/v1/schedules/{id}/resume", { params });
      return charter.post("/v1/schedules/{id}/start", { params });
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ["schedules"] }),
  });
  const button = (to: Change, label: string) => (
    <Button
      size="compact-md"
      variant="default"
      disabled={change.isPending}
      loading={change.isPending && change.variables === to}
      onClick={() => change.mutate(to)}
    >
      {label}
    </Button>
  );
  return (
    <>
      {state === "active" && isByTime(definition) && button("start", "Run now")}
      {state === "active" ? button("pause", "Pause") : button("resume", "Resume")}
      <Delete id={id} title={title} />
      {change.error !== null && (
        <Modal opened onClose={change.reset} title="The schedule did not change">
          <Failure error={change.error} />
        </Modal>
      )}
    </>
  );
}

function Delete({ id, title }: { id: string; title: string }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isOpen, { open, close }] = useDisclosure(false);
  const remove = useMutation({
    mutationFn: () => charter.delete("/v1/schedules/{id}", { params: { path: { id } } }),
    onSuccess: async () => {
      await navigate({ to: "/schedules" });
      queries.removeQueries({ queryKey: ["schedules", "one", id] });
      void queries.invalidateQueries({ queryKey: ["schedules"] });
    },
  });
  return (
    <>
      <Button size="compact-md" variant="default" onClick={open}>
        Delete
      </Button>
      <Modal opened={isOpen} onClose={close} title={`Delete ${title}?`}>
        <Text size="sm">
          The schedule is deleted with its occurrences and their reports. Work that has started continues. A schedule of a
          package can be enabled again.
        </Text>
        {remove.error !== null && (
          <div className="below">
            <Failure error={remove.error} />
          </div>
        )}
        <Group mt="md" justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Delete the schedule
          </Button>
        </Group>
      </Modal>
    </>
  );
}

/** Enables the registered definition of a schedule. */
export function EnableAgain({ schedule }: { schedule: string }) {
  const { enable, secret } = useEnable();
  return (
    <>
      <Button size="compact-md" loading={enable.isPending} onClick={() => enable.mutate({ schedule_id: schedule })}>
        Enable the registered definition
      </Button>
      {enable.error !== null && (
        <div className="below">
          <Failure error={enable.error} />
        </div>
      )}
      {secret}
    </>
  );
}
