import { mapOf, type SaltValue } from '@brine/wire';

type Fields = Readonly<Record<string, SaltValue>>;

/** A request that would be good, and the fields in which something hostile is put. */
export interface Load {
  readonly cmd: string;
  readonly fields: Fields;
  readonly hostile: readonly string[];
}

const JID = '20261122080000123456';
const JOB: Fields = { fun: 'test.ping', tgt: 'a', tgt_type: 'glob', arg: [], ret: '', jid: '' };
const CALL: Fields = { fun: 'jobs.active', arg: [], kwarg: mapOf({}) };

/** What a stranger or a user sends in the clear. */
export const CLEAR_LOADS: readonly Load[] = [
  {
    cmd: 'publish',
    fields: { ...JOB, kwargs: mapOf({}) },
    hostile: (
      'fun tgt tgt_type arg ret jid user key traceparent kwargs.eauth kwargs.username ' +
      'kwargs.token kwargs.metadata kwargs.metadata.x kwargs.delimiter kwargs.id kwargs.ret_config'
    ).split(' '),
  },
  {
    cmd: 'runner',
    fields: CALL,
    hostile: 'fun arg user key token eauth username kwarg kwarg.x'.split(' '),
  },
  { cmd: 'wheel', fields: CALL, hostile: 'fun match user key token eauth username'.split(' ') },
  {
    cmd: 'mk_token',
    fields: { eauth: 'file', username: 'anne', password: 'wrong' },
    hostile: 'eauth username password token_expire user'.split(' '),
  },
  { cmd: 'get_token', fields: { token: 'ab'.repeat(32) }, hostile: ['token'] },
  {
    cmd: 'brine_batch',
    fields: { ...JOB, batch: mapOf({ size: '1' }), kwargs: mapOf({}) },
    hostile: 'fun tgt tgt_type arg jid user key batch batch.size follow kwargs.token'.split(' '),
  },
  {
    cmd: 'brine_resolve',
    fields: { ...JOB, kwargs: mapOf({}) },
    hostile: 'fun tgt tgt_type arg jid user key kwargs.token kwargs.delimiter'.split(' '),
  },
  {
    cmd: 'brine_events',
    fields: { args: mapOf({ from: 'oldest', tag: '*', max: 1 }) },
    hostile: 'args args.from args.tag args.minion args.jid args.kinds args.max user key'.split(' '),
  },
  {
    cmd: 'brine_query',
    fields: { query: 'get_jid', args: mapOf({ jid: JID }) },
    hostile: 'query args args.jid user key'.split(' '),
  },
];

/** What a minion sends under its session key. */
export const SEALED_LOADS: readonly Load[] = [
  {
    cmd: '_return',
    fields: { jid: JID, fun: 'test.ping', fun_args: [], return: true, retcode: 0, success: true },
    hostile: 'jid fun fun_args return retcode success out metadata ret_config tgt user'.split(' '),
  },
  {
    cmd: '_minion_event',
    fields: { tag: 'my/tag', data: mapOf({ x: 1 }), pretag: null },
    hostile: 'tag data data.x pretag grains grains.x events'.split(' '),
  },
  {
    cmd: '_pillar',
    fields: { grains: mapOf({ id: 'a', os: 'Debian' }), saltenv: null, pillarenv: null, ver: '2' },
    hostile: 'grains.x saltenv pillarenv pillar_override.x extra_minion_data.x ext'.split(' '),
  },
  {
    cmd: '_mine',
    fields: { data: mapOf({ 'test.ping': 1 }) },
    hostile: 'data data.x clear'.split(' '),
  },
  {
    cmd: '_mine_get',
    fields: { tgt: '*', fun: 'test.ping', tgt_type: 'glob' },
    hostile: 'tgt fun tgt_type'.split(' '),
  },
  { cmd: '_mine_delete', fields: { fun: 'no.such' }, hostile: ['fun'] },
  {
    cmd: '_file_recv',
    fields: { path: ['x', 'y'], loc: 0, data: 'abc', size: 3 },
    hostile: 'path loc data size'.split(' '),
  },
  {
    cmd: '_serve_file',
    fields: { path: 'no/such', saltenv: 'base', loc: 0 },
    hostile: 'path saltenv loc gzip'.split(' '),
  },
  { cmd: '_file_list', fields: { saltenv: 'base' }, hostile: 'saltenv prefix'.split(' ') },
  { cmd: '_master_tops', fields: { opts: mapOf({ id: 'a' }) }, hostile: ['opts.id', 'opts.x'] },
  { cmd: '_register_resources', fields: { resources: mapOf({}) }, hostile: ['resources.x'] },
  {
    cmd: 'minion_pub',
    fields: { fun: 'test.ping', arg: [], tgt: 'a', ret: '', tgt_type: 'glob' },
    hostile: 'fun arg tgt ret tgt_type'.split(' '),
  },
  { cmd: 'minion_runner', fields: { fun: 'test.arg', arg: [] }, hostile: ['fun', 'arg'] },
  { cmd: 'pub_ret', fields: { jid: JID }, hostile: ['jid'] },
  { cmd: '_syndic_return', fields: { load: [] }, hostile: ['load', 'load.x'] },
];

const RESULT = mapOf({ a: mapOf({ return: true, retcode: 0, success: true }) });

/** Tags that only the master, or another than the sender, may speak under. */
export const FORGED_TAGS: readonly string[] = [
  `salt/job/${JID}/new`,
  `salt/job/${JID}/publish`,
  `salt/job/${JID}/error`,
  `salt/job/${JID}/return`,
  `salt/job/${JID}/ret/b`,
  `salt/job/${JID}/ret/b/x`,
  `salt/job/${JID}/prog/b/0`,
  `salt/job/${JID}/sub/b/error/x`,
  `salt/job//ret/b`,
  `salt/job/x/../${JID}/ret/b`,
  'salt/job/error',
  'salt/job/20261122080000123456_x/ret/b',
  'salt/auth',
  'salt/auth/x',
  'salt/auth/creds',
  'salt/key',
  'salt/key/x',
  'salt/key/accept',
  'salt/run/20261122080000123456/new',
  'salt/run/20261122080000123456/ret',
  'salt/run/x',
  'salt/wheel/20261122080000123456/new',
  'salt/wheel/20261122080000123456/ret',
  'salt/wheel/20261122080000123456/args',
  'salt/wheel/x',
  'salt/presence/change',
  'salt/presence/present',
  'salt/cloud/b/created',
  'salt/cluster/peer',
  'salt/minion/b/start',
  'salt/minion/b',
  'salt/minion//start',
  'salt/beacon/b/load/',
  'salt/beacon/b',
  'salt/engines/hook/x',
  'salt/netapi/hook/x',
  'salt/stats/b',
  'salt/syndic/b/start',
  'salt/fileserver/gitfs/update',
  'salt/batch/20261122080000123456/done',
  'salt/no_such_thing',
  'salt/',
  'minion/refresh/b',
  'resource/refresh/b',
  `syndic/b/${JID}`,
  `syndic/b/salt/job/${JID}/ret/b`,
  'syndic/b',
  'syndic//x',
];

/** Bodies under a tag of the sender's own that speak of another minion. */
export const FORGED_BODIES: Readonly<Record<string, Fields>> = {
  'a return of another': { id: 'b', jid: JID, fun: 'test.ping', return: 'forged' },
  'results of others': { id: 'b', jid: JID, return: RESULT },
};
