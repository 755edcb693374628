import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Crypticle } from '@brine/crypt';
import { ZmtpPeer } from '@brine/testing';
import { bytesOf, mapOf, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { sealed } from '../../../tools/request-table/frames.ts';
import { AttackedMaster, SERVED } from './attacked-master.ts';

/*
 * Salt's security history (protocol.md section 11), the lines about what minions ask for under
 * their session key; the others are in security-history.masters.test.ts.
 */

const JID = '20261122080000123456';
const REFUSED = 'clear "bad load"';
let it: AttackedMaster;

beforeAll(async () => {
  it = await AttackedMaster.start();
});
afterAll(() => it?.close());

describe('requests of minions', () => {
  const COMMANDS =
    '_return _pillar _minion_event _register_resources _master_opts _mine _mine_get _mine_delete ' +
    '_mine_flush _master_tops _file_envs _file_list _file_list_emptydirs _dir_list _symlink_list ' +
    '_file_hash _file_hash_and_stat _file_find _serve_file _file_recv _syndic_return ' +
    'minion_runner minion_pub minion_publish pub_ret revoke_auth verify_minion';

  test.each(COMMANDS.split(' '))(
    'CVE-2024-38822, 2025-22236: %s in the name of another',
    async (cmd) => {
      const asB = sealedLoad(it.a, cmd, { id: 'b' });
      const toldByB = sealedLoad(it.b, cmd);
      const outer = { ...it.own, outerId: 'b' };
      // With the token of the other too: each of the guards has to hold without the others.
      for (const load of [asB, toldByB]) {
        for (const how of [it.own, outer, { ...outer, sealedWith: it.a.aes }]) {
          expect(await it.send(sealed(load, how))).toBe(REFUSED);
        }
      }
      // Even who has the session key of the other lacks its private key.
      expect(await it.send(sealed(asB, { ...outer, sealedWith: it.b.session }))).toBe(REFUSED);
      const bare = sealedLoad(it.a, cmd);
      bare.delete('tok');
      expect(await it.send(sealed(bare, it.own))).toBe(REFUSED);
    },
  );

  test('CVE-2024-38823, 2022-22936: a captured request is worth nothing', async () => {
    const request = sealed(
      sealedLoad(it.a, '_minion_event', { tag: 'captured/once', data: mapOf({}) }),
      it.own,
    );
    const stranger = await ZmtpPeer.open({ port: it.master.home.retPort });
    await it.a.raw(request.body);
    for (let n = 0; n < 5; n += 1) await stranger.request(request.body, 20_000);
    stranger.close();
    await it.marker('after-captured');
    expect(it.heard.filter((tag) => tag === 'captured/once')).toHaveLength(1);
    for (const ts of [-3600, 3600]) {
      const late = sealedLoad(it.a, '_file_envs', { ts: Math.floor(Date.now() / 1000) + ts });
      expect(await it.send(sealed(late, it.own))).toBe(REFUSED);
    }
  });

  test('CVE-2022-22936: what a captured request wrote is not written over what is newer', async () => {
    const own = (cmd: string, fields: Record<string, SaltValue>) =>
      sealed(sealedLoad(it.a, cmd, fields), it.own);
    const mine = (value: string) => own('_mine', { data: mapOf({ 'my.fun': value }) });
    const file = (data: string) =>
      own('_file_recv', { path: ['kept'], loc: 0, data, size: data.length });
    const captured = [mine('old'), file('old'), own('_mine_delete', { fun: 'my.fun' })];
    captured.push(own('_mine_flush', {}));
    const answers: string[] = [];
    for (const sent of captured) answers.push(await it.send(sent));
    for (const sent of [mine('new'), file('new')]) await it.send(sent);
    // Enough for both workers.
    for (let n = 0; n < 6; n += 1) {
      const stranger = await ZmtpPeer.open({ port: it.master.home.retPort });
      for (const { body } of captured) await stranger.request(body, 20_000);
      stranger.close();
    }
    const found = await it.sealed('_mine_get', { fun: 'my.fun', tgt: 'a', tgt_type: 'glob' });
    expect(found).toBe('sealed {"a":"new"}');
    const { cacheDir } = it.master.home;
    expect(readFileSync(join(cacheDir, 'minions', 'a', 'files', 'kept'), 'utf8')).toBe('new');
    // Who lost the answer is answered as the first time.
    for (const [at, sent] of captured.entries()) expect(await it.send(sent)).toBe(answers[at]);
  });

  test('CVE-2022-22934: a pillar is signed, with its key and the nonce', async () => {
    const load = sealedLoad(it.a, '_pillar', { grains: mapOf({}), ver: '2' });
    const reply = unpackMap(await it.a.raw(sealed(load, it.own).body));
    const inner = new Crypticle(
      it.a.key.oaepDecrypt(bytesOf(reply, 'key')!, 'OAEP-SHA1').toString(),
    );
    const signed = unpackMap(inner.open(bytesOf(reply, 'pillar')!)!);
    const data = bytesOf(signed, 'data')!;
    expect(it.a.masterKey.verify(data, bytesOf(signed, 'sig')!, 'PKCS1v15-SHA1')).toBe(true);
    expect(textOf(unpackMap(data), 'nonce')).toBe(load.get('nonce'));
    expect(Buffer.compare(bytesOf(unpackMap(data), 'key')!, bytesOf(reply, 'key')!)).toBe(0);
  });

  test('CVE-2025-22237, 2025-22241: extensions of a pillar do nothing', async () => {
    let asked = 0;
    const server = createServer((_request, answer) => void ((asked += 1), answer.end('{}')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const touch = `touch ${join(it.master.home.cacheDir, 'escaped')}; echo '{}'`;
    for (const ext of [
      { cmd_json: touch },
      { cmd_yaml: touch },
      { http_json: `http://127.0.0.1:${port}/` },
      { git: [mapOf({ [`main ext::sh -c ${touch.replaceAll(' ', '% ')}`]: [] })] },
      { virtkey: '../escaped' },
    ]) {
      const load = { grains: mapOf({}), ver: '2', ext: mapOf(ext) };
      expect(await it.sealed('_pillar', load)).toMatch('a pillar');
    }
    server.close();
    expect(asked).toBe(0);
    expect(it.escaped()).toEqual([]);
  });

  test('a file that is no secret is served', async () => {
    const file = { path: SERVED, saltenv: 'base', loc: 0 };
    expect(await it.sealed('_serve_file', file)).toContain(`"dest":"${SERVED}"`);
  });

  test.each([
    '../master',
    '../../master',
    '/etc/passwd',
    'x/../../master',
    '..\\..\\master',
    'a\0b',
  ])('CVE-2024-22232, 2025-22240: the file %j is not served', async (path) => {
    for (const saltenv of ['base', '../..', '/etc', '__env__']) {
      const served = await it.sealed('_serve_file', { path, saltenv, loc: 0 });
      expect(served).toMatch(/^sealed (?:\{"data":"","dest":""\}|"")$/);
      const found = await it.sealed('_file_find', { path, saltenv });
      expect(found).toMatch(/^sealed (?:\{"path":"","rel":""\}|"")$/);
    }
  });

  test('CVE-2024-38824: a file that is sent goes nowhere else', async () => {
    for (const path of [['..', '..', 'escaped'], ['/tmp/escaped'], ['x\0escaped'], 'escaped']) {
      const outcome = await it.sealed('_file_recv', { path, loc: 0, data: 'x', size: 1 });
      expect(outcome).toMatch(/^sealed (?:false|"")$/);
    }
    expect(it.escaped()).toEqual([]);
    const own = { path: ['fine'], loc: 0, data: 'x', size: 1 };
    expect(await it.sealed('_file_recv', own)).toBe('sealed true');
  });

  test.each(['../../../../etc/passwd', '/dev/zero', JID, '', 'x'])(
    'CVE-2025-22242: pub_ret opens no file for the job id %j',
    async (jid) => expect(await it.sealed('pub_ret', { jid })).toMatch(/^sealed (?:\{\}|"")$/),
  );

  test('CVE-2024-22231: the id of a syndic is no path', async () => {
    const value = mapOf({ a: mapOf({ return: true, retcode: 0, success: true }) });
    for (const [id, jid] of [
      ['../../../../escaped', JID],
      ['b', '../../escaped'],
      ['../../escaped', '../../escaped'],
    ] as const) {
      const load = mapOf({ fun: 'x', Minions: ['a'] });
      const job = mapOf({ id, jid, fun: 'x', master_id: 'm', load, return: value });
      const asked = sealedLoad(it.b, '_syndic_return', { load: [job] });
      await it.send(sealed(asked, { ...it.own, outerId: 'b', sealedWith: it.b.session }));
    }
    await it.marker('after-syndic');
    expect(it.heard.filter((tag) => tag.includes('escaped'))).toEqual([]);
    expect(it.escaped()).toEqual([]);
  });

  test('CVE-2025-22239: events of the master and of others are refused in every form', async () => {
    const refused = (
      `salt/job/${JID}/new salt/job/${JID}/publish salt/job/${JID}/return salt/job/${JID}/ret/b ` +
      'salt/key salt/auth salt/cloud/x salt/run/1/new salt/cluster/x salt/wheel/1/new ' +
      'salt/minion/b/start salt/presence/change ' +
      `salt/job/${JID}/error salt/job/${JID}/ret/a salt//key ./salt/key Salt/auth ${JID} ` +
      'syndic/a/x salt/engines/hook/x'
    ).split(' ');
    const data = mapOf({ x: 1 });
    const before = it.heard.length;
    for (const tag of refused) {
      await it.sealed('_minion_event', { tag, data, pretag: null });
      await it.sealed('_minion_event', { events: [mapOf({ tag, data })], pretag: null });
      const [head = '', ...rest] = tag.split('/');
      const event = mapOf({ tag: rest.join('/'), data });
      await it.sealed('_minion_event', { events: [event], pretag: head });
    }
    // A prefix takes any tag of its own past the list: it is for syndics below Brine alone.
    const events = [mapOf({ tag: 'told/by/a', data })];
    await it.sealed('_minion_event', { events, pretag: 'foreign' });
    await it.marker('after-injection');
    const heard = it.heard.slice(before);
    expect(heard.filter((tag) => refused.includes(tag) || tag.startsWith('foreign'))).toEqual([]);
    expect(heard).toContain('told/by/a');
  });
});
