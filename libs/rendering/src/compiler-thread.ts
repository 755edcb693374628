import { compilePillar, type PillarPorts, pillarTop, saltclassTops } from '@brine/pillar';
import type { BlockingEnd } from '@brine/python-host';
import { mapIn, pack, textOf, unpackMap } from '@brine/wire';
import { hostFilters } from './filters/host-filters.ts';
import { hostFunctions } from './host-functions.ts';
import { Externals } from './pillar-externals.ts';
import { PillarModules } from './pillar-modules.ts';
import { ClassTree } from './sources/class-tree.ts';
import { type AskedRemotes, updateGitPillars } from './sources/git-update.ts';
import { decryptAll } from './sources/gpg.ts';
import { RootFiles } from './sources/root-files.ts';
import { threadStart } from './thread-start.ts';

/** One pillar to make: msgpack of `{id, grains, saltenv, pillarenv, override, ext}`. */
export interface PillarTask {
  readonly minion: Uint8Array;
  /** The top file alone is asked for. */
  readonly topOnly?: boolean;
  /** Asked for is what the saltclass tree in this directory says of states. */
  readonly classTree?: string;
  /** Remotes of git pillars are to be fetched, instead of a pillar made. */
  readonly gitUpdate?: AskedRemotes;
  /** The way to modules in Python, where the master has some. */
  readonly python?: BlockingEnd;
}

/** A pillar, and the lines for the log. */
export interface PillarResult {
  /** msgpack of the pillar, or of the top file. */
  readonly pillar: Uint8Array;
  readonly log: readonly string[];
}

const { data, options } = threadStart();

const OUTSIDE = {
  now: () => Date.now(),
  random: () => Math.random(),
  filters: hostFilters(options.opts),
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
  if (task.gitUpdate !== undefined) {
    const { git, gitDefaults } = data.externals;
    const settings = { ...git, log };
    const { branch } = gitDefaults;
    const done = updateGitPillars(options.extPillar, branch, task.gitUpdate, settings);
    return { pillar: pack(done), log: lines };
  }
  const saltenv = textOf(asked, 'saltenv') ?? null;
  const pillarenv = textOf(asked, 'pillarenv') ?? null;
  const env = pillarenv ?? options.pillarenv ?? saltenv ?? 'base';
  const files = RootFiles.of(data.roots, env, Object.values(data.fileRoots).flat());
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
  const python = task.python && new PillarModules(task.python, minion);
  const ports: PillarPorts = {
    files,
    outside: OUTSIDE,
    functions: () => hostFunctions(),
    decrypt: (value, mayOpen) => decryptAll(value, data.gpg, mayOpen),
    external: (name, who, pillar, args) => {
      const own = externals.ask(name, who, args, { ports, pillar });
      return own === undefined ? python?.external(name, args, pillar) : own;
    },
    python,
    log,
  };
  const made = task.topOnly === true ? pillarTop : compilePillar;
  const pillar = made(ports, options, minion);
  return { pillar: pack(pillar), log: lines };
}
