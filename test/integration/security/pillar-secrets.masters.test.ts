import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Crypticle, PrivateKey } from '@brine/crypt';
import { BrineMaster } from '@brine/testing';
import { TestPeer } from '@brine/testing/peers';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { parsePrivateData, parsePrivateReply, parseSignedPrivate } from '@brine/wire/load';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import { sealed } from '../../../tools/request-table/frames.ts';

let master: BrineMaster;
let peer: TestPeer;
let keyDir = '';
/** Two messages for the master's key: one in its own pillar, one of another minion. */
let own = '';
let others = '';

function encrypted(text: string): string {
  const args = ['--homedir', keyDir, '--batch', '--armor', '--trust-model', 'always'];
  const to = ['-r', 'pillar@example.com', '--encrypt'];
  const stdio: ['pipe', 'pipe', 'ignore'] = ['pipe', 'pipe', 'ignore'];
  return execFileSync('gpg', [...args, ...to], { input: text, stdio }).toString();
}

beforeAll(async () => {
  const key = await PrivateKey.generate(2048);
  master = await BrineMaster.start(
    {
      // Without it the override goes to the thread that makes the pillar.
      minion_data_cache: false,
      decrypt_pillar: ['secret', 'shown'],
      brine: { workers: 1 },
    },
    {
      onHome: ({ configDir, pkiDir }) => {
        mkdirSync(join(pkiDir, 'minions'), { recursive: true, mode: 0o700 });
        writeFileSync(join(pkiDir, 'minions', 'a'), key.publicKey.pem);
        keyDir = join(configDir, 'gpgkeys');
        mkdirSync(keyDir, { mode: 0o700 });
        chmodSync(keyDir, 0o700);
        const made = [
          '--quick-gen-key',
          'pillar@example.com',
          'future-default',
          'default',
          'never',
        ];
        const gpg = ['--homedir', keyDir, '--batch', '--passphrase', ''];
        execFileSync('gpg', [...gpg, ...made], { stdio: 'ignore' });
        [own, others] = [encrypted('the secret of a'), encrypted('the secret of b')];
        const dir = join(configDir, 'pillar');
        writeFileSync(join(dir, 'top.sls'), "base: {'*': [own, echo, rendered]}\n");
        writeFileSync(join(dir, 'own.sls'), `secret: {own: ${JSON.stringify(own)}}\n`);
        const grain = '{{ grains.get("motd", "") | tojson }}';
        writeFileSync(join(dir, 'echo.sls'), `shown: ${grain}\n`);
        writeFileSync(join(dir, 'rendered.sls'), `#!jinja|yaml|gpg\nrendered: ${grain}\n`);
      },
    },
  );
  peer = new TestPeer('a', key, master.home.retPort);
  await peer.signIn();
}, 240_000);
afterAll(async () => {
  peer.close();
  execFileSync('gpgconf', ['--homedir', keyDir, '--kill', 'all'], { stdio: 'ignore' });
  await master.close();
});

async function pillarWith(fields: Record<string, SaltValue>): Promise<SaltMap> {
  const load = sealedLoad(peer, '_pillar', fields);
  const how = { sealedWith: peer.session, version: 3, outerId: 'a' };
  const outer = parsePrivateReply(await peer.raw(sealed(load, how).body));
  const key = peer.key.oaepDecrypt(outer.key, 'OAEP-SHA1').toString('utf8');
  const { data } = parseSignedPrivate(new Crypticle(key).open(outer.pillar)!);
  const { pillar } = parsePrivateData(data);
  if (!isMap(pillar)) throw new Error('no pillar');
  return pillar;
}

test('the master decrypts its own secrets for a minion', async () => {
  const pillar = await pillarWith({ grains: mapOf({ motd: 'hello' }) });
  expect(pillar.get('_errors')).toBeUndefined();
  expect(mapIn(pillar, 'secret')?.get('own')).toBe('the secret of a');
  expect([pillar.get('shown'), pillar.get('rendered')]).toEqual(['hello', 'hello']);
});

test('what a minion sends comes back as it sent it', async () => {
  const forms = [others, others.trim().replaceAll('\n', '\\n'), `before ${others}`];
  for (const sent of forms) {
    const grains = mapOf({ motd: sent });
    const override = mapOf({ secret: mapOf({ more: sent, deep: [sent] }), shown: sent });
    const pillar = await pillarWith({ grains, pillar_override: override });
    const secret = mapIn(pillar, 'secret');
    expect(secret?.get('more')).toBe(sent);
    expect(secret?.get('deep')).toEqual([sent]);
    expect(secret?.get('own')).toBe('the secret of a');
    for (const name of ['shown', 'rendered']) {
      expect(pillar.get(name), name).toContain('BEGIN PGP MESSAGE');
    }
    expect(JSON.stringify([...pillar.values()].map(String))).not.toContain('the secret of b');
  }
});
