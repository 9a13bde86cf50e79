/** Asking a question, or for a change, in a new session. */

import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { AskForm } from "~/requests/ask-form";

export function Ask() {
  return (
    <>
      <PageHead
        title="Ask"
        lead="Ask a question, or for a change. Skills answer questions and read only; a change shows its plan and waits until you confirm it."
      />
      <Section title="A new session" lead="Further questions follow on the request's screen, and lean on what was asked before.">
        <AskForm label="Question or request" session={undefined} />
      </Section>
    </>
  );
}
