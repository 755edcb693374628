import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { compareText, isTruthy, pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { namesGiven } from '../given-values.ts';
import { filesIn } from './host-tree.ts';

/** Kinds of modules by their function, in the order of `sync_all` (salt/runners/saltutil.py). */
const KINDS: readonly (readonly [fun: string, form: string, shown?: string])[] = [
  ['clouds', 'clouds'],
  ['modules', 'modules'],
  ['states', 'states'],
  ['grains', 'grains'],
  ['renderers', 'renderers'],
  ['returners', 'returners'],
  ['output', 'output'],
  ['proxymodules', 'proxy'],
  ['runners', 'runners'],
  ['wheel', 'wheel'],
  ['engines', 'engines'],
  ['thorium', 'thorium'],
  ['queues', 'queues'],
  ['pillar', 'pillar'],
  ['utils', 'utils'],
  ['sdb', 'sdb'],
  ['cache', 'cache'],
  ['fileserver', 'fileserver'],
  ['tops', 'tops'],
  ['eauth_tokens', 'tokens', 'tokens'],
  ['serializers', 'serializers'],
  ['executors', 'executors'],
  ['wrapper', 'wrapper'],
  ['roster', 'roster'],
];

const PARAMETERS = [
  ['saltenv', 'base'],
  ['extmod_whitelist', null],
  ['extmod_blacklist', null],
] as const;

const ABOUT =
  'saltenv: environments, as a list or with commas (default base). extmod_whitelist, ' +
  'extmod_blacklist: names of modules, or a map of them by kind (default: the options).';

/** Names of modules (salt/utils/extmods.py). */
const MODULE_FILE = /\.(?:pyx?|so|zip)$/;
const MODULES_MAX = 10_000;
const MODULE_MAX_BYTES = 64 * 1024 * 1024;
/** As under Salt's umask 077. */
const MODES = { dir: 0o700, file: 0o600 };

function syncing([fun, form]: (typeof KINDS)[number]): RunnerFunction {
  return {
    name: `saltutil.sync_${fun}`,
    parameters: PARAMETERS,
    doc:
      `Copies salt://_${form} to ${form} of extension_modules, on the host of the worker; lists ` +
      `what is new or changed. ${ABOUT}`,
    run: async (given, context) => {
      const master = masterOf(context);
      const value = await sync(master, form, given);
      await master.site?.refresh();
      return { value };
    },
  };
}

const syncAll: RunnerFunction = {
  name: 'saltutil.sync_all',
  parameters: PARAMETERS,
  doc: `Copies modules of all kinds as saltutil.sync_* do. ${ABOUT}`,
  async run(given, context) {
    const value: SaltMap = new Map();
    for (const [fun, form, shown = fun] of KINDS) {
      value.set(shown, await sync(masterOf(context), form, given));
    }
    await masterOf(context).site?.refresh();
    return { value };
  },
};

/** Copies the modules of one kind; returns the names of new or changed ones. */
async function sync(
  master: RunnerMaster,
  form: string,
  { named }: BoundArguments,
): Promise<string[]> {
  const { files, hostFiles } = master;
  const root = pyStr(master.option('extension_modules') ?? '');
  if (!root.startsWith('/')) throw new Error('extension_modules names no directory');
  const isWanted = filterOf(form, named, master);
  const changed: string[] = [];
  const known = new Set<string>();
  for (const saltenv of namesGiven(named.get('saltenv')) ?? ['base']) {
    const source = `_${form}/`;
    const { files: paths } = await files.lists(saltenv);
    for (const path of paths) {
      if (!path.startsWith(source) || !MODULE_FILE.test(path)) continue;
      const below = path.slice(source.length);
      const name = below.replace(/\.[^./]*$/, '').replaceAll('/', '.');
      if (!isWanted(name)) continue;
      known.add(below);
      if (known.size > MODULES_MAX) throw new Error(`more than ${MODULES_MAX} files in ${source}`);
      const found = await files.find(path, saltenv);
      if (found === undefined) continue;
      const content = await hostFiles.readBounded(found.path, MODULE_MAX_BYTES);
      // The file was deleted meanwhile.
      if (content === undefined) continue;
      const outcome = await hostFiles.writeBelow(root, `${form}/${below}`, content, MODES);
      if (outcome === 'refused') throw new Error(`${root}/${form}/${below} is no plain file`);
      if (outcome === 'written') changed.push(`${form}.${name}`);
    }
  }
  if (master.option('clean_dynamic_modules') !== false)
    await clean(hostFiles, `${root}/${form}`, known);
  return changed;
}

/** Removes modules that are no longer in the file roots. */
async function clean(
  hostFiles: RunnerMaster['hostFiles'],
  dir: string,
  known: ReadonlySet<string>,
): Promise<void> {
  for (const path of filesIn(await hostFiles.treeBelow(dir, 4 * MODULES_MAX))) {
    if (!known.has(path)) await hostFiles.removeBelow(dir, path);
  }
  await hostFiles.removeEmptyBelow(dir);
}

/** A test for modules by a whitelist and a blacklist. */
function filterOf(
  form: string,
  named: ReadonlyMap<string, SaltValue>,
  master: RunnerMaster,
): (name: string) => boolean {
  const listOf = (parameter: string): readonly string[] | undefined => {
    const given = named.get(parameter) ?? null;
    const lists = given === null ? (master.option(parameter) ?? null) : given;
    if (typeof lists === 'string') return lists === '' ? undefined : lists.split(',');
    if (lists === null) return undefined;
    if (!isMap(lists)) throw new Error(`${parameter} must be a string or dictionary`);
    const own = lists.get(form);
    if (!isTruthy(lists) || own === undefined) return undefined;
    return Array.isArray(own) ? own.map(pyStr) : [pyStr(own)];
  };
  const [allowed, refused] = [listOf('extmod_whitelist'), listOf('extmod_blacklist')];
  return (name) => allowed?.includes(name) !== false && refused?.includes(name) !== true;
}

/** `saltutil.*` of `salt-run`. */
export const SALTUTIL_RUNNER: readonly RunnerFunction[] = [
  syncAll,
  ...KINDS.map(syncing).sort((a, b) => compareText(a.name, b.name)),
];
