import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { str, truth } from '@brine/jinja';
import { askExternal, RootFiles } from '@brine/rendering/sources';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { readJson } from '@brine/wire/text';
import { onTestFinished } from 'vitest';
import {
  compilePillar,
  type PillarMinion,
  type PillarOptions,
  type PillarPorts,
  textRenderer,
} from '../src/index.ts';

const FIXTURES = new URL('../../../test/fixtures/pillar/', import.meta.url);

/** Directories of a tree that are no environments. */
const BESIDE = ['tree', 'any'];

/** The text of a file of the fixtures. */
export function fixture(name: string): string {
  return readFileSync(new URL(name, FIXTURES), 'utf8');
}

/** A JSON file of the fixtures as Salt's values. */
export function fixtureMap(name: string): SaltMap {
  return readJson(fixture(name)) as SaltMap;
}

function mapAt(map: SaltMap, key: string): SaltMap {
  const value = map.get(key);
  return isMap(value) ? value : mapOf({});
}

// Recorded once from Salt by test/fixtures/pillar/record.py; the interop suite asks again.
const RECORDED = fixtureMap('results.json');
const GIVEN = fixtureMap('trees.json');
const TREES = mapAt(GIVEN, 'trees');
const GRAINS = mapAt(GIVEN, 'grains');
/** Trees in which Brine differs, with the reason. */
export const DIFFERENCES = JSON.parse(fixture('differences.json')) as Record<string, string>;

/** Names of trees, those of one layer of tests: with external pillars that are programs, or not. */
export function treeNames(layer: 'pure' | 'served'): string[] {
  const programs = (name: string): boolean => {
    const externals = mapAt(mapAt(TREES, name), 'opts').get('ext_pillar');
    const names = Array.isArray(externals)
      ? externals.filter(isMap).flatMap((e) => [...e.keys()])
      : [];
    return names.some((external) => str(external).startsWith('cmd_'));
  };
  return [...RECORDED.keys()].map(str).filter((name) => programs(name) === (layer === 'served'));
}

/** Names of trees and of grains, as they were given and as they were recorded. */
export function allNames(): { readonly given: unknown; readonly recorded: unknown } {
  const each = (who: Iterable<SaltValue>): string[] => [...who].map(str).sort();
  const grainsOf = (tree: SaltValue): Iterable<SaltValue> =>
    ((tree as SaltMap).get('grains') as SaltValue[] | undefined) ?? GRAINS.keys();
  return {
    given: [...TREES].map(([name, tree]) => [name, each(grainsOf(tree))]),
    recorded: [...RECORDED].map(([name, found]) => [name, each((found as SaltMap).keys())]),
  };
}

/** Salt's pillars and Brine's, by the names of the grains. */
export function bothOf(name: string): { readonly salt: unknown; readonly brine: unknown } {
  const tree = new WrittenTree(mapAt(TREES, name));
  const recorded = mapAt(RECORDED, name);
  const made = new Map(
    [...recorded.keys()].map((who) => [who, tree.pillarOf(mapAt(GRAINS, str(who)))]),
  );
  return { salt: comparable(recorded), brine: comparable(made) };
}

/** A tree of the fixtures that was written below a directory, for one test. */
export class WrittenTree {
  readonly #tree: SaltMap;
  readonly #dir: string;
  readonly #roots: Record<string, string[]> = {};

  constructor(tree: SaltMap) {
    this.#tree = tree;
    this.#dir = mkdtempSync(join(tmpdir(), 'brine-pillar-'));
    onTestFinished(() => rmSync(this.#dir, { recursive: true }));
    for (const [path, text] of mapAt(tree, 'files')) {
      const file = join(this.#dir, str(path));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, str(text));
      const [env = ''] = str(path).split('/');
      if (!BESIDE.includes(env)) this.#roots[env] = [join(this.#dir, env)];
    }
    for (const [env, paths] of mapAt(tree, 'roots')) {
      this.#roots[str(env)] = (paths as string[]).map((path) => join(this.#dir, path));
    }
  }

  /** The pillar that Brine makes of it for these grains. */
  pillarOf(grains: SaltMap): SaltValue {
    const asked = mapAt(this.#tree, 'asked');
    const pillarenv = textOf(asked, 'pillarenv') ?? null;
    const options = optionsOf(this.#placed(mapAt(this.#tree, 'opts')) as SaltMap);
    const { nodegroups } = options;
    const log = (): void => undefined;
    const files = RootFiles.of(this.#roots, pillarenv ?? textOf(asked, 'saltenv') ?? 'base');
    const ports: PillarPorts = {
      files,
      outside: { now: () => 0, random: () => 0 },
      functions: () => new Map(),
      decrypt: (value) => value,
      external: (name, who, pillar, args) => {
        const render = textRenderer(ports, options, minion);
        const settings = { pillarRoots: files.roots, nodegroups, pillar, render, log };
        return askExternal(name, who, args, settings);
      },
      log,
    };
    const minion: PillarMinion = {
      id: textOf(grains, 'id') ?? '',
      grains,
      saltenv: textOf(asked, 'saltenv') ?? null,
      pillarenv,
      override: mapAt(asked, 'override'),
      ext: null,
    };
    try {
      return compilePillar(ports, options, minion);
    } catch (error) {
      // So the record has it: the request of the minion fails.
      return mapOf({ __raises__: (error as Error).name });
    }
  }

  /** Puts the directory of the tree where options name it. */
  #placed(value: SaltValue): SaltValue {
    if (typeof value === 'string') return value.replaceAll('{root}', this.#dir);
    if (Array.isArray(value)) return value.map((item) => this.#placed(item));
    if (!isMap(value)) return value;
    return new Map([...value].map(([key, item]) => [key, this.#placed(item)]));
  }
}

/** The options of a tree of the fixtures. */
export function optionsOf(opts: SaltMap): PillarOptions {
  const flag = (name: string, otherwise = false): boolean =>
    opts.has(name) ? truth(opts.get(name)) : otherwise;
  const texts = (name: string): string[] => {
    const list = opts.get(name);
    return Array.isArray(list) ? list.map(String) : typeof list === 'string' ? [list] : [];
  };
  return {
    renderer: textOf(opts, 'renderer') ?? 'jinja|yaml',
    rendererBlacklist: texts('renderer_blacklist'),
    rendererWhitelist: texts('renderer_whitelist'),
    stateTop: textOf(opts, 'state_top') ?? 'top.sls',
    mergingStrategy: textOf(opts, 'pillar_source_merging_strategy') ?? 'smart',
    mergeLists: flag('pillar_merge_lists'),
    includesOverrideSls: flag('pillar_includes_override_sls'),
    safeRenderError: flag('pillar_safe_render_error', true),
    pillarOpts: false,
    pillarenv: textOf(opts, 'pillarenv') ?? null,
    pillarenvFromSaltenv: flag('pillarenv_from_saltenv'),
    envOrder: texts('env_order'),
    extPillarFirst: flag('ext_pillar_first'),
    extPillar: opts.get('ext_pillar') ?? [],
    excludeExtPillar: texts('exclude_ext_pillar'),
    onDemandExtPillar: [],
    decrypt: { keys: [], delimiter: ':', renderers: ['gpg'] },
    saltVersion: '',
    nodegroups: Object.fromEntries(mapAt(opts, 'nodegroups')) as Record<string, string>,
    trimBlocks: false,
    lstripBlocks: false,
    allowUndefined: flag('allow_undefined'),
    opts: mapOf({}),
  };
}

/** Values as JSON has them: keys and bytes are texts, their order does not count. */
export function comparable(value: SaltValue): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map(comparable);
  if (!isMap(value)) return value;
  const entries = [...value].map(([key, item]) => [jsonKey(key), comparable(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function jsonKey(key: SaltValue): string {
  if (key === null || typeof key === 'boolean') return JSON.stringify(key);
  return str(key);
}
