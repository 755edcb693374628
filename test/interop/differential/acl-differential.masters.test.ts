import { join } from 'node:path';
import { type AclEntry, grantedTo, mayCall, mayPublish, publisherAcl, readAcl } from '@brine/acl';
import { checkMinions } from '@brine/target';
import type { SaltMap } from '@brine/wire';
import { fromJson } from '@brine/wire/text';
import { beforeAll, expect, it } from 'vitest';
import { askSalt } from './target-oracle.ts';

const ORACLE = join(import.meta.dirname, 'acl-oracle.py');
const ACCEPTED = ['web1', 'web2', 'db1', 'cache-1'];
const CASES = 1500;

/** The same questions in every run (Park and Miller's generator). */
let state = 20261122;
const random = (below: number): number => {
  state = (state * 48271) % 2147483647;
  return state % below;
};
const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
const some = <T>(make: () => T, most: number): T[] =>
  Array.from({ length: random(most + 1) }, make);

const FUNS = [
  'test.ping',
  'test.arg',
  'cmd.run',
  'state.apply',
  'saltutil.find_job',
  'jobs.active',
];
const CALLS = ['jobs.active', 'jobs.list_jobs', 'manage.up', 'key.list_all', 'jobs', 'a.b.c'];
const EXPRESSIONS = [
  'test.*',
  '.*',
  'test.ping',
  'test',
  'cmd\\.run$',
  'ping',
  '(broken',
  'list_.*',
];
const EVERYWHERE = [...EXPRESSIONS, '@runner', '@runners', '@wheel', '@jobs', '@key', 'jobs.*'];
const TARGETS = ['*', 'web*', 'web1', 'db1 or web2', 'L@web1,web2', 'E@web.', '@runner', '@jobs'];
const VALUES = ['a', 'abc', 3, true, null, 1.5];
const argument = (): unknown => pick(['a', 'a.*', '3', 'True', 'None', null]);

function functionRule(): unknown {
  if (random(3) > 0) return pick(EXPRESSIONS);
  const limits = {
    ...(random(2) > 0 ? { args: some(argument, 2) } : {}),
    ...(random(2) > 0 ? { kwargs: { k: argument() } } : {}),
  };
  return { [pick(EXPRESSIONS)]: random(4) > 0 ? limits : [limits, { args: ['abc'] }] };
}

function entry(): unknown {
  if (random(2) > 0) return pick(EVERYWHERE);
  const rules = some(functionRule, 3);
  if (random(9) === 0) return { 'web*': rules, 'db*': rules };
  return { [pick(TARGETS)]: random(5) === 0 ? pick(EXPRESSIONS) : rules };
}

function args(): unknown[] {
  const given: unknown[] = some(() => pick(VALUES), 3);
  if (random(3) === 0) given.push({ __kwarg__: true, k: pick(VALUES) });
  return given;
}

const jobs = Array.from({ length: CASES }, () => {
  const tgt = pick(['*', 'web*', 'web1', 'db1', 'w?b2', 'nobody']);
  const [fun, arg, acl] = [pick(FUNS), args(), some(entry, 3)];
  const minions = [...reached(tgt, 'glob')];
  return { ask: 'publish', acl, fun, arg, tgt, minions, accepted: ACCEPTED };
});
const calls = Array.from({ length: CASES }, () => {
  const given = pick([{}, { arg: args() }, { arg: args(), kwarg: { k: pick(VALUES) } }]);
  const form = pick(['runner', 'wheel'] as const);
  return { ask: 'call', acl: some(entry, 3), fun: pick(CALLS), given, form };
});
const users = Array.from({ length: 400 }, () => {
  const keys = ['fred', 'anne', 'ops%', 'dev%', 'dev-[0-9]', '*', 'dev-.', 'root'];
  const rights = Object.fromEntries(
    some(() => [pick(keys), [`${pick(EXPRESSIONS)}${random(9)}`]] as const, 5),
  );
  const groups = some(() => pick(['ops', 'dev', 'x']), 2);
  return random(2) > 0
    ? { ask: 'granted', provider: rights, name: pick(['fred', 'anne', 'ops', 'dev-1']), groups }
    : { ask: 'local', acl: rights, name: pick(['fred', 'ops', 'dev-1', '*', 'root']), groups };
});

/** What Salt says to all of them, from one process. */
let salt: readonly unknown[] = [];
beforeAll(async () => {
  salt = await askSalt([...jobs, ...calls, ...users], ORACLE);
}, 300_000);

it(`judges ${CASES} jobs as Salt 3008 does`, () => {
  const judged = jobs.map(({ acl, fun, arg, minions }) => {
    const given = arg.map(fromJson);
    const reach = { minions, beyond: false, matching: (target: string) => reached(target) };
    return mayPublish(readAcl(acl), { fun, arg: given }, reach, new Set(['saltutil.find_job']));
  });
  compare(jobs, judged, salt.slice(0, CASES));
  expect(judged.filter(Boolean).length).toBeGreaterThan(CASES / 5);
});

it(`judges ${CASES} calls of runners and wheels as Salt 3008 does`, () => {
  const judged = calls.map(({ acl, fun, given, form }) => {
    const { arg = [], kwarg = {} } = given as { arg?: unknown[]; kwarg?: Record<string, unknown> };
    const kwargs = fromJson(kwarg) as SaltMap;
    return mayCall(readAcl(acl), { kind: form, fun, args: arg.map(fromJson), kwargs });
  });
  compare(calls, judged, salt.slice(CASES, 2 * CASES));
  expect(judged.filter((one) => one === true).length).toBeGreaterThan(CASES / 20);
});

it('gives each user the rights that Salt 3008 gives', () => {
  const judged = users.map(({ ask, provider, acl, name, groups }) =>
    expressions(
      ask === 'granted' ? grantedTo(provider, name, groups, false) : publisherAcl(acl, name),
    ),
  );
  const theirs = salt.slice(2 * CASES).map((one) => [...(one as string[])].sort());
  compare(users, judged, theirs);
});

function expressions(acl: readonly AclEntry[]): string[] {
  return acl.map((one) => (one.kind === 'everywhere' ? one.expression : one.target)).sort();
}

function reached(tgt: string, tgtType = 'compound'): Set<string> {
  const view = {
    accepted: new Set(ACCEPTED),
    grains: () => undefined,
    pillar: () => undefined,
    nodegroups: {},
    cacheless: 'drop',
  } as const;
  return new Set(checkMinions({ tgt, tgtType }, view).minions);
}

function compare(
  questions: readonly unknown[],
  ours: readonly unknown[],
  salts: readonly unknown[],
): void {
  const differences = questions.flatMap((question, at) => {
    // What raises an error there is refused here, and unreadable rules grant nothing.
    const theirs = JSON.stringify(salts[at] ?? null);
    const same = JSON.stringify(ours[at]) === theirs;
    const refused = theirs.startsWith('{"raised"') || theirs === '"misspelt"';
    return same || (refused && ours[at] === false)
      ? []
      : [{ question, ours: ours[at], salt: salts[at] }];
  });
  expect(differences.slice(0, 3)).toEqual([]);
}
