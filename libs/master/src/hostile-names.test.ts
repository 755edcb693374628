import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltValue, scanMap } from '@brine/wire';
import { beforeEach, describe, expect, it } from 'vitest';
import { runAesCommand } from './aes/commands.ts';
import { runClearCommand } from './clear/commands.ts';

const { master_key } = vectorFile<{ master_key: { pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(master_key.pem);
const request = { id: 'r1', body: Buffer.alloc(0), gatewayHost: 'host1' };
const ROOT = { user: 'root', key: 'root-key' };
const HOSTILE: readonly SaltValue[] = ['a\0b', 'a\x1b[2J', '\ud83d', Buffer.from([0xff]), ['a\0']];

let made: MemoryMaster;
let asked: string[];
beforeEach(() => {
  asked = [];
  made = memoryMaster({
    masterKey,
    userKeys: { root: 'root-key' },
    answerQuery: (query) => {
      asked.push(query);
      return mapOf({});
    },
    rules: { peer: { '.*': ['.*'] }, peerRun: { '.*': ['.*'] } },
  });
  made.setKey('web1', { state: 'accepted', pub: 'x', denied: [] });
});

/** Nothing was written, asked or published, and what was refused was counted. */
function untouched(counted: string): void {
  expect([made.events, made.jobs, asked, made.background]).toEqual([[], [], [], []]);
  expect([...made.minionKeys.keys()]).toEqual(['web1']);
  expect(made.counts.get(counted)).toBe(1);
}

const job = { fun: 'test.ping', arg: [], tgt: 'web1', tgt_type: 'glob', ret: '', jid: '' };
const CLEAR: readonly (readonly [string, Record<string, SaltValue>, readonly string[]])[] = [
  ['publish', { ...job, ...ROOT }, ['fun', 'tgt', 'tgt_type', 'ret', 'jid', 'user', 'key']],
  ['runner', { fun: 'jobs.active', kwarg: mapOf({}), ...ROOT }, ['fun', 'user', 'username']],
  ['wheel', { fun: 'key.delete', match: 'web1', ...ROOT }, ['fun', 'match', 'user', 'eauth']],
  ['mk_token', { eauth: 'pam', username: 'a', password: 'b' }, ['eauth', 'username', 'token']],
  ['get_token', { token: 'ab'.repeat(32) }, ['token']],
  ['brine_query', { query: 'import', args: mapOf({}), ...ROOT }, ['query', 'user']],
  ['brine_events', { args: mapOf({ from: 'oldest' }), ...ROOT }, ['user', 'key']],
  ['brine_batch', { ...job, batch: mapOf({}), ...ROOT }, ['fun', 'tgt', 'tgt_type', 'jid', 'user']],
  ['brine_resolve', { ...job, ...ROOT }, ['fun', 'tgt', 'tgt_type', 'user']],
];
const CASES = CLEAR.flatMap(([cmd, good, fields]) =>
  fields.flatMap((field) => HOSTILE.map((hostile) => ({ cmd, good, field, hostile }))),
);

describe('a clear command', () => {
  it.each(CASES)('$cmd is refused at the door for its $field: $hostile', async (given) => {
    const { cmd, good, field, hostile } = given;
    const load = mapOf({ cmd, ...good, [field]: hostile });
    const { value } = await runClearCommand(made.ports, request, load);
    untouched('clear_malformed');
    if (cmd === 'mk_token') expect(value).toBe('');
    else if (cmd === 'get_token') expect(value).toEqual(mapOf({}));
    else expect(value).toBeInstanceOf(Map);
    if (cmd === 'publish' || cmd === 'brine_query') {
      expect(pack(value).toString()).toContain(`${cmd} load: ${field} is not text`);
    }
    expect(made.unlimited).toEqual([]);
  });

  it('asks the store nothing that it can not take', async () => {
    const load = mapOf({ cmd: 'brine_query', query: 'list_jobs', ...ROOT });
    load.set('args', mapOf({ searchFunction: ['a\0'] }));
    await runClearCommand(made.ports, request, load);
    untouched('query_malformed');
  });
});

const AES: readonly (readonly [string, Record<string, SaltValue>, readonly string[]])[] = [
  ['minion_pub', job, ['fun', 'tgt', 'tgt_type', 'ret']],
  ['minion_publish', job, ['fun', 'tgt', 'expr_form']],
  ['minion_runner', { fun: 'jobs.active', arg: [] }, ['fun']],
  ['pub_ret', { jid: '20261122080000123456' }, ['jid']],
  ['_mine_get', { tgt: '*', fun: 'x', tgt_type: 'glob' }, ['fun', 'tgt', 'tgt_type']],
  ['_mine_delete', { fun: 'x' }, ['fun']],
  ['_pillar', { grains: mapOf({}) }, ['saltenv', 'pillarenv']],
  ['_register_resources', {}, ['id']],
];

/** Half of a pair can not be written as UTF-8, so it never arrives. */
const SENT = HOSTILE.filter((hostile) => hostile !== '\ud83d');

describe('a command of a minion', () => {
  it.each(
    AES.flatMap(([cmd, good, fields]) =>
      fields.flatMap((field) => SENT.map((hostile) => ({ cmd, good, field, hostile }))),
    ),
  )("$cmd is answered as Salt's own faults are for its $field: $hostile", async (given) => {
    const { cmd, good, field, hostile } = given;
    const body = pack(mapOf({ cmd, id: 'web1', ...good, [field]: hostile }));
    const sent = { request, body, scan: scanMap(body), minion: 'web1' };
    const result = await runAesCommand(made.ports, { ...sent, tokenChecked: true, version: 3 });
    expect(result).toEqual({ reply: 'send', value: '' });
    untouched('aes_malformed');
  });
});
