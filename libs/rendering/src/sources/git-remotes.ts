import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';

/** A remote of `ext_pillar: git`. */
export interface GitPillarRemote {
  readonly url: string;
  /** Branches or tags; the first that exists is used. */
  readonly refs: readonly string[];
  /** Refs that the master's own file names: these may be ids of commits too. */
  readonly ownRefs: readonly string[];
  /** Environment of the pillar from its files. */
  readonly env: string;
  /** Directory of the repository. */
  readonly root: string;
}

/** Defaults of all remotes (`git_pillar_…`). */
export interface GitPillarDefaults {
  readonly base: string;
  readonly branch: string;
  readonly env: string;
  readonly fallback: string;
  readonly root: string;
}

/** Options that a remote may have; others are refused. */
const KNOWN = ['base', 'env', 'fallback', 'root', 'name', 'all_saltenvs', 'mountpoint'];

/**
 * Reads the remotes of a git pillar for a minion that asked for `asked` (pillarenv, or else
 * saltenv), as salt/utils/gitfs.py GitPillar.checkout does.
 * @throws Error for a remote that is no text `<branch> <url>`, or has an unsupported option
 */
export function gitPillarRemotes(
  args: SaltValue,
  defaults: GitPillarDefaults,
  asked: string | null,
): GitPillarRemote[] {
  const list = Array.isArray(args) ? args : [args];
  if (!list.every((entry) => typeof entry === 'string' || isMap(entry))) {
    throw new Error('a remote of git_pillar is neither text nor map');
  }
  return entriesOf(args).map(([text, own]) => remoteOf(text, ownOptions(own), defaults, asked));
}

/** A remote of the master's file, as `git_pillar.update` chooses and shows it. */
interface NamedRemote {
  /** The text of its entry. */
  readonly id: string;
  readonly url: string;
  readonly branch: string;
  readonly name: string | undefined;
}

/**
 * The remotes of all git pillars of `ext_pillar`.
 * @param preset the branch of a remote that names none
 */
export function remotesOf(extPillar: SaltValue, preset: string): NamedRemote[] {
  const pillars = (Array.isArray(extPillar) ? extPillar : []).filter(isMap);
  const entries = pillars.flatMap((pillar) => entriesOf(pillar.get('git') ?? []));
  return entries.map(([id, own]) => {
    const name = optionMaps(own)
      .find((map) => map.has('name'))
      ?.get('name');
    return { id, ...placeOf(id, preset), name: name === undefined ? undefined : pyStr(name) };
  });
}

/** Texts `<branch> <url>` or `<url>`, each with the options of its remote. */
function entriesOf(args: SaltValue): [string, SaltValue][] {
  const list = Array.isArray(args) ? args : [args];
  return list.flatMap((entry): [string, SaltValue][] =>
    isMap(entry) ? [...entry].map(([text, own]) => [pyStr(text), own]) : [[pyStr(entry), null]],
  );
}

function placeOf(text: string, preset: string): { readonly branch: string; readonly url: string } {
  const [first = '', second] = text.trim().split(/\s+/);
  return second === undefined ? { branch: preset, url: first } : { branch: first, url: second };
}

function optionMaps(own: SaltValue): SaltMap[] {
  return (Array.isArray(own) ? own : [own]).filter(isMap);
}

function ownOptions(given: SaltValue): SaltMap {
  const all: SaltMap = new Map(optionMaps(given).flatMap((map) => [...map]));
  for (const name of all.keys()) {
    if (!KNOWN.includes(pyStr(name))) {
      throw new Error(`git_pillar: the option ${pyStr(name)} of a remote is not served`);
    }
  }
  return all;
}

function remoteOf(
  text: string,
  given: SaltMap,
  defaults: GitPillarDefaults,
  asked: string | null,
): GitPillarRemote {
  const { branch, url } = placeOf(text, defaults.branch);
  const option = (name: keyof GitPillarDefaults): string => {
    const value = given.get(name);
    return value === undefined || value === null ? defaults[name] : pyStr(value);
  };
  if (given.has('mountpoint') && given.get('mountpoint') !== 'salt://') {
    throw new Error('git_pillar: mountpoint is not served');
  }
  const base = option('base');
  const everywhere = given.get('all_saltenvs');
  const ofMinion = asked === null || asked === '' || asked === 'base' ? base : asked;
  const wanted =
    branch !== '__env__' ? branch : everywhere === undefined ? ofMinion : pyStr(everywhere);
  const named = option('env');
  const all = branch === '__env__' && everywhere !== undefined;
  const env = all ? (asked ?? 'base') : named !== '' ? named : wanted === base ? 'base' : wanted;
  const fallback = option('fallback');
  const ownRefs = [
    ...(branch === '__env__' && everywhere === undefined ? [base] : [wanted]),
    ...(fallback === '' ? [] : [fallback]),
  ];
  return {
    url,
    refs: [wanted, ...(fallback === '' ? [] : [fallback])],
    ownRefs,
    env,
    root: option('root').replace(/^\/+/, ''),
  };
}
