/** How a node leads to the resource types that its evidence is collected from. */

import { Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";

import { PickNode } from "~/graph/pick-node";
import { Loaded } from "~/parts/loaded";
import { Section } from "~/parts/section";
import { useCharter } from "~/session/session";

export function PathsView() {
  return <PickNode>{(node) => <Paths key={node} from={node} />}</PickNode>;
}

function Paths({ from }: { from: string }) {
  const charter = useCharter();
  const answer = useQuery({
    queryKey: ["graph", "paths", from],
    queryFn: async () => {
      const found = await charter.post("/v1/graph/query", { body: { query: "paths", from } });
      if (found.query !== "paths") throw new Error(`the graph answered ${found.query}`);
      return found;
    },
  });
  return (
    <Loaded query={answer}>
      {({ found, truncated }) => (
        <Section
          title={`${found.length}${truncated ? " or more" : ""} paths to resource types`}
          lead="Shortest first. What a control requires is evidenced by what is collected at the end of its paths."
        >
          {found.length === 0 && "No edges lead from it to a resource type. Controls and requirements have such paths."}
          <ol className="paths">
            {found.map(({ nodes, edges }) => (
              <li key={nodes.join(" ")}>
                <Group gap={6}>
                  {nodes.map((node, at) => (
                    <Fragment key={node}>
                      {at > 0 && <span className="quiet">—{edges[at - 1]?.replaceAll("_", " ")}→</span>}
                      <Link
                        from="/graph"
                        to="/graph"
                        search={(last) => ({ ...last, node, view: undefined })}
                        className="mono"
                      >
                        {node}
                      </Link>
                    </Fragment>
                  ))}
                </Group>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </Loaded>
  );
}
