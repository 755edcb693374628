import { readFile } from 'node:fs/promises';
import type { MasterOptions } from '@brine/config';
import { type Finding, some } from '../../findings/finding.ts';

/** An expression that any function or name matches. */
const ANYTHING = /^\^?\(?(?:\.[*+]|\*+)\)?\$?$/;
/** Rights to the functions of the master itself, under both of their names. */
const SPECIAL = /^@(runner|wheel)s?$/;
const DAY_S = 86_400;
const TOKEN_DAYS_MAX = 7;
const SHARED_LENGTH_MIN = 16;
/** Limits for searching an option: number of entries, and depth. */
const ENTRIES_MAX = 10_000;
const DEPTH_MAX = 8;
const AUTOSIGN_MAX_BYTES = 1024 * 1024;

/** Adds a finding about an option. */
type Add = (level: Finding['level'], check: string, text: string) => void;

/** Checks for options that allow more than the defaults; `checkOptions` has the gravest. */
export async function checkWidened(options: MasterOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  const add: Add = (level, check, text) => findings.push({ level, check, text });
  usersWidened(options, add);
  minionsWidened(options, add);
  loginsWidened(options, add);
  await autosignWidened(options, add);
  if (findings.length > 0) return findings;
  return [
    { level: 'ok', check: 'rights', text: 'no option gives anyone the rights of the master' },
  ];
}

/** Users who may do anything, or run functions of the master. */
function usersWidened({ externalAuth, publisherAcl, ...options }: MasterOptions, add: Add): void {
  const all: string[] = [];
  const special: string[] = [];
  const everyone: string[] = [];
  const look = (place: string, users: unknown): void => {
    for (const [user, rights] of membersOf(users)) {
      if (user.startsWith('^')) continue; // a setting of the login module
      const words = wordsOf(rights);
      const who = `${user} of ${place}`;
      if (words.some((word) => ANYTHING.test(word))) all.push(who);
      const kinds = words.flatMap((word) => SPECIAL.exec(word)?.[1] ?? []);
      for (const kind of new Set(kinds)) special.push(`${who}: @${kind}`);
      if (ANYTHING.test(user)) everyone.push(place);
    }
  };
  for (const [module, users] of membersOf(externalAuth)) look(`external_auth:${module}`, users);
  look('publisher_acl', publisherAcl);
  if (all.length > 0) {
    const text = `any function, and so the rights of root on minions: ${some(all)}`;
    add('warn', 'rights-to-all', `${text}; name the functions that they need`);
  }
  if (special.length > 0) {
    const text = `functions of the master, which accept keys and write files: ${some(special)}`;
    add('warn', 'rights-to-master', `${text}; name modules, as @jobs`);
  }
  if (everyone.length > 0) {
    const text = `every user has rights by ${some([...new Set(everyone)])}`;
    add('warn', 'rights-of-all', `${text}; name the users`);
  }
  if (!options.clientAclVerify) {
    const text = 'client_acl_verify is off: keys are made for users that this host does not have';
    add('warn', 'client_acl_verify', text);
  }
}

/** Rights of minions. */
function minionsWidened({ peer, peerRun, brine, ...options }: MasterOptions, add: Add): void {
  for (const [name, rights] of [
    ['peer', peer],
    ['peer_run', peerRun],
  ] as const) {
    const open = membersOf(rights).flatMap(([minions, functions]) =>
      wordsOf(functions).some((word) => ANYTHING.test(word)) ? [minions] : [],
    );
    if (open.length === 0) continue;
    const what = name === 'peer' ? 'any function on others' : 'any runner';
    const text = `minions that match ${some(open)} may run ${what}`;
    add('bad', name, `${text}: one minion that is taken over has them all; name functions`);
  }
  if (options.fileRecv) {
    add(
      'warn',
      'file_recv',
      'file_recv lets minions write into the cachedir: turn it off if unused',
    );
  }
  if (options.pillarOpts) {
    add('warn', 'pillar_opts', "pillar_opts shows every minion the master's options: turn it off");
  }
  if (options.permissivePkiAccess) {
    const text = "permissive_pki_access lets the group read the master's keys: turn it off";
    add('warn', 'permissive_pki_access', text);
  }
  if (brine.innerCalls === 'stock') {
    const text = 'a right to a runner such as state.orchestrate is a right to everything';
    add('warn', 'brine.inner_calls', text);
  }
  if (brine.minionIdSigns !== '') {
    const text = 'ids of strangers may have signs that shells act on; quote them in every script';
    add('warn', 'brine.minion_id_signs', text);
  }
  const events = brine.minionEvents.filter((tag) => ANYTHING.test(tag.replace(/^salt\//, '')));
  if (events.length > 0) {
    const text = `minions may fire any tag of ${some(events)}, for which reactors wait; name tags`;
    add('warn', 'brine.minion_events', text);
  }
  if (brine.nats.plain) {
    const text = 'brine.nats.plain gives up TLS to NATS: others on that network read jobs';
    add('bad', 'brine.nats.plain', `${text}; remove it (brine pki)`);
  }
}

/** Weak settings of log-ins. */
function loginsWidened({ externalAuth, brine, ...options }: MasterOptions, add: Add): void {
  if (brine.testing.eauthAuto && Object.hasOwn(externalAuth, 'auto')) {
    const text = 'external_auth:auto lets every user in with any password: remove it';
    add('bad', 'external_auth', text);
  }
  const { sharedsecret } = options;
  if (Object.hasOwn(externalAuth, 'sharedsecret') && sharedsecret.length < SHARED_LENGTH_MIN) {
    const text = `sharedsecret has fewer than ${SHARED_LENGTH_MIN} signs, and is every user's`;
    add('bad', 'sharedsecret', `${text}: make a longer one`);
  }
  if (options.tokenExpire > TOKEN_DAYS_MAX * DAY_S) {
    const days = Math.round(options.tokenExpire / DAY_S);
    const text = `a token is valid for ${days} days, also for a thief who reads it: shorten it`;
    add('warn', 'token_expire', text);
  }
  if (options.tokenExpireUserOverride === true) {
    const text = 'users choose how long their tokens count: name those who may';
    add('warn', 'token_expire_user_override', text);
  }
}

/** A line that matches any id has the effect of auto_accept. */
async function autosignWidened({ autosignFile = '' }: MasterOptions, add: Add): Promise<void> {
  if (autosignFile === '') return;
  let text: string;
  try {
    text = (await readFile(autosignFile, 'utf8')).slice(0, AUTOSIGN_MAX_BYTES);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return;
    return add('warn', 'autosign_file', `${autosignFile} can not be read (${code})`);
  }
  const open = text.split('\n').some((line) => ANYTHING.test(line.trim()));
  if (!open) return;
  add('bad', 'autosign_file', `${autosignFile} accepts the key of every new minion: name ids`);
}

function membersOf(value: unknown): [name: string, value: unknown][] {
  if (value instanceof Map) return [...value].map(([name, item]) => [String(name), item]);
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** The functions named by rights, in any form: a text, a list, or by target and function. */
function wordsOf(rights: unknown): string[] {
  const words: string[] = [];
  const walk = (value: unknown, depth: number): void => {
    if (depth > DEPTH_MAX || words.length >= ENTRIES_MAX) return;
    if (typeof value === 'string') words.push(value);
    else if (Array.isArray(value)) for (const item of value) walk(item, depth + 1);
    else {
      for (const [name, item] of membersOf(value)) {
        // A target, or a kind of function; a rule for arguments is neither.
        if (SPECIAL.test(name) && wordsOf(item).some((word) => ANYTHING.test(word))) {
          words.push(name);
        } else if (!name.startsWith('@') && !isRule(item)) walk(item, depth + 1);
      }
    }
  };
  walk(rights, 0);
  return words;
}

/** `{args: …, kwargs: …}`: the arguments that are allowed. */
function isRule(value: unknown): boolean {
  return membersOf(value).some(([name]) => name === 'args' || name === 'kwargs');
}
