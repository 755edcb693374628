import { createContext, use } from 'react';

/** What a person set for this browser. */
export interface Settings {
  readonly density: 'compact' | 'roomy';
  /** Which time stands first; the other one is beside it. */
  readonly zone: 'utc' | 'local';
}

const NAME = 'brine-settings';
const USUAL: Settings = { density: 'compact', zone: 'utc' };

/** Reads what was set; the usual where there is nothing, or nothing sensible. */
export function readSettings(): Settings {
  try {
    const { density, zone } = JSON.parse(localStorage.getItem(NAME) ?? '{}') as Partial<Settings>;
    return {
      density: density === 'roomy' ? 'roomy' : USUAL.density,
      zone: zone === 'local' ? 'local' : USUAL.zone,
    };
  } catch {
    // Another program wrote it, or the browser keeps nothing.
    return USUAL;
  }
}

/** Keeps it for this browser, if the browser keeps anything. */
export function keepSettings(settings: Settings): void {
  try {
    localStorage.setItem(NAME, JSON.stringify(settings));
  } catch {
    // Full or forbidden: it is in force for this tab alone.
  }
}

export const SettingsContext = createContext<{
  readonly settings: Settings;
  readonly set: (settings: Settings) => void;
}>({ settings: USUAL, set: () => undefined });

export function useSettings() {
  return use(SettingsContext);
}
