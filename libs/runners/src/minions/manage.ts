import { changeKeys, listKeys } from '@brine/master/functions';
import { isMap, mapIn, mapOf, SALT_RELEASE, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import { gatherFrom, returnsOf, waitOf } from './run-on-minions.ts';
import { compareVersions } from './salt-version.ts';

const PARAMETERS: RunnerFunction['parameters'] = [
  ['tgt', '*'],
  ['tgt_type', 'glob'],
  ['timeout', null],
  ['gather_job_timeout', null],
];

const TARGETS =
  'tgt (default *) and tgt_type (default glob) select the minions. timeout and ' +
  'gather_job_timeout are seconds, by default those of the configuration.';

interface Presence {
  readonly up: string[];
  readonly down: string[];
}

/** The accepted minions that answer a ping (Salt: salt/runners/manage.py _ping). */
async function ping({ named }: BoundArguments, context: RunnerContext): Promise<Presence> {
  const timeoutMs = waitOf('timeout', named.get('timeout'));
  const gatherJobTimeoutMs = waitOf('gather_job_timeout', named.get('gather_job_timeout'));
  const tgt = named.get('tgt') ?? '';
  const command = {
    tgt: Array.isArray(tgt) ? tgt.map(pyStr) : pyStr(tgt),
    tgtType: pyStr(named.get('tgt_type') ?? 'glob'),
    fun: 'test.ping',
    arg: [],
    isOwn: true,
  };
  const found = await gatherFrom(context, command, {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(gatherJobTimeoutMs === undefined ? {} : { gatherJobTimeoutMs }),
  });
  const up: string[] = [];
  const down: string[] = [];
  for (const item of found?.returns ?? []) {
    if (item.kind === 'return') up.push(item.id);
    else if (item.unknown !== true) down.push(item.id);
  }
  return { up: up.sort(), down: down.sort() };
}

const up: RunnerFunction = {
  name: 'manage.up',
  parameters: PARAMETERS,
  doc: `Lists the minions that answer a ping. ${TARGETS}`,
  run: async (given, context) => ({ value: (await ping(given, context)).up }),
};

const down: RunnerFunction = {
  name: 'manage.down',
  parameters: [['removekeys', false], ...PARAMETERS],
  doc:
    'Lists the accepted minions that do not answer a ping. removekeys=True also deletes their ' +
    `keys (default False); each deletion is on record. ${TARGETS}`,
  async run(given, context) {
    const found = (await ping(given, context)).down;
    if (isTruthy(given.named.get('removekeys')) && found.length > 0) {
      await deleteKeys(masterOf(context), mapOf({ minions: found }));
    }
    return { value: found };
  },
};

const status: RunnerFunction = {
  name: 'manage.status',
  parameters: [['output', true], ...PARAMETERS],
  doc:
    'Lists the minions that answer a ping and those that do not. output is without effect, as in ' +
    `Salt. ${TARGETS}`,
  async run(given, context) {
    const found = await ping(given, context);
    return { value: mapOf({ up: found.up, down: found.down }) };
  },
};

/** Deletes exactly these keys, by section; recorded under the caller's name. */
async function deleteKeys(master: RunnerMaster, bySection: SaltMap): Promise<void> {
  const { user, principal } = master.call;
  await changeKeys(master, { act: 'delete', user, principal }, bySection, []);
}

const KEYS_DELETED =
  'The minions got the order to make new keys. All their keys were deleted here.\n' +
  'The key of the master stays: its store is sealed with it.\n' +
  'When the minions come again, accept their new keys with:\n' +
  '    salt-key -A\n' +
  'A minion that was away has its old key. It comes again under that one, or after\n' +
  '    salt-call saltutil.regen_keys';

const keyRegen: RunnerFunction = {
  name: 'manage.key_regen',
  parameters: [],
  doc:
    'Makes all minions generate new keys (saltutil.regen_keys), then deletes the keys of all ' +
    'minions, whatever their state; each deletion is on record. Unlike Salt, the key of the ' +
    'master stays.',
  async run(_given, context) {
    const master = masterOf(context);
    const command = { tgt: '*', tgtType: 'glob', fun: 'saltutil.regen_keys', arg: [] };
    await gatherFrom(context, { ...command, isOwn: true });
    await deleteKeys(master, listKeys(master));
    return { value: KEYS_DELETED };
  },
};

/** Salt's headings for the comparison of a minion's release. */
function labelOf(version: string | undefined): string {
  const difference = version === undefined ? undefined : compareVersions(version, SALT_RELEASE);
  if (difference === undefined) return 'Minion offline';
  if (difference === 0) return 'Up to date';
  return difference < 0 ? 'Minion requires update' : 'Minion newer than master';
}

const versions: RunnerFunction = {
  name: 'manage.versions',
  parameters: [],
  doc:
    'Asks all minions for their release of Salt, and lists them by how it compares with that of ' +
    'the master. A minion that sends no release counts as offline.',
  async run(_given, context) {
    const command = { tgt: '*', tgtType: 'glob', fun: 'test.version', arg: [], isOwn: true };
    const shown: SaltMap = new Map();
    const found = await returnsOf(context, command, {}, true);
    for (const [id, full] of [...found].sort(byText)) {
      const ret = isMap(full) && !isTruthy(full.get('retcode')) ? full.get('ret') : undefined;
      const version = typeof ret === 'string' ? ret : undefined;
      const label = labelOf(version);
      const offline = label === 'Minion offline';
      const group = mapIn(shown, label) ?? mapOf({});
      shown.set(label, group.set(id, offline ? false : (version ?? false)));
    }
    return { value: shown.set('Master', SALT_RELEASE) };
  },
};

function byText([one]: [SaltValue, SaltValue], [other]: [SaltValue, SaltValue]): number {
  return pyStr(one) < pyStr(other) ? -1 : 1;
}

/** The functions of the manage runner that ask minions. */
export const MANAGE_RUNNER: readonly RunnerFunction[] = [down, keyRegen, status, up, versions];
