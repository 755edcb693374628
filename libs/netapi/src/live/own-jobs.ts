import { isMap, listOf, mapIn, mapOf } from '@brine/wire';
import type { MasterRequests } from '../clients/master-requests.ts';
import { NetapiError } from '../errors.ts';
import type { ApiCaller } from '../sessions/callers.ts';
import type { LiveEvent } from './live-events.ts';
import { type Principals, unknownJobOf } from './sight.ts';

/** Most jobs of one question (libs/master reads/own-jobs.ts). */
const JIDS_MAX = 500;

/**
 * Learns which jobs a caller began: of a job that was announced before this process began to read,
 * only the job cache knows it. It answers for the caller alone, with the caller's own token.
 */
export class OwnJobs {
  readonly #requests: Pick<MasterRequests, 'ask'>;
  readonly #principals: Principals;

  constructor(requests: Pick<MasterRequests, 'ask'>, principals: Principals) {
    this.#requests = requests;
    this.#principals = principals;
  }

  /**
   * Finds out what is not known yet about the jobs of these events. False if the job cache does not
   * answer, or if they are of more than 500 jobs: the others count as of another user.
   */
  async learn(caller: ApiCaller, peer: string, events: Iterable<LiveEvent>): Promise<boolean> {
    const { reader, token } = caller;
    if (reader.acl === undefined) return true;
    const asked = new Set<string>();
    for (const event of events) {
      const jid = unknownJobOf(reader, event, this.#principals);
      if (jid !== undefined) asked.add(jid);
    }
    if (asked.size === 0) return true;
    const jids = [...asked].slice(0, JIDS_MAX);
    const by = { asker: `token ${peer}`, peer };
    try {
      const load = mapOf({ cmd: 'brine_read', read: 'own_jobs', token, args: mapOf({ jids }) });
      const answer = await this.#requests.ask(load, by);
      const value = isMap(answer) ? mapIn(answer, 'value') : undefined;
      const own = value && listOf(value, 'jids');
      if (own === undefined) return false;
      const texts = new Set(own.filter((jid) => typeof jid === 'string'));
      this.#principals.learn(reader.principal, jids, texts);
      return jids.length === asked.size;
    } catch (error) {
      // A token that was revoked in between has no own jobs any more.
      if (error instanceof NetapiError) return false;
      throw error;
    }
  }
}
