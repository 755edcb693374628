import { join } from 'node:path';
import { writeDropFile } from '@brine/cachedir';
import type { MasterOptions } from '@brine/config';
import { CryptError, PublicKey } from '@brine/crypt';
import { asOwnerOf, isSystemError } from '@brine/files';
import { fireEvent } from '@brine/ipc';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { isOn, type ParsedOptions, textValue } from '../options/command-form.ts';
import type { Printer } from '../printer.ts';
import { logLine, type Terminal } from '../terminal.ts';
import { type KeyChoice, type KeyRing, type KeySection } from './key-ring.ts';

/** Actions on keys. */
export type KeyAction = 'accept' | 'reject' | 'delete';

/** Inputs for choosing keys. */
export interface KeyQuestion {
  readonly ring: Pick<KeyRing, 'match'>;
  readonly action: KeyAction;
  readonly match: string;
  readonly options: ParsedOptions;
  readonly printer: Printer;
  readonly terminal: Terminal;
}

/** Sections that an action includes beside the pending keys (Salt: salt/key.py _update_opts). */
function includes(action: KeyAction, options: ParsedOptions): ReadonlyMap<KeySection, boolean> {
  const all = isOn(options, 'include_all');
  const accepted = isOn(options, 'include_accepted');
  const rejected = isOn(options, 'include_rejected');
  return new Map<KeySection, boolean>([
    ['minions', action === 'reject' ? all || accepted : action === 'delete' && accepted],
    ['minions_rejected', action === 'accept' ? all || rejected : action === 'delete' && rejected],
    ['minions_denied', isOn(options, 'include_denied')],
  ]);
}

/** Shows the matching keys and asks; undefined if there is nothing to do. */
export async function askFirst(question: KeyQuestion): Promise<KeyChoice | undefined> {
  const { ring, action, match, options, printer, terminal } = question;
  const chosen = filtered(await ring.match(match), action, options);
  if (chosen.size === 0) {
    terminal.out(noMatch(match, includes(action, options)));
    return undefined;
  }
  terminal.out(`The following keys are going to be ${action.replace(/e$/, '')}ed:\n`);
  const shown: SaltMap = new Map([...chosen].map(([section, ids]) => [section, [...ids]]));
  printer.show(shown, 'key');
  if (isOn(options, 'yes')) return chosen;
  const deleting = action === 'delete';
  const answer = await terminal.ask(`Proceed? [${deleting ? 'N/y' : 'n/Y'}] `, 'out');
  if (answer === undefined) {
    logLine(terminal, 'ERROR', 'EOF when reading a line');
    return undefined;
  }
  const given = answer === '' ? (deleting ? 'n' : 'y') : answer;
  return given.toLowerCase().startsWith('y') ? chosen : undefined;
}

function filtered(found: KeyChoice, action: KeyAction, options: ParsedOptions): KeyChoice {
  if (action === 'delete') return found;
  const also = includes(action, options);
  return new Map([...found].filter(([section]) => section === 'minions_pre' || also.get(section)));
}

function noMatch(match: string, also: ReadonlyMap<KeySection, boolean>): string {
  const states = ['unaccepted'];
  if (also.get('minions') === true) states.push('accepted');
  if (also.get('minions_rejected') === true) states.push('rejected');
  if (also.get('minions_denied') === true) states.push('denied');
  const last = states.pop() ?? '';
  const text = states.length > 0 ? `${states.join(', ')} or ${last}` : last;
  return `The key glob '${match}' does not match any ${text} keys.\n`;
}

/** Inputs for acting on keys. */
export interface KeyDeed {
  readonly ring: KeyRing;
  readonly action: KeyAction;
  readonly options: ParsedOptions;
  readonly terminal: Terminal;
  readonly config: MasterOptions;
}

// Values of `act` in the salt/key event of 3008 (Salt: salt/key.py change_state, delete_key).
const EVENT_ACT: Readonly<Record<KeyAction, string>> = {
  accept: 'accepted',
  reject: 'rejected',
  delete: 'delete',
};

/** Accepts, rejects or deletes the chosen keys, and prints a line per key. */
export async function actOn(deed: KeyDeed, chosen: KeyChoice): Promise<void> {
  const { ring, action, terminal, config } = deed;
  const done: string[] = [];
  for (const [section, ids] of chosen) {
    for (const id of ids) {
      const event = mapOf({ result: true, act: EVENT_ACT[action], id });
      if (action === 'delete') await ring.remove(section, id);
      else {
        const pub = await move(deed, section, id);
        if (pub !== undefined) event.set('pub', pub);
      }
      await fireKeyEvent(config, event);
      done.push(id);
    }
  }
  if (action !== 'accept' && rotates(deed.options, config)) await askForNewAesKey(config);
  printDone(terminal, action, done);
}

/** Prints the result, a line per key. */
export function printDone(terminal: Terminal, action: KeyAction, ids: readonly string[]): void {
  for (const id of ids) terminal.out(`Key for minion ${id} ${action.replace(/e$/, '')}ed.\n`);
}

/** Moves a key and returns it; undefined if it is missing or invalid. */
async function move(deed: KeyDeed, section: KeySection, id: string): Promise<string | undefined> {
  const { ring, action, terminal } = deed;
  const text = await ring.text(section, id);
  if (text === undefined) return undefined;
  try {
    PublicKey.parse(text);
  } catch (error) {
    if (!(error instanceof CryptError)) throw error;
    terminal.err(`Unable to accept invalid key for ${id}.\n`);
    return undefined;
  }
  await ring.put(section, id, action === 'accept' ? 'accepted' : 'rejected', text);
  return text;
}

function rotates(options: ParsedOptions, config: MasterOptions): boolean {
  const asked = textValue(options, 'rotate_aes_key')?.toLowerCase();
  return asked === undefined ? config.rotateAesKey : asked !== 'false';
}

/** Writes the drop file that makes the master create a new AES key. */
async function askForNewAesKey(config: MasterOptions): Promise<void> {
  try {
    const { cachedir, id } = config;
    await asOwnerOf(cachedir, () => writeDropFile(cachedir, id));
  } catch (error) {
    // Without a cache directory no master has run here, so there is no AES key.
    if (!isSystemError(error, 'ENOENT')) throw error;
  }
}

/** Fires `salt/key`, as stock salt-key does. Without a running master the event is dropped. */
async function fireKeyEvent(config: MasterOptions, data: SaltMap): Promise<void> {
  const path = join(config.sockDir, 'master_event_pull.ipc');
  data.set('_stamp', `${new Date().toISOString().replace('Z', '')}000+00:00`);
  try {
    await fireEvent('salt/key', pack(data, 'bin'), { path });
  } catch {
    // No master runs. The files are already changed.
  }
}
