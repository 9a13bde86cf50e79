/** Registers a package: a directory is chosen, checked and compared with the version in force, then put in force. */

import type { DocumentChange, PackageFiles, PackageProblem, PackageReport } from "@charter/client";
import { Button, FileButton, Group, List, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ComponentProps } from "react";

import { type ChosenFile, filesOf } from "~/packages/bundle";
import { Failure } from "~/parts/failure";
import { Waiting } from "~/parts/loaded";
import { Mark, type Tone } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

/** Problems and changes that are listed; the command line lists all. */
const FIRST = 100;

/** The result of checking a directory. */
interface Checked {
  files: PackageFiles;
  report: PackageReport;
  /** The changes by its registration; absent where it has errors. */
  changes: DocumentChange[] | undefined;
  from: string | null;
}

export function Register() {
  const charter = useCharter();
  const check = useMutation({
    mutationFn: async (chosen: ChosenFile[]): Promise<Checked> => {
      const files = await filesOf(chosen);
      const report = await charter.post("/v1/packages/validate", { body: { files } });
      if (hasErrors(report)) return { files, report, changes: undefined, from: null };
      const { changes, from } = await charter.post("/v1/packages/diff", { body: { files } });
      return { files, report, changes, from };
    },
  });
  return (
    <>
      <PageHead
        title="Register a package"
        crumbs={[<Link to="/packages">Packages</Link>, <span>New version</span>]}
        lead="Choose the directory of a package. It is checked and compared first; nothing is in force before you register it."
        actions={
          <FileButton
            multiple
            onChange={(chosen) => chosen.length > 0 && check.mutate(chosen)}
            inputProps={{ webkitdirectory: "", "aria-label": "Directory of the package" } as ComponentProps<"input">}
          >
            {(props) => (
              <Button {...props} size="compact-md" loading={check.isPending}>
                Choose a directory
              </Button>
            )}
          </FileButton>
        }
      />
      {check.isPending && <Waiting />}
      {check.error !== null && <Failure error={check.error} />}
      {check.data !== undefined && <Report checked={check.data} />}
      {check.isIdle && (
        <Section title="No directory chosen yet">
          <Text size="sm">
            A package is a directory with a package.yaml and folders of skills, tools, guardrails and playbooks. The command{" "}
            <span className="mono">charter package register DIR</span> does the same.
          </Text>
        </Section>
      )}
    </>
  );
}

function hasErrors({ problems, tests }: PackageReport): boolean {
  return problems.some(({ severity }) => severity === "error") || tests.some(({ passed }) => !passed);
}

function Report({ checked: { files, report, changes, from } }: { checked: Checked }) {
  const charter = useCharter();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const register = useMutation({
    mutationFn: () => charter.post("/v1/packages", { body: { files } }),
    onSuccess: async ({ package: name }) => {
      await queries.invalidateQueries({ queryKey: ["packages"] });
      const shown = (await charter.get("/v1/packages")).filter((one) => one.package === name);
      const scope = shown.find((one) => one.scope === "tenant") ?? shown[0];
      await navigate({ to: "/packages/$scope/$name", params: { scope: scope?.scope ?? "tenant", name } });
    },
  });
  const failed = report.tests.filter(({ passed }) => !passed);
  return (
    <div className="panes">
      <Section
        title={`${report.package ?? "The package"} ${report.version ?? ""}`}
        lead={`${report.documents} documents, ${report.tests.length - failed.length} of ${report.tests.length} routing tests passed.`}
        actions={<Mark tone={changes === undefined ? "bad" : "good"}>{changes === undefined ? "has errors" : "may be registered"}</Mark>}
      >
        {report.problems.length === 0 && failed.length === 0 && <Text size="sm">No problem was found.</Text>}
        <Problems problems={report.problems} />
        <List listStyleType="none" spacing="xs" size="sm" mt="xs">
          {failed.slice(0, FIRST).map(({ file, line, query, reason }) => (
            <List.Item key={`${file} ${line}`}>
              <Mark tone="bad">routing test</Mark> <span className="mono">{`${file}:${line}`}</span> “{query}”: {reason}
            </List.Item>
          ))}
        </List>
      </Section>
      {changes !== undefined && (
        <Section
          title={`What it changes (${changes.length})`}
          lead={from === null ? "No version of it is in force." : `Version ${from} is in force.`}
        >
          <Changes changes={changes} />
          <Group mt="md" gap="sm">
            <Button loading={register.isPending} onClick={() => register.mutate()}>
              Register it
            </Button>
          </Group>
          {register.error !== null && (
            <div className="below">
              <Failure error={register.error} />
            </div>
          )}
        </Section>
      )}
    </div>
  );
}

function Problems({ problems }: { problems: PackageProblem[] }) {
  return (
    <List listStyleType="none" spacing="xs" size="sm" aria-label="Problems">
      {problems.slice(0, FIRST).map(({ file, line, column, severity, message, suggestion }) => (
        <List.Item key={`${file} ${line} ${column} ${message}`}>
          <Mark tone={severity === "error" ? "bad" : "warn"}>{severity}</Mark>{" "}
          <span className="mono">{`${file}:${line}:${column}`}</span> {message}
          {suggestion !== undefined && ` ${suggestion}`}
        </List.Item>
      ))}
    </List>
  );
}

const DIFFERENCES: Record<DocumentChange["difference"], Tone> = { added: "good", changed: "warn", removed: "bad" };

function Changes({ changes }: { changes: DocumentChange[] }) {
  if (changes.length === 0) return <Text size="sm">Nothing: the version in force has the same documents.</Text>;
  return (
    <ul className="changes">
      {changes.slice(0, FIRST).map(({ kind, id, difference, fields }) => (
        <li key={`${kind} ${id}`}>
          <Mark tone={DIFFERENCES[difference]}>{difference}</Mark> <span className="quiet">{kind}</span>{" "}
          <span className="mono">{id}</span> <span className="quiet">{fields.join(", ")}</span>
        </li>
      ))}
    </ul>
  );
}
