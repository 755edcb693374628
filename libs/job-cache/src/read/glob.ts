/**
 * A shell pattern as a regular expression of PostgreSQL, anchored, as Python's fnmatch reads it:
 * `*`, `?`, `[seq]`, `[!seq]`; everything else stands for itself.
 */
export function globToRegex(glob: string): string {
  let regex = '^';
  let at = 0;
  while (at < glob.length) {
    const char = glob.charAt(at);
    at += 1;
    if (char === '*') regex += '.*';
    else if (char === '?') regex += '.';
    else if (char === '[') {
      const end = closingBracket(glob, at);
      if (end === -1) regex += '\\[';
      else {
        regex += bracket(glob.slice(at, end));
        at = end + 1;
      }
    } else regex += escapeChar(char);
  }
  return `${regex}$`;
}

/** The `]` that ends a set; one that comes first belongs to the set. */
function closingBracket(glob: string, from: number): number {
  const first = glob.charAt(from) === '!' ? from + 1 : from;
  return glob.indexOf(']', first + 1);
}

function bracket(content: string): string {
  const negated = content.startsWith('!');
  const set = negated ? content.slice(1) : content;
  const escaped = set.replace(/[\\[\]^]/g, (char) => `\\${char}`);
  return negated ? `[^${escaped}]` : `[${escaped}]`;
}

function escapeChar(char: string): string {
  return /[\\^$.|?*+(){}[\]]/.test(char) ? `\\${char}` : char;
}
