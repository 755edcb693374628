import type { Refs } from '@brine/git';
import { compileGlob, matchPcreWhole } from '@brine/target';
import type { RefType, RemoteConfig } from './remote-config.ts';

const HEX = /^[0-9a-fA-F]+$/;

/** True for a text that may be the id of a commit. */
export function isHex(text: string): boolean {
  return HEX.test(text);
}

/** The environments that a remote shows (salt/utils/gitfs.py `_get_envs_from_ref_paths`). */
export function environmentsOf(remote: RemoteConfig, refs: Refs): string[] {
  const envs = new Set<string>();
  const byRef = envsByRef(remote);
  if (isHex(remote.base)) envs.add('base');
  const names = [
    ...(remote.refTypes.includes('branch') ? refs.branches.keys() : []),
    ...(remote.refTypes.includes('tag') ? refs.tags.keys() : []),
  ];
  for (const name of names) {
    const mapped = byRef.get(name);
    if (mapped !== undefined) mapped.forEach((env) => envs.add(env));
    else if (name === remote.base) envs.add('base');
    else if (!remote.disableSaltenvMapping) envs.add(name);
  }
  for (const mapped of byRef.values()) mapped.forEach((env) => envs.add(env));
  return [...envs].filter((env) => isExposed(remote, env)).sort();
}

function envsByRef({ saltenvs }: RemoteConfig): Map<string, string[]> {
  const byRef = new Map<string, string[]>();
  for (const [env, { ref }] of Object.entries(saltenvs)) {
    if (ref !== undefined) byRef.set(ref, [...(byRef.get(ref) ?? []), env]);
  }
  return byRef;
}

/** True if the white and black lists allow an environment; names, globs or expressions. */
export function isExposed(remote: RemoteConfig, env: string): boolean {
  const { saltenvWhitelist: white, saltenvBlacklist: black } = remote;
  const matches = (expression: string): boolean =>
    compileGlob(expression)(env) || matchPcreWhole(expression, env);
  return !black.some(matches) && (white.length === 0 || white.some(matches));
}

/** The ref of an environment, or undefined. */
export function refOf(remote: RemoteConfig, env: string): string | undefined {
  if (remote.allSaltenvs !== undefined) return remote.allSaltenvs;
  if (env === 'base') return remote.base;
  const own = Object.hasOwn(remote.saltenvs, env) ? remote.saltenvs[env]?.ref : undefined;
  return own ?? (remote.disableSaltenvMapping ? undefined : env);
}

/** A path of the remote in an environment: its own, else that of the remote. */
export function placeOf(remote: RemoteConfig, env: string, what: 'root' | 'mountpoint'): string {
  const own = Object.hasOwn(remote.saltenvs, env) ? remote.saltenvs[env]?.[what] : undefined;
  return own ?? remote[what];
}

/** The commit of a ref, in the order of `ref_types`; a full commit id stands for itself. */
export function commitOf(types: readonly RefType[], refs: Refs, ref: string): string | undefined {
  for (const type of types) {
    const found =
      type === 'branch' ? refs.branches.get(ref) : type === 'tag' ? refs.tags.get(ref) : undefined;
    if (found !== undefined) return found;
    if (type === 'sha' && /^[0-9a-fA-F]{40}$/.test(ref)) return ref.toLowerCase();
  }
  return undefined;
}
