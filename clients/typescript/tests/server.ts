/** A real server for tests: the binary over a data directory of its own, on a free port of loopback. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The repository. */
export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** How long a server may take to listen, in milliseconds. */
const START_MS = 60_000;

/** How long a server may take to stop, in milliseconds. */
const STOP_MS = 20_000;

const run = promisify(execFile);

/** How a server is begun. */
export interface ServerOptions {
  /** More of the configuration, as TOML. */
  config?: string;
  /** Variables that the server has besides this process's. */
  environment?: Record<string, string>;
  /** Whether routing compares meaning too; needs the model in `target/models`. */
  withModel?: boolean;
}

/** A server that runs. */
export class Server {
  readonly url: string;
  readonly #folder: string;
  #process: ChildProcess;
  readonly #command: string[];
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(url: string, folder: string, process: ChildProcess, command: string[], environment: NodeJS.ProcessEnv) {
    this.url = url;
    this.#folder = folder;
    this.#process = process;
    this.#command = command;
    this.#environment = environment;
  }

  /** Starts a server; `before` is done with its command line while it does not run yet. */
  static async start(
    options: ServerOptions = {},
    before?: (charter: (...words: string[]) => Promise<string>) => Promise<void>,
  ): Promise<Server> {
    const binary = resolve(ROOT, process.env["CHARTER"] ?? "target/debug/charter");
    if (!existsSync(binary)) throw new Error(`${binary} is not there: \`make build\` builds it`);
    const folder = await mkdtemp(join(tmpdir(), "charter-"));
    const config = join(folder, "config.toml");
    await writeFile(config, options.config ?? "");
    const model = options.withModel
      ? { CHARTER_MODEL__CACHE: join(ROOT, "target", "models") }
      : { CHARTER_MODEL__SOURCE: "none" };
    const environment = { ...process.env, ...model, ...options.environment };
    const command = [binary, "--config", config, "--data-dir", join(folder, "data")];
    await before?.((...words) => called([...command, ...words], environment));
    const child = served(command, environment, "127.0.0.1:0");
    try {
      return new Server(await listening(child), folder, child, command, environment);
    } catch (error) {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Where its data lies. */
  get data(): string {
    return join(this.#folder, "data");
  }

  /** A command of the command line, with this server; answers with what it printed. */
  charter(...words: string[]): Promise<string> {
    return called([...this.#command, ...words], this.#environment);
  }

  /** Puts packages of the repository in force. */
  async register(...packages: string[]): Promise<void> {
    for (const name of packages) await this.charter("package", "register", join(ROOT, "packages", name));
  }

  /** Puts a package of the repository in force for the tenant `local` alone, changed by `change`. */
  async registerOwn(name: string, change: (files: Record<string, string>) => void = () => undefined): Promise<void> {
    const files = await filesOf(join(ROOT, "packages", name));
    files["package.yaml"] = files["package.yaml"]?.replace("scope: global", "scope: tenant") ?? "";
    change(files);
    const response = await fetch(`${this.url}/v1/packages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ files }),
    });
    if (!response.ok) throw new Error(`${name} was not registered: ${await response.text()}`);
  }

  /** Kills the server in the midst of what it does, and starts it again over the same data. */
  async crash(): Promise<void> {
    const ended = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill("SIGKILL");
    await ended;
    this.#process = served(this.#command, this.#environment, new URL(this.url).host);
    await listening(this.#process);
  }

  /** Stops the server and takes its data away. */
  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill("SIGTERM");
    const late = setTimeout(() => this.#process.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(late);
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** The files of a folder, by path. */
async function filesOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = paths.map(async (path) => [relative(folder, path), await readFile(path, "utf8")] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** Begins to serve at an address. */
function served(command: string[], environment: NodeJS.ProcessEnv, listen: string): ChildProcess {
  const [program = "", ...words] = [...command, "serve", "--listen", listen];
  return spawn(program, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
}

async function called(command: string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const [program = "", ...words] = command;
  const { stdout } = await run(program, words, { cwd: ROOT, env: environment, maxBuffer: 64 << 20 });
  return stdout;
}

/** The address that a starting server says it listens on. */
function listening(child: ChildProcess): Promise<string> {
  return new Promise((found, failed) => {
    let said = "";
    const late = setTimeout(() => failed(new Error(`the server did not start in time:\n${said}`)), START_MS);
    const hear = (text: Buffer) => {
      said += text.toString();
      const address = /listening on\D*?(http:\/\/)?(127\.0\.0\.1:\d+)/.exec(said)?.[2];
      if (address === undefined) return;
      clearTimeout(late);
      found(`http://${address}`);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("exit", (code) => {
      clearTimeout(late);
      failed(new Error(`the server ended with ${code}:\n${said}`));
    });
  });
}
