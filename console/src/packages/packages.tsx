/** The packages in force. */

import type { PackageShown } from "@charter/client";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { EmptyState } from "~/parts/empty-state";
import { type Column, Listing } from "~/parts/listing";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { Moment } from "~/parts/moment";
import { PageHead } from "~/parts/page-head";
import { useCharter } from "~/session/session";

export function Packages() {
  const charter = useCharter();
  const packages = useQuery({ queryKey: ["packages"], queryFn: () => charter.get("/v1/packages") });
  return (
    <>
      <PageHead
        title="Packages"
        lead="What is in force came with packages: each was checked, its tests passed, and all of it took effect at once."
        actions={
          <Button size="compact-md" renderRoot={(props) => <Link to="/packages/register" {...props} />}>
            Register a package
          </Button>
        }
      />
      <Loaded query={packages}>
        {(found) =>
          found.length === 0 ? (
            <EmptyState title="No packages yet" command="charter package register packages/aws-security">
              A package is a directory of skills, tools, guardrails and playbooks, in one version. Registering one puts
              all of it in force, or nothing.
            </EmptyState>
          ) : (
            <Listing
              label="Packages in force"
              columns={COLUMNS}
              rows={found}
              rowKey={(shown) => `${shown.scope} ${shown.package}`}
            />
          )
        }
      </Loaded>
    </>
  );
}

const COLUMNS: Column<PackageShown>[] = [
  {
    name: "Package",
    width: "minmax(12rem, 2fr)",
    cell: (shown) => (
      <Link
        to="/packages/$scope/$name"
        params={{ scope: shown.scope, name: shown.package }}
        className="row-link mono"
      >
        {shown.package}
      </Link>
    ),
  },
  { name: "Version", width: "7rem", cell: ({ version }) => version },
  {
    name: "Scope",
    width: "7rem",
    cell: ({ scope }) => <Mark tone={scope === "tenant" ? "info" : "calm"}>{scope}</Mark>,
  },
  { name: "Documents", width: "7rem", align: "end", cell: ({ documents }) => documents },
  { name: "In force since", width: "minmax(9rem, 1fr)", cell: ({ at }) => <Moment at={at} /> },
  { name: "By", width: "minmax(7rem, 1fr)", cell: ({ actor }) => actor },
];
