import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyRepr } from '@brine/wire/text';
import { NetapiError } from '../errors.ts';

/** The clients of a stock salt-api, and `destroy`, which it lists by accident. */
export const CLIENTS = [
  'destroy',
  'local',
  'local_async',
  'local_batch',
  'local_subset',
  'runner',
  'runner_async',
  'ssh',
  'wheel',
  'wheel_async',
] as const;

/** The clients that Brine has. */
export type ClientName = Exclude<(typeof CLIENTS)[number], 'destroy' | 'ssh'>;

/** A call that may be made: a chunk of a lowstate whose client is enabled. */
export interface Low {
  readonly client: ClientName;
  /** All fields, the client's name too. */
  readonly chunk: SaltMap;
}

/** Changes made to each chunk of a request before it is judged. */
export interface LowChanges {
  /** The token of the session; it replaces one in the chunk. */
  readonly token?: string | undefined;
  /** The client that this address always uses. */
  readonly client?: ClientName | undefined;
}

/**
 * The chunks of a request: a map is one chunk.
 * @throws NetapiError 400 for anything but maps
 */
export function lowstateOf(data: SaltValue | undefined): readonly SaltMap[] {
  const list = isMap(data ?? null) && (data as SaltMap).size > 0 ? [data as SaltMap] : data;
  if (!Array.isArray(list)) throw new NetapiError(400, 'Lowstates must be a list');
  return list.map((chunk) => {
    if (isMap(chunk)) return chunk;
    throw new NetapiError(400, 'Each lowstate must be a dictionary');
  });
}

/** The text for a client that `netapi_enable_clients` does not have. */
export function disabledText(name: string): string {
  return (
    `Client disabled: '${name}'. ` +
    "Add to 'netapi_enable_clients' master config option to enable."
  );
}

/**
 * One chunk, changed and judged (salt/netapi/rest_cherrypy/app.py _exec_lowstate_chunks,
 * salt/netapi/__init__.py run).
 * @throws NetapiError
 */
export function lowOf(given: SaltMap, changes: LowChanges, enabled: readonly string[]): Low {
  const chunk: SaltMap = new Map(given);
  if (changes.token !== undefined) chunk.set('token', changes.token);
  const token = chunk.get('token');
  if (chunk.has('token') && !isHex(token)) throw new NetapiError(401, 'Invalid token');
  if (changes.client !== undefined) chunk.set('client', changes.client);
  const arg = chunk.get('arg');
  if (arg !== undefined && !Array.isArray(arg)) chunk.set('arg', [arg]);
  const client = chunk.get('client') ?? null;
  const name = CLIENTS.find((one) => one === client);
  if (name === undefined) {
    const shown = typeof client === 'string' ? client : pyRepr(client);
    throw new NetapiError(400, `Invalid client specified: '${shown}'`);
  }
  if (!enabled.includes(name)) throw new NetapiError(400, disabledText(name));
  if (name === 'ssh' || name === 'destroy') {
    throw new NetapiError(400, `Brine has no salt-ssh: the client '${name}' is not served`);
  }
  if (!chunk.has('token') && !chunk.has('eauth')) {
    throw new NetapiError(401, 'No authentication credentials given');
  }
  if (isTruthy(chunk.get('raw_shell') ?? null))
    throw new NetapiError(401, 'Raw shell option not allowed.');
  if (!chunk.has('fun') && !name.startsWith('local')) {
    throw new NetapiError(400, `${name} takes at least 1 argument (0 given)`);
  }
  return { client: name, chunk };
}

/** True for a text that Python's `int(text, 16)` reads. */
function isHex(value: SaltValue | undefined): boolean {
  return (
    typeof value === 'string' && /^\s*[+-]?(0[xX]_?)?[0-9a-fA-F]+(_[0-9a-fA-F]+)*\s*$/.test(value)
  );
}

/** The fields that prove who calls. */
export const CREDENTIALS: ReadonlySet<SaltValue> = new Set([
  'token',
  'eauth',
  'username',
  'password',
]);

/** The credentials of a chunk. */
export function credentialsOf(chunk: SaltMap): SaltMap {
  return new Map([...chunk].filter(([name]) => CREDENTIALS.has(name)));
}

/** A chunk without some fields. */
export function withoutFields(chunk: SaltMap, names: ReadonlySet<SaltValue>): SaltMap {
  return new Map([...chunk].filter(([name]) => !names.has(name)));
}
