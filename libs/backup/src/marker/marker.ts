import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { asOwnerOf, asOwnerOfNow, removeIfThere, textNowIfThere, writeAtomic } from '@brine/files';

/** A restore that was begun on this host and is not done. */
export interface RestoreMarker {
  /** Name of the backup. */
  readonly backup: string;
  /** Its file, as it was given. */
  readonly file: string;
  /** This host had certificates of its own, which stay. */
  readonly keepsCertificates: boolean;
  /** Parts that are put back. */
  readonly done: readonly string[];
}

function pathOf(stateDir: string): string {
  return join(stateDir, 'restore.json');
}

/** The unfinished restore of this host; undefined if there is no marker. */
export function readMarker(stateDir: string): RestoreMarker | undefined {
  const text = asOwnerOfNow(stateDir, () => textNowIfThere(pathOf(stateDir)));
  return text === undefined ? undefined : (JSON.parse(text) as RestoreMarker);
}

/** Records the progress of a restore on disk. */
export async function writeMarker(stateDir: string, marker: RestoreMarker): Promise<void> {
  await asOwnerOf(stateDir, async () => {
    await mkdir(stateDir, { recursive: true, mode: 0o711 });
    await writeAtomic(pathOf(stateDir), JSON.stringify(marker), { mode: 0o600 });
  });
}

/** The restore is done. */
export async function removeMarker(stateDir: string): Promise<void> {
  await asOwnerOf(stateDir, () => removeIfThere(pathOf(stateDir)));
}
