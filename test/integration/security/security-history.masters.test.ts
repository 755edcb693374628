import { statSync } from 'node:fs';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import { ZmtpPeer } from '@brine/testing';
import { authLoad } from '@brine/testing/peers';
import { growsOld } from '@brine/testing/waits';
import { bytesOf, mapOf, pack, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { clear, sealed } from '../../../tools/request-table/frames.ts';
import { AttackedMaster } from './attacked-master.ts';

/*
 * Salt's security history (protocol.md section 11), one test for each line that concerns a master
 * that serves neither ssh nor TLS nor packages: the attack on the wire, to a whole running master.
 * What minions send under their session key is in security-history-sealed.masters.test.ts;
 * SECURITY.md
 * lists all.
 */

const REFUSED = 'clear "bad load"';
let it: AttackedMaster;

beforeAll(async () => {
  it = await AttackedMaster.start();
});
afterAll(() => it?.close());

describe('clear commands', () => {
  test.each(['_prep_auth_info', '_send_pub', 'destroy', '__init__', 'publish_payload', 'ssh'])(
    'CVE-2020-11651, CVE-2020-16846: %s can not be called',
    async (cmd) => expect(await it.clear({ cmd })).toBe('clear {}'),
  );

  test('CVE-2020-11652: a token is no path', async () => {
    expect(await it.clear({ cmd: 'get_token', token: '../../../../etc/passwd' })).toBe('clear {}');
  });

  test.each([
    { token: 'ab'.repeat(32) },
    { eauth: 'pam', username: 'nobody', password: 'x' },
    { eauth: 'pki', username: 'nobody', password: 'a certificate' },
    { key: null },
    { key: mapOf({ a: 1 }) },
    {},
  ])('CVE-2020-25592, 2021-25281, 2024-38825: %j runs nothing', async (credentials) => {
    const fields = { ...credentials, fun: 'test.ping', tgt: '*', arg: [], ret: '', jid: '' };
    for (const cmd of ['publish', 'runner', 'wheel']) {
      const { tgt, ...rest } = fields;
      const asked = cmd === 'publish' ? { ...rest, tgt, user: 'root' } : rest;
      expect(await it.clear({ cmd, ...asked })).toMatch(/"name":"\w*AuthenticationError"/);
    }
    for (const cmd of ['wheel_async', 'runner_async']) {
      expect(await it.clear({ cmd, ...fields })).toBe('clear {}');
    }
  });

  test('CVE-2021-3144: a token that has expired is refused at its first use', async () => {
    const byToken = (token: string) => it.publish({ kwargs: mapOf({ token }) });
    expect(await byToken(await it.token())).toMatch('"minions":["a"]');
    const expired = await it.token({ token_expire: 0 });
    await growsOld('the token', 5);
    expect(await byToken(expired)).toMatch(/"name":"\w*AuthenticationError"/);
    expect(await it.clear({ cmd: 'get_token', token: expired })).toBe('clear {}');
  });

  test.each(['file_roots.write', 'pillar_roots.write'])(
    'CVE-2020-11652, 2021-25282: %s leaves its root with no path',
    async (fun) => {
      for (const path of ['../../../escaped', '/tmp/../../escaped', 'x/../../../escaped']) {
        const asked = { cmd: 'wheel', fun, data: 'x', path, key: it.rootKey, user: 'root' };
        expect(await it.clear(asked)).toMatch(/Invalid path|is not relative to the environment/);
      }
      expect(it.escaped()).toEqual([]);
    },
  );

  test('CVE-2021-25283: what clients send is no template', async () => {
    const text = '{{ 7 * 191 }}';
    const credentials = { key: it.rootKey, user: 'root' };
    for (const cmd of ['publish', 'wheel', 'runner', 'mk_token', 'get_token']) {
      for (const more of [{ token: text, key: 'x' }, credentials]) {
        const fields = { fun: text, tgt: text, arg: [text], ret: text, jid: '', ...more };
        expect(await it.clear({ cmd, ...fields })).not.toMatch('1337');
      }
    }
    // It does get as far as the answer.
    expect(await it.clear({ cmd: 'wheel', fun: text, ...credentials })).toMatch(text);
  });

  test('CVE-2025-62349: older versions are refused, clear, at log-in and sealed', async () => {
    for (const version of [0, 1, 2]) {
      expect(await it.clear({ cmd: 'ping' }, version)).toBe(REFUSED);
      expect(await it.send(clear(authLoad(it.a), version))).toBe(REFUSED);
      const how = { ...it.own, sealedWith: it.a.aes, version };
      expect(await it.send(sealed(sealedLoad(it.a, '_file_envs'), how))).toBe(REFUSED);
    }
  });
});

describe('log-ins', () => {
  test('CVE-2022-22935: every answer is signed and bound to the nonce', async () => {
    const stranger = await PrivateKey.generate(2048);
    const loads = [
      authLoad(it.a),
      authLoad({ id: 'a', key: stranger }),
      authLoad({ id: 'stranger', key: stranger }),
      authLoad({ id: '../x', key: stranger }),
    ];
    for (const load of loads) {
      const reply = unpackMap(await it.a.raw(clear(load).body));
      const signed = bytesOf(reply, 'load')!;
      expect(it.a.masterKey.verify(signed, bytesOf(reply, 'sig')!, 'PKCS1v15-SHA1')).toBe(true);
      expect(textOf(unpackMap(signed), 'nonce')).toBe(load.get('nonce'));
    }
  });

  test('CVE-2025-22238: an id is no path', async () => {
    const free = { id: 'not-seen-yet', key: it.a.key };
    expect(await it.send(clear(authLoad(free)))).toMatch('"ret":true');
    for (const id of ['../../escaped', 'a/b', '/etc/x', 'x\0', '..']) {
      const outcome = await it.send(clear(new Map([...authLoad(it.a), ['id', id]])));
      // True would mean that the key waits to be accepted.
      expect(outcome).toMatch(/^signed .*"ret":false|id contains a null byte/);
    }
    expect(it.escaped()).toEqual([]);
  });
});

describe('the master as a whole', () => {
  test('CVE-2022-22936: the serial of publications only grows', async () => {
    const subscriber = await ZmtpPeer.open({ port: it.master.home.publishPort, socketType: 'SUB' });
    subscriber.subscribe();
    await it.marker('subscribed');
    const serials: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      expect(await it.publish({ key: it.rootKey, user: 'root' })).toMatch('"minions":["a"]');
      const frames = await subscriber.receive(20_000);
      const outer = unpackMap(frames.at(-1)!);
      const serial = unpackMap(it.a.aes.open(bytesOf(outer, 'load')!)!).get('serial');
      expect(
        it.a.masterKey.verify(bytesOf(outer, 'load')!, bytesOf(outer, 'sig')!, 'PKCS1v15-SHA1'),
      ).toBe(true);
      serials.push(Number(serial));
    }
    subscriber.close();
    expect([...new Set(serials)].sort((one, other) => one - other)).toEqual(serials);
  });

  test('CVE-2023-20897: broken messages cost no worker', async () => {
    const odd: SaltValue[] = ['x', ['x'], 7, null, mapOf({}), mapOf({ enc: 'aes' })];
    const load = Buffer.alloc(96, 5);
    const bodies = odd.map((value) => pack(value));
    bodies.push(Buffer.from([0xc1]), Buffer.alloc(64, 0xff));
    for (const id of ['a', '../a', 'x\0', 7, null, ['a'], mapOf({ a: 1 })]) {
      bodies.push(pack(mapOf({ enc: 'aes', load, version: 3, id })));
    }
    // This one costs stock 3008.2 a worker each time.
    bodies.push(sealed(sealedLoad(it.a, '_return', { tok: ['x'] }), it.own).body);
    for (let n = 0; n < 20; n += 1) await Promise.all(bodies.map((body) => it.a.raw(body)));
    expect(await it.sealed('_file_envs')).toBe('sealed ["base"]');
  });

  test('CVE-2020-17490, 2021-25284: files are private, no log tells a secret', async () => {
    const { pkiDir, cacheDir } = it.master.home;
    const secret = [join(pkiDir, 'master.pem'), join(cacheDir, '.root_key')];
    for (const file of secret) expect(statSync(file).mode & 0o077).toBe(0);
    await it.publish({ key: it.rootKey, user: 'root' });
    const log = await it.master.log();
    for (const text of [it.rootKey, it.a.aes.keyString, it.a.session.keyString])
      expect(log).not.toContain(text);
  });

  test('strangers leave no file or directory behind', async () => {
    const load = Buffer.alloc(96, 5);
    for (let n = 0; n < 50; n += 1) {
      await it.a.raw(pack(mapOf({ enc: 'aes', load, version: 3, id: `nobody${n}` })));
    }
    const { stdout } = await it.master.brine('status', ['--out', 'json']);
    expect(stdout).not.toContain('nobody');
    expect(it.escaped('nobody')).toEqual([]);
  });
});
