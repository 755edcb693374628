import { SERVER_NAME, SERVICE_NAMES } from '@brine/bus';
import { loadMasterConfig } from '@brine/config';
import { asOwnerOf } from '@brine/files';
import {
  type AuthorityChange,
  type CertificateStatus,
  PkiError,
  RENEW_DAYS,
  ServiceCertificates,
} from '@brine/pki';
import { EXIT, Exit } from '../exit-codes.ts';
import {
  type CommandForm,
  flag,
  isOn,
  listValue,
  numberValue,
  text,
  textValue,
} from '../options/command-form.ts';
import { brineForm } from '../options/common-groups.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';

const DAYS = 365;
const FORM: CommandForm = brineForm(
  'pki',
  `Makes, renews and shows the certificates by which services and the NATS server know each other
beyond loopback. Each lies in a directory of its name below <pki_dir>/services
(brine.nats.certificates). Bring it to the host of that service and to that of the NATS server.
Nothing needs a restart.

  init               make an authority and all certificates
  renew              make all certificates again, by the same authority
  renew --authority  go one step on to another authority; three steps in all
  show               list them; exit code 1 if one needs renewal`,
  [
    {
      names: ['--host'],
      dest: 'host',
      kind: 'list',
      help: 'A name of the NATS server beside localhost; may be repeated.',
    },
    flag(['--if-missing'], 'if_missing', 'With init: do nothing if there is an authority.'),
    flag(['--authority'], 'authority', 'With renew: change the authority.'),
    {
      names: ['--days'],
      dest: 'days',
      kind: 'int',
      default: DAYS,
      help: `Days for which certificates are valid; ${DAYS} by default.`,
    },
    text(['--dir'], 'dir', 'A directory instead of the configured one.'),
    text(['--out', '--output'], 'output', 'With show: json, or lines.'),
  ],
  '[options] init|renew|show',
);

const DAY_MS = 86_400_000;

const RELOAD = 'then let the NATS server read them again: nats-server --signal reload, or SIGHUP';
const NEXT: Readonly<Record<AuthorityChange, string>> = {
  trusted:
    'A new authority is trusted beside the old one, which still signs.\n' +
    `Bring every ca.crt to its host, ${RELOAD}.\nAfter that: brine pki renew --authority\n`,
  signing:
    'All certificates are made by the new authority; the old one is still trusted.\n' +
    `Bring every directory to its host, ${RELOAD}.\n` +
    'After that, and once every service has reconnected: brine pki renew --authority\n',
  done: `The old authority is no longer trusted. Bring every ca.crt to its host, ${RELOAD}.\n`,
};

/** `brine pki`: makes, renews and shows the certificates of services. Returns the exit code. */
export async function runPki(args: readonly string[], terminal: Terminal): Promise<number> {
  const parser = new OptionParser(FORM);
  const options = parser.parse(args);
  const [verb, ...more] = options.args;
  const days = numberValue(options, 'days') ?? DAYS;
  if (more.length > 0) throw parser.error(`unexpected: ${more.join(' ')}`);
  if (days < 1) throw parser.error('--days is below 1');
  const hosts = listValue(options, 'host');
  const configDir = textValue(options, 'config_dir');
  const dir =
    textValue(options, 'dir') ?? loadMasterConfig({ configDir }).options.brine.nats.certificates;
  const names = { clients: SERVICE_NAMES, server: SERVER_NAME };
  const certificates = new ServiceCertificates(dir, names);
  const init = async (): Promise<boolean> => {
    if (isOn(options, 'if_missing') && (await certificates.hasAuthority())) return false;
    await certificates.init(hosts ?? [], days);
    return true;
  };
  // In a directory of the master's user, root works as that user.
  const work = async (): Promise<number> => {
    switch (verb) {
      case 'init':
        if (!(await init())) return EXIT.ok;
        break;
      case 'renew':
        if (isOn(options, 'authority')) {
          terminal.out(NEXT[await certificates.changeAuthority(days)]);
          return EXIT.ok;
        }
        await certificates.renew(days, hosts);
        break;
      case 'show':
        return show(certificates, textValue(options, 'output') === 'json', terminal);
      default:
        throw parser.error('give one of init, renew, show');
    }
    terminal.out(`Made in ${dir}. Bring each directory to its host, ${RELOAD}.\n`);
    if (verb === 'init') terminal.out('Keep `authority` where only you read it.\n');
    return EXIT.ok;
  };
  try {
    return await asOwnerOf(dir, work);
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    throw new Exit(EXIT.generic, `brine pki: ${error.message}\n`);
  }
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

/** True if a certificate has a problem or expires soon. */
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
