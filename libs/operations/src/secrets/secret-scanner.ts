/** A text that must not leave the host, and where it is from. */
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

/** Shorter values stand in any text by chance. */
const LENGTH_MIN = 8;
/** Values are found by their first signs. */
const HEAD = 8;
/** Words that are values of passwords somewhere, and stand in every log. */
const COMMON =
  /^(?:password|passw0rd|changeme|saltstack|saltmaster|postgres|development|localhost)$/i;

/** Where the text of a render error begins, with line ends as a log has them. */
const RENDER_ERROR = /render error:(?:\\+n)?/;
/** What stands before the lines of a template that an error shows. */
const SHOWN_LINES = /(?<=; line \d{1,9})(?:\\+n){2}---\\+n/;
const LINE_END = '\\n';

/** What looks like a secret, whatever its value is. Each takes a long line in its length. */
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

/** `db_password: "…"`, `{\"token\":\"…\"}`, `secret_key=…`: of the value its first four signs. */
function namedPassword(): RegExp {
  const secret = 'secret(?:[_-]?(?:access[_-]?)?key|[_-]?id)?';
  const keys = 'api[_-]?key|(?:private|account)[_-]?key';
  // `n` is the end of a line that a log has escaped. `bypass` and `compass` are none.
  const short = String.raw`(?:[._-]|\b|\\n)(?:token|pass)`;
  const names = `passwd|password|passphrase|bindpw|${secret}|${keys}|${short}`;
  const none = String.raw`\*{8}|null\b|None\b|undefined\b|\\*["']`;
  const quote = String.raw`(?:\\*["'])?`;
  return new RegExp(
    `(?:${names})${quote}\\s*(?:=>?|:)\\s*${quote}(?!${none})[^\\s"'\\\\,}&]{4}`,
    'i',
  );
}

/** Finds known secrets, in the forms in which programs write them, and what looks like one. */
export class SecretScanner {
  /** By their first signs. */
  readonly #known = new Map<string, Secret[]>();
  readonly #weak = new Set<string>();

  constructor(secrets: Iterable<Secret>) {
    for (const secret of secrets) this.#add(secret);
  }

  /** Where secrets are from that are too short or too common to be looked for. */
  get weak(): readonly string[] {
    return [...this.#weak];
  }

  /** Whether a text holds a secret, and the first place of each. */
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

/** As it is, and as URLs, JSON, YAML, base64 and hex have it. */
function formsOf(value: string): ReadonlySet<string> {
  const bytes = Buffer.from(value);
  // The last signs of base64 depend on what comes behind.
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

/** A text without the lines that hold secrets. */
export interface CleanText {
  readonly text: string;
  /** How many lines were left out, by where their secret is from. */
  readonly left: ReadonlyMap<string, number>;
}

/** A PEM block that does not end within this many lines is none. */
const PEM_LINES_MAX = 400;

/**
 * A line of a log without the source of a template that could not be rendered. A secret there may
 * stand without a name.
 */
function withoutSource(line: string): string {
  const error = RENDER_ERROR.exec(line);
  const end = error ? line.indexOf(LINE_END, error.index + error[0].length) : -1;
  const shown = line.search(SHOWN_LINES);
  const at = Math.min(...[end, shown].filter((place) => place >= 0));
  return at === Infinity ? line : `${line.slice(0, at)} …`;
}

/**
 * Leaves out the lines of a log or a listing that hold secrets, of a PEM block all, and the
 * sources that render errors show.
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
