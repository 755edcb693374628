/** A place in a text; all counted from 0, in code points. */
export interface Mark {
  readonly index: number;
  readonly line: number;
  readonly column: number;
}

/** Content of a PyYAML error. `context` is the construct in which the problem is. */
export interface YamlFault {
  /** Name of the text in the error. */
  readonly name: string;
  readonly kind: 'reader' | 'scanner' | 'parser' | 'composer' | 'constructor';
  readonly context?: string;
  readonly contextMark?: Mark;
  readonly problem: string;
  readonly mark?: Mark;
}

/** A text that PyYAML would refuse to load. */
export class YamlLoadError extends Error {
  /** Absent if the text exceeds a limit that PyYAML does not have. */
  readonly fault: YamlFault | undefined;

  constructor(text: string, options?: ErrorOptions & { readonly fault?: YamlFault }) {
    super(text, options);
    this.name = 'YamlLoadError';
    this.fault = options?.fault;
  }
}

/** The error with the text of PyYAML (lib/yaml/error.py MarkedYAMLError). */
export function faultError(fault: YamlFault): YamlLoadError {
  const { name, context, contextMark, problem, mark } = fault;
  const lines: string[] = [];
  if (context !== undefined) lines.push(context);
  const isElsewhere = contextMark?.line !== mark?.line || contextMark?.column !== mark?.column;
  if (contextMark !== undefined && isElsewhere) lines.push(placeText(name, contextMark));
  lines.push(problem);
  if (mark !== undefined) lines.push(placeText(name, mark));
  return new YamlLoadError(lines.join('\n'), { fault });
}

function placeText(name: string, { line, column }: Mark): string {
  return `  in "${name}", line ${line + 1}, column ${column + 1}`;
}
