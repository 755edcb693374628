import { fingerprint } from '@brine/crypt';
import { compileGlob } from '@brine/target';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { Printer } from '../printer.ts';
import type { KeyRing, KeySection } from './key-ring.ts';

const SECTION_BY_WORD: readonly (readonly [word: string, section: KeySection])[] = [
  ['acc', 'minions'],
  ['pre', 'minions_pre'],
  ['un', 'minions_pre'],
  ['rej', 'minions_rejected'],
  ['den', 'minions_denied'],
];

/** `-l` and `-L`. */
export async function listKeys(ring: KeyRing, what: string, printer: Printer): Promise<void> {
  const all = await ring.all();
  const section = SECTION_BY_WORD.find(([word]) => what.startsWith(word))?.[1];
  const shown: SaltMap = new Map();
  for (const [name, ids] of all) {
    if (section === undefined || section === name) shown.set(name, ids);
  }
  printer.show(shown, 'key');
}

/** `-p` and `-P`. */
export async function printKeys(ring: KeyRing, match: string, printer: Printer): Promise<void> {
  printer.show(await texts(ring, match, (text) => text), 'key');
}

/** `-f` and `-F`; only with `-F` and matching globs the master's own keys are shown too. */
export async function printFingerprints(
  ring: KeyRing,
  match: string,
  printer: Printer,
): Promise<void> {
  const shown = await texts(ring, match, (text) => fingerprint(text, '3008'));
  const globs = match.split(',').map(compileGlob);
  const local: Record<string, SaltValue> = {};
  for (const [name, text] of await ring.local()) {
    if (globs.some((glob) => glob(name))) local[name] = fingerprint(text, '3008');
  }
  if (Object.keys(local).length > 0) shown.set('local', mapOf(local));
  printer.show(shown, 'key');
}

async function texts(
  ring: KeyRing,
  match: string,
  view: (text: string) => string,
): Promise<SaltMap> {
  const shown: SaltMap = new Map();
  for (const [section, ids] of await ring.match(match)) {
    const keys: SaltMap = new Map();
    for (const id of ids) {
      const text = await ring.text(section, id);
      // Removed since the directory was read.
      if (text !== undefined) keys.set(id, view(text));
    }
    shown.set(section, keys);
  }
  return shown;
}
