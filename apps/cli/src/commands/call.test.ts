import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-call-'));
// Nobody listens on this port: what works here works without a master.
writeFileSync(
  join(DIR, 'minion'),
  `id: web1\nroot_dir: ${DIR}\nmaster: 127.0.0.1\nmaster_port: 1\n` +
    'auth_timeout: 1\nauth_tries: 1\nrequest_channel_timeout: 1\nrequest_channel_tries: 1\n',
);
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

async function call(...args: readonly string[]) {
  const written = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    isTerminal: false,
    ownsSignals: false,
    out: (text) => void (written.stdout += text),
    err: (text) => void (written.stderr += text),
    ask: async () => undefined,
    askSecret: async () => undefined,
    readInput: async () => '',
  };
  const exit = await runCommandLine('salt-call', ['-c', DIR, ...args], terminal);
  return { exit, ...written };
}

// Texts and codes as test/fixtures/transcripts/salt-call.json has them of the stock command.
test.each([
  [['test.ping'], 0, 'local:\n    True\n', ''],
  [['test.retcode', '5'], 1, 'local:\n    True\n', ''],
  [['test.retcode', '5', '--retcode-passthrough'], 5, 'local:\n    True\n', ''],
  [['pillar.items'], 0, 'local:\n    ----------\n', ''],
  [['test.echo', 'a', '--out', 'txt'], 0, 'local: a\n', ''],
  [['config.get', 'id'], 0, 'local:\n    web1\n', ''],
  [['no.such'], 255, '', "'no.such' is not available.\n"],
  [['test.ping,test.echo'], 255, '', "'test.ping,test.echo' is not available.\n"],
  [
    ['state.apply'],
    255,
    '',
    "'state.apply' is not available.\n" +
      "This is Brine's own minion. Run Salt's salt-call for this function, or set brine.python.\n",
  ],
  [
    ['test.echo'],
    1,
    'Return a string - used for testing the connection.\n',
    '\nPassed invalid arguments: ' +
      "echo() missing 1 required positional argument: 'text'.\n\nUsage:\n",
  ],
  [['test.raise_exception', 'hi'], 1, '', "Error running 'test.raise_exception': hi\n"],
])('salt-call --local %j exits with %i', async (args, exit, stdout, stderr) => {
  expect(await call('--local', ...args)).toEqual({ exit, stdout, stderr });
});

test('--metadata shows the whole return', async () => {
  const { stdout } = await call('--local', '--metadata', 'test.ping');
  const fields = [...stdout.matchAll(/^ {4}(\w+):$/gm)].map(([, name]) => name);
  expect(fields).toEqual(['fun', 'fun_args', 'id', 'jid', 'retcode', 'return']);
});

test('-d shows the text of a function, and asks no master', async () => {
  expect(await call('-d', 'test.echo')).toEqual({
    exit: 0,
    stdout: 'test.echo:\nReturn a string - used for testing the connection.\n\n',
    stderr: '',
  });
});

test('without a master it exits with 1', async () => {
  const { exit, stdout, stderr } = await call('test.ping');
  expect([exit, stdout]).toEqual([1, '']);
  expect(stderr).toContain('the master does not answer');
});
