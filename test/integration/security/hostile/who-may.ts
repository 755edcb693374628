import { mapOf, type SaltValue } from '@brine/wire';

/*
 * Who may see or cause what. The test asks a whole master for each cell of this table, and
 * SECURITY.md shows it.
 */

type Fields = Readonly<Record<string, SaltValue>>;

/** Who asks, with what the master of the test grants. */
export const ACTORS = {
  stranger: 'a stranger',
  minion: 'minion `a`',
  anne: 'user: `test.*`',
  rick: 'user: `@runner`',
  wanda: 'user: `@wheel`',
  root: 'local key of root',
} as const;

/** One of {@link ACTORS}. */
export type Actor = keyof typeof ACTORS;

/** Something that is asked for, and how an answer shows that it was done. */
export interface Act {
  readonly name: string;
  /** `clear`: as `salt` asks; `sealed`: as a minion. */
  readonly form: 'clear' | 'sealed';
  readonly cmd: string;
  readonly fields: Fields;
  /** The answer is what a runner returned, when it has ended. */
  readonly awaited?: true;
  /** Fits the answer where it was done, and no refusal. */
  readonly done: RegExp;
  /** Those who may; all others may not. */
  readonly may: readonly Actor[];
}

const JOB: Fields = { tgt: 'a', tgt_type: 'glob', arg: [], ret: '', jid: '' };
const PUBLISHED = /"minions":\["a"\]/;
const JID = '20261122080000123456';
const PILLAR: Fields = { grains: mapOf({ id: 'a' }), ver: '2', saltenv: null, pillarenv: null };
const FILE: Fields = { path: 'served.txt', saltenv: 'base', loc: 0 };
const PEER: Fields = { arg: [], tgt: 'a', ret: '', tgt_type: 'glob' };

/** Arguments of a runner. */
function called(
  arg: readonly SaltValue[],
  kwarg: Readonly<Record<string, SaltValue>> = {},
): SaltValue {
  return mapOf({ arg: [...arg], kwarg: mapOf(kwarg) });
}

/** Rows of the table. */
export const ACTS: readonly Act[] = [
  {
    name: 'ask whether the master is there (`ping`)',
    form: 'clear',
    cmd: 'ping',
    fields: {},
    done: /"cmd":"ping"/,
    may: ['stranger', 'minion', 'anne', 'rick', 'wanda', 'root'],
  },
  {
    name: 'run `test.ping` on a minion',
    form: 'clear',
    cmd: 'publish',
    fields: { ...JOB, fun: 'test.ping' },
    done: PUBLISHED,
    may: ['anne', 'root'],
  },
  {
    name: 'run `cmd.run` on a minion',
    form: 'clear',
    cmd: 'publish',
    fields: { ...JOB, fun: 'cmd.run', arg: ['true'] },
    done: PUBLISHED,
    may: ['root'],
  },
  {
    name: 'run `test.ping` and `cmd.run` as one job',
    form: 'clear',
    cmd: 'publish',
    fields: { ...JOB, fun: ['test.ping', 'cmd.run'], arg: [[], ['true']] },
    done: PUBLISHED,
    may: ['root'],
  },
  {
    name: 'run a runner',
    form: 'clear',
    cmd: 'runner',
    fields: { fun: 'jobs.active', kwarg: mapOf({}) },
    done: /"tag":"salt\/run/,
    may: ['rick', 'root'],
  },
  {
    name: 'run a wheel function',
    form: 'clear',
    cmd: 'wheel',
    fields: { fun: 'key.list_all' },
    done: /"success":true|a map of data tag/,
    may: ['wanda', 'root'],
  },
  {
    name: 'run `cmd.run` on a minion by `salt.execute`',
    form: 'clear',
    cmd: 'runner',
    fields: { fun: 'salt.execute', kwarg: called(['a', 'cmd.run', ['true'], 1]) },
    awaited: true,
    done: /did not return|No response/i,
    may: ['root'],
  },
  {
    name: 'accept a key by an orchestration',
    form: 'clear',
    cmd: 'runner',
    fields: {
      fun: 'state.orchestrate_single',
      kwarg: called(['salt.wheel', 'key.accept'], { match: 'a' }),
    },
    awaited: true,
    done: /"result":true/,
    may: ['root'],
  },
  {
    name: 'read all pillars by `pillar.show_pillar`',
    form: 'clear',
    cmd: 'runner',
    fields: { fun: 'pillar.show_pillar', kwarg: called(['b']) },
    awaited: true,
    done: /"secret":/,
    may: ['rick', 'root'],
  },
  {
    name: 'accept a key by `key.accept`',
    form: 'clear',
    cmd: 'wheel',
    fields: { fun: 'key.accept', match: 'a' },
    done: /"success":true|a map of data tag/,
    may: ['wanda', 'root'],
  },
  {
    name: 'write into `file_roots` by `file_roots.write`',
    form: 'clear',
    cmd: 'wheel',
    fields: { fun: 'file_roots.write', data: 'x', path: 'written.txt' },
    done: /"success":true|a map of data tag/,
    may: ['wanda', 'root'],
  },
  {
    name: 'write into the configuration by `config.apply`',
    form: 'clear',
    cmd: 'wheel',
    fields: { fun: 'config.apply', key: 'timeout', value: 5 },
    done: /"success":true|a map of data tag/,
    may: ['wanda', 'root'],
  },
  {
    name: 'read the returns of any job',
    form: 'clear',
    cmd: 'brine_query',
    fields: { query: 'get_jid', args: mapOf({ jid: JID }) },
    done: /"value":/,
    may: ['root'],
  },
  {
    name: 'read what is on record',
    form: 'clear',
    cmd: 'brine_query',
    fields: { query: 'audit_newest', args: mapOf({ limit: 1 }) },
    done: /"value":|a map of value/,
    may: ['root'],
  },
  {
    name: 'see that a minion has a pillar (`brine_read`)',
    form: 'clear',
    cmd: 'brine_read',
    fields: { read: 'minion_part', args: mapOf({ id: 'b', part: 'pillar' }) },
    done: /"secret":"\*{8}"/,
    may: ['root'],
  },
  {
    name: 'reveal a pillar on record (`brine_read`)',
    form: 'clear',
    cmd: 'brine_read',
    fields: { read: 'minion_part', args: mapOf({ id: 'b', part: 'pillar', reveal: true }) },
    done: /"secret":"[^*"]+"/,
    may: ['root'],
  },
  {
    name: 'make a token',
    form: 'clear',
    cmd: 'mk_token',
    fields: {},
    done: /"token":"[0-9a-f]{64}"/,
    may: ['anne', 'rick', 'wanda'],
  },
  {
    name: 'read its own pillar',
    form: 'sealed',
    cmd: '_pillar',
    fields: { ...PILLAR, id: 'a' },
    done: /^a pillar/,
    may: ['minion'],
  },
  {
    name: "read another minion's pillar",
    form: 'sealed',
    cmd: '_pillar',
    fields: { ...PILLAR, id: 'b' },
    done: /^a pillar/,
    may: [],
  },
  {
    name: "read another minion's mine",
    form: 'sealed',
    cmd: '_mine_get',
    fields: { tgt: 'b', fun: 'test.ping', tgt_type: 'glob' },
    done: /"b":"b"/,
    may: ['minion'],
  },
  {
    name: 'write into its own mine',
    form: 'sealed',
    cmd: '_mine',
    fields: { data: mapOf({ 'my.own': 1 }) },
    done: /^sealed true/,
    may: ['minion'],
  },
  {
    name: "write into another minion's mine",
    form: 'sealed',
    cmd: '_mine',
    fields: { data: mapOf({ 'my.own': 1 }), id: 'b' },
    done: /^sealed true/,
    may: [],
  },
  {
    name: 'read files of `file_roots`',
    form: 'sealed',
    cmd: '_serve_file',
    fields: FILE,
    done: /"dest":"served.txt"/,
    may: ['minion'],
  },
  {
    name: 'publish to others what `peer` allows',
    form: 'sealed',
    cmd: 'minion_pub',
    fields: { ...PEER, fun: 'test.ping' },
    done: /"jid":/,
    may: ['minion'],
  },
  {
    name: 'publish to others what `peer` does not allow',
    form: 'sealed',
    cmd: 'minion_pub',
    fields: { ...PEER, fun: 'cmd.run' },
    done: /"jid":/,
    may: [],
  },
  {
    name: 'run a runner that `peer_run` allows',
    form: 'sealed',
    cmd: 'minion_runner',
    fields: { fun: 'test.arg', arg: [1] },
    done: /"args"|1/,
    may: ['minion'],
  },
  {
    name: 'run a runner that `peer_run` does not allow',
    form: 'sealed',
    cmd: 'minion_runner',
    fields: { fun: 'jobs.list_jobs', arg: [] },
    done: /"args"|20\d{18}/,
    may: [],
  },
  {
    name: 'read the returns of a job of others (`pub_ret`)',
    form: 'sealed',
    cmd: 'pub_ret',
    fields: { jid: JID },
    done: /"ret"/,
    may: [],
  },
];

/** The table as SECURITY.md shows it. */
export function whoMayTable(): readonly (readonly string[])[] {
  const actors = Object.keys(ACTORS) as Actor[];
  const rows = ACTS.map(({ name, may }) => [
    name,
    ...actors.map((actor) => (may.includes(actor) ? 'yes' : 'no')),
  ]);
  return [['', ...actors.map((actor) => ACTORS[actor])], ...rows];
}
