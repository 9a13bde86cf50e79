/** The expert graph: walked from a node, and asked about coverage and open risks. */

import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";

import { CoverageView } from "~/graph/coverage";
import { NodeView } from "~/graph/node-view";
import { PathsView } from "~/graph/paths";
import { RisksView } from "~/graph/risks";
import { PageHead } from "~/parts/page-head";

const route = getRouteApi("/graph");

export function ExpertGraph() {
  const { view } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHead
        title="Expert graph"
        lead="What experts know about a domain: which control demands what, what shows that it is met, where that is collected; which risks there are, and what addresses them."
      />
      <Tabs
        value={view ?? "near"}
        keepMounted={false}
        onChange={(tab) =>
          void navigate({
            search: (last) => ({
              ...last,
              view: tab === "paths" || tab === "coverage" || tab === "unremediated" ? tab : undefined,
            }),
          })
        }
      >
        <Tabs.List mb="md">
          <Tabs.Tab value="near">Near a node</Tabs.Tab>
          <Tabs.Tab value="paths">Paths to evidence</Tabs.Tab>
          <Tabs.Tab value="coverage">Coverage of a framework</Tabs.Tab>
          <Tabs.Tab value="unremediated">Risks without a remedy</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="near">
          <NodeView />
        </Tabs.Panel>
        <Tabs.Panel value="paths">
          <PathsView />
        </Tabs.Panel>
        <Tabs.Panel value="coverage">
          <CoverageView />
        </Tabs.Panel>
        <Tabs.Panel value="unremediated">
          <RisksView />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
