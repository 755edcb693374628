import { splitLines } from '@brine/wire/text';
import { JinjaError } from './errors.ts';
import { fileOptions } from './file-options.ts';

const AROUND = 5;
const MARKER = '    <======================';

/**
 * Salt's report of a template that failed: the text of the error, its line and the lines around it
 * (Salt: salt/utils/templates.py render_jinja_tmpl, salt/exceptions.py SaltRenderError). `file` and
 * `included` are the name and the text of another template that the line is in.
 */
export function saltErrorText(
  error: JinjaError,
  template: string,
  included?: { readonly file: string; readonly source: string },
): string {
  const head = saltErrorHead(error);
  const { line } = error;
  // Salt counts lines without the `#jinja2:` line.
  const source = withoutHead(template);
  if (line === undefined) return head;
  if (included === undefined) {
    // A line past the end is not marked: Salt shows all of the text.
    const isThere = line <= splitLines(source).length;
    const shown = isThere ? `---\n${context(source, line)}\n---` : source;
    return `${head}; line ${line}\n\n${shown}`;
  }
  return `${head}\n${included.file}(${line}):\n${context(included.source, line)}`;
}

function withoutHead(template: string): string {
  try {
    return fileOptions(template).source;
  } catch (error) {
    if (error instanceof JinjaError) return template;
    throw error;
  }
}

/** The first line of the report. */
export function saltErrorHead(error: JinjaError): string {
  switch (error.kind) {
    case 'Undefined':
      return `Jinja variable ${error.message}`;
    case 'Syntax':
    case 'Runtime':
    case 'Security':
      return `Jinja syntax error: ${error.message}`;
    case 'SaltFunction':
      return `Problem running salt function in Jinja template: ${error.message}`;
    default:
      return `Jinja error: ${error.message}`;
  }
}

/** The lines around a line (Salt: salt/utils/stringutils.py get_context). */
function context(source: string, line: number): string {
  const lines = splitLines(source);
  if (line > lines.length) return source;
  const start = Math.max(0, line - AROUND - 1);
  const end = Math.min(lines.length, line + AROUND);
  const shown = lines.slice(start, end);
  shown[line - start - 1] += MARKER;
  return [...(start > 0 ? ['[...]'] : []), ...shown, ...(end < lines.length ? ['[...]'] : [])].join(
    '\n',
  );
}
