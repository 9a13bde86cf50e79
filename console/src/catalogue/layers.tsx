/** Which layer won, and in what the layers differ. */

import type { DocumentLayer, DocumentShown } from "@charter/client";
import { Group, List, Text } from "@mantine/core";

import { PackageLink } from "~/catalogue/package-link";
import { JsonDifference } from "~/parts/difference";
import { Facts } from "~/parts/facts";
import { Mark } from "~/parts/mark";
import { Section } from "~/parts/section";
import { JsonSource, Source } from "~/parts/source";

export function LayerMark({ shown: { layers } }: { shown: DocumentShown }) {
  const [first, second] = layers;
  if (second === undefined) return <Mark tone={first?.scope === "tenant" ? "info" : "calm"}>{first?.scope}</Mark>;
  return second.in_force ? <Mark tone="info">tenant and global</Mark> : <Mark tone="info">tenant over global</Mark>;
}

export function Layers({ shown }: { shown: DocumentShown }) {
  const { layers, differs } = shown;
  const [first, second] = layers;
  return (
    <div className="panes">
      <Section title="Which layer won">
        <Text className="verdict-text">{explained(shown)}</Text>
        <div className="layers">
          {layers.map((layer) => (
            <Layer key={layer.scope} layer={layer} />
          ))}
        </div>
      </Section>
      {first !== undefined && second !== undefined && (
        <Section
          title="How the tenant's differs from the global one"
          lead="Lines that begin with − are the global document's, those with + the tenant's own."
        >
          {differs.length === 0 ? (
            <Text>They say the same.</Text>
          ) : (
            <>
              <List mb="sm" withPadding>
                {differs.map((pointer) => (
                  <List.Item key={pointer} className="mono">
                    {pointer === "" ? "/" : pointer}
                  </List.Item>
                ))}
              </List>
              <JsonDifference
                label="The global document and the tenant's own"
                before={second.document}
                after={first.document}
              />
            </>
          )}
        </Section>
      )}
      {layers.map(({ scope, document, source }) =>
        source === null ? (
          <JsonSource key={scope} value={document} label={`The ${scope} document`} />
        ) : (
          <Source key={scope} text={source.text} label={`${scope} · ${source.file}`} start={source.line} />
        ),
      )}
    </div>
  );
}

function Layer({ layer }: { layer: DocumentLayer }) {
  return (
    <div className="layer" data-in-force={layer.in_force}>
      <Group gap="xs" mb={6}>
        <Text fw={600}>{layer.scope === "tenant" ? "Your tenant's" : "Global"}</Text>
        {layer.in_force ? <Mark tone="good">in force</Mark> : <Mark>shadowed</Mark>}
      </Group>
      <Facts
        rows={[
          ["Package", <PackageLink key="package" layer={layer} />],
          ["Version", layer.package_version],
          ["File", layer.source === null ? undefined : <span className="mono">{layer.source.file}</span>],
        ]}
      />
    </div>
  );
}

/** Why this layer's document answers, in a sentence or two. */
function explained({ kind, layers }: DocumentShown): string {
  const [first, second] = layers;
  if (first === undefined) return "No layer has it.";
  if (second === undefined) {
    return first.scope === "tenant"
      ? "Only your tenant has it; there is no global document of this id."
      : "Only the global layer has it. A package of your tenant with a document of this id would shadow it.";
  }
  if (first.in_force && second.in_force) {
    return `Both are in force: a tenant's ${kind} is added to the global one and does not replace it, so nothing global is loosened.`;
  }
  return "Your tenant's own won: it shadows the global document of the same id for everybody of your tenant. Other tenants still see the global one.";
}
