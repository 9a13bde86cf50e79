// An authorization server (oidc-provider) with what its tokens are for: an API, and an MCP server whose metadata name it.
// Prints its port. `/control/...` is for the tests: a browser that grants access, and what the servers have seen.

import http from "node:http";
import Provider from "oidc-provider";

/** Shorter than the time before its end at which Charter renews a token, so that each call renews it. */
const LIFETIME_S = 25;
const SCOPE = "tools";

const issued = [];
const grants = {};
const seen = [];
const clients = new Set();
let origin;
let provider;
let authorization;

function configuration() {
  return {
    clients: [
      {
        client_id: "charter",
        client_secret: "secret-of-the-configured-client",
        application_type: "native",
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: ["http://127.0.0.1:9/"],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    cookies: { keys: ["of the tests"] },
    scopes: ["openid", "offline_access", SCOPE],
    ttl: { AccessToken: LIFETIME_S, RefreshToken: 600, Grant: 600, Session: 600, Interaction: 600 },
    expiresWithSession: async () => false,
    issueRefreshToken: async () => true,
    findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    async loadExistingGrant(ctx) {
      const { client, session, resourceServers } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope(`openid ${SCOPE}`);
      for (const indicator of Object.keys(resourceServers ?? {})) grant.addResourceScope(indicator, SCOPE);
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async (_, indicator) => ({
          audience: indicator,
          scope: SCOPE,
          accessTokenFormat: "opaque",
          accessTokenTTL: LIFETIME_S,
        }),
      },
    },
  };
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function bodyOf(request) {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
}

/** The token of a request with its user; undefined without a valid one. */
async function bearer(request) {
  const [, value] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
  const token = value && (await provider.AccessToken.find(value));
  return token && { value, user: token.accountId };
}

/** Grants access as a user does in a browser; returns the parameters with which the browser is sent back. */
async function grant(user, address) {
  const cookies = new Map();
  let next = new URL(address);
  for (let turn = 0; turn < 10; turn += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(next, { redirect: "manual", headers: { cookie, "x-user": user } });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${next} answered ${response.status}: ${await response.text()}`);
    next = new URL(location, next);
    if (next.origin !== origin) return Object.fromEntries(next.searchParams);
  }
  throw new Error("too many redirects");
}

async function live(user) {
  let count = 0;
  for (const { kind, value, account } of issued) {
    if (account !== user) continue;
    const token = await provider[kind].find(value);
    if (token !== undefined && !token.consumed) count += 1;
  }
  return count;
}

/** Ends what a user granted, as the user may do at the server itself. */
async function end(user) {
  for (const { kind, value, account } of issued) {
    if (account !== user) continue;
    const token = await provider[kind].find(value);
    await token?.destroy();
  }
}

async function control(url, response) {
  const user = url.searchParams.get("user");
  switch (url.pathname) {
    case "/control/grant":
      return json(response, 200, await grant(user, url.searchParams.get("url")));
    case "/control/seen":
      return json(response, 200, seen);
    case "/control/tokens":
      return json(response, 200, { values: issued.map(({ value }) => value), grants, clients: [...clients] });
    case "/control/live":
      return json(response, 200, await live(user));
    case "/control/end":
      return json(response, 200, await end(user) ?? null);
    default:
      return json(response, 404, null);
  }
}

/** The API. It repeats the token that it was sent. */
async function api(request, response) {
  const token = await bearer(request);
  await bodyOf(request);
  if (token === undefined) return json(response, 401, { error: "invalid_token" });
  seen.push(token.user);
  return json(response, 200, { backups: [{ id: `${token.user} ${token.value}`, age_days: 40 }] });
}

async function mcp(request, response) {
  const token = await bearer(request);
  const text = await bodyOf(request);
  if (token === undefined) {
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="${SCOPE}"`;
    return json(response, 401, { error: "invalid_token" }, { "www-authenticate": challenge });
  }
  if (request.method !== "POST") return json(response, 405, null);
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return response.writeHead(202).end();
  const result = (value) => json(response, 200, { jsonrpc: "2.0", id, result: value });
  switch (method) {
    case "initialize":
      return result({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "tracker", version: "1" },
      });
    case "ping":
      return result({});
    case "tools/list":
      return result({
        tools: [{ name: "whoami", description: "Names the user of the token.", inputSchema: { type: "object" } }],
      });
    case "tools/call":
      seen.push(token.user);
      return result({ content: [{ type: "text", text: `${token.user} ${token.value}` }] });
    default:
      return json(response, 200, { jsonrpc: "2.0", id, error: { code: -32601, message: `no ${method}` } });
  }
}

async function handle(request, response) {
  const url = new URL(request.url, origin);
  if (url.pathname.startsWith("/control/")) return control(url, response);
  if (url.pathname === "/backups") return api(request, response);
  if (url.pathname === "/mcp") return mcp(request, response);
  if (url.pathname === "/.well-known/oauth-protected-resource/mcp") {
    return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
  }
  if (url.pathname.startsWith("/interaction/")) {
    const user = request.headers["x-user"];
    return provider.interactionFinished(request, response, { login: { accountId: user }, consent: {} });
  }
  return authorization(request, response);
}

const server = http.createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) json(response, 500, { error: String(error) });
  });
});

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  origin = `http://127.0.0.1:${port}`;
  provider = new Provider(origin, configuration());
  provider.on("grant.success", (ctx) => {
    const { client, grant: granted, params } = ctx.oidc;
    const account = granted?.accountId;
    grants[params.grant_type] = (grants[params.grant_type] ?? 0) + 1;
    clients.add(client.clientId);
    const { access_token: access, refresh_token: refresh } = ctx.body;
    issued.push({ kind: "AccessToken", value: access, account });
    if (refresh) issued.push({ kind: "RefreshToken", value: refresh, account });
  });
  authorization = provider.callback();
  console.log(port);
});
