/** Playbooks that fit. Nothing was begun: one that is chosen shows its plan, and waits until that is confirmed. */

import type { Offer } from "@charter/client";
import { Anchor, Button, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useId, useState } from "react";

import { Facts } from "~/parts/facts";
import { Failure } from "~/parts/failure";
import { Section } from "~/parts/section";
import { useAsk } from "~/requests/asking";
import { type Typed, typedValues, ValueFields } from "~/runs/value-fields";

interface Props {
  offers: Offer[];
  /** The words that the offers are made for. */
  input: string;
  session: string | undefined;
}

export function Offers({ offers, input, session }: Props) {
  return (
    <Section title="Changes that fit" lead="Nothing was begun. A change that you choose shows its plan first.">
      <ul className="offers">
        {offers.map((offer) => (
          <li key={`${offer.playbook_id} ${JSON.stringify(offer.parameters)}`}>
            <Offered offer={offer} input={input} session={session} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Offered({ offer, input, session }: { offer: Offer; input: string; session: string | undefined }) {
  const ask = useAsk(session);
  const [isChosen, setIsChosen] = useState(false);
  const [typed, setTyped] = useState<Typed>({});
  const form = useId();
  const values = Object.entries(offer.parameters).map(([name, value]): [string, ReactNode] => [
    name,
    <span className="mono">{JSON.stringify(value)}</span>,
  ]);
  const open = () =>
    ask.mutate({
      input,
      metadata: {
        playbook_id: offer.playbook_id,
        parameters: { ...offer.parameters, ...typedValues(typed) },
        confirm: true,
      },
    });
  return (
    <>
      <Group justify="space-between" gap="sm" align="baseline">
        <Text fw={600}>
          To do this:{" "}
          <Anchor
            underline="always"
            renderRoot={(props) => (
              <Link to="/catalogue/$kind/$id" params={{ kind: "playbook", id: offer.playbook_id }} {...props} />
            )}
          >
            {offer.title}
          </Anchor>
        </Text>
        <Button
          variant="default"
          size="compact-sm"
          aria-label={`Choose ${offer.title}`}
          aria-expanded={isChosen}
          aria-controls={form}
          onClick={() => setIsChosen(!isChosen)}
        >
          Choose
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        {offer.finding_skills === undefined
          ? "For the words of this request"
          : `For the findings of ${offer.finding_skills.join(", ")}`}
        {offer.missing.length > 0 && `. It needs ${offer.missing.join(", ")}`}
      </Text>
      <form
        id={form}
        hidden={!isChosen}
        className="below"
        onSubmit={(event) => {
          event.preventDefault();
          open();
        }}
      >
        {values.length > 0 && <Facts rows={values} />}
        <ValueFields names={offer.missing} typed={typed} onChange={setTyped} />
        <Button type="submit" loading={ask.isPending}>
          Show its plan
        </Button>
        <Text size="sm" c="dimmed" mt={4}>
          Nothing changes before you confirm the plan.
        </Text>
      </form>
      {ask.error !== null && (
        <div className="below">
          <Failure error={ask.error} />
        </div>
      )}
    </>
  );
}
