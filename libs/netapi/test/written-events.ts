import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import { isJid, type Jid, jobProgressTag, jobReturnTag } from '@brine/job';
import { mapOf, pack, type SaltValue } from '@brine/wire';

/** The jid of the nth job of a test. */
export function jidOf(n: number): Jid {
  const text = `202611260300000${String(n).padStart(5, '0')}`;
  if (!isJid(text)) throw new Error(text);
  return text;
}

/** Writes events and jobs as workers do. */
export class WrittenEvents {
  readonly #events: EventWriter;
  readonly #jobs: PublicationWriter;

  constructor(bus: Bus) {
    this.#events = new EventWriter(bus, { timeoutMs: 30_000 });
    this.#jobs = new PublicationWriter(bus);
  }

  /** A job of a user. */
  async job(jid: Jid, user: string, minions: readonly string[] = ['web1']): Promise<void> {
    await this.#jobs.appendJob({
      jid,
      publication: pack(mapOf({ fun: 'test.ping', jid })),
      load: pack(mapOf({ arg: [] })),
      principal: user,
      user,
      fun: 'test.ping',
      tgt: '*',
      tgtType: 'glob',
      minions,
      missing: [],
      publishedAt: 1,
      deadlineAt: 2,
      notAfter: 3,
      hidden: false,
      host: 'gw',
      requestId: `request ${jid}`,
    });
  }

  /** A return. */
  async returns(
    jid: Jid,
    minion: string,
    more: Readonly<Record<string, SaltValue>> = {},
  ): Promise<void> {
    const body = { id: minion, jid, return: true, retcode: 0, success: true, fun: 'cmd.run' };
    await this.#events.append({
      kind: 'ret',
      tag: jobReturnTag(jid, minion),
      jid,
      minion,
      body: pack(mapOf({ ...body, ...more })),
    });
  }

  /** The report of a state that ran. */
  async progress(jid: Jid, minion: string, number: number): Promise<void> {
    const ret = mapOf({ __id__: `state ${number}`, result: true, changes: mapOf({}) });
    await this.#events.append({
      kind: 'minion',
      tag: jobProgressTag(jid, minion, number),
      jid,
      minion,
      body: pack(mapOf({ id: minion, jid, data: mapOf({ ret, len: 3 }) })),
    });
  }

  /** An event of the site. */
  async site(tag: string, data: Readonly<Record<string, SaltValue>> = {}): Promise<void> {
    await this.#events.append({ kind: 'local', tag, body: pack(mapOf(data)) });
  }
}
