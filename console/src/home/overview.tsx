/** The first screen: decisions that wait, failed runs and new findings; first steps for an empty installation. */

import type { PackageShown } from "@charter/client";
import { Button, List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { KINDS } from "~/catalogue/kinds";
import { Decisions } from "~/home/decisions";
import { FailedRuns } from "~/home/failed";
import { Figures } from "~/home/figures";
import { NewFindings } from "~/home/found";
import { Command } from "~/parts/command";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

export function Overview() {
  const charter = useCharter();
  const packages = useQuery({ queryKey: ["packages"], queryFn: () => charter.get("/v1/packages") });
  return (
    <>
      <PageHead
        title="Overview"
        lead="Decisions that wait for you, failed runs, new findings, and the documents that are in force."
        actions={<Begin />}
      />
      <Loaded query={packages}>
        {(found) => (found.length === 0 ? <FirstSteps /> : <Work packages={found} />)}
      </Loaded>
    </>
  );
}

function FirstSteps() {
  return (
    <div className="empty-state">
      <Text fw={600} size="lg" component="h2">
        Nothing is in force yet
      </Text>
      <Text c="dimmed" mt={6} maw="44rem">
        Charter knows what agents may do from packages: directories of skills, tools, guardrails and playbooks.
        Register one, then ask something that it answers.
      </Text>
      <List type="ordered" mt="md" spacing="md" maw="46rem">
        <List.Item>
          Check a package. Every problem comes with its file and line.
          <Command text="charter package validate packages/aws-security" />
        </List.Item>
        <List.Item>
          Put it in force. All of it, or nothing.
          <Command text="charter package register packages/aws-security" />
        </List.Item>
        <List.Item>
          Ask, and see the run with its steps and evidence.
          <Command text='charter ask "are any buckets public?" -p region=eu-west-1' />
        </List.Item>
      </List>
    </div>
  );
}

/** Links to start work. */
function Begin() {
  return (
    <>
      <Button size="compact-md" renderRoot={(props) => <Link to="/ask" {...props} />}>
        Ask
      </Button>
      <Button size="compact-md" variant="default" renderRoot={(props) => <Link to="/missions/start" {...props} />}>
        Start a mission
      </Button>
      <Button size="compact-md" variant="default" renderRoot={(props) => <Link to="/playbooks" {...props} />}>
        Run a playbook
      </Button>
    </>
  );
}

function Work({ packages }: { packages: PackageShown[] }) {
  return (
    <div className="work">
      <div className="work-queue">
        <Decisions />
        <FailedRuns />
        <NewFindings />
      </div>
      <Figures />
      <InForce packages={packages} />
    </div>
  );
}

function InForce({ packages }: { packages: PackageShown[] }) {
  return (
    <div className="panes">
      <MayDo />
      <Section title="Packages in force" lead="Each brought its documents in one step, after its tests passed.">
        <List listStyleType="none" spacing={8}>
          {packages.map((shown) => (
            <List.Item key={`${shown.scope} ${shown.package}`}>
              <Link
                to="/packages/$scope/$name"
                params={{ scope: shown.scope, name: shown.package }}
                className="mono"
              >
                {shown.package}
              </Link>{" "}
              {shown.version}{" "}
              <Mark tone={shown.scope === "tenant" ? "info" : "calm"}>{shown.scope}</Mark>{" "}
              <Text span c="dimmed" size="sm">
                {shown.documents} documents, <Moment at={shown.at} /> by {shown.actor}
              </Text>
            </List.Item>
          ))}
        </List>
      </Section>
    </div>
  );
}

/** Documents by kind, with their numbers. */
function MayDo() {
  const charter = useCharter();
  const catalogue = useQuery({ queryKey: ["catalogue", "counts"], queryFn: () => charter.get("/v1/catalogue") });
  const counts = new Map(catalogue.data?.kinds.map((counted) => [counted.kind, counted]));
  return (
    <Section title="What agents may do" lead="Every document that you see, by kind.">
      <div className="counts">
        {KINDS.map(({ kind, label, what }) => (
          <Link key={kind} to="/catalogue/$kind" params={{ kind }} className="count">
            <span className="count-number">{counts.get(kind)?.documents.toLocaleString("en") ?? "–"}</span>
            <span className="count-label">{label}</span>
            <span className="count-what">{what}</span>
          </Link>
        ))}
      </div>
    </Section>
  );
}
