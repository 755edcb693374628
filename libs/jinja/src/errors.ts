/**
 * The Python exception that Jinja would raise for a template that cannot be rendered. Salt's
 * message depends on it (Salt: salt/utils/templates.py render_jinja_tmpl).
 */
export type JinjaErrorKind =
  | 'Undefined'
  | 'Syntax'
  | 'Runtime'
  | 'Raised'
  | 'Security'
  | 'TemplateNotFound'
  | 'TypeError'
  | 'ValueError'
  | 'KeyError'
  | 'IndexError'
  | 'AttributeError'
  | 'ZeroDivisionError'
  | 'OverflowError'
  | 'Limit'
  | 'SaltException'
  | 'SaltFunction';

/** A template that cannot be parsed or rendered. */
export class JinjaError extends Error {
  override readonly name = 'JinjaError';
  readonly kind: JinjaErrorKind;
  /** Line of the template, from 1; undefined until it is known. */
  line: number | undefined;
  /** Name of the template of the line; undefined for the template given as text. */
  template: string | undefined;

  constructor(kind: JinjaErrorKind, text: string, line?: number) {
    super(text);
    this.kind = kind;
    this.line = line;
  }
}

/** A fault in the grammar, at a line counted from 1. */
export function syntaxError(text: string, line: number): JinjaError {
  return new JinjaError('Syntax', text, line);
}

/** Python's TypeError. */
export function typeError(text: string): JinjaError {
  return new JinjaError('TypeError', text);
}

/** Python's ValueError. */
export function valueError(text: string): JinjaError {
  return new JinjaError('ValueError', text);
}
