import { expect, test } from 'vitest';
import { masterOptions } from '../options/master.ts';
import { minionOptions } from '../options/minion.ts';
import { masterStandings } from '../standings/master.ts';
import { explainOption } from './explain.ts';
import { masterReference, minionReference, optionsIn, unreadReference } from './reference.ts';

test('each option of the master is in exactly one group', () => {
  const grouped = masterReference().flatMap(({ options }) => options.map(({ name }) => name));
  const all = optionsIn(masterOptions).map(([name]) => name);
  expect(grouped.toSorted()).toEqual(all.toSorted());
});

test('each option, also one that is not read, can be explained', () => {
  for (const [name, option] of optionsIn(masterOptions)) {
    const { known, text } = explainOption(name);
    expect(known).toBe(true);
    expect(text).toContain(`${name}\n`);
    expect(text).toContain(option.doc);
  }
  for (const [name] of optionsIn(minionOptions)) expect(explainOption(name).known).toBe(true);
  for (const name of Object.keys(masterStandings)) {
    expect(explainOption(name).text).toMatch(/Not in force: |In force in part: |Not needed: /);
  }
});

test('texts of options are one to four short sentences', () => {
  const options = [...masterReference().flatMap((group) => group.options), ...minionReference()];
  const bad = options.filter(({ meaning }) => !/^[A-Z`].*\.$/.test(meaning));
  expect(bad.map(({ name }) => name)).toEqual([]);
  const sentences = options.flatMap(({ name, meaning }) =>
    meaning.split(/(?<=[.;:]) /).map((text) => ({ name, words: text.split(' ').length })),
  );
  expect(sentences.filter(({ words }) => words > 25)).toEqual([]);
});

test('options of Salt that are not read are listed once', () => {
  const names = unreadReference().flatMap((group) => group.names);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => Object.hasOwn(masterOptions, name))).toEqual([]);
});
