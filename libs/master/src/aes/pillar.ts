import { Crypticle, isEncAlgo, isSigAlgo, newKeyString } from '@brine/crypt';
import { mapIn, mapOf, pack, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildPrivateData, buildPrivateReply, buildSignedPrivate } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';

/** The seal of the request; the reply uses the same algorithms. */
export interface PillarChannel {
  readonly minion: string;
  readonly nonce: string | undefined;
  readonly encAlgo: string;
  readonly sigAlgo: string;
}

/**
 * Stores the grains in a pillar request, so that `-G` works from the first day, and fires the
 * event. `grains.id` is the id of the channel, whatever the grains contain. `once` is the same for
 * every copy of the request.
 */
export async function rememberPillarRequest(
  ports: MasterPorts,
  once: string,
  load: SaltMap,
  minion: string,
): Promise<void> {
  const grains = mapIn(load, 'grains');
  if (grains === undefined || !ports.rules.minionDataCache) return;
  await ports.minionData.storeGrains(minion, new Map(grains).set('id', minion));
  if (!ports.rules.minionDataCacheEvents) return;
  await ports.events.append({
    kind: 'minion',
    // The tag is not below `salt/`: the argument order of salt/master.py `_pillar` causes that.
    tag: `minion/refresh/${minion}`,
    body: pack(mapOf({ 'Minion data cache refresh': minion })),
    minion,
    msgId: `refresh:${once}`,
  });
}

/**
 * The pillar for a request; undefined if this master makes none. The id and `grains.id` are those
 * of the channel, whatever the load contains.
 */
export async function renderPillar(
  ports: MasterPorts,
  load: SaltMap,
  minion: string,
): Promise<SaltMap | undefined> {
  const grains = new Map(mapIn(load, 'grains') ?? []).set('id', minion);
  return ports.pillars?.render(
    mapOf({
      id: minion,
      grains,
      saltenv: textOf(load, 'saltenv') ?? null,
      pillarenv: textOf(load, 'pillarenv') ?? null,
      override: mapIn(load, 'pillar_override') ?? new Map(),
      ext: mapIn(load, 'ext') ?? null,
      clean_cache: load.get('clean_cache') === true,
    }),
  );
}

/**
 * Seals a pillar for one minion alone (salt/channel/server.py `_encrypt_private`): a fresh key,
 * the data signed together with that key and the nonce (CVE-2022-22934).
 */
export async function sealPillar(
  ports: MasterPorts,
  channel: PillarChannel,
  pillar: SaltValue,
): Promise<Buffer> {
  if (channel.nonce === undefined) return pack(mapOf({ error: 'Nonce not included in request' }));
  const key = ports.keys.cached(channel.minion) ?? (await ports.keys.fetch(channel.minion));
  if (key === undefined || !isEncAlgo(channel.encAlgo) || !isSigAlgo(channel.sigAlgo)) {
    return pack(mapOf({ error: 'AES key not found' }));
  }
  const keyString = newKeyString();
  const sealedKey = ports.keys
    .parsed(channel.minion, key.pub)
    .oaepEncrypt(Buffer.from(keyString, 'ascii'), channel.encAlgo);
  const data = buildPrivateData({ key: sealedKey, pillar, nonce: channel.nonce });
  const sig = await ports.masterKey.sign(data, channel.sigAlgo);
  const sealed = new Crypticle(keyString).seal(buildSignedPrivate(data, sig));
  return buildPrivateReply(sealedKey, sealed);
}
