/** Enabling a schedule: the call, the secret of a webhook, which is shown once, and the way to the schedule. */

import type { NewSchedule } from "@charter/client";
import { Button, Group, Modal, Text } from "@mantine/core";
import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { Command } from "~/parts/command";
import { useCharter } from "~/session/session";

/** The schedule to enable: a registered one by its id, or a definition. */
export type ScheduleOrder = { schedule_id: string } | { schedule: Record<string, unknown> };

/** Enables schedules. `secret` has to be drawn: it shows the secret of a webhook until the user has copied it. */
export function useEnable(): { enable: UseMutationResult<NewSchedule, Error, ScheduleOrder>; secret: ReactNode } {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [made, setMade] = useState<NewSchedule | undefined>();
  const show = (schedule: string) => void navigate({ to: "/schedules/$schedule", params: { schedule } });
  const enable = useMutation<NewSchedule, Error, ScheduleOrder>({
    mutationFn: (body) => charter.post("/v1/schedules", { body }),
    onSuccess: (schedule) => {
      void queries.invalidateQueries({ queryKey: ["schedules"] });
      if (schedule.secret === undefined) show(schedule.schedule_id);
      else setMade(schedule);
    },
  });
  const close = () => {
    if (made !== undefined) show(made.schedule_id);
    setMade(undefined);
  };
  const secret = made !== undefined && (
    <Modal opened onClose={close} title="The secret of the webhook" closeOnClickOutside={false} size="lg">
      <Text size="sm" mb="sm">
        Senders sign with this secret. It is not shown again.
      </Text>
      <Command text={made.secret ?? ""} />
      {made.hook_path !== undefined && <Command text={`POST ${made.hook_path}`} />}
      <Group mt="md">
        <Button onClick={close}>I have copied it</Button>
      </Group>
    </Modal>
  );
  return { enable, secret };
}
