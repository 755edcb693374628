import { isDeepStrictEqual } from 'node:util';

/** The replacement of a secret. */
const MASK = '********';

const SECRET_WORDS = [
  ...['pass', 'passwd', 'password', 'passphrase', 'bindpw', 'sharedsecret', 'secret', 'token'],
  ...['secret[_-]?id', 'api[_-]?key', '(?:secret|private|account|access)[_-]?(?:access[_-]?)?key'],
  ...['authorization', 'cookie'],
];

/** Names of options, and of keys within their values, that contain a secret. */
const SECRET_NAME = new RegExp(`(?:^|[._-])(?:${SECRET_WORDS.join('|')})$|^key$`, 'i');

/** User and password of a URL: up to the last `@`, because a password may contain one. */
const IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/\s]+@/gi;

/** A secret within a text: a query of a URL, or a connection string of PostgreSQL. */
const IN_TEXT = /\b((?:pass|passwd|password|secret|token|api_?key)=)[^&\s'"]+/gi;

/** A value for a screen: passwords are masked, those within URLs, lists and maps too. */
export function maskSecrets(name: string, value: unknown): unknown {
  if (value === undefined || value === null || value === '') return value;
  if (SECRET_NAME.test(name)) return MASK;
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map((item: unknown) => maskSecrets(name, item));
  if (typeof value !== 'object' || value instanceof Uint8Array) return value;
  if (value instanceof Map) {
    return new Map(
      [...(value as Map<unknown, unknown>)].map(([key, item]) =>
        typeof key === 'string' ? [maskText(key), maskSecrets(key, item)] : [key, item],
      ),
    );
  }
  return Object.fromEntries(
    // A key may be a URL: that of a git remote with options.
    Object.entries(value).map(([key, item]) => [maskText(key), maskSecrets(key, item)]),
  );
}

/** Masks values that are secret anywhere, as those of a store. */
export function maskValues(value: unknown, secrets: readonly unknown[]): unknown {
  if (secrets.length === 0) return value;
  if (secrets.some((secret) => isDeepStrictEqual(secret, value))) return MASK;
  if (Array.isArray(value)) return value.map((item: unknown) => maskValues(item, secrets));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, maskValues(item, secrets)]),
  );
}

/** Values that {@link maskSecrets} would hide, as texts, to search for them elsewhere. */
export function secretsIn(name: string, value: unknown): readonly string[] {
  if (value === undefined || value === null || value === '') return [];
  if (SECRET_NAME.test(name)) return textsIn(value);
  if (typeof value === 'string') return secretsOfText(value);
  if (Array.isArray(value)) return value.flatMap((item: unknown) => secretsIn(name, item));
  return entriesOf(value).flatMap(([key, item]) => [
    ...secretsOfText(key),
    ...secretsIn(key, item),
  ]);
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return entriesOf(value).flatMap(([, item]) => textsIn(item));
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (value instanceof Map) {
    return [...(value as Map<unknown, unknown>)].map(([key, item]) => [String(key), item] as const);
  }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return [];
  return Object.entries(value);
}

/** The password of `user:password@`; a single part may be a token. */
function secretsOfText(text: string): readonly string[] {
  const within = [...text.matchAll(IN_URL)].map(([found, scheme = '']) => {
    const user = found.slice(scheme.length, -1);
    const colon = user.indexOf(':');
    return user.slice(colon + 1);
  });
  const named = [...text.matchAll(IN_TEXT)].map(([found]) => found.slice(found.indexOf('=') + 1));
  return [...within, ...named].flatMap((secret) => [secret, decoded(secret)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A literal percent sign.
  }
}

function maskText(text: string): string {
  return text.replace(IN_URL, `$1${MASK}@`).replace(IN_TEXT, `$1${MASK}`);
}
