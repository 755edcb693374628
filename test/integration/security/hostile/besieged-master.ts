import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestPeer } from '@brine/testing/peers';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
} from '@brine/wire';
import { sealedLoad } from '../../../../tools/request-table/aes-frames.ts';
import type { Sent } from '../../../../tools/request-table/frames.ts';
import { outcomeOf } from '../../../../tools/request-table/outcome.ts';
import { AttackedMaster } from '../attacked-master.ts';
import { packRaw } from './texts.ts';

/** What minion b alone may know. */
export const SECRET = 'swordfish-7';
/** Longer than a stream waits to deliver again (30 s); a stalled store never gets there. */
const STORED_WITHIN_MS = 90_000;

/** Of the log, where a job is not stored. */
const LOG_SHOWN_CHARS = 6_000;

/** What the master under attack allows: enough for each attack to get as far as its guard. */
const CONFIG = {
  order_masters: false,
  minion_data_cache: true,
  peer: { a: ['test.ping', 'match.*'] },
  peer_run: { a: ['test.arg'] },
  nodegroups: { guess: `I@secret:${SECRET}`, ids: 'L@a,b' },
};

/** An {@link AttackedMaster} whose minion b has a pillar and a mine of its own. */
export async function startBesieged(): Promise<AttackedMaster> {
  const it = await AttackedMaster.start(CONFIG, ({ configDir }) => {
    const dir = join(configDir, 'pillar');
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'top.sls'), 'base:\n  b:\n    - own\n');
    writeFileSync(join(dir, 'own.sls'), `secret: ${SECRET}\ndeep:\n  er: ${SECRET}\n`);
  });
  for (const peer of [it.a, it.b]) {
    const grains = mapOf({ id: peer.id, os: 'Debian' });
    await sealedBy(peer, '_pillar', { grains, ver: '2', saltenv: null, pillarenv: null });
    await sealedBy(peer, '_mine', { data: mapOf({ 'test.ping': peer.id }) });
  }
  return it;
}

/** A sealed request of a peer; any bytes may stand in its load. */
export async function sealedBy(
  peer: TestPeer,
  cmd: string,
  fields: Readonly<Record<string, SaltValue>>,
): Promise<string> {
  return sendSealed(peer, sealedLoad(peer, cmd, fields));
}

/** As {@link sealedBy}, of a whole load. */
export async function sendSealed(peer: TestPeer, load: SaltMap): Promise<string> {
  const sent: Sent = {
    // Only what is sealed: the mark of broken text may stand in sealed bytes by chance.
    body: pack(
      mapOf({
        enc: 'aes',
        load: peer.session.seal(packRaw(load)),
        version: 3,
        id: peer.id,
        enc_algo: 'OAEP-SHA1',
        sig_algo: 'PKCS1v15-SHA1',
      }),
    ),
    keys: [peer.session],
    nonce: textOf(load, 'nonce'),
  };
  return outcomeOf(await peer.raw(sent.body), sent);
}

/** A clear request; any bytes may stand in its load. */
export async function clearRaw(it: AttackedMaster, load: SaltMap): Promise<string> {
  const body = packRaw(mapOf({ enc: 'clear', load, version: 3 }));
  return outcomeOf(await it.a.raw(body), { body, keys: [], nonce: undefined });
}

/**
 * Publishes a job, returns to it, and waits until the return is in the job cache: nothing that was
 * sent before holds up the gateway, the workers or the store.
 * @returns how long it took, in ms
 */
export async function jobIsStored(it: AttackedMaster): Promise<number> {
  const startedAt = performance.now();
  const root = { key: it.rootKey, user: 'root' };
  const job = { fun: 'test.ping', tgt: 'a', tgt_type: 'glob', arg: [], ret: '', jid: '' };
  const published = await ask(it, { cmd: 'publish', ...job, ...root });
  const jid = textOf(mapIn(published, 'load') ?? new Map(), 'jid');
  if (jid === undefined) throw new Error('the job was not published');
  const back = { jid, fun: 'test.ping', fun_args: [], return: true, retcode: 0, success: true };
  const told = await sealedBy(it.a, '_return', back);
  if (told !== 'sealed null') throw new Error(`the return of job ${jid} was answered ${told}`);
  const args = mapOf({ jid });
  for (;;) {
    const answer = await ask(it, { cmd: 'brine_query', query: 'get_jid', args, ...root });
    const value = mapIn(answer, 'value');
    const ms = performance.now() - startedAt;
    if (value !== undefined && mapIn(value, 'returns')?.has('a') === true) return ms;
    if (ms > STORED_WITHIN_MS) {
      const shown = JSON.stringify(plain(answer));
      const log = (await it.master.log()).slice(-LOG_SHOWN_CHARS);
      throw new Error(`job ${jid} is not stored after ${ms} ms: ${shown}\n${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function plain(value: SaltValue): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isMap(value)) return typeof value === 'bigint' ? value.toString() : value;
  return [...value].map(([name, one]) => [plain(name), plain(one)]);
}

/** A clear request's answer as it is. */
export async function ask(
  it: AttackedMaster,
  fields: Readonly<Record<string, SaltValue>>,
): Promise<SaltMap> {
  const load = mapOf(fields);
  const answer = unpack(await it.a.raw(packRaw(mapOf({ enc: 'clear', load, version: 3 }))));
  return isMap(answer) ? answer : new Map([['answer', answer]]);
}
