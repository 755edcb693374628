// Salt's own salt-api on the host of a Brine master: the recorded cases, and its stream of events.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SaltProcess } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HttpCases, httpCases } from '../http/recorded-http.ts';
import { Lab } from '../transcripts/lab.ts';
import { takeTurn } from '../transcripts/one-lab.ts';
import { SaltApi } from './salt-api.ts';

/** For all cases, on a machine three times slower than the one that they were written on. */
const LIMIT_MS = 1_200_000;
const TURN_MS = 5_400_000;
let endTurn: (() => void) | undefined;
let lab: Lab;
let api: SaltApi;
let cases: HttpCases;

beforeAll(async () => {
  endTurn = await takeTurn();
}, TURN_MS);
beforeAll(async () => {
  // Those of the recording.
  lab = await Lab.start('3008.2', '3006.26');
  api = await SaltApi.start(lab);
  cases = new HttpCases(lab, api.http);
}, LIMIT_MS);
afterAll(async () => {
  try {
    await api?.stop();
    await lab?.close();
  } finally {
    endTurn?.();
  }
});

it(
  'each recorded case is answered as by the stock master',
  async () => {
    const verdicts = await cases.judge(httpCases('3008.2'));
    const equal = verdicts.filter((one) => one.equal).length;
    process.stdout.write(`salt-api: ${equal} of ${verdicts.length} cases are equal\n`);
    const wrong = verdicts.filter((one) => !one.equal).map(({ name, diff }) => `${name}\n${diff}`);
    expect(wrong.join('\n\n')).toBe('');
  },
  LIMIT_MS,
);

it('a follower of its events gets what runs, and nothing that a stock master has not', async () => {
  const session = await api.http.logIn('api');
  const headers = { 'X-Auth-Token': session, 'Content-Type': 'application/json' };
  const follower = await api.http.follow({ path: '/events', headers });
  await until('the stream has begun', () => follower.lines.includes('retry: 400'));
  const low = [
    { client: 'local', tgt: 'web*', fun: 'test.echo', arg: ['followed'] },
    { client: 'runner', fun: 'test.arg' },
    { client: 'wheel', fun: 'key.list_all' },
  ];
  const body = JSON.stringify(low);
  expect((await api.http.ask({ method: 'POST', path: '/', headers, body })).status).toBe(200);
  await api.http.ask({ method: 'POST', path: '/hook/deploy', headers, body: '{"version": "7"}' });
  const tags = (): readonly string[] =>
    follower.lines.flatMap((line) => (line.startsWith('tag: ') ? [line.slice(5)] : []));
  const wanted = [
    /^salt\/job\/\d{20}\/new$/,
    /^salt\/job\/\d{20}\/ret\/web1\.example$/,
    /^salt\/job\/\d{20}\/ret\/web2\.example$/,
    /^salt\/run\/\d{20}\/ret$/,
    /^salt\/wheel\/\d{20}\/ret$/,
    /^salt\/netapi\/hook\/deploy$/,
  ];
  await until('all of it came', () =>
    expect(wanted.filter((tag) => !tags().some((one) => tag.test(one)))).toEqual([]),
  );
  follower.stop();
  expect(tags().filter((tag) => !/^salt\/|^\d{20}$/.test(tag))).toEqual([]);
  const data = follower.lines.flatMap((line) => {
    if (!line.startsWith('data: ')) return [];
    return [JSON.parse(line.slice(6)) as { tag: string; data: Record<string, unknown> }];
  });
  for (const event of data) expect(event.data['_stamp'], event.tag).toMatch(/^\d{4}-\d\d-\d\dT/);
});

/** What sites write: it waits for events by a tag, tells them, and fires one of its own. */
const SCRIPT = `
import json, sys
import salt.config, salt.utils.event

opts = salt.config.client_config(sys.argv[1])
with salt.utils.event.get_master_event(opts, opts["sock_dir"], listen=True) as bus:
    print("listens", flush=True)
    seen = []
    while len(seen) < 3:
        event = bus.get_event(tag="salt/job/", full=True, wait=30)
        if event is None:
            break
        seen.append([event["tag"], event["data"].get("return"), "_stamp" in event["data"]])
    fired = bus.fire_event({"seen": len(seen)}, "site/script/done")
    print(json.dumps([seen, fired]), flush=True)
`;

it('a script with get_master_event sees a job, and its own event is on the bus', async () => {
  const path = lab.folder('listen.py');
  await writeFile(path, SCRIPT);
  const script = SaltProcess.start({
    command: lab.venv.python,
    args: [path, join(lab.stockConfig, 'master')],
    env: lab.master.sandbox.env(),
    logFile: lab.folder('listen.out'),
  });
  await script.waitForLog(/^listens$/m, 60_000);
  const jid = await cases.runWords(['salt', '--show-jid', 'web1.example', 'test.echo', 'heard']);
  await script.exited;
  const [line = ''] = (await script.log()).split('\n').filter((one) => one.startsWith('['));
  expect(JSON.parse(line)).toEqual([
    [
      [`salt/job/${jid}/new`, null, true],
      [`salt/job/${jid}/publish`, null, true],
      [`salt/job/${jid}/ret/web1.example`, 'heard', true],
    ],
    true,
  ]);
  const shown = await until('its event is on the bus of the cluster', async () => {
    const args = ['--no-follow', '--json', '--from', '10m', '--tag', 'site/script/*'];
    const { stdout } = await lab.master.brine('events', args);
    return stdout === '' ? undefined : stdout;
  });
  expect(JSON.parse(shown)).toMatchObject({ tag: 'site/script/done', data: { seen: 3 } });
});
