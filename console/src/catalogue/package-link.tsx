/** Leads to the package that brought a layer of a document. */

import type { DocumentLayer } from "@charter/client";
import { Link } from "@tanstack/react-router";

export function PackageLink({ layer }: { layer: DocumentLayer }) {
  return (
    <Link to="/packages/$scope/$name" params={{ scope: layer.scope, name: layer.package }} className="mono">
      {layer.package}
    </Link>
  );
}
