import { expect, test } from 'vitest';
import { Gate } from './gate.ts';

test('a gate holds all back until it is opened, and none that come later', async () => {
  const gate = new Gate();
  const passed: string[] = [];
  const pass = (name: string): Promise<unknown> => gate.opened.then(() => passed.push(name));
  const early = [pass('one'), pass('two')];
  await new Promise(setImmediate);
  expect(passed).toEqual([]);
  gate.open();
  await Promise.all(early);
  gate.open();
  await pass('late');
  expect(passed).toEqual(['one', 'two', 'late']);
});
