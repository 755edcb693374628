import { type Acl, mayPublish } from '@brine/acl';
import type { PublishRequest } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';
import { ALWAYS, coversJob } from './authorise.ts';
import {
  type AskedTarget,
  couldMean,
  type Expected,
  expectedMinions,
  pillarTermsOf,
} from './expected-minions.ts';

/** Words of a target, and characters of each text in it: each costs a look at every minion. */
const WORDS_MAX = 1_000;
const TEXT_MAX = 1_048_576;
/** Nodegroups that a target names; each may be long. */
const GROUPS_MAX = 50;

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Whom a job is expected at, where a list of rights covers it; undefined where it does not. For
 * all who are not the master's own user: users, tokens, minions, and whoever they have runners for.
 *
 * By a target that asks what is in pillars they could find that out, so such a target means one
 * value or nothing (Salt: `pillar_exact`), and is covered only where all are that it could mean:
 * the answer is the same then, right or wrong. The very words of his own rights anybody may use.
 * What costs nothing is looked at first.
 *
 * @param always functions that need no right
 */
export async function expectedWithin(
  ports: MasterPorts,
  acl: Acl,
  asked: Pick<PublishRequest, 'fun' | 'arg'> & AskedTarget,
  always: ReadonlySet<string> = ALWAYS,
): Promise<Expected | undefined> {
  const nowhere = { minions: [], beyond: false, matching: () => NOBODY };
  if (!mayPublish(acl, asked, nowhere, always)) return undefined;
  if (!isBounded(asked)) {
    ports.count('target_too_large');
    return undefined;
  }
  const { terms, inexact } = pillarTermsOf(ports, asked);
  if (terms.length === 0) {
    const expected = await expectedMinions(ports, asked);
    return (await coversJob(ports, acl, asked, expected.minions, always)) ? expected : undefined;
  }
  const own = ownTerms(ports, acl);
  if (inexact.some((term) => !own.has(term))) {
    ports.count('target_guesses_pillars');
    return undefined;
  }
  const spared = new Set(terms.filter((term) => own.has(term)));
  const minions = await couldMean(ports, asked, spared);
  // Whatever needs no right needs one to ask about pillars.
  if (!(await coversJob(ports, acl, asked, minions, NOBODY))) return undefined;
  return expectedMinions(ports, asked);
}

/** The pillar terms that stand in the rights themselves. */
function ownTerms(ports: MasterPorts, acl: Acl): ReadonlySet<string> {
  return new Set(
    acl.flatMap((entry) =>
      entry.kind === 'on'
        ? pillarTermsOf(ports, { tgt: entry.target, tgtType: 'compound' }).terms
        : [],
    ),
  );
}

function isBounded({ tgt, tgtType }: AskedTarget): boolean {
  const texts = typeof tgt === 'string' ? [tgt] : tgt;
  if (texts.some((text) => text.length > TEXT_MAX)) return false;
  // The ids of a list are looked up, each once.
  if (typeof tgt !== 'string' && !tgtType.toLowerCase().startsWith('compound')) return true;
  const words = texts.flatMap((text) => text.split(/\s+/, WORDS_MAX + 1));
  return words.length <= WORDS_MAX && words.filter((word) => /^N@/.test(word)).length <= GROUPS_MAX;
}
