/**
 * An OpenID provider on loopback with one client, the console. Its development pages accept every name and password.
 * Use: `node serve.mjs FOLDER_WITH_NODE_MODULES PORT CONSOLE_URL`.
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, port, url] = process.argv.slice(2);
const found = createRequire(join(folder, "package.json")).resolve("oidc-provider");
const { default: Provider } = await import(pathToFileURL(found).href);

const claims = { org: "acme", groups: ["charter-admins"] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "console",
      token_endpoint_auth_method: "none",
      redirect_uris: [`${url}/console/signed-in`],
      post_logout_redirect_uris: [`${url}/console/`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
  ],
  // Claims of the granted scopes are in the ID token, not only at the userinfo endpoint.
  conformIdTokenClaims: false,
  claims: { openid: ["sub", ...Object.keys(claims)] },
  features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
  findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...claims }) }),
  issueRefreshToken: async () => true,
  pkce: { required: () => true },
});

provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
