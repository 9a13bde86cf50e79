/** The decision on an approval: the form while it waits, and what came of it afterwards. */

import type { ApprovalEntry } from "@charter/client";
import { Button, Group, JsonInput, Text, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { After } from "~/approvals/after";
import { isInDoubt, isLate } from "~/approvals/words";
import { Failure } from "~/parts/failure";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** What can be answered. */
type Answer = "approve" | "reject" | "report";

export function Decide({ approval }: { approval: ApprovalEntry }) {
  if (approval.state !== "pending") return <After approval={approval} />;
  if (isLate(approval)) {
    return (
      <Section title="Its time is over">
        <Text>
          Nobody decided before {new Date(approval.expires_at).toLocaleString("en-GB")}. The step fails as soon as its
          run is looked at; whoever still wants it starts the run again.
        </Text>
      </Section>
    );
  }
  return <Form approval={approval} />;
}

function Form({ approval }: { approval: ApprovalEntry }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const [output, setOutput] = useState("");
  const caller = useQuery({ queryKey: ["caller"], queryFn: () => charter.get("/v1/caller") });
  const told = useMutation({
    mutationFn: (answer: Answer) => {
      const params = { path: { id: approval.approval_id } };
      const body = { digest: approval.digest, ...(reason.trim() === "" ? {} : { reason: reason.trim() }) };
      if (answer === "approve") return charter.post("/v1/approvals/{id}/approve", { params, body });
      if (answer === "reject") return charter.post("/v1/approvals/{id}/reject", { params, body });
      const given = output.trim() === "" ? {} : { output: JSON.parse(output) as unknown };
      return charter.post("/v1/approvals/{id}/report", { params, body: { ...body, ...given } as typeof body });
    },
    onSuccess: (decided) => {
      queries.setQueryData(["approvals", "one", approval.approval_id], decided);
      void queries.invalidateQueries({ queryKey: ["approvals", "list"] });
    },
    // Somebody else may have been first.
    onError: () => void queries.invalidateQueries({ queryKey: ["approvals", "one", approval.approval_id] }),
  });
  const inDoubt = isInDoubt(approval);
  const isOperator = caller.data === undefined || caller.data.role !== "user";
  const hasScope = caller.data === undefined || caller.data.scopes.some((scope) => DECIDES.includes(scope));
  const mayDecide = isOperator && hasScope;
  const isOwn = mayDecide && !approval.can_approve;
  const isJson = output.trim() === "" || parses(output);
  const answer = (what: Answer, label: string, color: string, disabled: boolean, filled: boolean) => (
    <Button
      key={what}
      color={color}
      variant={filled ? "filled" : "default"}
      disabled={disabled || told.isPending || !mayDecide}
      loading={told.isPending && told.variables === what}
      onClick={() => told.mutate(what)}
    >
      {label}
    </Button>
  );
  return (
    <Section title={inDoubt ? "Did it happen?" : "Your decision"} lead={inDoubt ? IN_DOUBT : LEAD}>
      {inDoubt && (
        <JsonInput
          label="What it gave, where you say that it happened"
          description="JSON, as the tool would have answered. Left empty the output is null, and steps that need a part of it fail."
          placeholder='{"revoked": []}'
          value={output}
          onChange={setOutput}
          error={isJson ? undefined : "This is no JSON."}
          autosize
          minRows={2}
          mb="sm"
          maw="46rem"
        />
      )}
      <Textarea
        label="Reason"
        description="Kept with the decision, for whoever reads the run later."
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        autosize
        minRows={2}
        maw="46rem"
      />
      <Group mt="md" gap="sm">
        {inDoubt ? (
          <>
            {answer("approve", "It did not happen: call it", "lake", isOwn, true)}
            {answer("report", "It happened", "lake", isOwn || !isJson, false)}
            {answer("reject", "I do not know: reject", "red", false, false)}
          </>
        ) : (
          <>
            {answer("approve", "Approve", "lake", isOwn, true)}
            {answer("reject", isOwn ? "Withdraw" : "Reject", "red", false, false)}
          </>
        )}
      </Group>
      {isOwn && (
        <Text size="sm" mt="sm">
          You asked for this, or your key and an asker&apos;s may be one person&apos;s. It needs four eyes: a different
          person has to agree. You may withdraw it.
        </Text>
      )}
      {!isOperator && (
        <Text size="sm" mt="sm">
          Approvals are decided by operators; your key is a user's.
        </Text>
      )}
      {isOperator && !hasScope && (
        <Text size="sm" mt="sm">
          Your key does not have the scope approvals:write.
        </Text>
      )}
      {told.error !== null && (
        <div className="below">
          <Failure error={told.error} />
        </div>
      )}
    </Section>
  );
}

/** The scopes that open decisions. */
const DECIDES = ["*", "approvals:write"];

const LEAD = "If you approve, exactly this call is made, once. If you reject, the step fails and nothing is called.";

const IN_DOUBT =
  "The call was begun, and the process died before it heard the answer. Look where it writes, then say what is so: made again it may happen twice.";

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
