import {
  type Credentials,
  type KnownUser,
  LoginError,
  type LoginModule,
  type ModuleSettings,
  settingText,
} from './login-module.ts';

/** Rights of one user; more than this is no answer. */
const ANSWER_MAX_BYTES = 1_048_576;

/**
 * A web service that knows the users (salt/auth/rest.py): the name and the password are posted to
 * `^url` as a form; 200 lets in. A JSON list in the answer is the user's rights, beside those that
 * the file gives to the name.
 */
export class RestLogin implements LoginModule {
  readonly #settings: ModuleSettings;

  constructor(settings: ModuleSettings) {
    this.#settings = settings;
  }

  async check({ username, password }: Credentials, signal: AbortSignal) {
    const url = settingText(this.#settings, '^url', '');
    if (!/^https?:\/\//.test(url)) throw new LoginError('external_auth:rest has no ^url');
    let answer: Response;
    try {
      const body = new URLSearchParams({ username, password });
      // A redirect would carry the password to the server that it names.
      answer = await fetch(url, { method: 'POST', body, signal, redirect: 'error' });
    } catch (cause) {
      throw new LoginError('external_auth:rest: the service does not answer', { cause });
    }
    if (answer.status !== 200) {
      await answer.body?.cancel();
      return undefined;
    }
    const given = Object.hasOwn(this.#settings, username) ? this.#settings[username] : [];
    const own = username.startsWith('^') || !Array.isArray(given) ? [] : (given as unknown[]);
    const acl = [...own, ...(await rightsIn(answer))];
    return { name: username, groups: [], ...(acl.length > 0 && { acl }) } satisfies KnownUser;
  }
}

/** The list in the answer; an empty one, null and nothing at all give no rights. */
async function rightsIn(answer: Response): Promise<readonly unknown[]> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > ANSWER_MAX_BYTES) throw new LoginError('external_auth:rest: the answer is too long');
    chunks.push(bytes);
  }
  const text = Buffer.concat(chunks).toString('utf8').trim();
  if (text === '') return [];
  let rights: unknown;
  try {
    rights = JSON.parse(text);
  } catch {
    throw new LoginError('external_auth:rest: the answer is no JSON');
  }
  if (rights === null) return [];
  if (!Array.isArray(rights)) throw new LoginError('external_auth:rest: the answer is no list');
  return rights as unknown[];
}
