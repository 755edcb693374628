import { pyLength } from '@brine/wire/text';

const WIDTH = 80;

/**
 * Python's `textwrap.fill` with 80 columns and `indent` spaces before every line (Python:
 * Lib/textwrap.py; text is also broken behind a hyphen between letters).
 */
export function fillText(text: string, indent: number): string {
  const chunks = splitChunks(text.replace(/[\t\n\v\f\r ]/g, ' '));
  const room = WIDTH - indent;
  const lines: string[] = [];
  let at = 0;
  while (at < chunks.length) {
    const line: string[] = [];
    let length = 0;
    if (lines.length > 0 && chunks[at]?.trim() === '') at += 1;
    for (let chunk = chunks[at]; chunk !== undefined; chunk = chunks[at]) {
      if (length + pyLength(chunk) > room) break;
      line.push(chunk);
      length += pyLength(chunk);
      at += 1;
    }
    const next = chunks[at];
    if (next !== undefined && pyLength(next) > room) {
      const characters = [...next];
      const take = Math.max(room - length, 1);
      line.push(characters.slice(0, take).join(''));
      chunks[at] = characters.slice(take).join('');
    }
    if (line.at(-1)?.trim() === '') line.pop();
    if (line.length > 0) lines.push(' '.repeat(indent) + line.join(''));
  }
  return lines.join('\n');
}

function splitChunks(text: string): string[] {
  const chunks: string[] = [];
  for (const part of text.match(/ +|[^ ]+/g) ?? []) {
    if (part.startsWith(' ')) chunks.push(part);
    else chunks.push(...(part.match(/[^-]*[\p{L}]-+(?=[\p{L}])|.+?-{2,}(?=\w)|.+$/gu) ?? [part]));
  }
  return chunks;
}
