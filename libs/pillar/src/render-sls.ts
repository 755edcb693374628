import { JinjaError, renderTemplate, saltErrorText, str, truth, typeName } from '@brine/jinja';
import { isMap, type SaltMap, type SaltValue, WireError } from '@brine/wire';
import { readJson, strip } from '@brine/wire/text';
import { loadSls, YamlLoadError, YamlWork } from '@brine/yaml';
import { MinionMessages } from './minion-messages.ts';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { pythonFunctions } from './python-functions.ts';
import { pythonType, RaisedError } from './raised.ts';
import { templateFunctions } from './template-functions.ts';

/** A file that does not render; the text is Salt's. */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  readonly code = 'SALT_PILLAR_RENDER';
}

const RENDERERS = ['jinja', 'yaml', 'json', 'gpg'];

/** Older names of pipes (salt/template.py OLD_STYLE_RENDERERS). */
const OLD_STYLE: ReadonlyMap<string, string> = new Map([
  ['yaml_jinja', 'jinja|yaml'],
  ['yaml_mako', 'mako|yaml'],
  ['yaml_wempy', 'wempy|yaml'],
  ['json_jinja', 'jinja|json'],
  ['json_mako', 'mako|json'],
  ['json_wempy', 'wempy|json'],
  ['yamlex_jinja', 'jinja|yamlex'],
]);

/** Renderers of Salt's own: a file for one that is not there is an error, not an empty file. */
const OF_SALT = [
  ...['py', 'pydsl', 'pyobjects', 'mako', 'cheetah', 'genshi', 'wempy', 'yamlex', 'stateconf'],
  ...['json5', 'hjson', 'dson', 'msgpack', 'toml', 'nacl', 'pass', 'aws_kms'],
];

/** Where a file is, and under which name it is rendered. */
export interface SlsSource {
  readonly saltenv: string;
  /** Below the roots. */
  readonly path: string;
  /** Empty for a top file. */
  readonly sls: string;
  /** More names, from `defaults` of an include. */
  readonly defaults: SaltMap;
}

/** The renderers that a text goes through which names none itself. */
export interface Renderers {
  /** A text `jinja|yaml`; null: none, and the text is not rendered. */
  readonly pipe: SaltValue;
  /** Those that are left out, and those that alone stay; empty: all stay. */
  readonly blacklist?: SaltValue;
  readonly whitelist?: SaltValue;
}

/** Renders the files of one pillar. */
export class SlsRenderer {
  readonly #ports: PillarPorts;
  readonly #options: PillarOptions;
  readonly #minion: PillarMinion;
  /** The renderers of files. */
  readonly #own: Renderers;
  /** Messages that no renderer may decrypt. */
  readonly sent: MinionMessages;
  /** What templates see as `pillar`. */
  pillar: SaltMap = new Map();
  /** What templates see as `opts`. */
  opts: SaltMap;

  /** @throws RaisedError where the master's lists leave nothing of its own pipe */
  constructor(ports: PillarPorts, options: PillarOptions, minion: PillarMinion) {
    this.#ports = ports;
    this.#options = options;
    this.#minion = minion;
    this.#own = {
      pipe: options.renderer,
      blacklist: [...options.rendererBlacklist],
      whitelist: [...options.rendererWhitelist],
    };
    confirmRenderer(this.#own);
    this.opts = minionOpts(options.opts, minion);
    this.sent = new MinionMessages(minion, () =>
      ports.log('error', `PGP messages that minion ${minion.id} sent itself were not decrypted`),
    );
  }

  /**
   * The data of a file, through the renderers of its first line or of the options; an empty map
   * for an empty file (Salt: salt/template.py compile_template).
   * @throws RenderError
   */
  render(source: SlsSource): SaltValue {
    const text = this.#ports.files.read(source.saltenv, source.path) ?? '';
    return this.#rendered(text, source, this.#own);
  }

  /**
   * The data of a text, through the renderers of its first line or else of `how`; an empty map
   * where there are none (Salt: salt/template.py compile_template_str).
   * @throws RenderError
   */
  renderText(text: string, how: Renderers): SaltValue {
    return this.#rendered(text, { saltenv: 'base', path: '', sls: '', defaults: new Map() }, how);
  }

  #rendered(text: string, source: SlsSource, how: Renderers): SaltValue {
    if (strip(text) === '') return new Map();
    const [first = ''] = text.split('\n');
    const own = first.startsWith('#!') && !first.startsWith('#!/');
    const named = stepsOf(own ? first.trim().slice(2) : how.pipe);
    const steps = named.filter((step) => this.#mayRun(step, how));
    if (steps.length === 0) return new Map();
    const unknown = steps.find(({ name }) => !RENDERERS.includes(name));
    if (unknown !== undefined && this.#ports.python === undefined) return this.#without(unknown);
    let value: SaltValue = text;
    for (const [at, step] of steps.entries()) {
      if (RENDERERS.includes(step.name)) {
        if (step.name !== 'gpg' && typeof value !== 'string') throw unread(value, steps[at - 1]);
        value = this.#step(step, value, source);
      } else {
        const made = this.#inPython(step, value, source);
        if (made === undefined) return this.#without(step);
        value = made;
      }
    }
    return value;
  }

  #mayRun({ name }: Step, how: Renderers): boolean {
    if (isAllowed(name, how)) return true;
    const text = `The renderer "${name}" is disallowed by configuration and will be skipped.`;
    this.#ports.log('warning', text);
    return false;
  }

  /** What a file gives whose renderer is not there. @throws RenderError */
  #without({ name }: Step): SaltMap {
    const how = this.#ports.python === undefined ? '; set brine.python to use that of Salt' : '';
    const message = `The renderer "${name}" is not available${how}`;
    if (OF_SALT.includes(name)) throw new RenderError(message);
    // As salt/template.py check_render_pipe_str: an unknown renderer means an empty file.
    this.#ports.log('error', message);
    return new Map();
  }

  #inPython(step: Step, input: SaltValue, source: SlsSource): SaltValue | undefined {
    const { python, files } = this.#ports;
    const { saltenv, path, sls, defaults } = source;
    const file = files.place?.(saltenv, path) ?? path;
    try {
      return python?.render({ ...step, input, file, saltenv, sls, defaults }, this.pillar);
    } catch (error) {
      throw new RenderError((error as Error).message, { cause: error });
    }
  }

  #step({ name, argline }: Step, input: SaltValue, source: SlsSource): SaltValue {
    if (name === 'gpg' || typeof input !== 'string') return this.#decrypted(input);
    switch (name) {
      case 'jinja':
        if (argline !== '' && argline !== '-s') {
          throw new RenderError(`Unknown renderer option: ${argline}`);
        }
        return this.#jinja(input, source);
      case 'yaml':
        return yaml(input);
      default:
        return json(input);
    }
  }

  #decrypted(input: SaltValue): SaltValue {
    try {
      return this.#ports.decrypt(input, this.sent.mayOpen);
    } catch (error) {
      throw new RenderError((error as Error).message, { cause: error });
    }
  }

  #jinja(text: string, source: SlsSource): string {
    const { outside, files } = this.#ports;
    const { grains } = this.#minion;
    const { opts } = this;
    const data = { grains, pillar: this.pillar, opts };
    const functions = templateFunctions(
      data,
      this.#ports.functions(this.#minion),
      pythonFunctions(this.#ports, this.pillar),
    );
    const variables = new Map<string, unknown>([
      ['salt', functions],
      ['grains', grains],
      ['pillar', this.pillar],
      ['opts', opts],
      ['saltenv', source.saltenv],
      ['sls', source.sls],
      ...pathNames(source),
      ...namesOf(source.defaults),
    ]);
    try {
      return renderTemplate(text, {
        variables,
        outside: { ...outside, load: (path) => files.read(source.saltenv, path) },
        trimBlocks: this.#options.trimBlocks,
        lstripBlocks: this.#options.lstripBlocks,
        allowUndefined: this.#options.allowUndefined,
        warn: (warning) => this.#ports.log('warning', warning),
      });
    } catch (error) {
      if (!(error instanceof JinjaError)) throw error;
      // As in Salt, a file whose name ends like that of the SLS is taken for this one.
      const own = error.template?.endsWith(source.sls.replaceAll('.', '/')) ?? true;
      const file = own ? undefined : error.template;
      const other = file === undefined ? undefined : files.read(source.saltenv, file);
      const included =
        file === undefined || other === undefined ? undefined : { file, source: other };
      throw new RenderError(saltErrorText(error, text, included), { cause: error });
    }
  }
}

/** The master's options as a pillar sees them (Salt: Pillar.__gen_opts): the id is the minion's. */
export function minionOpts(opts: SaltMap, minion: PillarMinion): SaltMap {
  const { id, grains, saltenv, pillarenv } = minion;
  return new Map(opts)
    .set('id', id)
    .set('minion_id', id)
    .set('grains', grains)
    .set('file_client', 'local')
    .set('saltenv', saltenv ?? opts.get('saltenv') ?? null)
    .set('pillarenv', pillarenv);
}

/** Keywords that Salt's renderer takes for itself. */
const KEYWORDS = ['context', 'env', 'argline', 'tmplpath', 'input_data'];

/** Names that templates have already, and cannot get. */
const OWN_NAMES = ['salt', 'grains', 'opts', 'pillar', 'proxy'];

/** Names for a template, those of a map `context` among them. @throws RenderError */
function namesOf(defaults: SaltMap): [string, SaltValue][] {
  const own = OWN_NAMES.find((name) => defaults.has(name));
  if (own !== undefined) {
    const called = 'salt.utils.templates.wrap_tmpl_func.<locals>.render_tmpl()';
    throw new RenderError(`${called} got multiple values for keyword argument '${own}'`);
  }
  const given = [...defaults].map(([name, value]) => [str(name), value] as [string, SaltValue]);
  const context = defaults.get('context');
  const more = isMap(context) ? [...context] : [];
  return [
    ...given.filter(([name]) => !KEYWORDS.includes(name)),
    ...more.map(([name, value]) => [str(name), value] as [string, SaltValue]),
  ];
}

/** A renderer of text got what the step before it made. */
function unread(value: SaltValue, before: Step | undefined): RenderError {
  const type = before?.name === 'json' ? typeName(value) : pythonType(value);
  return new RenderError(`'${type}' object has no attribute 'read'`);
}

/** A step of a pipe of renderers, and the text behind its name. */
interface Step {
  readonly name: string;
  readonly argline: string;
}

/** @throws RenderError for a pipe that is no text */
function stepsOf(pipe: SaltValue): Step[] {
  if (pipe === null) return [];
  if (typeof pipe !== 'string') {
    throw new RenderError(`'${pythonType(pipe)}' object has no attribute 'split'`);
  }
  return (OLD_STYLE.get(pipe) ?? pipe).split('|').map(stepOf);
}

function isAllowed(name: string, { blacklist, whitelist }: Renderers): boolean {
  if (truth(whitelist ?? null) && !contains(whitelist, name)) return false;
  return !contains(blacklist, name);
}

/** Salt: salt/loader/__init__.py render. */
function confirmRenderer(own: Renderers): void {
  if (stepsOf(own.pipe).some(({ name }) => isAllowed(name, own))) return;
  const why = 'this error is often because the needed software is unavailable';
  throw new RaisedError('LoaderError', `The renderer ${str(own.pipe)} is unavailable, ${why}`);
}

/** As Python's `in`, for a list or a text. */
function contains(names: SaltValue | undefined, name: string): boolean {
  return (Array.isArray(names) || typeof names === 'string') && names.includes(name);
}

function stepOf(text: string): Step {
  const [name = '', ...others] = text.trim().split(/\s+/);
  return { name, argline: others.join(' ') };
}

/** The names by which a template knows where it is (Salt: generate_sls_context). */
function pathNames({ path, sls }: SlsSource): [string, string][] {
  const slash = path.lastIndexOf('/');
  const dir = slash === -1 || sls === '' ? '' : path.slice(0, slash);
  const file = sls === '' ? path.slice(slash + 1) : path;
  return [
    ['tplpath', path],
    ['tplfile', file],
    ['tpldir', dir === '' ? '.' : dir],
    ['tpldot', dir.replaceAll('/', '.')],
    ['slspath', dir],
    ['slsdotpath', dir.replaceAll('/', '.')],
    ['slscolonpath', dir.replaceAll('/', ':')],
    ['sls_path', dir.replaceAll('/', '_')],
  ];
}

function yaml(text: string): SaltValue {
  try {
    const value = loadSls(text, YamlWork.ofFile());
    return truth(value) ? value : new Map();
  } catch (error) {
    if (!(error instanceof YamlLoadError)) throw error;
    // Salt: salt/renderers/yaml.py has no line for what libyaml's scanner refuses.
    const { fault } = error;
    const message = fault?.kind === 'scanner' ? fault.problem : error.message;
    throw new RenderError(message, { cause: error });
  }
}

function json(text: string): SaltValue {
  const body = text.startsWith('#!') ? text.slice(text.indexOf('\n') + 1) : text;
  if (body.trim() === '') return new Map();
  try {
    return readJson(body);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new RenderError(error.message, { cause: error });
  }
}
