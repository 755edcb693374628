import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@brine/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'pki-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function pki(...args: readonly string[]): Promise<{ code: number; text: string }> {
  let text = '';
  const take = (part: string): void => void (text += part);
  const terminal = { out: take, err: take } as unknown as Terminal;
  const code = await runCommandLine('brine', ['pki', ...args, '--dir', dir], terminal);
  return { code, text };
}

test('certificates for every service are made, shown and renewed', async () => {
  expect(await pki('show')).toMatchObject({ code: 1, text: expect.stringContaining('pki init') });
  expect((await pki('init', '--host', 'nats.example')).code).toBe(0);
  expect(readdirSync(dir).sort()).toEqual([...SERVICE_NAMES, 'authority', 'nats'].sort());
  const shown = await pki('show');
  expect(shown.code).toBe(0);
  expect(shown.text).toMatch(/^worker-pool +until \d{4}-\d\d-\d\d \(36[45] days\) /m);
  expect(shown.text).toMatch(/^nats .*DNS:nats\.example/m);
  expect((await pki('init')).code).toBe(1);
  expect(await pki('init', '--if-missing')).toEqual({ code: 0, text: '' });
  // A certificate that ends soon shows in the exit code, for scripts.
  expect((await pki('renew', '--days', '10')).code).toBe(0);
  expect((await pki('show')).code).toBe(1);
  expect((await pki('renew', '--authority')).text).toContain('still signs');
  expect((await pki('show')).text).toContain('The authority is being changed.');
  expect((await pki('nonsense')).code).toBe(64);
  expect((await pki('renew', '--days', 'soon')).code).toBe(64);
});
