import type { ApiAcl } from '@brine/config';
import { clearOwnCookie, setOwnCookie } from '@brine/http';
import { isMap, mapOf, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { lowOf } from '../clients/low.ts';
import type { MasterRequests } from '../clients/master-requests.ts';
import { NetapiError, UnexpectedError } from '../errors.ts';
import { permissionsOf } from '../permissions.ts';
import { endSession, groupsIn, newSession, sessionOf } from '../sessions/new-session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { writeAnswer } from './answers.ts';
import { mayComeFrom } from './api-acl.ts';
import { addressOf, type Asked, bodyOf, COOKIE, lowstateIn, refuseQuery, typeOf } from './asked.ts';

/** What log-ins need. */
export interface LogInParts {
  readonly requests: MasterRequests;
  readonly sessions: Sessions;
  /** Salt: `external_auth`. */
  readonly externalAuth: Readonly<Record<string, unknown>>;
  readonly apiAcl: ApiAcl | undefined;
  readonly enabled: readonly string[];
}

const NOT_PROVEN = 'Could not authenticate using provided credentials';
const TOKEN_NEEDS = 'Require "username", "password", and "eauth" params';
const CLEARED = 'Your token has been cleared';
/** Fields of a log-in that are passed on. */
const FIELDS = ['username', 'password', 'eauth', 'token_expire'];

/** The resources of log-ins (salt/netapi/rest_cherrypy/app.py Login, Logout, Token). */
export class LogIns {
  readonly #parts: LogInParts;

  constructor(parts: LogInParts) {
    this.#parts = parts;
  }

  /** `GET /login`. */
  readonly explain = (asked: Asked): string => {
    refuseQuery(asked);
    void asked.reply.header('WWW-Authenticate', 'Session');
    return writeAnswer(mapOf({ status: null, return: 'Please log in' }), typeOf(asked));
  };

  /** `POST /login`: makes a token, and a session that stands for it. */
  readonly logIn = async (asked: Asked): Promise<string> => {
    const type = typeOf(asked);
    const given = bodyOf(asked).data ?? null;
    const credentials = Array.isArray(given) ? (given[0] ?? null) : given;
    if (!isMap(credentials)) throw new UnexpectedError('no credentials');
    const { apiAcl, externalAuth } = this.#parts;
    const peer = addressOf(asked.request);
    const name = credentials.get('username');
    if (!mayComeFrom(apiAcl, typeof name === 'string' ? name : '', peer)) {
      throw new NetapiError(401, '');
    }
    const load: SaltMap = new Map(
      FIELDS.flatMap((field) => {
        const value = credentials.get(field);
        return value === undefined ? [] : [[field, value] as const];
      }),
    );
    const loggedIn = await newSession(this.#parts, load, peer);
    if (loggedIn === undefined) throw new NetapiError(401, NOT_PROVEN);
    const { id, made, session } = loggedIn;
    setOwnCookie(asked.request, asked.reply, { name: COOKIE, value: id, expire: session.expire });
    void asked.reply.header('X-Auth-Token', id);
    const { user, eauth, start, expire } = session;
    const groups = groupsIn(made);
    const perms = authListIn(made) ?? permissionsOf(externalAuth, { name: user, eauth, groups });
    const shown = mapOf({
      token: id,
      expire: new SaltFloat(expire),
      start: new SaltFloat(start),
      user,
      eauth,
      perms: perms === undefined ? mapOf({}) : [...perms],
    });
    return writeAnswer(mapOf({ return: [shown] }), type);
  };

  /** `POST /logout`: ends the session and revokes its token. */
  readonly logOut = async (asked: Asked): Promise<string> => {
    refuseQuery(asked);
    const type = typeOf(asked);
    const { session, request, reply } = asked;
    if (session === undefined) throw new NetapiError(401, '');
    const ended = { id: session.id, token: session.session.token };
    await endSession(this.#parts, ended, addressOf(request));
    clearOwnCookie(request, reply, COOKIE);
    return writeAnswer(mapOf({ return: CLEARED }), type);
  };

  /** `POST /token`: eauth tokens, as `salt -T` has them. */
  readonly token = async (asked: Asked): Promise<string> => {
    const type = typeOf(asked);
    const made: SaltValue[] = [];
    for (const credentials of lowstateIn(asked))
      made.push(await this.#makeToken(asked, credentials));
    return writeAnswer(made, type);
  };

  async #makeToken({ request }: Asked, credentials: SaltMap): Promise<SaltValue> {
    const [username, password, eauth] = ['username', 'password', 'eauth'].map((name) =>
      credentials.get(name),
    );
    if (username === undefined || password === undefined || eauth === undefined) {
      throw new NetapiError(400, TOKEN_NEEDS);
    }
    // Refused where the client `runner` is not enabled, as in Salt.
    const fields = mapOf({ username, password, eauth });
    const low = new Map([...fields, ['client', 'runner'], ['fun', 'auth.mk_token']]);
    lowOf(low, {}, this.#parts.enabled);
    const peer = addressOf(request);
    const by = { asker: `log-in ${peer}`, peer };
    const made = await this.#parts.requests.ask(fields.set('cmd', 'mk_token'), by);
    if (sessionOf(made) === undefined) {
      const text = `Authentication failure of type "eauth" occurred for user ${pyStr(username)}.`;
      throw new NetapiError(401, text);
    }
    return made;
  }
}

/** Rights that came with the log-in, as of the module `rest`. */
function authListIn(made: SaltValue): readonly SaltValue[] | undefined {
  const list = isMap(made) ? made.get('auth_list') : undefined;
  return Array.isArray(list) && list.length > 0 ? list : undefined;
}
