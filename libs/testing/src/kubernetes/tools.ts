import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from '../salt/file-lock.ts';
import { kindSchemas, type OpenApi } from './schemas.ts';

const run = promisify(execFile);

const HELM = 'helm.sh/helm/v3/cmd/helm@v3.18.6';
const KUBECONFORM = 'github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0';
/** It has the API server's description of its kinds; kubeconform's own are on the web only. */
const SCHEMAS = { module: 'sigs.k8s.io/kubectl-validate@v0.0.4', release: '1.30' };
/** Helm takes 160 s of one processor; a busy machine has less than one. */
const BUILD_MS = 900_000;
const TOOL_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Thrown if the tools cannot be installed; the message has the reason in one line. */
export class KubernetesToolsMissingError extends Error {
  override readonly name = 'KubernetesToolsMissingError';
  readonly code = 'TEST_KUBERNETES';
}

/** Tools that check a chart without a cluster. */
export interface KubernetesTools {
  /** Path of helm. */
  readonly helm: string;
  /** Path of kubeconform. */
  readonly kubeconform: string;
  /** Directory with a JSON schema of each kind. */
  readonly schemas: string;
  /** The release of Kubernetes of these schemas, such as `1.30`. */
  readonly release: string;
}

/**
 * helm, kubeconform and the schemas, in `${XDG_CACHE_HOME:-~/.cache}/brine/kubernetes`. If missing,
 * Go builds them from its module proxy, which takes minutes once. Concurrent callers wait for the
 * first.
 * @throws KubernetesToolsMissingError
 */
export async function kubernetesTools(
  env: NodeJS.ProcessEnv = process.env,
): Promise<KubernetesTools> {
  const base = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  const versions = [HELM, KUBECONFORM, SCHEMAS.module].map((one) => one.split('@v')[1]);
  const dir = join(base, 'brine', 'kubernetes', [...versions, SCHEMAS.release].join('-'));
  if (!(await isThere(dir))) {
    await mkdir(join(dir, '..'), { recursive: true });
    await withFileLock(`${dir}.lock`, async () => {
      if (!(await isThere(dir))) await install(dir, env);
    });
  }
  const [helm, kubeconform] = [join(dir, 'helm'), join(dir, 'kubeconform')];
  return { helm, kubeconform, schemas: join(dir, 'schemas'), release: SCHEMAS.release };
}

/** The result of a tool. */
export interface ToolOutput {
  readonly code: number;
  readonly stdout: string;
  /** All that it printed. */
  readonly output: string;
}

/** Runs one of the tools; resolves also if it finds fault. */
export function runTool(path: string, args: readonly string[], input = ''): Promise<ToolOutput> {
  return new Promise((resolve, reject) => {
    const settings = { timeout: TOOL_MS, maxBuffer: MAX_OUTPUT_BYTES };
    const child = execFile(path, [...args], settings, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, output: stdout + stderr });
      else reject(new Error(`${path} did not end`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}

async function install(dir: string, env: NodeJS.ProcessEnv): Promise<void> {
  const work = await mkdtemp(`${dir}-`);
  try {
    for (const program of [KUBECONFORM, HELM]) {
      await go(['install', '-ldflags=-s -w', program], work, { ...env, GOBIN: work });
    }
    const schemas = join(work, 'schemas');
    await mkdir(schemas);
    const output = await go(['mod', 'download', '-json', SCHEMAS.module], work, env);
    const { Dir: module } = JSON.parse(output) as { readonly Dir: string };
    for (const file of await documentsIn(join(module, 'pkg/openapiclient/builtins'))) {
      const document = JSON.parse(await readFile(file, 'utf8')) as OpenApi;
      for (const [name, text] of kindSchemas(document)) await writeFile(join(schemas, name), text);
    }
    await rename(work, dir);
  } catch (cause) {
    await rm(work, { recursive: true, force: true });
    const why = (cause as Error).message.trim().split('\n').at(-1) ?? '';
    const text = `no helm and kubeconform, and Go could not build them (${why})`;
    throw new KubernetesToolsMissingError(text, { cause });
  }
}

async function documentsIn(builtins: string): Promise<string[]> {
  const files = await readdir(join(builtins, SCHEMAS.release), { recursive: true });
  return files
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(builtins, SCHEMAS.release, name));
}

async function go(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const settings = { cwd, env, timeout: BUILD_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return (await run('go', [...args], settings)).stdout;
}

async function isThere(dir: string): Promise<boolean> {
  try {
    await access(join(dir, 'helm'), constants.X_OK);
    return true;
  } catch {
    return false; // missing or not executable for this user
  }
}
