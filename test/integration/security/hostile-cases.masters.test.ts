import { authLoad } from '@brine/testing/peers';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sealedLoad } from '../../../tools/request-table/aes-frames.ts';
import type { AttackedMaster } from './attacked-master.ts';
import {
  ask,
  clearRaw,
  jobIsStored,
  sealedBy,
  SECRET,
  sendSealed,
  startBesieged,
} from './hostile/besieged-master.ts';
import { CLEAR_LOADS, FORGED_TAGS, SEALED_LOADS } from './hostile/loads.ts';
import { HOSTILE, withField } from './hostile/texts.ts';

/*
 * A set of attacks over the wire to one whole master: strangers, limited users and minions. Each
 * case gets an answer that is no fault of ours; after each group a job is published, returned and
 * stored.
 */

/** What a master answers when something broke that it had not thought of. */
const FAULT = /Some exception handling/;
const ANNE = { eauth: 'file', username: 'anne', password: 'secret of anne' };

let it: AttackedMaster;
const storedAfterMs: number[] = [];

beforeAll(async () => {
  it = await startBesieged();
});
afterAll(async () => {
  const slowest = Math.max(...storedAfterMs).toFixed(0);
  process.stdout.write(
    `a job after each of ${storedAfterMs.length} groups: ${slowest} ms at most\n`,
  );
  await it?.close();
});

const cases = (loads: typeof CLEAR_LOADS) =>
  loads.flatMap(({ cmd, fields, hostile }) =>
    hostile.map((field) => ({ cmd, field, load: mapOf({ cmd, ...fields }) })),
  );

describe('hostile texts', () => {
  afterEach(async () => void storedAfterMs.push(await jobIsStored(it)));

  const callers: readonly [string, () => Readonly<Record<string, SaltValue>>][] = [
    ['a stranger', () => ({})],
    ['root', () => ({ key: it.rootKey, user: 'root' })],
  ];
  for (const [who, credentials] of callers) {
    test.each(cases(CLEAR_LOADS))(`of ${who}: $cmd with $field`, async ({ field, load }) => {
      const outcomes: string[] = [];
      for (const [name, text] of Object.entries(HOSTILE)) {
        const good: SaltMap = new Map([...load, ...mapOf(credentials())]);
        outcomes.push(`${name}: ${await clearRaw(it, withField(good, field, text))}`);
      }
      expect(outcomes.filter((outcome) => FAULT.test(outcome))).toEqual([]);
    });
  }

  const AUTH = 'id pub nonce enc_algo sig_algo token aes traceparent version x'.split(' ');
  test.each(AUTH)('of a stranger: _auth with %s', async (field) => {
    for (const text of Object.values(HOSTILE)) {
      const load = withField(authLoad({ id: 'stranger', key: it.a.key }), field, text);
      // Signed, or Salt's text for a log-in that can not be read.
      expect(await clearRaw(it, load)).toMatch(/^signed|^clear /);
    }
  });

  test.each(cases(SEALED_LOADS))('of a minion: $cmd with $field', async ({ cmd, field, load }) => {
    for (const text of Object.values(HOSTILE)) {
      const fresh = sealedLoad(it.a, cmd, {});
      for (const [name, value] of load) fresh.set(name, value);
      // Whatever it is: an answer. A fault answers an empty text, as a stock master's does.
      expect(await sendSealed(it.a, withField(fresh, field, text))).toMatch(/^sealed|^a pillar/);
    }
  });
});

test('no request of these met a fault of a worker', async () => {
  expect(await it.master.log()).not.toMatch('could not answer a request');
});

describe('guesses at what another minion keeps', () => {
  const targets = (guess: string): readonly [string, string, string][] => [
    ['pillar', `secret:${guess}`, ''],
    ['pillar', `secret:${guess.slice(0, 3)}*`, ''],
    ['pillar', `deep:er:${guess}`, ''],
    ['pillar_exact', `secret:${guess.slice(0, 3)}*`, ''],
    ['pillar_pcre', `secret:${guess.slice(0, 3)}.*`, ''],
    ['pillar_pcre', `secret:(?i)${guess}`, ''],
    ['PILLAR_PCRE', `secret:${guess.slice(0, 3)}.*`, ''],
    ['Pillar', `secret:${guess.slice(0, 3)}*`, ''],
    ['compound', `J@secret:${guess.slice(0, 3)}.*`, ''],
    ['compound', `not J@secret:${guess.slice(0, 3)}.*`, ''],
    ['compound', `* and not J@secret:${guess.slice(0, 3)}.*`, ''],
    ['compound', `( a or ( b and J@secret:${guess.slice(0, 3)}.* ) )`, ''],
    ['compound', `b and not I@secret:${guess.slice(0, 3)}*`, ''],
    ['compound', `I@secret:${guess.slice(0, 3)}*`, ''],
    ['compound', `not ( b and I@secret:${guess.slice(0, 3)}* )`, ''],
    ['compound', `G@os:Debian and J@deep:er:${guess.slice(0, 3)}.*`, ''],
    ['compound', `J|@secret|${guess.slice(0, 3)}.*`, ''],
    ['compound_pillar_exact', `J@secret:${guess.slice(0, 3)}.*`, ''],
  ];
  const right = targets(SECRET);
  const wrong = targets('qwertyuio-9');
  const pairs = right.map((one, n) => ({ type: one[0], yes: one[1], no: wrong[n]![1] }));
  // A guess at the whole value is what Salt's own exact rule answers.
  const guessed = pairs.filter(({ yes }) => !yes.endsWith(SECRET));

  test.each(guessed)('by the mine: $type $yes', async ({ type, yes, no }) => {
    const asked = async (tgt: string): Promise<string[]> => [
      await sealedBy(it.a, '_mine_get', { tgt, fun: 'test.ping', tgt_type: type }),
      await sealedBy(it.a, '_mine_get', { tgt, fun: 'test.ping', expr_form: type }),
    ];
    expect(await asked(yes)).toEqual(await asked(no));
  });

  test.each(guessed)('by a job for others: $type $yes', async ({ type, yes, no }) => {
    const asked = async (tgt: string): Promise<string[]> => {
      const job = { tgt, fun: 'test.ping', arg: [], ret: '' };
      return [
        await sealedBy(it.a, 'minion_pub', { ...job, tgt_type: type }),
        await sealedBy(it.a, 'minion_pub', { ...job, expr_form: type }),
        await sealedBy(it.a, 'minion_publish', { ...job, tgt_type: type, tmo: 0 }),
      ].map((outcome) => outcome.replaceAll(/\d{20}/g, '<jid>'));
    };
    expect(await asked(yes)).toEqual(await asked(no));
  });

  test.each(guessed)('by a user without rights there: $type $yes', async ({ type, yes, no }) => {
    const asked = (tgt: string): Promise<string> =>
      clearRaw(
        it,
        mapOf({
          cmd: 'publish',
          fun: 'cmd.run',
          tgt,
          tgt_type: type,
          arg: [],
          ret: '',
          jid: '',
          kwargs: mapOf(ANNE),
        }),
      );
    expect(await asked(yes)).toEqual(await asked(no));
  });
});

describe('forged events', () => {
  const data = mapOf({ id: 'a', x: 1 });
  const forms: Readonly<Record<string, (tag: string) => Readonly<Record<string, SaltValue>>>> = {
    single: (tag) => ({ tag, data, pretag: null }),
    list: (tag) => ({ events: [mapOf({ tag, data })], pretag: null }),
    'with a pretag': (tag) => {
      const [head = '', ...rest] = tag.split('/');
      return { events: [mapOf({ tag: rest.join('/'), data })], pretag: head };
    },
  };
  const forged = Object.keys(forms).flatMap((form) => FORGED_TAGS.map((tag) => ({ form, tag })));

  test.each(forged)('$form: $tag is not fired', async ({ form, tag }) => {
    const before = it.heard.length;
    await sealedBy(it.a, '_minion_event', forms[form]!(tag));
    // Of a master that let it pass it would come before this one.
    const after = `my/after/${before}/${form.length}`;
    await sealedBy(it.a, '_minion_event', { tag: after, data, pretag: null });
    await expect.poll(() => it.heard.includes(after)).toBe(true);
    expect(it.heard.slice(before)).not.toContain(tag);
  });

  test('what a minion does say of itself passes', async () => {
    const own = ['salt/minion/a/start', 'salt/beacon/a/load/', 'my/own', 'deploy/done'];
    for (const tag of own) await sealedBy(it.a, '_minion_event', { tag, data, pretag: null });
    await expect.poll(() => own.filter((tag) => !it.heard.includes(tag))).toEqual([]);
  });
});

describe('work without end', () => {
  afterEach(async () => void storedAfterMs.push(await jobIsStored(it)));

  const deep = (head: string, tail: string, n: number): string => head.repeat(n) + tail.repeat(n);
  const HARD: readonly [string, string][] = [
    ['pcre', '(a|a)*b'],
    ['pcre', '(a|ab|b)*(a|ab|b)*(a|ab|b)*c'],
    ['pcre', '(?=(a|a)*b)x'],
    ['pcre', `${'(?:a?)'.repeat(40)}${'a'.repeat(40)}`],
    ['pcre', '((a{1,30}){1,30}){1,30}(?!x)b'],
    ['pcre', '(.*)(.*)(.*)(.*)\\1\\2\\3\\4x'],
    ['pcre', deep('(', ')*', 2_000)],
    ['pcre', '[a-z]{1,1000}{1,1000}'],
    ['glob', '*a'.repeat(5_000)],
    ['glob', '['.repeat(50_000)],
    ['list', 'a,'.repeat(100_000)],
    ['compound', deep('( ', ' )', 20_000)],
    ['compound', 'a or '.repeat(50_000) + 'b'],
    ['compound', 'not '.repeat(50_000) + 'b'],
    ['compound', 'E@(a|a)*b or '.repeat(500) + 'b'],
    ['grain', `${'os:'.repeat(20_000)}x`],
    ['grain_pcre', 'os:(D|D|De)*(b|e)*(?=x)y'],
    ['pillar', `${'deep:'.repeat(20_000)}x`],
    ['ipcidr', '1.2.3.4/'.repeat(10_000)],
    ['nodegroup', 'guess'],
    ['range', '%'.repeat(10_000)],
  ];

  test.each(HARD)('a target of a minion: %s %.40s', async (tgtType, tgt) => {
    const fields = { tgt, tgt_type: tgtType, fun: 'test.ping' };
    await sealedBy(it.a, '_mine_get', fields);
    await sealedBy(it.a, 'minion_pub', { ...fields, arg: [], ret: '' });
    const guest = mapOf({
      __data__: 1,
      __saltmine_acl__: 1,
      allow_tgt: tgt,
      allow_tgt_type: tgtType,
    });
    await sealedBy(it.b, '_mine', { data: mapOf({ hard: guest }) });
    await sealedBy(it.a, '_mine_get', { tgt: '*', fun: 'hard', tgt_type: 'glob' });
  });

  test.each(HARD)('a target of a user: %s %.40s', async (tgtType, tgt) => {
    const job = { fun: 'test.ping', tgt, tgt_type: tgtType, arg: [], ret: '', jid: '' };
    await ask(it, { cmd: 'publish', ...job, kwargs: mapOf(ANNE) });
    await ask(it, { cmd: 'publish', ...job, kwargs: mapOf({ eauth: 'file', username: 'x' }) });
  });

  const YAML: Readonly<Record<string, string>> = {
    aliases: Array.from({ length: 40 }, (_, n) => `x${n}: &x${n} [*x${n - 1},*x${n - 1}]`)
      .join('\n')
      .replace('[*x-1,*x-1]', '[1]'),
    'plain keys': Array.from({ length: 60_000 }, (_, n) => `k${n}: 1`).join('\n'),
    nested: '['.repeat(50_000),
    'flow keys': `{${'a: {'.repeat(10_000)}`,
    quotes: `"${'\\x41'.repeat(50_000)}`,
    merge: `a: &a {b: 1}\nc:\n${'  <<: *a\n'.repeat(20_000)}`,
  };
  test.each(Object.entries(YAML))('arguments in YAML: %s', async (_name, text) => {
    const job = { fun: 'test.ping', tgt: 'a', ret: '', tgt_type: 'glob' };
    await sealedBy(it.a, 'minion_pub', { ...job, arg: [text] });
    await sealedBy(it.a, 'minion_runner', { fun: 'test.arg', arg: [text] });
  });
});
