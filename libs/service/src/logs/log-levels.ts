import type { LogLevel } from '@brine/config';

/** Salt's levels as numbers (salt/_logging/impl.py LOG_LEVELS). */
export const LEVEL_NUMBERS: Readonly<Record<LogLevel, number>> = {
  all: 0,
  garbage: 1,
  trace: 5,
  debug: 10,
  profile: 15,
  info: 20,
  warning: 30,
  error: 40,
  critical: 50,
  quiet: 1000,
};

/** The level that lets less through. */
export function stricterLevel(a: LogLevel, b: LogLevel): LogLevel {
  return LEVEL_NUMBERS[a] >= LEVEL_NUMBERS[b] ? a : b;
}

/** The level that lets more through. */
export function laxerLevel(a: LogLevel, b: LogLevel): LogLevel {
  return LEVEL_NUMBERS[a] < LEVEL_NUMBERS[b] ? a : b;
}

/**
 * The lowest level that a part writes: `log_granular_levels` by its nearest name, but never below
 * `floor`, since Salt's handlers let nothing below their level through. The names of
 * `worker-pool-2`, from near to far: itself, `worker-pool`, each of them after `salt.`, and `salt`
 * for all parts.
 */
export function partLevel(
  part: string,
  floor: LogLevel,
  granular: Readonly<Record<string, LogLevel>>,
): LogLevel {
  const service = part.replace(/-\d+$/, '');
  for (const name of [part, `salt.${part}`, service, `salt.${service}`, 'salt']) {
    const level = Object.hasOwn(granular, name) ? granular[name] : undefined;
    if (level !== undefined) return stricterLevel(level, floor);
  }
  return floor;
}
