/** Shows what of a record was verified, here in the page, and what was not. */

import type { EvidenceProof, EvidenceShown } from "@charter/client";
import { List, Text, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconCheck, IconQuestionMark, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { type Check, isShown, type Verdict, verifyRecord } from "~/evidence/verify/verify";
import { Command } from "~/parts/command";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

const SIGNS = { good: IconCheck, bad: IconX, open: IconQuestionMark };
const WORDS = { good: "Verified", bad: "Wrong", open: "Not known" };
const TONES = { good: "good", bad: "bad", open: "warn" } as const;

export function Verification({ record }: { record: EvidenceShown }) {
  const charter = useCharter();
  const [trusted, setTrusted] = useLocalStorage({ key: "charter.evidence-key", defaultValue: "" });
  const path = { id: record.id };
  const proof = useQuery({
    queryKey: ["evidence", "proof", record.id],
    queryFn: () => charter.get("/v1/evidence/log/proof/{id}", { params: { path } }),
  });
  return (
    <Section
      title="Verification"
      lead="The server gives the proof; every hash and the signature are computed here, by your browser."
    >
      <Loaded query={proof}>
        {(found) =>
          // Browsers offer WebCrypto to pages of https and of this machine only.
          window.isSecureContext ? (
            <Checked proof={found} record={record} trusted={trusted} />
          ) : (
            <Text>
              Your browser offers no cryptography to pages over plain HTTP, so nothing was verified. Open the console
              over https, or verify on the command line.
            </Text>
          )
        }
      </Loaded>
      <TextInput
        mt="md"
        label="Key that you trust"
        description="As charter evidence key prints it. Get it by another way than from this server; it is kept in this browser."
        placeholder="name+id+key"
        value={trusted}
        onChange={(event) => setTrusted(event.currentTarget.value)}
        classNames={{ input: "mono" }}
      />
    </Section>
  );
}

function Checked({ proof, record, trusted }: { proof: EvidenceProof; record: EvidenceShown; trusted: string }) {
  const verdict = useQuery({
    queryKey: ["evidence", "verdict", record.id, trusted, proof],
    queryFn: () => whole(proof, record, trusted),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={verdict}>
      {({ isGood, checks }) => (
        <div role="status" aria-label="Verdict">
          <Text fw={600}>
            <Mark tone={isGood ? "good" : "bad"}>{isGood ? "verified" : "not verified"}</Mark>{" "}
            {isGood
              ? "This record is in the signed log, and is what was written there."
              : "Something does not fit. Do not rely on this record."}
          </Text>
          <List listStyleType="none" spacing={6} mt="sm" aria-label="Checks">
            {checks.map((check) => (
              <OneCheck key={check.name} check={check} />
            ))}
          </List>
          <Text size="sm" fw={600} mt="md">
            What this does not show
          </Text>
          <List size="sm" spacing={2} mt={2}>
            <List.Item>That no other record was left out: only an export of the whole log shows that.</List.Item>
            <List.Item>That the log was not begun anew: keep a checkpoint elsewhere and compare.</List.Item>
            <List.Item>That what the tool answered was true: follow the link to the original.</List.Item>
          </List>
          <div className="below">
            <Command text="charter evidence export evidence.jsonl && charter evidence verify evidence.jsonl" />
          </div>
        </div>
      )}
    </Loaded>
  );
}

async function whole(proof: EvidenceProof, record: EvidenceShown, trusted: string): Promise<Verdict> {
  const verdict = await verifyRecord(proof, record.id, trusted);
  const isSame = isShown(proof, { ...record });
  const shown: Check = {
    name: "What this screen shows",
    result: isSame ? "good" : "bad",
    detail: isSame ? "It is the record that was proved." : "It is not the record that was proved.",
  };
  return { ...verdict, isGood: verdict.isGood && isSame, checks: [...verdict.checks, shown] };
}

function OneCheck({ check: { name, result, detail } }: { check: Check }) {
  const Sign = SIGNS[result];
  return (
    <List.Item className="check" data-tone={TONES[result]}>
      <Sign size={16} className="check-sign" aria-hidden />
      <div>
        <Text size="sm" fw={600} component="span">
          {name}
        </Text>{" "}
        <Mark tone={TONES[result]}>{WORDS[result]}</Mark>
        <Text size="sm" c="dimmed" className="check-detail">
          {detail}
        </Text>
      </div>
    </List.Item>
  );
}
