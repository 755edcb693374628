import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrineMaster, newestOf, saltVenv, type SaltVersion } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const VERSIONS: readonly SaltVersion[] = [newestOf('3006'), newestOf('3008')];
const IDS = VERSIONS.map((version) => `pillar-${version}`);
/** Minions of the newest line show stars for values, unless asked not to. */
const plainly = (version?: SaltVersion): string[] =>
  version === newestOf('3008') ? ['unmask=True'] : [];

describe('real minions get their pillar', () => {
  let master: BrineMaster;
  let roots: string;
  let classes: string;

  beforeAll(async () => {
    const venvs = await Promise.all(VERSIONS.map((version) => saltVenv(version)));
    classes = await mkdtemp(join(tmpdir(), 'brine-classes-'));
    for (const dir of ['nodes', 'classes']) await mkdir(join(classes, dir));
    for (const id of IDS) {
      await writeFile(join(classes, `nodes/${id}.yml`), 'environment: base\nclasses: [ours]\n');
    }
    const ours =
      "states: [of_class]\npillars: {at: '${more_of:os}', more_of: {os: '{{ __grains__.os }}'}}\n";
    await writeFile(join(classes, 'classes/ours.yml'), ours);
    master = await BrineMaster.start(
      {
        ext_pillar: [{ cmd_json: `echo '{"more": [1]}'` }, { saltclass: [{ path: classes }] }],
        master_tops: { saltclass: { path: classes } },
      },
      {
        onHome: async (home) => {
          roots = join(home.configDir, 'pillar');
          await mkdir(join(roots, 'app'), { recursive: true });
          await writeFile(join(roots, 'top.sls'), "base:\n  '*':\n    - app\n");
          await writeFile(join(roots, 'app/map.jinja'), "{% set kernel = grains['kernel'] %}\n");
          const sls =
            "{% from 'app/map.jinja' import kernel with context %}\n" +
            'kernel: {{ kernel }}\nwho: {{ grains.id }}\nratio: 1.0\n';
          await writeFile(join(roots, 'app/init.sls'), sls);
        },
      },
    );
    for (const [at, id] of IDS.entries()) {
      const venv = venvs[at];
      if (venv === undefined) throw new Error(`no Salt for ${id}`);
      const home = await master.sandbox.minion(id, master.home.retPort, {});
      master.sandbox.startMinion(venv, home);
    }
    await master.acceptKeys(IDS);
    await master.waitForMinions(IDS);
  }, 300_000);
  afterAll(async () => {
    await master.close();
    await rm(classes, { recursive: true });
  });

  async function salt(...args: string[]): Promise<Record<string, unknown>> {
    const all = [...args, '--static', '--out', 'json', '-t', '60'];
    const { stdout } = await master.brine('salt', all, 180_000);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  it('pillar.items is what the files and the external pillars say', async () => {
    const answers = await salt('*', 'pillar.items', 'unmask=True');
    for (const who of IDS) {
      const { at, more_of, __saltclass__, ...others } = answers[who] as Record<string, unknown>;
      expect(others).toEqual({ kernel: 'Linux', who, ratio: 1, more: [1] });
      expect(more_of).toEqual({ os: at });
      const classes = { classes: ['ours'], states: ['of_class'], environment: 'base' };
      expect(__saltclass__).toEqual({ ...classes, nodename: who });
    }
  });

  it('states of classes stand beside those of the top file', async () => {
    const answers = await salt('*', 'state.show_top');
    for (const who of IDS) expect(answers[who]).toEqual({ base: ['of_class'] });
  });

  it('the master knows it: targets by pillar expect these minions and no others', async () => {
    const [old = '', latest = ''] = IDS;
    expect(await salt('-I', 'kernel:Linux', 'test.ping')).toEqual({ [old]: true, [latest]: true });
    const target = `I@who:${latest} and G@kernel:Linux`;
    expect(await salt('-C', target, 'test.ping')).toEqual({ [latest]: true });
    const nobody = await master.brine('salt', ['-C', `${old} and not I@who:${old}`, 'test.ping']);
    expect(nobody.stdout + nobody.stderr).toContain('No minions matched the target');
  });

  it('a change is seen after saltutil.refresh_pillar', async () => {
    await writeFile(join(roots, 'app/init.sls'), 'fresh: true\n');
    await salt('*', 'saltutil.refresh_pillar', 'wait=True');
    for (const [n, who] of IDS.entries()) {
      expect(await salt(who, 'pillar.get', 'fresh', ...plainly(VERSIONS[n]))).toEqual({
        [who]: true,
      });
    }
  });

  it('pillar={…} on the command line is merged over it', async () => {
    for (const [n, who] of IDS.entries()) {
      const asked = ['pillar.items', 'pillar={"cli": {"a": 1}}', ...plainly(VERSIONS[n])];
      expect(await salt(who, ...asked)).toMatchObject({ [who]: { cli: { a: 1 } } });
    }
  });
});
