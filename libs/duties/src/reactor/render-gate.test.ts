import { expect, test } from 'vitest';
import { RenderGate, TooSlowError } from './render-gate.ts';

/** A render that ends when it is told to. */
function held() {
  let end: { resolve: (text: string) => void; reject: (error: Error) => void } | undefined;
  const rendering = new Promise<string>((resolve, reject) => (end = { resolve, reject }));
  return {
    render: () => rendering,
    resolve: (text: string) => end?.resolve(text),
    reject: (error: Error) => end?.reject(error),
  };
}

test('as many render at once as there are threads, and the others follow in turn', async () => {
  const gate = new RenderGate(2);
  const [one, two] = [held(), held()];
  const begun: string[] = [];
  const begin = (path: string, render: () => Promise<string>) =>
    gate.through(path, () => {
      begun.push(path);
      return render();
    });
  const first = begin('a', one.render);
  const second = begin('b', two.render);
  const others = ['c', 'd'].map((path) => begin(path, async () => path));
  await Promise.resolve();
  expect(begun).toEqual(['a', 'b']);
  one.resolve('of a');
  expect(await first).toBe('of a');
  expect(await Promise.all(others)).toEqual(['c', 'd']);
  two.reject(new Error('b is wrong'));
  await expect(second).rejects.toThrow('b is wrong');
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('a file that took too long rests for a while; those behind it and others do not', async () => {
  let nowMs = 0;
  const gate = new RenderGate(1, () => nowMs);
  const slow = held();
  const began: string[] = [];
  const again = async (): Promise<string> => {
    began.push('again');
    return 'rendered';
  };
  const first = gate.through('slow', slow.render);
  const behind = gate.through('slow', again);
  const other = gate.through('other', async () => 'other');
  slow.reject(new TooSlowError('it took longer than 45 s'));
  await expect(first).rejects.toThrow('it took longer than 45 s');
  await expect(behind).rejects.toThrow('it is rendered again in 60 s');
  expect(await other).toBe('other');
  expect(began).toEqual([]);
  nowMs = 60_001;
  expect(await gate.through('slow', again)).toBe('rendered');
});
