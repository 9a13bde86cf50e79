/** A question that is asked back: choosing one of its options asks the next turn of the session. */

import type { Clarification, ClarificationOption } from "@charter/client";
import { Button } from "@mantine/core";

import { Failure } from "~/parts/failure";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { type Question, useAsk } from "~/requests/asking";

interface Props {
  clarification: Clarification;
  /** The words that the question is about. */
  input: string;
  session: string | undefined;
  /** Whether nothing was asked in the session since. */
  isLast: boolean;
}

export function Clarify({ clarification, input, session, isLast }: Props) {
  const ask = useAsk(session);
  const choose = (option: ClarificationOption) =>
    ask.mutate(session !== undefined && isLast ? { input: option.id } : named(option, input));
  return (
    <Section title={clarification.question} lead="Choose one. It is the next question of this session.">
      <ol className="choices" aria-label="Options" aria-busy={ask.isPending}>
        {clarification.options.map((option) => (
          <li key={`${option.kind} ${option.id}`}>
            <Button
              variant="default"
              justify="flex-start"
              fullWidth
              disabled={ask.isPending}
              onClick={() => choose(option)}
              rightSection={
                <>
                  <Mark tone={option.kind === "playbook" ? "warn" : "calm"}>{option.kind}</Mark>{" "}
                  <span className="mono quiet">{option.id}</span>
                </>
              }
            >
              {option.title}
            </Button>
          </li>
        ))}
      </ol>
      {ask.error !== null && (
        <div className="below">
          <Failure error={ask.error} />
        </div>
      )}
    </Section>
  );
}

/** Only the turn that follows a question answers it: later the same words are asked of the option by its id. */
function named({ kind, id }: ClarificationOption, input: string): Question {
  return { input, metadata: kind === "playbook" ? { playbook_id: id, confirm: true } : { skill_id: id } };
}
