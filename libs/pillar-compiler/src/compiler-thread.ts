import { spawnSync } from 'node:child_process';
import { workerData } from 'node:worker_threads';
import { PyFunction, str } from '@brine/jinja';
import {
  compilePillar,
  type PillarOptions,
  type PillarPorts,
  pillarTop,
  saltclassTops,
} from '@brine/pillar';
import { ClassTree, decryptAll, type GpgSettings, RootFiles } from '@brine/pillar-sources';
import { mapIn, mapOf, pack, textOf, unpackMap } from '@brine/wire';
import { Externals, type ExternalsData } from './pillar-externals.ts';

const COMMAND_TIMEOUT_MS = 20_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** What a thread is started with. */
export interface PillarThreadData {
  readonly roots: Readonly<Record<string, readonly string[]>>;
  readonly gpg: GpgSettings;
  readonly externals: ExternalsData;
  readonly options: Omit<PillarOptions, 'opts' | 'extPillar'>;
  /** msgpack of `{opts, extPillar}`: what would lose its types on the way to a thread. */
  readonly packed: Uint8Array;
}

/** One pillar to make: msgpack of `{id, grains, saltenv, pillarenv, override, ext}`. */
export interface PillarTask {
  readonly minion: Uint8Array;
  /** The top file alone is asked for. */
  readonly topOnly?: boolean;
  /** Asked for is what the saltclass tree in this directory says of states. */
  readonly classTree?: string;
}

/** A pillar, and the lines for the log. */
export interface PillarResult {
  /** msgpack of the pillar, or of the top file. */
  readonly pillar: Uint8Array;
  readonly log: readonly string[];
}

const OUTSIDE = { now: () => Date.now(), random: () => Math.random() };

/** piscina hands its `workerData` on as the second of a pair. */
const data = (Array.isArray(workerData) ? workerData[1] : workerData) as PillarThreadData;
const rest = unpackMap(Buffer.from(data.packed));
const options: PillarOptions = {
  ...data.options,
  opts: mapIn(rest, 'opts') ?? mapOf({}),
  extPillar: rest.get('extPillar') ?? [],
};

/**
 * Runs in a worker thread: a template may run long, and a thread can be ended where an event loop
 * would stand still.
 *
 * @public the thread pool calls it by its name
 */
export async function runPillarTask(task: PillarTask): Promise<PillarResult> {
  const asked = unpackMap(Buffer.from(task.minion));
  const lines: string[] = [];
  const log = (level: string, text: string): void => void lines.push(`${level}: ${text}`);
  const saltenv = textOf(asked, 'saltenv') ?? null;
  const pillarenv = textOf(asked, 'pillarenv') ?? null;
  const env = pillarenv ?? options.pillarenv ?? saltenv ?? 'base';
  const files = RootFiles.of(data.roots, env);
  const { nodegroups } = options;
  const minion = {
    id: textOf(asked, 'id') ?? '',
    grains: mapIn(asked, 'grains') ?? new Map(),
    saltenv,
    pillarenv,
    override: mapIn(asked, 'override') ?? new Map(),
    ext: mapIn(asked, 'ext') ?? null,
  };
  if (task.classTree !== undefined) {
    const tops = { files: new ClassTree(task.classTree), outside: OUTSIDE, log };
    return { pillar: pack(saltclassTops({ ...tops, functions: new Map() }, minion)), log: lines };
  }
  const externals = new Externals(
    data.externals,
    { pillarRoots: files.roots, nodegroups, log },
    options,
  );
  await externals.askEarly(minion);
  const ports: PillarPorts = {
    files,
    outside: OUTSIDE,
    functions: () => hostFunctions(),
    decrypt: (value, mayOpen) => decryptAll(value, data.gpg, mayOpen),
    external: (name, who, pillar, args) => externals.ask(name, who, args, { ports, pillar }),
    log,
  };
  const made = task.topOnly === true ? pillarTop : compilePillar;
  const pillar = made(ports, options, minion);
  return { pillar: pack(pillar), log: lines };
}

/** What templates may do on this host: run commands, as on a stock master. */
function hostFunctions(): Map<string, PyFunction> {
  const shell = new PyFunction('cmd.run', ({ positional: [command] }) => {
    const run = spawnSync('/bin/sh', ['-c', str(command)], {
      timeout: COMMAND_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    if (run.error !== undefined) throw run.error;
    return `${run.stdout.toString('utf8')}${run.stderr.toString('utf8')}`.trimEnd();
  });
  const environment = new PyFunction('environ.get', ({ positional: [name, otherwise = ''] }) => {
    return process.env[str(name)] ?? otherwise;
  });
  return new Map([
    ['cmd.run', shell],
    ['cmd.shell', shell],
    ['environ.get', environment],
  ]);
}
