/** A text that must not leave the host, and its origin. */
export interface Secret {
  /** `option gitfs_password`, `file /etc/salt/pki/master/master.pem`. */
  readonly from: string;
  readonly value: string;
}

/** A secret that was found; never the value itself. */
export interface Hit {
  readonly from: string;
  readonly line: number;
}

/** Shorter values occur in any text by chance. */
const LENGTH_MIN = 8;
/** Values are found by this many first characters. */
const HEAD = 8;
/** Common texts that some sites use as passwords, and that are in every log. */
const COMMON =
  /^(?:password|passw0rd|changeme|saltstack|saltmaster|postgres|development|localhost)$/i;

/** Where the text of a render error begins, with line ends as a log has them. */
const RENDER_ERROR = /render error:(?:\\+n)?/;
/** Precedes the lines of a template that an error shows. */
const SHOWN_LINES = /(?<=; line \d{1,9})(?:\\+n){2}---\\+n/;
const LINE_END = '\\n';

/** Patterns of texts that look like secrets. Each runs in linear time. */
const PATTERNS: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['a PEM block', /-----BEGIN [A-Z0-9 ]+-----/],
  ['a URL with a password', /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^/@\s:]*:(?!\*{8}@)[^/@\s]+@/i],
  ['a named password', namedPassword()],
  ['a bearer token', /\bbearer\s+[A-Za-z0-9._~+/-]{16}/i],
  ['a JSON web token', /\beyJ[A-Za-z0-9_-]{8,500}\.eyJ[A-Za-z0-9_-]{8}/],
  ['a key of AWS', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  [
    'a token of GitHub or GitLab',
    /\b(?:gh[pousr]_[A-Za-z0-9]{30}|github_pat_\w{30}|glpat-[\w-]{20})/,
  ],
  ['a token of Slack', /\bxox[abprs]-[A-Za-z0-9-]{10}/],
];

/**
 * Matches `db_password: "…"`, `{\"token\":\"…\"}`, `secret_key=…`, with 4 characters of the value.
 */
function namedPassword(): RegExp {
  const secret = 'secret(?:[_-]?(?:access[_-]?)?key|[_-]?id)?';
  const keys = 'api[_-]?key|(?:private|account)[_-]?key';
  // `n` is an escaped end of a line. `bypass` and `compass` do not match.
  const short = String.raw`(?:[._-]|\b|\\n)(?:token|pass)`;
  const names = `passwd|password|passphrase|bindpw|${secret}|${keys}|${short}`;
  const none = String.raw`\*{8}|null\b|None\b|undefined\b|\\*["']`;
  const quote = String.raw`(?:\\*["'])?`;
  return new RegExp(
    `(?:${names})${quote}\\s*(?:=>?|:)\\s*${quote}(?!${none})[^\\s"'\\\\,}&]{4}`,
    'i',
  );
}

/** Finds known secrets in all forms in which programs write them, and texts that look secret. */
export class SecretScanner {
  /** Known secrets by their first characters. */
  readonly #known = new Map<string, Secret[]>();
  readonly #weak = new Set<string>();

  constructor(secrets: Iterable<Secret>) {
    for (const secret of secrets) this.#add(secret);
  }

  /** Origins of secrets that are too short or too common to search for. */
  get weak(): readonly string[] {
    return [...this.#weak];
  }

  /** Finds the secrets in a text, each with its first position. */
  find(text: string): Hit[] {
    const hits = new Map<string, number>();
    for (const [name, pattern] of PATTERNS) {
      const at = text.search(pattern);
      if (at >= 0) hits.set(name, at);
    }
    for (let at = 0; this.#known.size > 0 && at + HEAD <= text.length; at += 1) {
      const candidates = this.#known.get(text.slice(at, at + HEAD));
      for (const { from, value } of candidates ?? []) {
        if (!hits.has(from) && text.startsWith(value, at)) hits.set(from, at);
      }
    }
    return [...hits].map(([from, at]) => ({ from, line: lineAt(text, at) }));
  }

  #add({ from, value }: Secret): void {
    const text = value.trim();
    if (text === '') return;
    if (text.length < LENGTH_MIN || COMMON.test(text)) {
      this.#weak.add(from);
      return;
    }
    for (const form of formsOf(text)) {
      const head = form.slice(0, HEAD);
      const list = this.#known.get(head) ?? [];
      list.push({ from, value: form });
      this.#known.set(head, list);
    }
  }
}

/** The value as it is, and as in URLs, JSON, YAML, base64 and hex. */
function formsOf(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value);
  // The last characters of base64 depend on the next bytes.
  const inBase64 = bytes.toString('base64').replace(/.{0,2}=*$/, '');
  return new Set(
    [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      value.replaceAll("'", "''"),
      inBase64,
      bytes.toString('hex'),
    ].filter((form) => form.length >= LENGTH_MIN),
  );
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', next + 1)) {
    line += 1;
  }
  return line;
}

/** A text without the lines that contain secrets. */
export interface CleanText {
  readonly text: string;
  /** Number of removed lines, by the origin of their secret. */
  readonly left: ReadonlyMap<string, number>;
}

/** Longest PEM block, in lines. */
const PEM_LINES_MAX = 400;

/** Removes the source of a template from a render error, since a secret there may have no name. */
function withoutSource(line: string): string {
  const error = RENDER_ERROR.exec(line);
  const end = error ? line.indexOf(LINE_END, error.index + error[0].length) : -1;
  const shown = line.search(SHOWN_LINES);
  const at = Math.min(...[end, shown].filter((place) => place >= 0));
  return at === Infinity ? line : `${line.slice(0, at)} …`;
}

/**
 * Removes lines with secrets from a log or a listing, whole PEM blocks, and the sources that render
 * errors show.
 */
export function withoutSecrets(text: string, scanner: SecretScanner): CleanText {
  const left = new Map<string, number>();
  const kept: string[] = [];
  let pem = 0;
  const count = (from: string): void => void left.set(from, (left.get(from) ?? 0) + 1);
  for (const whole of text.split('\n')) {
    const line = withoutSource(whole);
    const [hit] = scanner.find(line);
    const begins = line.includes('-----BEGIN ');
    if (begins) pem = PEM_LINES_MAX;
    if (hit === undefined && pem === 0) {
      kept.push(line);
      if (line !== whole) count('the source that a render error shows');
      continue;
    }
    count(pem > 0 ? 'a PEM block' : (hit?.from ?? ''));
    pem = pem > 0 && !line.includes('-----END ') ? pem - 1 : 0;
  }
  return { text: kept.join('\n'), left };
}
