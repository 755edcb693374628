/**
 * The oldest server that Brine works with: older ones lack what it uses, or lose data in ways that
 * were measured. This release is also the one that is installed, since 2.15.1 stays dead after a
 * full disk until it is restarted.
 */
export const NATS_FLOOR = '2.12.8';

/**
 * Compares two versions of the form `2.12.8` or `v2.12.8-RC.1`; a text that is no version is too
 * old.
 */
export function isAtLeast(version: string, floor: string): boolean {
  const have = numbers(version);
  const want = numbers(floor);
  if (have === undefined || want === undefined) return false;
  for (const [at, part] of want.entries()) {
    const mine = have[at] ?? 0;
    if (mine !== part) return mine > part;
  }
  return true;
}

/** The version in the output of `nats-server -v`, as `nats-server: v2.12.8`. */
export function versionIn(text: string): string | undefined {
  return /v?(\d+\.\d+\.\d+)/.exec(text)?.[1];
}

function numbers(version: string): readonly number[] | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version.trim());
  return match === null ? undefined : match.slice(1).map(Number);
}
