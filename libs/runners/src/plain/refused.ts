import type { FunctionCall } from '@brine/master';

const NO_CLOUD = 'salt-cloud is not part of Brine; run it on a host with Salt.';
const NO_SSH = 'salt-ssh is not part of Brine; run it on a host with Salt.';
const NO_VIRT = 'ask the minions that run the machines: salt <host> virt.*';
const NO_PRODUCT = 'Brine has no module for this product; run it on a minion, or call its API.';
const WRITTEN =
  'jobs of the master are written in its configuration; schedule.disable_job switches one off.';

/**
 * Runners of Salt 3006 and 3008 that Brine does not have, with the reason: a whole module, or one
 * function. Functions of the table override this list.
 */
const RUNNERS: ReadonlyMap<string, string> = new Map([
  ['asam', NO_PRODUCT],
  ['bgp', 'it reads what NAPALM proxies put into the mine; ask salt-run mine.get.'],
  ['cache.cloud', NO_CLOUD],
  ['cache.migrate', 'the caches of Brine are in NATS; there are no drivers to move between.'],
  ['cloud', NO_CLOUD],
  ['cluster', 'the masters of Brine share NATS and need no rings; see brine doctor.'],
  ['ddns', NO_PRODUCT],
  ['digicert', NO_PRODUCT],
  ['drac', NO_PRODUCT],
  ['f5', NO_PRODUCT],
  ['launchd', 'it writes a file for macOS; Brine runs on Linux.'],
  ['lxc', 'ask the minions that run the containers: salt <host> lxc.*'],
  ['manage.bootstrap', NO_SSH],
  ['manage.bootstrap_psexec', NO_SSH],
  [
    'manage.safe_accept',
    'it needs salt-ssh; compare salt-key -f with key.finger of the minion, then salt-key -a.',
  ],
  ['mattermost', 'call its webhook by salt-run http.query.'],
  ['nacl', 'Brine keeps no NaCl keys; use the gpg renderer for secrets in pillars.'],
  ['net', 'it reads what NAPALM proxies put into the mine; ask salt-run mine.get.'],
  ['pagerduty', NO_PRODUCT],
  ['pkg', 'ask the minions: salt <target> pkg.list_upgrades'],
  ['pki', 'the keys of Brine are in NATS; there is no mmap cache to move them to.'],
  ['resource', 'Brine keeps no grains of resources.'],
  ...[
    'add',
    'build_schedule_item',
    'copy',
    'delete',
    'modify',
    'move',
    'purge',
    'reload',
    'save',
  ].map((name): [string, string] => [`schedule.${name}`, WRITTEN]),
  ['spacewalk', NO_PRODUCT],
  ['ssh', NO_SSH],
  ['state.graph', 'Brine draws no graphs; see state.orchestrate_show_sls.'],
  ['state.graph_highstate', 'Brine draws no graphs; see salt <target> state.show_highstate'],
  ['thin', NO_SSH],
  ['vault', 'Brine gives minions no tokens of Vault.'],
  ['venafi', NO_PRODUCT],
  ['virt', NO_VIRT],
  ['vistara', NO_PRODUCT],
  ['vmadm', 'ask the minions that run the machines: salt <host> vmadm.*'],
  ['winrepo', 'keep the repository in file_roots or gitfs, and run pkg.refresh_db on minions.'],
]);

const WHEELS: ReadonlyMap<string, string> = new Map([
  [
    'key.gen_signature',
    'it reads and writes key files by their paths; run salt-key --gen-signature on the host.',
  ],
]);

/** Why a function of Salt is refused, in one line; undefined if it is not listed. */
export function refusedBecause(kind: FunctionCall['kind'], fun: string): string | undefined {
  const list = kind === 'runner' ? RUNNERS : WHEELS;
  const reason = list.get(fun) ?? list.get(fun.split('.', 1)[0] ?? '');
  return reason === undefined ? undefined : `${fun} is not served: ${reason}`;
}
