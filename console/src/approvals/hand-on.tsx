/** Hands a pending approval on to the next group of approvers. */

import type { ApprovalEntry } from "@charter/client";
import { Button, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { isInTurn, nextGroupOf } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { useCharter } from "~/session/session";

interface Props {
  approval: ApprovalEntry;
  /** The caller's user. */
  user: string;
}

/** A button for members of a group whose turn has begun, while another group follows. */
export function HandOn({ approval, user }: Props) {
  const { approval_id: id } = approval;
  const charter = useCharter();
  const queries = useQueryClient();
  const handOn = useMutation({
    mutationFn: () => charter.post("/v1/approvals/{id}/escalate", { params: { path: { id } } }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["approvals"] }),
  });
  const next = nextGroupOf(approval);
  const isShown = next !== undefined && isInTurn(approval, user);
  return (
    <>
      {isShown && (
        <Button variant="default" loading={handOn.isPending} onClick={() => handOn.mutate()}>
          Hand on to {next}
        </Button>
      )}
      {handOn.data !== undefined && (
        <Text size="sm" role="status">
          It was handed on. You can still decide.
        </Text>
      )}
      {handOn.error !== null && <Failure error={handOn.error} />}
    </>
  );
}
