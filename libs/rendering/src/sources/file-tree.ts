import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { matchGlob, matchMinion } from '@brine/target';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr, typeName } from '@brine/wire/text';
import { callArguments } from './call-arguments.ts';
import type { ExternalMinion, ExternalSettings } from './source-settings.ts';

const MAX_DEPTH = 32;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_TREE_BYTES = 64 * 1024 * 1024;

/** Only UTF-8 can be a template. */
const TEXT = { fatal: true, ignoreBOM: true };

/** The parameters in Salt's order. */
const OPTIONS = [
  ...['root_dir', 'follow_dir_links', 'debug', 'keep_newline'],
  ...['render_default', 'renderer_blacklist', 'renderer_whitelist', 'template'],
];

interface TreeRules {
  readonly followDirLinks: boolean;
  /** True: always; else globs of paths whose last line end is kept. */
  readonly keepNewline: boolean | readonly string[];
  /** Turns the contents of a file into a value. */
  readonly made: (contents: Uint8Array) => SaltValue;
}

/**
 * Files as pillar: those of `hosts/<id>` over those of `nodegroups/<group>` for the groups of the
 * minion (Salt: salt/pillar/file_tree.py). Contents are bytes; with `template: True` they are
 * rendered.
 * @throws Error for unknown arguments, for a file that does not render, or for a tree of more
 * than 64 MiB
 */
export function readFileTree(
  minion: ExternalMinion,
  args: SaltValue,
  settings: ExternalSettings,
): SaltMap {
  const options = callArguments(args, [], OPTIONS);
  const root = options.get('root_dir') ?? null;
  if (!isTruthy(root)) {
    settings.log('error', 'file_tree: no root_dir specified');
    return new Map();
  }
  if (typeof root !== 'string') {
    throw new TypeError(`expected str, bytes or os.PathLike object, not ${typeName(root)}`);
  }
  const keep = options.has('keep_newline') ? (options.get('keep_newline') ?? null) : false;
  if (typeof keep !== 'boolean' && !Array.isArray(keep)) {
    settings.log('error', 'file_tree: keep_newline must be True, False or a list of globs');
    return new Map();
  }
  const rules: TreeRules = {
    followDirLinks: isTruthy(options.get('follow_dir_links') ?? null),
    keepNewline: Array.isArray(keep) ? keep.map(pyStr) : keep,
    made: options.get('template') === true ? rendering(options, settings) : (bytes) => bytes,
  };
  const pillar: SaltMap = new Map();
  for (const dir of rootDirs(root, minion, settings)) {
    if (!isDirectory(dir)) settings.log('error', `file_tree: ${dir} is not a directory`);
    else over(pillar, ofRoot(dir, minion, rules, settings));
  }
  return pillar;
}

function rendering(
  options: SaltMap,
  { render }: Pick<ExternalSettings, 'render'>,
): TreeRules['made'] {
  const how = {
    pipe: options.get('render_default') ?? null,
    blacklist: options.get('renderer_blacklist') ?? null,
    whitelist: options.get('renderer_whitelist') ?? null,
  };
  return (bytes) => render(new TextDecoder('utf-8', TEXT).decode(bytes), how);
}

function rootDirs(
  root: string,
  { pillarenv }: ExternalMinion,
  { pillarRoots, log }: ExternalSettings,
): string[] {
  if (isAbsolute(root)) return [root];
  if (pillarenv !== null && Object.hasOwn(pillarRoots, pillarenv)) {
    return (pillarRoots[pillarenv] ?? []).map((dir) => join(dir, root));
  }
  log('error', 'file_tree: root_dir is relative but there are no pillar_roots of its pillarenv');
  return [];
}

function ofRoot(
  root: string,
  { id, grains }: ExternalMinion,
  rules: TreeRules,
  { nodegroups, pillar: soFar }: ExternalSettings,
): SaltMap {
  const pillar: SaltMap = new Map();
  const budget = { bytes: MAX_TREE_BYTES };
  const groups = join(root, 'nodegroups');
  for (const group of isDirectory(groups) ? readdirSync(groups).sort() : []) {
    if (!Object.hasOwn(nodegroups, group)) continue;
    const target = { tgt: `N@${group}`, tgtType: 'compound' };
    if (!matchMinion(target, { id, grains, pillar: soFar, nodegroups })) continue;
    over(pillar, readTree(join(groups, group), '.', rules, budget, 0));
  }
  const host = join(root, 'hosts', id);
  const safe = !id.includes('/') && id !== '.' && id !== '..';
  if (safe && isDirectory(host)) over(pillar, readTree(host, '.', rules, budget, 0));
  return pillar;
}

function readTree(
  dir: string,
  prefix: string,
  rules: TreeRules,
  budget: { bytes: number },
  depth: number,
): SaltMap {
  const tree: SaltMap = new Map();
  if (depth > MAX_DEPTH) throw new Error(`file_tree: ${dir} is nested too deeply`);
  for (const name of readdirSync(dir).sort()) {
    const path = join(dir, name);
    if (isDirectory(path)) {
      // A link to a directory counts as empty, unless links are followed.
      const enter = rules.followDirLinks || !lstatSync(path).isSymbolicLink();
      const below = prefix === '.' ? name : `${prefix}/${name}`;
      tree.set(name, enter ? readTree(path, below, rules, budget, depth + 1) : new Map());
      continue;
    }
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts?.isFile() !== true || facts.size > MAX_FILE_BYTES) continue;
    budget.bytes -= facts.size;
    if (budget.bytes < 0) throw new Error('file_tree: more than 64 MiB');
    const keep = keeps(rules, prefix === '.' ? `./${name}` : `${prefix}/${name}`);
    tree.set(name, rules.made(contents(path, keep)));
  }
  return tree;
}

function keeps({ keepNewline }: TreeRules, path: string): boolean {
  if (typeof keepNewline === 'boolean') return keepNewline;
  return keepNewline.some((glob) => matchGlob(glob, path));
}

function contents(path: string, keepNewline: boolean): Uint8Array {
  const bytes = readFileSync(path);
  return new Uint8Array(!keepNewline && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Puts one tree over another, in place. */
function over(below: SaltMap, above: SaltMap): void {
  for (const [name, value] of above) {
    const known = below.get(name);
    if (isMap(known) && isMap(value)) over(known, value);
    else below.set(name, value);
  }
}
