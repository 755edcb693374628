import { parseArgs } from 'node:util';
import { SERVER_NAME, SERVICE_NAMES } from '@brine/bus';
import { loadMasterConfig } from '@brine/config';
import type { AuthorityChange, CertificateStatus } from '@brine/pki';
import { PkiError, ServiceCertificates } from '@brine/pki';
import { RENEW_DAYS } from '../doctor/certificates.ts';
import { EXIT } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const HELP = `Usage: brine pki init [--host <name>]...   make an authority and all certificates
       brine pki renew [--host <name>]...  make all certificates anew, by the same authority
       brine pki renew --authority         go one step on to another authority: three times
       brine pki show [--out json]         list them; ends with 1 where one needs renewal

The certificates with which services and the NATS server know each other beyond loopback. Each
lies in a directory of its name below <pki_dir>/services (brine.nats.certificates): bring it to
the host of that service and of the NATS server. Nothing needs a restart.

  --host <name>      how the NATS server is reached, beside localhost; may be repeated
  --if-missing       with init: nothing is done where there is an authority
  --days <n>         how long certificates are good, 365 if not given
  --dir <directory>  instead of the one in the configuration
  -c <config dir>    where the configuration is
`;

const DAY_MS = 86_400_000;
const DAYS = 365;

const RELOAD = 'then let the NATS server read them again: nats-server --signal reload, or SIGHUP';
const NEXT: Readonly<Record<AuthorityChange, string>> = {
  trusted:
    'A new authority is believed beside the old one, which still signs.\n' +
    `Bring every ca.crt to its host, ${RELOAD}.\nAfter that: brine pki renew --authority\n`,
  signing:
    'All certificates are made by the new authority; the old one is still believed.\n' +
    `Bring every directory to its host, ${RELOAD}.\n` +
    'After that, and once services connected anew: brine pki renew --authority\n',
  done: `The old authority is forgotten. Bring every ca.crt to its host, ${RELOAD}.\n`,
};

/** `brine pki`: makes, renews and shows the certificates of services. Gives the exit code. */
export async function runPki(args: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'config-dir': { type: 'string', short: 'c' },
      dir: { type: 'string' },
      host: { type: 'string', multiple: true },
      days: { type: 'string' },
      authority: { type: 'boolean' },
      'if-missing': { type: 'boolean' },
      out: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  const [verb] = positionals;
  const days = Number(values.days ?? DAYS);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT.ok;
  }
  if (positionals.length !== 1 || !Number.isInteger(days) || days < 1) {
    terminal.err(HELP);
    return EXIT.usage;
  }
  const dir =
    values.dir ??
    loadMasterConfig({ configDir: values['config-dir'] }).options.brine.nats.certificates;
  const names = { clients: SERVICE_NAMES, server: SERVER_NAME };
  const certificates = new ServiceCertificates(dir, names);
  try {
    switch (verb) {
      case 'init':
        if (values['if-missing'] === true && (await certificates.hasAuthority())) return EXIT.ok;
        await certificates.init(values.host ?? [], days);
        break;
      case 'renew':
        if (values.authority === true) {
          terminal.out(NEXT[await certificates.changeAuthority(days)]);
          return EXIT.ok;
        }
        await certificates.renew(days, values.host);
        break;
      case 'show':
        return await show(certificates, values.out === 'json', terminal);
      default:
        terminal.err(HELP);
        return EXIT.usage;
    }
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    terminal.err(`brine pki: ${error.message}\n`);
    return EXIT.generic;
  }
  terminal.out(`Made in ${dir}. Bring each directory to its host, ${RELOAD}.\n`);
  if (verb === 'init') terminal.out('Keep `authority` where only you read it.\n');
  return EXIT.ok;
}

async function show(
  certificates: ServiceCertificates,
  asJson: boolean,
  terminal: Terminal,
): Promise<number> {
  const list = await certificates.list();
  const change = await certificates.change();
  if (asJson) terminal.out(`${JSON.stringify({ certificates: list, change }, null, 4)}\n`);
  else {
    terminal.out(list.map((one) => `${lineOf(one)}\n`).join(''));
    if (change !== undefined) terminal.out(`\nThe authority is being changed. ${NEXT[change]}`);
  }
  return list.some((one) => needsRenewal(one)) ? EXIT.generic : EXIT.ok;
}

/** Whether something is wrong with a certificate or soon will be. */
function needsRenewal({ until, problem }: CertificateStatus, now = Date.now()): boolean {
  return problem !== undefined || until < now + RENEW_DAYS * DAY_MS;
}

function lineOf({ name, until, issuer, hosts, problem }: CertificateStatus): string {
  const head = name.padEnd(20);
  if (problem === 'missing') return `${head}missing`;
  const left = Math.floor((until - Date.now()) / DAY_MS);
  const day = new Date(until).toISOString().slice(0, 10);
  const fault = problem === undefined || problem === 'expired' ? '' : `, ${problem}`;
  const when = left < 0 ? `expired ${day}` : `until ${day} (${left} days)`;
  return `${head}${when}${fault}  by ${issuer}${hosts === '' ? '' : `  ${hosts}`}`;
}
