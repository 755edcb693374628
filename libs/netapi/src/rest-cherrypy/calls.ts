import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { packTar } from 'modern-tar';
import { type ClientName, CLIENTS, type LowChanges, lowOf } from '../clients/low.ts';
import type { NetapiClient } from '../clients/netapi-client.ts';
import { NetapiError, UnexpectedError } from '../errors.ts';
import { type AnswerBody, answerOfCalls, valueOfCall, writeAnswer } from './answers.ts';
import { addressOf, type Asked, headerOf, lowstateIn, refuseQuery, typeOf } from './asked.ts';

/** What the calls of lowstates need. */
export interface CallParts {
  readonly client: NetapiClient;
  /** Salt: `netapi_enable_clients`. */
  readonly enabled: readonly string[];
}

/** Chunks of one request at most; each is a call. */
const CHUNKS_MAX = 1_000;

/** The answer of `GET /`, and of each other address without one of its own. */
export function welcome(asked: Asked): string {
  refuseQuery(asked);
  return writeAnswer(mapOf({ return: 'Welcome', clients: [...CLIENTS] }), typeOf(asked));
}

/** The resources that run lowstates (salt/netapi/rest_cherrypy/app.py). */
export class Calls {
  readonly #parts: CallParts;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** `POST /`: with the token of the session. */
  readonly root = (asked: Asked): Promise<AnswerBody> => {
    return this.#answer(asked, lowstateIn(asked), withSession(asked));
  };

  /** `POST /run`: with the credentials of each chunk. */
  readonly run = (asked: Asked): Promise<AnswerBody> => {
    return this.#answer(asked, lowstateIn(asked), {});
  };

  /** `GET /minions`: their grains. */
  readonly minions = (asked: Asked): Promise<AnswerBody> => {
    refuseQuery(asked, ['mid']);
    const low = mapOf({ client: 'local', tgt: idIn(asked, 'mid') ?? '*', fun: 'grains.items' });
    return this.#answer(asked, [low], withSession(asked));
  };

  /** `POST /minions`: begins jobs. */
  readonly startJobs = async (asked: Asked): Promise<string> => {
    const type = typeOf(asked);
    const jobs = await this.#values(asked, lowstateIn(asked), {
      ...withSession(asked),
      client: 'local_async',
    });
    const links = jobs.flatMap((job) => {
      const jid = isMap(job) ? textOf(job, 'jid') : undefined;
      return jid === undefined ? [] : [mapOf({ href: `/jobs/${jid}` })];
    });
    void asked.reply.code(202);
    return writeAnswer(mapOf({ return: jobs, _links: mapOf({ jobs: links }) }), type);
  };

  /** `GET /jobs` and `GET /jobs/<jid>`. */
  readonly jobs = async (asked: Asked): Promise<string> => {
    refuseQuery(asked, ['jid', 'timeout']);
    const type = typeOf(asked);
    const jid = idIn(asked, 'jid');
    const fun = jid === undefined ? 'jobs.list_jobs' : 'jobs.list_job';
    const low = mapOf({ client: 'runner', fun, jid });
    const [found = null] = await this.#values(asked, [low], withSession(asked));
    if (jid === undefined) return writeAnswer(mapOf({ return: [found] }), type);
    const results = isMap(found) ? (mapIn(found, 'Result') ?? mapOf({})) : mapOf({});
    const returns: SaltMap = new Map(
      [...results].map(([id, result]) => [
        id,
        isMap(result) ? (result.get('return') ?? null) : null,
      ]),
    );
    return writeAnswer(mapOf({ info: [found], return: [returns] }), type);
  };

  /** `GET /keys` and `GET /keys/<id>`. It answers a peer without a token as the master does. */
  readonly keys = async (asked: Asked): Promise<string> => {
    refuseQuery(asked, ['mid']);
    const type = typeOf(asked);
    const match = idIn(asked, 'mid');
    const fun = match === undefined ? 'key.list_all' : 'key.finger';
    const low = mapOf({ client: 'wheel', fun, match });
    const [answer = null] = await this.#values(asked, [low], withSession(asked));
    return writeAnswer(mapOf({ return: returnIn(answer) }), type);
  };

  /** `POST /keys`: a new pair of keys, accepted, as an archive. */
  readonly makeKeys = async (asked: Asked): Promise<Buffer> => {
    let low: SaltMap;
    try {
      const [first] = lowstateIn(asked);
      if (first === undefined) throw new UnexpectedError('nothing was asked for');
      const { mid, ...others } = Object.fromEntries(first) as Record<string, SaltValue>;
      low = mapOf({ ...others, ...(mid === undefined ? {} : { id_: mid }) });
      if (!low.has('id_')) throw new UnexpectedError('no id');
      low.set('client', 'wheel').set('fun', 'key.gen_accept');
    } catch (cause) {
      // As Salt, which reads this body by itself.
      throw cause instanceof NetapiError && cause.status !== 400 ? cause : unexpected(cause);
    }
    let made: SaltValue;
    try {
      made = returnIn((await this.#values(asked, [low], {}))[0] ?? null);
    } catch (cause) {
      throw isOwnText(cause) ? cause : unexpected(cause);
    }
    const keys = isMap(made) ? made : mapOf({});
    const id = textOf(low, 'id_') ?? '';
    const file = (name: string, text: string) => ({
      header: { name, size: Buffer.byteLength(text), mode: 0o644, type: 'file' as const },
      body: text,
    });
    const archive = await packTar([
      file('minion.pub', textOf(keys, 'pub') ?? ''),
      file('minion.pem', textOf(keys, 'priv') ?? ''),
    ]);
    void asked.reply
      .header('Content-Disposition', `attachment; filename="saltkeys-${fileNameOf(id)}.tar"`)
      .header('Cache-Control', 'no-cache')
      .type('application/x-tar');
    return Buffer.from(archive);
  };

  async #answer(
    asked: Asked,
    lowstate: readonly SaltMap[],
    changes: LowChanges,
  ): Promise<AnswerBody> {
    const type = typeOf(asked);
    return answerOfCalls(this.#callsOf(asked, lowstate, changes), type);
  }

  async #values(
    asked: Asked,
    lowstate: readonly SaltMap[],
    changes: LowChanges,
  ): Promise<SaltValue[]> {
    const values: SaltValue[] = [];
    for (const call of this.#callsOf(asked, lowstate, changes)) {
      values.push(await valueOfCall(await call()));
    }
    return values;
  }

  #callsOf({ request }: Asked, lowstate: readonly SaltMap[], changes: LowChanges) {
    if (lowstate.length > CHUNKS_MAX) {
      throw new NetapiError(413, `A request has at most ${CHUNKS_MAX} lowstates.`);
    }
    const { client, enabled } = this.#parts;
    const peer = { address: addressOf(request), traceparent: headerOf(request, 'traceparent') };
    return lowstate.map((chunk) => async () => client.run(lowOf(chunk, changes, enabled), peer));
  }
}

function withSession({ session }: Asked): { token?: string; client?: ClientName } {
  return session === undefined ? {} : { token: session.session.token };
}

/** An id in the path, or in the query by its name. */
function idIn({ path, request }: Asked, name: string): string | undefined {
  const query = (request.query as Record<string, unknown>)[name];
  return path[0] ?? (typeof query === 'string' && query !== '' ? query : undefined);
}

/** The result in the answer of a wheel. */
function returnIn(answer: SaltValue): SaltValue {
  const data = isMap(answer) ? mapIn(answer, 'data') : undefined;
  return data?.get('return') ?? mapOf({});
}

function unexpected(cause: unknown): NetapiError {
  return new NetapiError(500, '', { cause });
}

/** A refusal with a text that Salt gives too, though it reads this body by itself. */
function isOwnText(cause: unknown): boolean {
  return cause instanceof NetapiError && cause.status !== 401 && cause.status !== 400;
}

/** An id as part of a header. */
function fileNameOf(id: string): string {
  return id.slice(0, 255).replace(/[^\w.@-]/g, '_');
}
