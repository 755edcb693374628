import type { SaltMap } from '@brine/wire';
import { isTruthy } from '@brine/wire/text';
import type { Requisite } from '../compile/requisites.ts';
import { type Chunk, tagOf } from '../values.ts';

/** The verdict of the requisites of a state (Salt: State._check_requisites). */
export type Status =
  | 'unmet'
  | 'pending'
  | 'fail'
  | 'skip_req'
  | 'skip_watch'
  | 'met'
  | 'pre'
  | 'onfail'
  | 'onchanges'
  | 'change';

/** States that a state depends on, by kind. */
export type Requirements = ReadonlyMap<Requisite, readonly Chunk[]>;

/** Results of the states of one requisite, as facts. */
type Fact =
  | 'unmet'
  | 'skip_req'
  | 'onfail'
  | 'fail'
  | 'onchanges'
  | 'onchangesmet'
  | 'change'
  | 'premet'
  | 'pre'
  | 'met';

/**
 * Judges the requisites of a state.
 * @param running results by tag
 * @param tested results of the tests that prereqs asked for
 * @param pending a parallel state among them still runs
 */
export function statusOf(
  requirements: Requirements,
  running: ReadonlyMap<string, SaltMap>,
  tested: ReadonlyMap<string, SaltMap>,
  pending: boolean,
): Status {
  const facts = new Set<Fact>();
  for (const [kind, chunks] of requirements) {
    const results = kind === 'prereq' ? tested : running;
    for (const fact of factsOf(kind, chunks, results, pending)) facts.add(fact);
  }
  return decide(facts, pending);
}

function factsOf(
  kind: Requisite,
  chunks: readonly Chunk[],
  results: ReadonlyMap<string, SaltMap>,
  pending: boolean,
): Set<Fact> {
  const base = kind.replace(/_any$|_all$/, '');
  const facts = new Set<Fact>();
  for (const chunk of chunks) {
    const ret = results.get(tagOf(chunk));
    if (ret === undefined) facts.add('unmet');
    else if (!pending) for (const fact of factsOfOne(base, ret)) facts.add(fact);
  }
  if (kind.endsWith('_any') || kind === 'onfail') {
    if (facts.has('met') || facts.has('change')) facts.delete('fail');
    if (facts.has('onchangesmet')) {
      facts.delete('onchanges');
      facts.delete('fail');
    }
    if (facts.has('met')) facts.delete('onfail');
  }
  if (kind.endsWith('_all') && facts.has('onfail')) facts.delete('met');
  return facts;
}

function factsOfOne(base: string, ret: SaltMap): Fact[] {
  const result = ret.get('result') ?? null;
  const skipped: Fact[] = isTruthy(ret.get('skip_req')) ? ['skip_req'] : [];
  const changed = isTruthy(ret.get('changes'));
  // For onchanges a failed state is a state without changes, since Salt 3006.28.
  if (base === 'onchanges') {
    return [...skipped, changed && result !== false ? 'onchangesmet' : 'onchanges'];
  }
  if (base === 'onfail') {
    if (result === true) return [...skipped, 'onfail'];
  } else if (result === false) return [...skipped, 'fail'];
  if (base === 'watch' && changed) return [...skipped, 'change'];
  if (base === 'prereq') return [...skipped, result === null ? 'premet' : 'pre'];
  const ran = ret.get('__state_ran__');
  return ran === undefined || isTruthy(ran) ? [...skipped, 'met'] : skipped;
}

function decide(facts: ReadonlySet<Fact>, pending: boolean): Status {
  if (facts.has('unmet')) return 'unmet';
  if (pending) return 'pending';
  if (facts.has('fail')) return 'fail';
  if (facts.has('skip_req')) {
    if (facts.has('onchangesmet') || facts.has('premet')) return 'skip_req';
    if (facts.has('change')) return 'skip_watch';
  }
  if (facts.has('pre')) return facts.has('premet') ? 'met' : 'pre';
  if (!facts.has('onchangesmet')) {
    if (facts.has('onfail')) return 'onfail';
    if (facts.has('onchanges')) return 'onchanges';
  }
  if (facts.has('change')) return 'change';
  return facts.has('onfail') ? 'onfail' : 'met';
}
