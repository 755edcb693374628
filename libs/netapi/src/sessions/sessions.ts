import { type Bucket, escapeKey } from '@brine/bus';
import { isSessionId, newSessionId, openSession, sealSession, storedName } from './session-box.ts';

/** A log-in that a peer comes back to. */
export interface Session {
  /** The eauth token that it stands for. */
  readonly token: string;
  readonly user: string;
  readonly eauth: string;
  /** Unix seconds, as the token has them. */
  readonly start: number;
  readonly expire: number;
}

/** A session and its id, which is the token that the peer has. */
export interface KnownSession {
  readonly id: string;
  readonly session: Session;
}

/** Replaces a session that has ended: a bucket has no delete. */
const GONE = new Uint8Array(0);

/**
 * Sessions in the bucket `brine_http_sessions`. Each read asks the server, so that a log-out is
 * in force at every replica at once.
 */
export class Sessions {
  readonly #bucket: Pick<Bucket, 'get' | 'put'>;
  readonly #now: () => number;

  /** @param now unix ms */
  constructor(bucket: Pick<Bucket, 'get' | 'put'>, now: () => number = Date.now) {
    this.#bucket = bucket;
    this.#now = now;
  }

  /** Keeps a new session under a new id. @throws BusError */
  async open(session: Session): Promise<string> {
    const id = newSessionId();
    const livesMs = Math.max(1_000, Math.ceil(session.expire * 1_000 - this.#now()));
    await this.#bucket.put(escapeKey(storedName(id)), sealSession(id, session), { livesMs });
    return id;
  }

  /** The session of an id; undefined for any other text, and after its end. @throws BusError */
  async find(id: string | undefined): Promise<KnownSession | undefined> {
    if (id === undefined || !isSessionId(id)) return undefined;
    const entry = await this.#bucket.get(escapeKey(storedName(id)));
    if (entry === undefined || entry.value.length === 0) return undefined;
    const session = openSession(id, entry.value) as Session;
    return session.expire * 1_000 > this.#now() ? { id, session } : undefined;
  }

  /** Ends a session. @throws BusError */
  async close(id: string): Promise<void> {
    await this.#bucket.put(escapeKey(storedName(id)), GONE, { livesMs: 60_000 });
  }
}
