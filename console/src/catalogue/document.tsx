/** One document: what it says, which layer won, what it needs and what breaks if it changes. */

import type { DocumentKind, DocumentShown } from "@charter/client";
import { Button, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { BearsOn } from "~/catalogue/bears-on";
import { DependencyView } from "~/catalogue/dependencies";
import { kindOf } from "~/catalogue/kinds";
import { LayerMark, Layers } from "~/catalogue/layers";
import { PackageLink } from "~/catalogue/package-link";
import { EmptyState } from "~/parts/empty-state";
import { Facts } from "~/parts/facts";
import { Loaded } from "~/parts/loaded";
import { Mark } from "~/parts/mark";
import { PageHead } from "~/parts/page-head";
import { Section } from "~/parts/section";
import { JsonSource, Source } from "~/parts/source";
import { useCharter } from "~/session/session";

const route = getRouteApi("/catalogue/$kind/$id");

export function Document() {
  const { kind: name, id } = route.useParams();
  const kind = kindOf(name);
  if (kind === undefined) {
    return (
      <>
        <PageHead title="There is no such kind" />
        <EmptyState title={`“${name}” is no kind of document`}>Look under Documents for the kinds there are.</EmptyState>
      </>
    );
  }
  return <OfKind key={`${name} ${id}`} kind={kind.kind} one={kind.one} label={kind.label} id={id} />;
}

interface OfKindProps {
  kind: DocumentKind;
  one: string;
  label: string;
  id: string;
}

function OfKind({ kind, one, label, id }: OfKindProps) {
  const charter = useCharter();
  const { view } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = useQuery({
    queryKey: ["catalogue", "document", kind, id],
    queryFn: () =>
      charter.get("/v1/documents/{kind}/{document}", { params: { path: { kind, document: id } } }),
  });
  const layer = shown.data === undefined ? undefined : won(shown.data);
  return (
    <>
      <PageHead
        title={titleOf(layer?.document) ?? id}
        lead={purposeOf(layer?.document)}
        crumbs={[
          <Link key="kind" to="/catalogue/$kind" params={{ kind }}>
            {label}
          </Link>,
          <span key="id" className="mono">
            {id}
          </span>,
        ]}
        actions={
          kind !== "playbook" ? undefined : (
            <Button size="compact-md" renderRoot={(props) => <Link to="/playbooks/$playbook" params={{ playbook: id }} {...props} />}>
              Run it
            </Button>
          )
        }
        marks={
          shown.data !== undefined && (
            <>
              <Mark>{one.toLowerCase()}</Mark>
              <StatusMark document={layer?.document} />
              <LayerMark shown={shown.data} />
            </>
          )
        }
      />
      <Loaded query={shown}>
        {(document) => (
          <Tabs
            value={view ?? "document"}
            keepMounted={false}
            onChange={(tab) =>
              void navigate({
                search: (last) => ({
                  ...last,
                  view: tab === "layers" || tab === "dependencies" ? tab : undefined,
                }),
              })
            }
          >
            <Tabs.List mb="md">
              <Tabs.Tab value="document">Document</Tabs.Tab>
              <Tabs.Tab value="layers">Layers</Tabs.Tab>
              <Tabs.Tab value="dependencies">Dependencies</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="document">
              <Body shown={document} />
            </Tabs.Panel>
            <Tabs.Panel value="layers">
              <Layers shown={document} />
            </Tabs.Panel>
            <Tabs.Panel value="dependencies">
              <DependencyView kind={kind} id={id} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </>
  );
}

/** The layer whose document answers. */
function won(shown: DocumentShown) {
  return shown.layers.find(({ in_force }) => in_force) ?? shown.layers[0];
}

function Body({ shown }: { shown: DocumentShown }) {
  const layer = won(shown);
  if (layer === undefined) return <Text>No layer has it.</Text>;
  const { document, source } = layer;
  return (
    <div className="panes">
      <div className="sections">
        <Section title="Where it comes from">
          <Facts
            rows={[
              ["Package", <PackageLink key="package" layer={layer} />],
              ["Version", layer.package_version],
              ["Layer", layer.scope],
              ["File", source === null ? "none: it was built in, imported or generated" : <span className="mono">{source.file}:{source.line}</span>],
              ["Domain", textAt(document, "domain")],
              ["Class", textAt(document, "tool_class")],
              ["Safety class", textAt(document, "safety_class")],
              ["Permission level", textAt(document, "permission_level")],
              ["Tier", textAt(document, "tier")],
            ]}
          />
        </Section>
        <BearsOn kind={shown.kind} id={shown.id} />
      </div>
      {source === null ? (
        <JsonSource value={document} label="The document" />
      ) : (
        <Source text={source.text} label={source.file} start={source.line} />
      )}
    </div>
  );
}

function StatusMark({ document }: { document: Record<string, unknown> | undefined }) {
  const status = textAt(document, "status");
  if (status === undefined) return null;
  return (
    <>
      <Mark tone={status === "active" ? "good" : "calm"}>{status}</Mark>
      {document?.["is_candidate"] === true && <Mark tone="warn">candidate</Mark>}
    </>
  );
}

function textAt(document: Record<string, unknown> | undefined, name: string): string | undefined {
  const value = document?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function titleOf(document: Record<string, unknown> | undefined): string | undefined {
  return textAt(document, "display_name") ?? textAt(document, "title") ?? textAt(document, "name");
}

function purposeOf(document: Record<string, unknown> | undefined): string | undefined {
  return textAt(document, "description") ?? textAt(document, "purpose");
}
