import { matchGlob } from '@brine/target';
import { isMap, type SaltValue } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { type HighData, sameValue, textAt, yamlText } from '../values.ts';
import { handleDeclarations, handleExclude, handleExtend } from './declarations.ts';

/** A rendered SLS file: its data, or Salt's text of the error. */
export type RenderedSls = {
  /** Path below the roots: `a/init.sls`. */
  readonly path: string;
} & ({ readonly value: SaltValue } | { readonly error: string });

/** The source of SLS files. */
export interface SlsPort {
  /** Environments of the file server, `base` among them. */
  environments(): Promise<readonly string[]>;
  /** Names of all SLS files of an environment, sorted. */
  names(saltenv: string): Promise<readonly string[]>;
  /** Renders a file; undefined for a missing file. */
  render(sls: string, saltenv: string): Promise<RenderedSls | undefined>;
}

/** High data of SLS files, and their errors. */
export interface RenderedHigh {
  readonly high: HighData;
  readonly errors: readonly string[];
}

/** SLS files of one run, and the depth of their includes. */
const FILES_MAX = 2_000;
const DEPTH_MAX = 100;

/**
 * Renders SLS files and all their includes into one map of declarations (Salt:
 * BaseHighState.render_highstate).
 * @param matches patterns of names by environment
 * @param autoOrder `state_auto_order`: states run as they are written
 */
export async function renderHighstate(
  matches: ReadonlyMap<string, readonly string[]>,
  port: SlsPort,
  autoOrder: boolean,
): Promise<RenderedHigh> {
  return new Rendering(matches, port, autoOrder).all();
}

class Rendering {
  readonly #matches: ReadonlyMap<string, readonly string[]>;
  readonly #port: SlsPort;
  readonly #autoOrder: boolean;
  /** `environment:name` of rendered files. */
  readonly #done = new Set<string>();
  #order = 10_000;

  constructor(matches: ReadonlyMap<string, readonly string[]>, port: SlsPort, autoOrder: boolean) {
    this.#matches = matches;
    this.#port = port;
    this.#autoOrder = autoOrder;
  }

  async all(): Promise<RenderedHigh> {
    const high: HighData = new Map();
    const errors: string[] = [];
    for (const [saltenv, patterns] of this.#matches) {
      const names = await this.#names(saltenv);
      for (const pattern of patterns) {
        if (names === undefined) {
          errors.push(`No matching salt environment for environment '${saltenv}' found`);
        }
        for (const sls of found(names ?? [], pattern)) {
          if (this.#done.has(`${saltenv}:${sls}`)) continue;
          const state = await this.#state(sls, saltenv, 0);
          merge(high, state.data, state.errors);
          const missing = `SLS ${pattern} in saltenv`;
          const unknown = `No matching sls found for '${pattern}' in env '${saltenv}'`;
          errors.push(
            ...state.errors.map((error) =>
              error.includes('is not available') && error.includes(missing) ? unknown : error,
            ),
          );
        }
      }
    }
    cleanExtensions(high);
    return { high, errors };
  }

  async #names(saltenv: string): Promise<readonly string[] | undefined> {
    const known = saltenv === 'base' || (await this.#port.environments()).includes(saltenv);
    return known ? this.#port.names(saltenv) : undefined;
  }

  /** A file with its includes (Salt: render_state). */
  async #state(sls: string, saltenv: string, depth: number): Promise<OneState> {
    const errors: string[] = [];
    const none: OneState = { data: new Map(), errors };
    if (depth > DEPTH_MAX || this.#done.size >= FILES_MAX) {
      const limit = depth > DEPTH_MAX ? `nests deeper than ${DEPTH_MAX}` : `of ${FILES_MAX} files`;
      errors.push(`SLS ${sls} in saltenv ${saltenv} was not rendered: the run ${limit}`);
      return none;
    }
    const rendered = await this.#port.render(sls, saltenv);
    if (rendered === undefined) {
      errors.push(
        `Specified SLS ${sls} in saltenv ${saltenv} is not available on the salt master or ` +
          'through a configured fileserver',
      );
      return none;
    }
    this.#done.add(`${saltenv}:${sls}`);
    if ('error' in rendered) {
      errors.push(`Rendering SLS '${saltenv}:${sls}' failed: ${rendered.error}`);
      return none;
    }
    const data = rendered.value;
    if (!isTruthy(data)) return none;
    if (!isMap(data)) {
      errors.push(`SLS ${sls} does not render to a dictionary`);
      // Salt tries to merge it in any case.
      if (depth === 0) {
        errors.push(`Error when rendering state with contents: ${yamlText(data)}`);
      }
      return none;
    }
    const include = takeInclude(data, sls, errors);
    handleExtend(data, sls, saltenv, errors);
    handleExclude(data, sls, errors);
    handleDeclarations(data, sls, saltenv, errors);
    const place = { sls, saltenv, path: rendered.path, depth };
    for (const item of include) await this.#include(item, place, data, errors);
    this.#setOrder(data);
    return { data, errors };
  }

  async #include(item: SaltValue, place: Place, data: HighData, errors: string[]): Promise<void> {
    const [pair] = isMap(item) ? [...item].slice(-1) : [];
    const env = pair === undefined ? place.saltenv : pyStr(pair[0]);
    const asked = pyStr(pair === undefined ? item : pair[1]);
    const known = env === 'base' || (await this.#port.environments()).includes(env);
    if (!known) {
      // Like Salt, also for the `_xenv` of an environment without a name.
      const at = `${place.saltenv}:${place.sls}`;
      const text = `Nonexistent saltenv '${env}' found in include of '${asked}' within SLS '${at}'`;
      errors.push(text);
      return;
    }
    const name = relative(asked, place);
    if (name === undefined) {
      errors.push(
        `Attempted relative include of '${asked}' within SLS '${place.saltenv}:${place.sls}' ` +
          'goes beyond top level package ',
      );
      return;
    }
    const names = await this.#port.names(env);
    if (!this.#matches.has(env) && !names.some((one) => matchGlob(name, one))) {
      errors.push(
        `Unknown include: Specified SLS ${env}: ${name} is not available on the salt master in ` +
          `saltenv(s): ${env} `,
      );
      return;
    }
    // Like Salt, a pattern is matched in the environment of the including file.
    for (const target of found(await this.#port.names(place.saltenv), name)) {
      if (this.#done.has(`${env}:${target}`)) continue;
      const state = await this.#state(target, env, place.depth + 1);
      for (const [id, body] of state.data) {
        if (!isMap(body) || pyStr(id).startsWith('__')) continue;
        const from = body.get('__sls_included_from__');
        body.set('__sls_included_from__', [...(Array.isArray(from) ? from : []), place.sls]);
      }
      merge(data, state.data, errors);
      errors.push(...state.errors);
    }
  }

  /** `state_auto_order`: states without an order run as they are written. */
  #setOrder(data: HighData): void {
    if (!this.#autoOrder) return;
    for (const body of data.values()) {
      if (!isMap(body)) continue;
      for (const [name, run] of body) {
        if (!Array.isArray(run) || pyStr(name).startsWith('_')) continue;
        const ordered = run.some((arg) => isMap(arg) && [...arg.keys()][0] === 'order');
        if (ordered) continue;
        run.push(new Map([['order', this.#order]]));
        this.#order += 1;
      }
    }
  }
}

interface OneState {
  readonly data: HighData;
  readonly errors: string[];
}

interface Place {
  readonly sls: string;
  readonly saltenv: string;
  readonly path: string;
  readonly depth: number;
}

/** Names that match a pattern, or else the pattern itself. */
function found(names: readonly string[], pattern: string): readonly string[] {
  const matching = names.filter((name) => matchGlob(pattern, name));
  return matching.length > 0 ? matching : [pattern];
}

function takeInclude(data: HighData, sls: string, errors: string[]): readonly SaltValue[] {
  const include = data.get('include');
  if (include === undefined) return [];
  if (Array.isArray(include)) {
    data.delete('include');
    return include;
  }
  errors.push(`Include Declaration in SLS ${sls} is not formed as a list`);
  return [];
}

/** `.a` and `..b` are relative to the including file; undefined above the roots. */
function relative(asked: string, { sls, path }: Place): string | undefined {
  const dots = /^\.+/.exec(asked)?.[0].length ?? 0;
  if (dots === 0) return asked;
  const parts = sls.split('.');
  if (path.endsWith('/init.sls')) parts.push('init');
  if (dots > parts.length) return undefined;
  return [...parts.slice(0, -dots), asked.slice(dots)].join('.');
}

/** Adds the declarations of a file to those of others (Salt: merge_included_states). */
function merge(high: HighData, state: HighData, errors: string[]): void {
  for (const key of ['__extend__', '__exclude__']) {
    const more = state.get(key);
    state.delete(key);
    if (!Array.isArray(more)) continue;
    const present = high.get(key);
    high.set(key, [...(Array.isArray(present) ? present : []), ...more]);
  }
  for (const [id, body] of state) {
    const known = high.get(id);
    if (known !== undefined && !sameValue(known, body)) {
      errors.push(
        'Detected conflicting IDs, SLS IDs need to be globally unique.\n' +
          '    The conflicting ID is ' +
          `'${pyStr(id)}' and is found in SLS '${placeOf(known)}' and SLS '${placeOf(body)}'`,
      );
    }
    high.set(id, body);
  }
}

function placeOf(body: SaltValue): string {
  const map = isMap(body) ? body : new Map<SaltValue, SaltValue>();
  return `${textAt(map, '__env__')}:${textAt(map, '__sls__')}`;
}

/** Removes repeated extensions, which two files may have in common. */
function cleanExtensions(high: HighData): void {
  const extensions = high.get('__extend__');
  if (!Array.isArray(extensions)) return;
  const kept: [SaltValue, SaltValue][] = [];
  for (const extension of extensions) {
    for (const [name, body] of isMap(extension) ? extension : []) {
      const isKnown = kept.some(([other, present]) => other === name && sameValue(present, body));
      if (!isKnown) kept.push([name, body]);
    }
  }
  high.set(
    '__extend__',
    kept.map(([name, body]) => new Map([[name, body]])),
  );
}
