import { strip } from '@brine/wire/text';

/** Python's `shlex.quote`. */
export function shellQuote(text: string): string {
  if (text === '') return "''";
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** Python's `re.escape`. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[()[\]{}?*+\-|^$\\.&~# \t\n\r\v\f]/g, (c) => `\\${c}`);
}

/** HTML's special characters, as MarkupSafe escapes them. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll("'", '&#39;')
    .replaceAll('"', '&#34;');
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\xa0',
};
const MAX_CODE_POINT = 0x10ffff;

/** MarkupSafe's `striptags`; of the named characters it knows the common ones of web pages. */
export function stripTags(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf('<', from);
    if (start === -1) break;
    const end = tagEnd(text, start);
    if (end === -1) break;
    parts.push(text.slice(from, start));
    from = end;
  }
  parts.push(text.slice(from));
  const blanks = strip(parts.join('')).replaceAll(/\s+/g, ' ');
  return blanks.replaceAll(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,4}));/g,
    (whole: string, digits?: string, hex?: string, name: string = '') => {
      if (name !== '') return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole;
      const code = digits === undefined ? Number.parseInt(hex ?? '', 16) : Number(digits);
      return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole;
    },
  );
}

/** The end of a tag or comment that begins here; -1 without an end. */
function tagEnd(text: string, start: number): number {
  const comment = text.startsWith('<!--', start);
  const end = comment ? text.indexOf('-->', start + 4) : text.indexOf('>', start);
  return end === -1 ? -1 : end + (comment ? 3 : 1);
}
