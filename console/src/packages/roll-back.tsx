/** Puts an earlier version of a package in force again. */

import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { Failure } from "~/parts/failure";
import { useCharter } from "~/session/session";

interface Props {
  scope: string;
  name: string;
  version: string;
  /** Compares the version with the one in force. */
  onCompare: () => void;
}

export function RollBack({ scope, name, version, onCompare }: Props) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const rollBack = useMutation({
    mutationFn: () =>
      charter.post("/v1/packages/{name}/rollback", { params: { path: { name }, query: { version, scope } } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["packages"] });
      close();
    },
  });
  return (
    <>
      <Group gap={4} wrap="nowrap">
        <Button size="compact-xs" variant="default" onClick={onCompare} aria-label={`Compare ${version} with the version in force`}>
          Compare
        </Button>
        <Button size="compact-xs" variant="default" onClick={open} aria-label={`Roll back to ${version}`}>
          Roll back
        </Button>
      </Group>
      <Modal opened={isOpen} onClose={close} title={`Roll back to ${version}`}>
        <Text size="sm">
          The documents of version {version} are put in force again, all at once. Runs that have started keep the versions that
          they started with.
        </Text>
        {rollBack.error !== null && (
          <div className="below">
            <Failure error={rollBack.error} />
          </div>
        )}
        <Group mt="md" justify="flex-end">
          <Button variant="default" onClick={close}>
            Keep what is in force
          </Button>
          <Button loading={rollBack.isPending} onClick={() => rollBack.mutate()}>
            Put {version} in force
          </Button>
        </Group>
      </Modal>
    </>
  );
}
