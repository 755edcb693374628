import {
  Bucket,
  type BucketEntry,
  type BucketKey,
  type Bus,
  escapeKey,
  splitKey,
} from '@brine/bus';
import { type PrivateKey, SecretBox } from '@brine/crypt';
import type { TokenRecord } from '@brine/master';
import { intOf, mapOf, pack, type SaltMap, unpackMap } from '@brine/wire';
import { fromHotState } from './hot-state.ts';
import { NO_MINE } from './minions/mines.ts';
import { announceDropped } from './minions/minion-banks.ts';
import { BucketPillars } from './minions/pillar-bucket.ts';
import { openSession, sealSession } from './minions/session-keys.ts';
import {
  BANK_BUCKETS,
  bankRecordOf,
  openStoredBanks,
  type StoredBank,
  type StoredBanks,
} from './minions/stored-banks.ts';
import { keyOfToken, openToken, sealToken } from './tokens.ts';

/** Data of a minion that are moved from or to another master. */
export interface MovedBank {
  readonly bank: StoredBank;
  readonly id: string;
  readonly env?: string;
  readonly data: SaltMap;
  /** Time at which they were written, unix ms. */
  readonly timeMs: number;
}

/** The largest record of NATS; a larger one is refused. */
const RECORD_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Moves state between a stock master and the buckets of this one: data of minions, tokens, session
 * keys, users' keys. Each item is written only if it is newer than the stored one, so that a move
 * may be repeated. Throws MasterUnavailableError if NATS does not answer.
 */
export class MovedState {
  readonly #buckets: Readonly<Record<'minions' | 'pillars' | 'mine' | 'tokens', Bucket>> & {
    readonly sessions: Bucket;
    readonly secrets: Bucket;
  };
  readonly #boxes: Readonly<Record<'tokens' | 'session' | 'userkeys', SecretBox>>;
  readonly #pillars: BucketPillars;
  readonly #stored: StoredBanks;
  #hasNew = false;

  constructor(bus: Bus, masterKey: PrivateKey) {
    this.#buckets = {
      minions: new Bucket(bus, BANK_BUCKETS.grains),
      pillars: new Bucket(bus, BANK_BUCKETS.pillar),
      mine: new Bucket(bus, BANK_BUCKETS.mine),
      tokens: new Bucket(bus, 'brine_tokens'),
      sessions: new Bucket(bus, 'brine_sessions'),
      secrets: new Bucket(bus, 'brine_secrets'),
    };
    const box = (kind: 'token' | 'session' | 'userkeys' | 'pillar'): SecretBox =>
      SecretBox.fromMasterKey(masterKey, kind);
    this.#boxes = { tokens: box('token'), session: box('session'), userkeys: box('userkeys') };
    this.#pillars = new BucketPillars(this.#buckets.pillars, box('pillar'));
    this.#stored = openStoredBanks(bus, masterKey);
  }

  /** Stores data of a minion; false if newer ones exist. @throws RangeError if too large */
  async takeBank({ bank, id, env, data, timeMs }: MovedBank): Promise<boolean> {
    const key = env === undefined || env === '' ? escapeKey(id) : escapeKey(id, env);
    const bucket = this.#bucketOf(bank);
    const known = await this.#get(bucket, key);
    if (known !== undefined && writtenMs(bank, known) >= timeMs) return false;
    if (bank === 'pillar') await this.#pillars.keep(id, env ?? null, data, true);
    else {
      const record = bank === 'grains' ? mapOf({ grains: data, updated_at: timeMs }) : data;
      const packed = pack(record);
      if (packed.length > RECORD_MAX_BYTES) {
        throw new RangeError(`the ${bank} of ${id} are too large to be kept`);
      }
      await fromHotState('minion data', bucket.put(key, packed));
    }
    if (bank !== 'mine') this.#hasNew = true;
    return true;
  }

  /** Stores a token; false if it exists, or was revoked here. */
  async takeToken(token: string, record: TokenRecord): Promise<boolean> {
    const key = keyOfToken(token);
    if ((await this.#get(this.#buckets.tokens, key)) !== undefined) return false;
    const sealed = sealToken(this.#boxes.tokens, token, record);
    await fromHotState('tokens', this.#buckets.tokens.put(key, sealed));
    return true;
  }

  /** Stores the session key of a minion; false if one of the same age or newer exists. */
  async takeSession(id: string, key: string, madeMs: number): Promise<boolean> {
    const name = escapeKey(id);
    const known = await this.#get(this.#buckets.sessions, name);
    if (known !== undefined && known.value.length > 0) {
      const { createdAt } = openSession(this.#boxes.session, known.value);
      if (createdAt >= Math.floor(madeMs)) return false;
    }
    const sealed = sealSession(this.#boxes.session, { key, createdAt: Math.floor(madeMs) });
    await fromHotState('session keys', this.#buckets.sessions.put(name, sealed));
    return true;
  }

  /** Stores the keys of a host's users; false if the host has some. */
  async takeUserKeys(host: string, keys: Readonly<Record<string, string>>): Promise<boolean> {
    const { secrets } = this.#buckets;
    const name = escapeKey('userkeys', host);
    if (Object.keys(keys).length === 0) return false;
    if ((await this.#get(secrets, name)) !== undefined) return false;
    const sealed = this.#boxes.userkeys.seal(Buffer.from(JSON.stringify(keys)));
    await fromHotState('user keys', secrets.put(name, sealed));
    return true;
  }

  /** Makes running workers read the new data of minions. */
  async done(): Promise<void> {
    if (this.#hasNew) await announceDropped(this.#buckets.secrets, Date.now());
    this.#hasNew = false;
  }

  /** All data of minions, for another master. */
  async *banks(): AsyncGenerator<MovedBank> {
    for (const bank of ['grains', 'pillar', 'mine'] as const) {
      const bucket = this.#bucketOf(bank);
      for await (const entry of bucket.entries()) {
        const record = bankRecordOf(bank, entry.key);
        if (record === undefined || isEmpty(entry)) continue;
        const data = await this.#stored.fetch(bank, record.id, record.env);
        if (data !== undefined) {
          yield { bank, ...record, data, timeMs: Math.floor(writtenMs(bank, entry)) };
        }
      }
    }
  }

  /** Data of one minion; undefined if there are none. */
  bank(bank: StoredBank, id: string): Promise<SaltMap | undefined> {
    return this.#stored.fetch(bank, id);
  }

  /**
   * Tokens that have not expired. Those of a release that did not store their names are counted.
   */
  async tokens(
    nowMs: number,
  ): Promise<{ readonly tokens: ReadonlyMap<string, TokenRecord>; readonly nameless: number }> {
    const tokens = new Map<string, TokenRecord>();
    let nameless = 0;
    for await (const entry of this.#buckets.tokens.entries()) {
      if (entry.value.length === 0) continue;
      const { token, record } = openToken(this.#boxes.tokens, entry.value);
      // A stock master knows no tokens of local keys.
      if (record.expire * 1_000 <= nowMs || record.key !== undefined) continue;
      if (token === undefined) nameless += 1;
      else tokens.set(token, record);
    }
    return { tokens, nameless };
  }

  /** The session keys of minions. */
  async *sessions(): AsyncGenerator<{ id: string; key: string; timeMs: number }> {
    for await (const entry of this.#buckets.sessions.entries()) {
      const [id = ''] = splitKey(entry.key);
      if (entry.value.length === 0) continue;
      const { key, createdAt } = openSession(this.#boxes.session, entry.value);
      yield { id, key, timeMs: createdAt };
    }
  }

  #bucketOf(bank: StoredBank): Bucket {
    const { minions, pillars, mine } = this.#buckets;
    return { grains: minions, pillar: pillars, mine }[bank];
  }

  #get(bucket: Bucket, key: BucketKey): Promise<BucketEntry | undefined> {
    return fromHotState('the buckets', bucket.get(key));
  }
}

function isEmpty({ value }: BucketEntry): boolean {
  return value.length === 0 || (value.length === 1 && value[0] === NO_MINE[0]);
}

/** Time of a write: grains contain it, other data are as old as their record. */
function writtenMs(bank: StoredBank, entry: BucketEntry): number {
  // Data that were emptied on purpose stay empty, unless the minion sent newer ones to the other
  // master.
  if (bank !== 'grains' || isEmpty(entry)) return entry.timeMs;
  return intOf(unpackMap(entry.value), 'updated_at') ?? entry.timeMs;
}
