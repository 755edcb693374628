import { readAcl, type Reader } from '@brine/acl';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { MasterRequests } from '../clients/master-requests.ts';
import { NetapiError } from '../errors.ts';
import { tokenRecord } from './new-session.ts';
import type { Sessions } from './sessions.ts';

/** A peer whose token is valid. */
export interface ApiCaller {
  /** The eauth token, of the session or as the peer gave it. */
  readonly token: string;
  /** Unix seconds. */
  readonly expire: number;
  /** What it may read now. */
  readonly reader: Reader;
  /** Its groups, as its log-in found them. */
  readonly groups: readonly string[];
}

/** False for a text that no token and no session has; it is not looked up. */
export function mayBeToken(text: string): boolean {
  return /^[0-9a-fA-F]{1,128}$/.test(text);
}

/** For this long followers with the same token share what a worker answered about it, ms. */
const SHARED_MS = 5_000;

/** Finds who has a token: the id of a session, or an eauth token. */
export class Callers {
  readonly #requests: MasterRequests;
  readonly #sessions: Sessions;
  readonly #shared = new Map<string, Promise<ApiCaller | undefined>>();

  constructor(requests: MasterRequests, sessions: Sessions) {
    this.#requests = requests;
    this.#sessions = sessions;
  }

  /** The caller now; undefined if the token is not valid. @throws NetapiError 503, BusError */
  async find(given: string | undefined, peer: string): Promise<ApiCaller | undefined> {
    if (given === undefined || !mayBeToken(given)) return undefined;
    const known = await this.#sessions.find(given);
    return this.ofToken(known?.session.token ?? given, peer);
  }

  /**
   * The same for an eauth token, as one of its followers found it in the last seconds: thousands of
   * streams may be open with one token.
   */
  async again(token: string, peer: string): Promise<ApiCaller | undefined> {
    const known = this.#shared.get(token);
    if (known !== undefined) return known;
    const found = this.ofToken(token, peer);
    this.#shared.set(token, found);
    const forget = (): void => {
      if (this.#shared.get(token) === found) this.#shared.delete(token);
    };
    setTimeout(forget, SHARED_MS).unref();
    // No answer is no answer for others.
    found.catch(forget);
    return found;
  }

  /** The same for an eauth token. */
  async ofToken(token: string, peer: string): Promise<ApiCaller | undefined> {
    const known = await tokenRecord(this.#requests, token, peer);
    if (known === undefined) return undefined;
    const { expire, groups, user, eauth } = known;
    try {
      const by = { asker: `user ${eauth} ${user}`, peer };
      const rights = await this.#requests.ask(mapOf({ cmd: 'brine_rights', token }), by);
      return isMap(rights) ? { token, expire, groups, reader: readerOf(rights) } : undefined;
    } catch (error) {
      // It was revoked in between, or its login module is not configured any more.
      if (error instanceof NetapiError && error.status === 401) return undefined;
      throw error;
    }
  }
}

function readerOf(rights: SaltMap): Reader {
  const acl = rights.get('acl') ?? null;
  const reach = mapIn(rights, 'reach') ?? mapOf({});
  const sets = new Map<SaltValue, ReadonlySet<SaltValue>>(
    [...reach].map(([target, ids]) => [target, new Set(Array.isArray(ids) ? ids : [])]),
  );
  return {
    principal: textOf(rights, 'principal') ?? '',
    acl: acl === null ? undefined : readAcl(acl),
    matching: (target) => (sets.get(target) ?? NONE) as ReadonlySet<string>,
  };
}

const NONE: ReadonlySet<string> = new Set();
