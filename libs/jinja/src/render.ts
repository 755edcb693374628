import {
  DEFAULT_LIMITS,
  Environment,
  type Outside,
  type RenderLimits,
  Scope,
} from './environment.ts';
import { JinjaError } from './errors.ts';
import { Executor } from './execute.ts';
import { type FileOptions, fileOptions } from './file-options.ts';
import { standardGlobals } from './globals.ts';
import { PyFunction, Undefined } from './python/values.ts';
import { parseTemplate } from './syntax/parser.ts';

/** How a template is to be rendered. */
export interface RenderOptions {
  /** The variables that the template can name. */
  readonly variables: ReadonlyMap<string, unknown>;
  readonly outside: Outside;
  /** `trim_blocks` of `jinja_env` or `jinja_sls_env`; false in Salt. */
  readonly trimBlocks?: boolean;
  /** `lstrip_blocks` of the same; false in Salt. */
  readonly lstripBlocks?: boolean;
  /** `keep_trailing_newline` of the same; Salt adds the last line end again by itself. */
  readonly keepTrailingNewline?: boolean;
  /** `allow_undefined`: a missing name prints nothing instead of failing. */
  readonly allowUndefined?: boolean;
  readonly limits?: RenderLimits;
  /** False if a line `#jinja2:` is text, as in saltclass. */
  readonly takesFileOptions?: boolean;
  /** Takes the warnings about that line. */
  readonly warn?: (text: string) => void;
}

/**
 * Renders a template as Salt's `jinja` renderer does: the last line end stays (Salt:
 * salt/utils/templates.py render_jinja_tmpl).
 * @throws JinjaError
 */
export function renderTemplate(template: string, options: RenderOptions): string {
  const { source, whitespace: own, warnings } = headOf(template, options);
  for (const text of warnings) options.warn?.(text);
  const whitespace = {
    trimBlocks: options.trimBlocks ?? false,
    lstripBlocks: options.lstripBlocks ?? false,
    keepTrailingNewline: options.keepTrailingNewline ?? false,
    ...own,
  };
  const context = fullContext(options.variables);
  const extra = [['show_full_context', context]] as const;
  const globals = new Map([
    ...standardGlobals(options.outside.random),
    ...extra,
    ...options.variables,
  ]);
  const environment = new Environment(
    globals,
    whitespace,
    loading(options.outside, globals),
    options.limits ?? DEFAULT_LIMITS,
    options.allowUndefined ?? false,
  );
  try {
    const scope = new Scope();
    for (const [name, value] of options.variables) scope.names.set(name, value);
    const text = new Executor(environment).template(
      parseTemplate(source, whitespace),
      new Scope(scope),
      undefined,
    );
    return template.endsWith('\n') && !whitespace.keepTrailingNewline ? `${text}\n` : text;
  } catch (error) {
    if (error instanceof RangeError) {
      throw new JinjaError('Limit', 'maximum recursion depth exceeded');
    }
    throw error;
  }
}

function headOf(template: string, { takesFileOptions = true }: RenderOptions): FileOptions {
  if (takesFileOptions) return fileOptions(template);
  return { source: template, whitespace: {}, warnings: [] };
}

/**
 * A loaded template names itself: `tplfile`, `tpldir` and `tpldot` change for all that see only the
 * globals (Salt: salt/utils/jinja.py SaltCacheLoader.get_source).
 */
function loading(outside: Outside, globals: Map<string, unknown>): Outside {
  return {
    ...outside,
    now: () => outside.now(),
    random: () => outside.random(),
    load: (name) => {
      const path = resolved(name, globals.get('tpldir'));
      if (path === undefined) return undefined;
      const source = outside.load(path);
      if (source === undefined) return undefined;
      const slash = path.lastIndexOf('/');
      const dir = slash === -1 ? '' : path.slice(0, slash);
      if (path === name) {
        globals.set('tplfile', path);
        globals.set('tpldir', dir === '' ? '.' : dir);
        globals.set('tpldot', dir.replaceAll('/', '.'));
      } else globals.set('tplfile', name);
      return source;
    },
  };
}

/** Resolves `./` and `../` below the directory of the template; never above the root. */
function resolved(name: string, tpldir: unknown): string | undefined {
  const [first] = name.split('/');
  if (first !== '.' && first !== '..') return name;
  if (typeof tpldir !== 'string') return undefined;
  const parts: string[] = [];
  for (const part of `${tpldir}/${name}`.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/');
}

/** Salt's `show_full_context`: the names of the template with simple values only. */
function fullContext(variables: ReadonlyMap<string, unknown>): PyFunction {
  return new PyFunction('show_full_context', () => {
    const simple = [...variables].filter(
      ([, value]) => !(value instanceof PyFunction) && !(value instanceof Undefined),
    );
    return new Map(simple);
  });
}
