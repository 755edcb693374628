const SECRET_NAME =
  /pass(?!ive)|passw|secret|token(?!_expire|_dir)|credential|private|^key$|bindpw/i;
const LEFT_OUT = '(left out)';
/** User and password of a URL. */
const USER_INFO = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/@\s"']+@/gi;
/** The name of a secret and its value, in a text of any form. */
const NAMED = /((?:pass(?:word|wd|phrase)|secret|token|bindpw)["']?\s*[:=]\s*["']?)[^\s"',}]+/gi;
/** The body of a PEM text; its line ends may be escaped. */
const PEM = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END|$)/g;

/** A text without the secrets that their form reveals. */
export function redactedText(text: string): string {
  return text
    .replace(PEM, `$1${LEFT_OUT}$2`)
    .replace(USER_INFO, '$1…@')
    .replace(NAMED, `$1${LEFT_OUT}`);
}

/** A value of a configuration without the values whose names mean secrets. */
export function redactedValue(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => redactedValue(item, name));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([key, item]) => [redactedText(key), redactedValue(item, key)]),
    );
  }
  const isSecret = SECRET_NAME.test(name) && typeof value !== 'boolean' && value !== null;
  if (isSecret) return LEFT_OUT;
  return typeof value === 'string' ? redactedText(value) : value;
}
