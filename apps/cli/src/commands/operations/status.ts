import { JobRecords } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { isSystemError } from '@brine/files';
import {
  askCluster,
  drawCluster,
  drawStatus,
  readStatus,
  silentHosts,
  silentTwice,
  troubleOf,
} from '@brine/operations/cluster-status';
import { errorText } from '@brine/tasks';
import { EXIT, Exit } from '../../exit-codes.ts';
import { lookAtMaster } from '../../look-at-master.ts';
import { readMasterConfig } from '../../master-config.ts';
import { flag, isOn, text, textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const DESCRIPTION = `Shows the services of the master on this host. Exit code 0 while all
serve, else 1.

With --all every service of every host is asked, also in Kubernetes. Hosts that are known and silent
are named.`;

/** With --all: timeout for the master before NATS is asked, ms. */
const ASK_MS = 5_000;

/** `brine status`: shows the state of this host's master. Returns 1 while it does not serve. */
export async function runStatus(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(
    brineForm('status', DESCRIPTION, [
      flag(['--all'], 'all', 'Show the services of all hosts that share a NATS.'),
      text(['--out', '--output'], 'output', 'json, or a table.'),
    ]),
  );
  const options = parser.parse(args);
  const config = readMasterConfig(options, terminal);
  const asJson = textValue(options, 'output') === 'json';
  if (isOn(options, 'all')) return showAll(config, asJson, terminal);
  const status = await readStatus(config);
  terminal.out(asJson ? `${JSON.stringify(status, null, 4)}\n` : drawStatus(status));
  return status.serving ? EXIT.ok : EXIT.generic;
}

/** `--all`: shows the reports of all services of all hosts, and names silent ones of this host. */
async function showAll(
  options: MasterOptions,
  asJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const master = lookAtMaster(options, terminal, ASK_MS);
  try {
    const jobs = new JobRecords(master.client);
    const { cluster, silent } = await silentTwice(
      () => askCluster(options, jobs),
      async () => (await readStatus(options)).services,
      options.brine.host,
    );
    const more = [
      ...silent.map(
        ({ name, pid }) =>
          `${name} of this host, pid ${pid}, does not answer: it hangs, or is cut off from NATS`,
      ),
      ...silentHosts(cluster).map(
        ({ host, behind }) =>
          `host ${host} is silent and ${behind} messages behind; a day later it is forgotten`,
      ),
    ];
    const trouble = [...troubleOf(cluster), ...more];
    const shown = { serving: trouble.length === 0, trouble, ...cluster };
    terminal.out(asJson ? `${JSON.stringify(shown, null, 4)}\n` : drawCluster(cluster, more));
    return trouble.length === 0 ? EXIT.ok : EXIT.generic;
  } catch (error) {
    if (isSystemError(error, 'EACCES')) throw error;
    const why = errorText(error);
    const text = `brine status: no service of the cluster can be asked (${why})`;
    throw new Exit(EXIT.generic, `${text}; \`brine status\` shows this host alone\n`);
  } finally {
    await master.close();
  }
}
