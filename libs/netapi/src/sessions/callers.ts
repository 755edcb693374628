import { isMap, mapOf, SaltFloat, type SaltValue, textOf } from '@brine/wire';
import type { MasterRequests } from '../clients/master-requests.ts';
import { permissionsOf } from '../permissions.ts';
import type { Sessions } from './sessions.ts';

/** A peer whose token is valid. */
export interface ApiCaller {
  /** The eauth token, of the session or as the peer gave it. */
  readonly token: string;
  readonly name: string;
  readonly eauth: string;
  /** Unix seconds. */
  readonly expire: number;
  readonly perms: readonly SaltValue[];
}

/** Finds who has a token: the id of a session, or an eauth token. */
export class Callers {
  readonly #requests: MasterRequests;
  readonly #sessions: Sessions;
  readonly #externalAuth: Readonly<Record<string, unknown>>;

  constructor(
    requests: MasterRequests,
    sessions: Sessions,
    externalAuth: Readonly<Record<string, unknown>>,
  ) {
    this.#requests = requests;
    this.#sessions = sessions;
    this.#externalAuth = externalAuth;
  }

  /** The caller now; undefined if the token is not valid. @throws NetapiError 503, BusError */
  async find(given: string | undefined, peer: string): Promise<ApiCaller | undefined> {
    if (given === undefined || !/^[0-9a-fA-F]{1,128}$/.test(given)) return undefined;
    const known = await this.#sessions.find(given);
    const token = known?.session.token ?? given;
    const record = await this.#requests.ask(mapOf({ cmd: 'get_token', token }), {
      asker: `token ${peer}`,
      peer,
    });
    if (!isMap(record)) return undefined;
    const [name, eauth] = [textOf(record, 'name'), textOf(record, 'eauth')];
    const expire = record.get('expire');
    const seconds = expire instanceof SaltFloat ? expire.value : expire;
    if (name === undefined || eauth === undefined || typeof seconds !== 'number') return undefined;
    if (seconds * 1_000 <= Date.now()) return undefined;
    const list = record.get('auth_list');
    const groups = record.get('groups');
    const named = Array.isArray(groups) ? groups.filter((one) => typeof one === 'string') : [];
    const perms = Array.isArray(list)
      ? list
      : (permissionsOf(this.#externalAuth, { name, eauth, groups: named }) ?? []);
    return { token, name, eauth, expire: seconds, perms };
  }
}
