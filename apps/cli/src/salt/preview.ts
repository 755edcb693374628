import type { Command } from '@brine/client';
import type { MasterOptions } from '@brine/config';
import { KeyStore, PkiError } from '@brine/pki';
import { checkMinions, type TargetView } from '@brine/target';
import { EXIT } from '../exit-codes.ts';
import type { Printer } from '../printer.ts';
import { logLine, type Terminal } from '../terminal.ts';

// Only the workers have the minions' grains and pillars.
const DATA_TARGETS = new Set(['grain', 'grain_pcre', 'pillar', 'pillar_pcre', 'ipcidr', 'range']);

/** The accepted minions that a target names by their ids. */
export async function targetedMinions(
  command: Pick<Command, 'tgt' | 'tgtType'>,
  config: MasterOptions,
): Promise<string[]> {
  const view: TargetView = {
    accepted: new Set(await acceptedIds(config.pkiDir)),
    grains: () => undefined,
    pillar: () => undefined,
    nodegroups: config.nodegroups,
    cacheless: config.brine.cachelessTargets,
  };
  const { tgt, tgtType } = command;
  return checkMinions({ tgt: typeof tgt === 'string' ? tgt : [...tgt], tgtType }, view).minions;
}

async function acceptedIds(pkiDir: string): Promise<readonly string[]> {
  try {
    return (await new KeyStore(pkiDir).list()).accepted;
  } catch (error) {
    if (error instanceof PkiError && error.code === 'SALT_PKI_STORE_AWAY') return [];
    throw error;
  }
}

/** `--preview-target`: the ids that match, without running anything. */
export async function previewTarget(
  command: Pick<Command, 'tgt' | 'tgtType'>,
  config: MasterOptions,
  printer: Printer,
  terminal: Terminal,
): Promise<number> {
  if (DATA_TARGETS.has(command.tgtType)) {
    const text = 'A target by grains, pillar or address can only be previewed by running test.ping';
    logLine(terminal, 'WARNING', text);
  }
  const minions = (await targetedMinions(command, config)).sort();
  printer.show(minions, 'nested');
  if (minions.length > 0) return EXIT.ok;
  terminal.err('ERROR: No return received\n');
  return EXIT.noReturn;
}
