import { JinjaError } from './errors.ts';

const MAX_PATTERN = 4096;

/**
 * A regular expression of Python's as one of JavaScript's, for searching and replacing. Patterns
 * come from the master's own files; time is bounded by who runs the render.
 * @throws JinjaError (ValueError) for what JavaScript cannot read
 */
export function pythonPattern(pattern: string, ignoreCase: boolean, multiline: boolean): RegExp {
  if (pattern.length > MAX_PATTERN) throw new JinjaError('Limit', 'the expression is too long');
  const leading = /^\(\?([aiLmsux]+)\)/.exec(pattern);
  const own = leading?.[1] ?? '';
  const many = multiline || own.includes('m');
  const flags = `d${ignoreCase || own.includes('i') ? 'i' : ''}${many ? 'm' : ''}`;
  const body = pattern.slice(leading?.[0].length ?? 0);
  try {
    return new RegExp(translate(body, many, own.includes('s'), own.includes('x')), `g${flags}`);
  } catch (cause) {
    throw new JinjaError('ValueError', (cause as Error).message);
  }
}

function translate(pattern: string, multiline: boolean, dotAll: boolean, verbose: boolean): string {
  let out = '';
  let inSet = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === '\\') {
      out += escaped(pattern.charAt(at + 1), inSet);
      at += 1;
    } else if (inSet) {
      out += character === '[' ? '\\[' : character;
      inSet = character !== ']';
    } else if (character === '[') {
      const negated = pattern.charAt(at + 1) === '^';
      const first = pattern.charAt(at + (negated ? 2 : 1));
      out += negated ? '[^' : '[';
      // A bracket that comes first stands for itself in Python.
      if (first === ']') out += '\\]';
      at += Number(negated) + Number(first === ']');
      inSet = true;
    } else if (character === '$' && !multiline) out += '(?=\\n?(?![^]))';
    else if (character === '.') out += dotAll ? '[^]' : '[^\\n]';
    else if (pattern.startsWith('(?P<', at)) {
      out += '(?<';
      at += 3;
    } else if (pattern.startsWith('(?P=', at)) {
      const end = pattern.indexOf(')', at);
      out += `\\k<${pattern.slice(at + 4, end)}>`;
      at = end;
    } else if (pattern.startsWith('(?#', at)) at = pattern.indexOf(')', at);
    else if (verbose && /\s/.test(character)) continue;
    else if (verbose && character === '#') at = endOfLine(pattern, at);
    else out += character;
  }
  return out;
}

function endOfLine(pattern: string, at: number): number {
  const end = pattern.indexOf('\n', at);
  return end === -1 ? pattern.length : end;
}

function escaped(character: string, inSet: boolean): string {
  if (!inSet && character === 'A') return '(?<![^])';
  if (!inSet && character === 'Z') return '(?![^])';
  return character === 'a' ? '\\x07' : `\\${character}`;
}

/** What `re.sub` puts in the place of a match: `\1`, `\g<name>` and escapes in the template. */
export function expandTemplate(template: string, match: RegExpExecArray): string {
  return template.replaceAll(
    /\\(?:g<(\w+)>|(\d{1,2})|([^]))/g,
    (_whole: string, name?: string, digits?: string, letter?: string) => {
      const group = name ?? digits;
      if (group !== undefined) {
        const value = /^\d+$/.test(group) ? match[Number(group)] : match.groups?.[group];
        return value ?? '';
      }
      return { n: '\n', t: '\t', r: '\r', '\\': '\\' }[letter ?? ''] ?? `\\${letter}`;
    },
  );
}
