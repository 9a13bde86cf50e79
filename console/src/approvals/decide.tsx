/** The decision on an approval: the form while it is pending, and its result afterwards. */

import type { ApprovalEntry } from "@charter/client";
import { Button, Group, JsonInput, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { After } from "~/approvals/after";
import { HandOn } from "~/approvals/hand-on";
import { callsOf, choiceOf, isCount, needsCount, remainingOf } from "~/approvals/listed";
import { hasDecidingScope, isExpired, isInDoubt, isOperator, obstacleOf } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** A decision. */
type Answer = "approve" | "reject" | "report";

interface Props {
  approval: ApprovalEntry;
  /** Steps of a list whose calls are excluded. */
  excluded?: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

export function Decide({ approval, excluded = NONE }: Props) {
  if (approval.state !== "pending") return <After approval={approval} />;
  if (isExpired(approval)) {
    return (
      <Section title="Expired">
        <Text>
          No decision was made before {new Date(approval.expires_at).toLocaleString("en-GB")}. The step fails when its run
          next advances. If the change is still needed, start the run again.
        </Text>
      </Section>
    );
  }
  return <Form approval={approval} excluded={excluded} />;
}

function Form({ approval, excluded }: Required<Props>) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const [output, setOutput] = useState("");
  const [count, setCount] = useState("");
  const caller = useQuery({ queryKey: ["caller"], queryFn: () => charter.get("/v1/caller") });
  const decision = useMutation({
    mutationFn: (answer: Answer) => {
      const params = { path: { id: approval.approval_id } };
      const body = { digest: approval.digest, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) };
      if (answer === "approve") {
        return charter.post("/v1/approvals/{id}/approve", { params, body: { ...body, ...choiceOf(approval, excluded, count) } });
      }
      if (answer === "reject") return charter.post("/v1/approvals/{id}/reject", { params, body });
      const given = output.trim() === "" ? {} : { output: JSON.parse(output) as unknown };
      return charter.post("/v1/approvals/{id}/report", { params, body: { ...body, ...given } as typeof body });
    },
    onSuccess: (decided) => {
      // The answer lacks the fields that only an entry of the list has.
      queries.setQueryData(["approvals", "one", approval.approval_id], { ...approval, ...decided });
      void queries.invalidateQueries({ queryKey: ["approvals", "list"] });
    },
    // Another person may have decided first.
    onError: () => void queries.invalidateQueries({ queryKey: ["approvals", "one", approval.approval_id] }),
  });
  const inDoubt = isInDoubt(approval);
  const isAllowed = caller.data === undefined || (isOperator(caller.data) && hasDecidingScope(caller.data));
  const obstacle = isAllowed && caller.data !== undefined ? obstacleOf(approval, caller.data.user) : undefined;
  const needsOther = isAllowed && !approval.can_approve;
  const isJson = output.trim() === "" || parses(output);
  const calls = callsOf(approval).length;
  const remaining = remainingOf(approval, excluded);
  const isIncomplete = remaining === 0 || (needsCount(approval) && !isCount(count, remaining));
  const button = (answer: Answer, label: string, color: string, disabled: boolean, filled: boolean) => (
    <Button
      key={answer}
      color={color}
      variant={filled ? "filled" : "default"}
      disabled={disabled || decision.isPending || !isAllowed}
      loading={decision.isPending && decision.variables === answer}
      onClick={() => decision.mutate(answer)}
    >
      {label}
    </Button>
  );
  return (
    <Section title={inDoubt ? "Did it happen?" : "Your decision"} lead={leadOf(inDoubt, calls)}>
      {inDoubt && (
        <JsonInput
          label="Output of the call, if it happened"
          description="JSON, as the tool would have returned it. If it is empty, the output is null, and steps that need a part of it fail."
          placeholder='{"revoked": []}'
          value={output}
          onChange={setOutput}
          error={isJson ? undefined : "This is not valid JSON."}
          autosize
          minRows={2}
          mb="sm"
          maw="46rem"
        />
      )}
      {needsCount(approval) && !needsOther && remaining > 0 && (
        <TextInput
          label="Number of calls that you approve"
          description={`These changes cannot be undone. Type the number of included calls: ${remaining}.`}
          inputMode="numeric"
          autoComplete="off"
          value={count}
          onChange={(event) => setCount(event.currentTarget.value)}
          error={String(remaining).startsWith(count.trim()) ? undefined : `The number of included calls is ${remaining}.`}
          mb="sm"
          maw="30rem"
        />
      )}
      <Textarea
        label="Reason"
        description="Recorded with the decision."
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        autosize
        minRows={2}
        maw="46rem"
      />
      <Group mt="md" gap="sm">
        {inDoubt ? (
          <>
            {button("approve", "It did not happen: call it", "lake", needsOther, true)}
            {button("report", "It happened", "lake", needsOther || !isJson, false)}
            {button("reject", "I do not know: reject", "red", false, false)}
          </>
        ) : (
          <>
            {button("approve", approveLabel(remaining, calls), "lake", needsOther || isIncomplete, true)}
            {button("reject", obstacle === "requester" ? "Withdraw" : "Reject", "red", false, false)}
          </>
        )}
        {isAllowed && caller.data !== undefined && <HandOn approval={approval} user={caller.data.user} />}
      </Group>
      {remaining === 0 && (
        <Text size="sm" mt="sm">
          Every call is excluded. Include a call, or reject the approval.
        </Text>
      )}
      {obstacle !== undefined && (
        <Text size="sm" mt="sm">
          {obstacle === "requester" && approval.four_eyes ? OWN_REQUEST : turnOf(approval, obstacle)}
        </Text>
      )}
      {caller.data !== undefined && !isOperator(caller.data) && (
        <Text size="sm" mt="sm">
          Only operators decide on approvals. Your key has the level user.
        </Text>
      )}
      {caller.data !== undefined && isOperator(caller.data) && !hasDecidingScope(caller.data) && (
        <Text size="sm" mt="sm">
          Your key does not have the scope approvals:write.
        </Text>
      )}
      {decision.error !== null && (
        <div className="below">
          <Failure error={decision.error} />
        </div>
      )}
    </Section>
  );
}

const OWN_REQUEST =
  "You requested this, or your key and a requester's key have the same creator. Four eyes are required: another person has to approve it. You can withdraw it.";

function turnOf({ group }: ApprovalEntry, obstacle: "requester" | "turn"): string {
  const turn = group === undefined ? "Another group's turn comes first" : `It is the turn of the group ${group}`;
  return `${turn}: its members can approve. You can ${obstacle === "requester" ? "withdraw" : "reject"} it.`;
}

function leadOf(inDoubt: boolean, calls: number): string {
  if (inDoubt) return IN_DOUBT;
  return calls === 1 ? ONE_CALL : SEVERAL_CALLS;
}

const ONE_CALL = "If you approve, exactly this call is made, once. If you reject, the step fails and no call is made.";

const SEVERAL_CALLS =
  "If you approve, exactly the included calls are made, once each. Excluded calls are not made, and their steps are skipped. If you reject, no call is made.";

const IN_DOUBT =
  "The call started, and the process ended before the result arrived. Check the target of the call before you decide: a repeated call may happen twice.";

function approveLabel(remaining: number, calls: number): string {
  if (calls === 1 || remaining === 0) return "Approve";
  return remaining === calls ? `Approve ${calls} calls` : `Approve ${remaining} of ${calls} calls`;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
