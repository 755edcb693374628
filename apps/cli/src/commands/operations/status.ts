import { JobRecords } from '@brine/client';
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
import { findMaster } from '../../find-master.ts';
import type { ApiOption, MasterPlace } from '../../master-place.ts';
import { flag, isOn, text, textValue } from '../../options/command-form.ts';
import { brineForm } from '../../options/common-groups.ts';
import { OptionParser } from '../../options/option-parser.ts';
import type { Terminal } from '../../terminal.ts';

const DESCRIPTION = `Shows the services of the master on this host. Exit code 0 while all
serve, else 1.

With --all, and by brine --api, every service of every host is asked, also in Kubernetes. Hosts that
are known and silent are named.`;

/** With --all: timeout for the master before NATS is asked, ms. */
const ASK_MS = 5_000;

/** `brine status`: shows the state of this host's master. Returns 1 while it does not serve. */
export async function runStatus(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(
    brineForm('status', DESCRIPTION, [
      flag(['--all'], 'all', 'Show the services of all hosts that share a NATS.'),
      text(['--out', '--output'], 'output', 'json, or a table.'),
    ]),
  );
  const options = parser.parse(args);
  const codes = { refused: EXIT.generic, unreachable: EXIT.generic };
  const place = await findMaster(options, terminal, api, codes);
  const { config } = place;
  const asJson = textValue(options, 'output') === 'json';
  // An API has no host.
  if (isOn(options, 'all') || place.api !== undefined) return showAll(place, asJson, terminal);
  const status = await readStatus(config);
  terminal.out(asJson ? `${JSON.stringify(status, null, 4)}\n` : drawStatus(status));
  return status.serving ? EXIT.ok : EXIT.generic;
}

/** `--all`: shows the reports of all services of all hosts, and names silent ones of this host. */
async function showAll(place: MasterPlace, asJson: boolean, terminal: Terminal): Promise<number> {
  const { config: options, api } = place;
  const master = place.look(ASK_MS);
  try {
    const jobs = new JobRecords(master.client);
    const { cluster, silent } = await silentTwice(
      () => askCluster(api === undefined ? options : undefined, jobs),
      async () => (api === undefined ? (await readStatus(options)).services : []),
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
    const hint = api === undefined ? '; `brine status` shows this host alone' : '';
    throw new Exit(EXIT.generic, `${text}${hint}\n`);
  } finally {
    await master.close();
  }
}
