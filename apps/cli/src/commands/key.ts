import { EXIT, Exit } from '../exit-codes.ts';
import { findMaster } from '../find-master.ts';
import { actOn, askFirst, type KeyAction } from '../keys/act.ts';
import { generateKeys, signMasterKey } from '../keys/generate.ts';
import { KEY_FORM } from '../keys/key-options.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { listKeys, printFingerprints, printKeys } from '../keys/list.ts';
import type { ApiOption } from '../master-place.ts';
import { isOn, numberValue, type ParsedOptions, textValue } from '../options/command-form.ts';
import { OptionParser } from '../options/option-parser.ts';
import { emptyOutputFile, Printer } from '../printer.ts';
import type { Terminal } from '../terminal.ts';

// The first given one of these is executed (Salt: salt/key.py _update_opts).
const VERBS = [
  'gen_keys',
  'gen_signature',
  'list',
  'list_all',
  'print',
  'print_all',
  'accept',
  'accept_all',
  'reject',
  'reject_all',
  'delete',
  'delete_all',
  'finger',
  'finger_all',
] as const;

const LIST_WORDS = ['acc', 'pre', 'un', 'rej', 'den', 'all'];

/** `salt-key`: works on the key files, with and without a running master. */
export async function runKey(
  args: readonly string[],
  terminal: Terminal,
  api?: ApiOption,
): Promise<number> {
  const parser = new OptionParser(KEY_FORM);
  const options = parser.parse(args);
  checkOptions(parser, options);
  emptyOutputFile(options, parser);
  const codes = { refused: EXIT.noReturn, unreachable: EXIT.noReturn };
  const place = await findMaster(options, terminal, api, codes);
  const { config } = place;
  const printer = new Printer(options, config, terminal);
  const verb = VERBS.find((name) => isAsked(options, name)) ?? 'list_all';
  const match = verb.endsWith('_all') ? '*' : (textValue(options, verb) ?? '*');
  if (place.api !== undefined || textValue(options, 'eauth') !== undefined) {
    // Loaded only here: without a login the files are enough.
    const { keysByLogin } = await import('../keys/by-login.ts');
    return keysByLogin({ options, place, printer, terminal }, verb, match);
  }
  const ring = new KeyRing(config);
  switch (verb) {
    case 'gen_keys':
      return generateKeys(options, parser, printer);
    case 'gen_signature':
      return signMasterKey(options, config, printer);
    case 'list':
      await listKeys(ring, match, printer);
      return EXIT.ok;
    case 'list_all':
      await listKeys(ring, 'all', printer);
      return EXIT.ok;
    case 'print':
    case 'print_all':
      await printKeys(ring, match, printer);
      return EXIT.ok;
    case 'finger':
    case 'finger_all':
      await printFingerprints(ring, match, printer);
      return EXIT.ok;
    default: {
      const action = verb.replace('_all', '') as KeyAction;
      const chosen = await askFirst({ ring, action, match, options, printer, terminal });
      if (chosen === undefined) return EXIT.ok;
      await actOn({ ring, action, options, terminal, config }, chosen);
      return EXIT.ok;
    }
  }
}

function isAsked(options: ParsedOptions, verb: string): boolean {
  return isOn(options, verb) || textValue(options, verb) !== undefined;
}

/** Verbs for all keys. They take no ids: with an id, the user meant another verb. */
const FOR_ALL = [
  ['accept_all', 'Accept all', '-a', 'accept'],
  ['reject_all', 'Reject all', '-r', 'reject'],
  ['delete_all', 'Delete all', '-d', 'delete'],
] as const;

function checkOptions(parser: OptionParser, options: ParsedOptions): void {
  for (const [verb, name, instead, act] of FOR_ALL) {
    if (!isOn(options, verb) || options.args.length === 0) continue;
    // Salt prints this only for -D and then exits with 0 (salt/cli/key.py).
    const text = `${name} takes no arguments. Use ${instead} to ${act} specified keys`;
    throw new Exit(EXIT.usage, `Error: ${text}\n`);
  }
  const list = textValue(options, 'list');
  if (list !== undefined && !LIST_WORDS.some((word) => list.startsWith(word))) {
    throw parser.error(`'${list}' is not a valid argument to '--list'`);
  }
  const keysize = numberValue(options, 'keysize') ?? 2048;
  if (keysize < 2048) throw parser.error('The minimum value for keysize is 2048');
  if (keysize > 32768) throw parser.error('The maximum value for keysize is 32768');
}
