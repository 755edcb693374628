import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { str } from '@brine/jinja';
import { BrineMaster, newestOf, saltVenv } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { isMap, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { comparable, fixture, fixtureMap } from '../../../libs/pillar/test/trees.ts';
import { writeTree } from '../minions/any-master.ts';

/* Pillars of the trees in test/fixtures/pillar as `pillar.show_pillar` shows them. */

/** Pillars by the names of grains, by the names of trees. */
export type Shown = Record<string, Record<string, unknown>>;

const ASKER = new URL('../../fixtures/pillar/show_pillar.py', import.meta.url).pathname;
const GIVEN = fixtureMap('trees.json');
const TREES = GIVEN.get('trees') as SaltMap;
const GRAINS = GIVEN.get('grains') as SaltMap;

/** What is the same as not to be there (Salt's defaults), so that trees share a master. */
const DEFAULTS: Readonly<Record<string, SaltValue>> = {
  pillar_merge_lists: false,
  pillar_safe_render_error: true,
  pillar_source_merging_strategy: 'smart',
  pillar_includes_override_sls: false,
  ext_pillar_first: false,
};

/**
 * Names of the trees that are for all grains: the others depend on a master's options. Trees that
 * Salt fails at are left out: its runner prints a Python stack for them.
 */
export function treeNames(): string[] {
  const forAll = [...TREES].filter(([, tree]) => !(tree as SaltMap).has('grains'));
  const shown = recorded();
  const fails = (name: string): boolean =>
    Object.values(shown[name] ?? {}).some((pillar) => Object.hasOwn(Object(pillar), '__raises__'));
  return forAll.map(([name]) => str(name)).filter((name) => !fails(name));
}

/** What Salt's runner shows; `--script` among the words runs `salt-run` itself for each. */
export async function shownBySalt(words: readonly string[]): Promise<Shown> {
  const { python } = await saltVenv(newestOf('3008'));
  const options = { env: { ...process.env, TZ: 'UTC' }, maxBuffer: 64 * 1024 * 1024 };
  const running = promisify(execFile)(python, ['-B', ASKER, ...words], options);
  running.child.stdin?.end(fixture('trees.json'));
  const { stdout } = await running;
  return JSON.parse(stdout) as Shown;
}

/** What Salt's runner is recorded to show: what minions get, but where it can not ask for it. */
export function recorded(): Shown {
  const shown = [...fixtureMap('results.json'), ...fixtureMap('shown.json')];
  return asJson(comparable(new Map(shown))) as Shown;
}

/** A program prints 1.0 as JSON, which reads as the number 1 here. */
function asJson(value: unknown): unknown {
  if (value instanceof SaltFloat) return value.value;
  if (Array.isArray(value)) return value.map(asJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item)]));
}

/** Trees by the masters that they need: one for each set of options and environments. */
export function byMaster(names: readonly string[]): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const tree = treeOf(name);
    const key = JSON.stringify([comparable(new Map(optionsOf(tree))), rootsOf(tree, '')]);
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()];
}

/** What `brine run` of a running master shows of trees that `byMaster` put together. */
export async function shownByBrine(names: readonly string[]): Promise<Shown> {
  const root = await mkdtemp(join(tmpdir(), 'brine-trees-'));
  const first = treeOf(names[0] ?? '');
  const options = comparable(placed(new Map(optionsOf(first)), root)) as Record<string, unknown>;
  const nodegroups = { group1: 'web1.example or db*' };
  const roots = rootsOf(first, root);
  const config = { nodegroups, ...options, pillar_roots: roots, auto_accept: true };
  const master = await BrineMaster.start(config);
  try {
    await tellGrains(master);
    const shown: Shown = {};
    for (const name of names) {
      await rm(root, { recursive: true });
      await mkdir(root);
      const files = [...(treeOf(name).get('files') as SaltMap)].map(([k, v]) => [str(k), str(v)]);
      await writeTree(root, Object.fromEntries(files) as Record<string, string>);
      const asking = [...GRAINS].map(async ([who, grains]) => {
        const words = [textOf(grains as SaltMap, 'id') ?? '', ...keywordsOf(name), '--out', 'json'];
        const { stdout } = await master.brine('run', ['pillar.show_pillar', ...words]);
        return [str(who), JSON.parse(stdout.replaceAll(root, '{root}')) as unknown] as const;
      });
      shown[name] = Object.fromEntries(await Promise.all(asking));
    }
    return shown;
  } finally {
    await master.close();
    await rm(root, { recursive: true });
  }
}

/** Minions ask for a pillar: with it, the master hears their grains. */
async function tellGrains(master: BrineMaster): Promise<void> {
  for (const grains of GRAINS.values() as Iterable<SaltMap>) {
    const id = textOf(grains, 'id') ?? '';
    const peer = await TestPeer.make(id, master.home.retPort);
    if (!(await peer.tryToSignIn())) throw new Error(`${id} was not let in`);
    const asked = { saltenv: 'base', pillarenv: null, pillar_override: mapOf({}), ver: '2' };
    await peer.send(mapOf({ cmd: '_pillar', id, grains, ...asked }));
    peer.close();
  }
}

function treeOf(name: string): SaltMap {
  return TREES.get(name) as SaltMap;
}

function optionsOf(tree: SaltMap): [string, SaltValue][] {
  const opts = tree.get('opts');
  const entries = isMap(opts) ? [...opts] : [];
  return entries
    .map(([name, value]): [string, SaltValue] => [str(name), value])
    .filter(([name, value]) => name !== 'nodegroups' && value !== DEFAULTS[name]);
}

/** Directories by environment (record.py write_tree). */
function rootsOf(tree: SaltMap, root: string): Record<string, string[]> {
  const envs = [...(tree.get('files') as SaltMap).keys()].map((path) => str(path).split('/')[0]);
  const named = envs.filter((env) => env !== undefined && env !== 'tree' && env !== 'any');
  const roots: Record<string, string[]> = Object.fromEntries(
    named.sort().map((env) => [env, [join(root, env ?? '')]]),
  );
  const more = tree.get('roots');
  for (const [env, paths] of isMap(more) ? more : []) {
    roots[str(env)] = (paths as string[]).map((path) => join(root, path));
  }
  return roots;
}

function keywordsOf(name: string): string[] {
  const asked = treeOf(name).get('asked');
  if (!isMap(asked)) return [];
  const named = ['saltenv', 'pillarenv'].filter((keyword) => asked.has(keyword));
  return named.map((keyword) => `${keyword}=${str(asked.get(keyword) ?? null)}`);
}

/** Puts the directory of the trees where options name it. */
function placed(value: SaltValue, root: string): SaltValue {
  if (typeof value === 'string') return value.replaceAll('{root}', root);
  if (Array.isArray(value)) return value.map((item) => placed(item, root));
  if (!isMap(value)) return value;
  return new Map([...value].map(([key, item]) => [key, placed(item, root)]));
}
