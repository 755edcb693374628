import type { Me, Right } from '@brine/api';
import { isEnabled } from './clients.ts';

/** The kinds of the master's own functions. */
export type MasterKind = 'runner' | 'wheel';

/**
 * Whether to draw what calls a function of the master and waits for it, as `reactor.add`. The
 * master judges each call by itself, with its arguments: what is drawn may be refused all the same.
 */
export function mayCall(me: Me, kind: MasterKind, fun: string): boolean {
  const act = kind === 'runner' ? 'callRunner' : 'callWheel';
  return isEnabled(me, act) && hasRight(me.rights, kind, fun);
}

/** The same for what begins a run, and does not wait for it. */
export function mayBegin(me: Me, kind: MasterKind, fun: string): boolean {
  const act = kind === 'runner' ? 'beginRunner' : 'beginWheel';
  return isEnabled(me, act) && hasRight(me.rights, kind, fun);
}

/** Whether its rights give it a function of the master: what this shows needs no call. */
export function hasRight(rights: readonly Right[], kind: MasterKind, fun: string): boolean {
  const [module = '', name = ''] = fun.split('.');
  return rights.some(({ on, functions }) => {
    if (on === `@${module}`) return functions.some((rule) => matches(rule.fun, name));
    if (on !== `@${kind}` && on !== `@${kind}s`) return false;
    return functions.some((rule) => matches(rule.fun, fun));
  });
}

/** Whether to draw what runs a function on minions: on some of them it may. */
export function mayRun(me: Me, fun: string): boolean {
  return isEnabled(me, 'job') && reaches(me.rights, fun);
}

/** Whether its rights give it a function on some minions, whatever the site has enabled. */
export function reaches(rights: readonly Right[], fun: string): boolean {
  return rightsFor(rights, fun).length > 0;
}

/** The rights by which minions run a function. */
export function rightsFor(rights: readonly Right[], fun: string): readonly Right[] {
  return rights.filter(
    ({ on, functions }) => !on.startsWith('@') && functions.some((rule) => matches(rule.fun, fun)),
  );
}

/** Whether to draw what calls functions of the master at all. */
export function mayReachMaster({ readsAll, rights }: Me, kind: MasterKind): boolean {
  const others = kind === 'runner' ? ['@wheel', '@wheels'] : ['@runner', '@runners'];
  const words = [...others, '@events'];
  return readsAll || rights.some(({ on }) => on.startsWith('@') && !words.includes(on));
}

/** Whether it has a right that is a word of its own, as `@jobs`. */
export function hasWord({ readsAll, rights }: Me, word: '@jobs' | '@events'): boolean {
  return readsAll || rights.some(({ on }) => on === word);
}

/** As the master does: an expression for the begin of a name. */
function matches(expression: string, name: string): boolean {
  try {
    return new RegExp(`^(?:${expression})`, 'u').test(name);
  } catch {
    // Python has expressions that a browser has not: the master answers.
    return true;
  }
}
