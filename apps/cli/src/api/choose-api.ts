import { homedir } from 'node:os';
import { EXIT, Exit } from '../exit-codes.ts';
import { apiUrl } from './api-url.ts';
import { pepperFile, type PepperSettings, pepperVariables } from './pepper-settings.ts';
import { readSessions, sessionFile, type StoredSession } from './session-file.ts';

/** A name and a password for a log-in. */
export interface ApiCredentials {
  readonly username: string;
  readonly password: string;
  readonly eauth: string;
}

/** An API, and how to prove oneself there. */
export interface ChosenApi {
  readonly url: string;
  /** A file of certificates. */
  readonly ca: string | undefined;
  /** A session of `brine login`, or what to log in with for this command. */
  readonly proof: { readonly token: string } | ApiCredentials;
  /** A line about a file with a password that others may read. */
  readonly warning: string | undefined;
}

/** Where the choice looks. */
export interface ApiSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly nowMs: number;
}

/** The eauth module where pepper's settings name none. */
const PEPPER_EAUTH = 'auto';

/**
 * Chooses the API of a command. The address: as given, `BRINE_API`, `SALTAPI_URL`, that of the last
 * `brine login`, `~/.pepperrc`. The proof: the session of that address; without one, the name and
 * password of pepper's settings, if these are for that address.
 * @throws Exit 64 without an address; 2 without a proof
 */
export function chooseApi(
  given: string | undefined,
  { env, home, nowMs }: ApiSources = { env: process.env, home: homedir(), nowMs: Date.now() },
): ChosenApi {
  const { last, sessions } = readSessions(sessionFile(env, home));
  const variables = pepperVariables(env);
  const file = pepperFile(env, home);
  const text = given ?? (env['BRINE_API'] || undefined) ?? variables.url ?? last ?? file.url;
  if (text === undefined) {
    const ways = 'log in with `brine login URL`, or set BRINE_API';
    throw new Exit(EXIT.usage, `brine: error: --api: there is no address: ${ways}\n`);
  }
  const url = apiUrl(text);
  const session = Object.hasOwn(sessions, url) ? sessions[url] : undefined;
  if (session !== undefined && isValid(session, nowMs)) {
    return { url, ca: session.ca, proof: { token: session.token }, warning: undefined };
  }
  const proof = credentialsFor(url, variables, file);
  if (proof === undefined) throw notLoggedIn(url, session !== undefined);
  const warning =
    file.exposed !== undefined && proof.password === file.password
      ? `${file.exposed} has a password that other users can read: chmod 600 ${file.exposed}`
      : undefined;
  return { url, ca: session?.ca, proof, warning };
}

/** The error of a command without a valid session. */
export function notLoggedIn(url: string, hasEnded: boolean): Exit {
  const text = hasEnded
    ? endedText(url)
    : `There is no session at ${url}: log in with \`brine login ${url}\`.`;
  return new Exit(EXIT.noReturn, `brine: ${text}\n`);
}

/** The text for a session that the API does not know any more. */
export function endedText(url: string): string {
  return `The session at ${url} has ended: log in with \`brine login ${url}\`.`;
}

function isValid({ expires }: StoredSession, nowMs: number): boolean {
  // A time that can not be read ends nothing: the API knows.
  return !(Date.parse(expires) <= nowMs);
}

/** The variables override the file, whose password is for its own address alone. */
function credentialsFor(
  url: string,
  variables: PepperSettings,
  file: PepperSettings,
): ApiCredentials | undefined {
  const isForThis = file.url === undefined || isSame(file.url, url);
  const isVariableForThis = variables.url === undefined || isSame(variables.url, url);
  const settings = {
    ...(isForThis ? file : {}),
    ...(isVariableForThis ? variables : {}),
  };
  const { username, password, eauth = PEPPER_EAUTH } = settings;
  if (username === undefined || password === undefined) return undefined;
  return { username, password, eauth };
}

function isSame(text: string, url: string): boolean {
  try {
    return apiUrl(text) === url;
  } catch {
    // No address: its password is for no other.
    return false;
  }
}
