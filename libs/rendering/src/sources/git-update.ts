import type { GitSettings } from '@brine/git';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { fetchNow } from './git-checkouts.ts';

/** Which remotes are meant: those of a branch, and of a URL or name; null: any. */
export interface AskedRemotes {
  readonly branch: string | null;
  readonly repo: string | null;
}

/**
 * Fetches the remotes of all git pillars of `ext_pillar` now (salt/runners/git_pillar.py): by
 * the text of each true where something came, null where not, false where it failed, which is
 * logged.
 * @param preset the branch of a remote that names none
 */
export function updateGitPillars(
  extPillar: SaltValue,
  preset: string,
  asked: AskedRemotes,
  settings: GitSettings,
): SaltMap {
  const found: SaltMap = new Map();
  for (const entry of Array.isArray(extPillar) ? extPillar : []) {
    const remotes = isMap(entry) ? entry.get('git') : undefined;
    for (const { id, url, branch, name } of remotesIn(remotes ?? [], preset)) {
      if (asked.branch !== null && asked.branch !== branch) continue;
      if (asked.repo !== null && asked.repo !== url && asked.repo !== name) continue;
      try {
        found.set(id, fetchNow(url, settings) ? true : null);
      } catch (error) {
        settings.log('error', `git_pillar: ${url} was not fetched: ${(error as Error).message}`);
        found.set(id, false);
      }
    }
  }
  return found;
}

function remotesIn(remotes: SaltValue, preset: string) {
  const list = Array.isArray(remotes) ? remotes : [remotes];
  const pairs = list.flatMap((remote): [string, SaltValue][] =>
    isMap(remote) ? [...remote].map(([id, own]) => [pyStr(id), own]) : [[pyStr(remote), null]],
  );
  return pairs.map(([id, own]) => {
    const [first = '', second] = id.trim().split(/\s+/);
    const options = (Array.isArray(own) ? own : [own]).filter(isMap);
    const name = options.find((map) => map.has('name'))?.get('name');
    return {
      id,
      url: second ?? first,
      branch: second === undefined ? preset : first,
      name: name === undefined ? undefined : pyStr(name),
    };
  });
}
