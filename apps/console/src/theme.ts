import { createTheme, type CSSVariablesResolver } from '@mantine/core';

/** Fonts of the system: nothing is loaded. */
const TEXT = 'system-ui, "Segoe UI", "Liberation Sans", sans-serif';
const FIXED = 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace';

export const theme = createTheme({
  primaryColor: 'teal',
  primaryShade: { light: 8, dark: 5 },
  autoContrast: true,
  fontFamily: TEXT,
  fontFamilyMonospace: FIXED,
  headings: { fontFamily: TEXT, sizes: { h1: { fontSize: '1.25rem' } } },
  defaultRadius: 'sm',
  respectReducedMotion: true,
  cursorType: 'pointer',
});

/**
 * Colours of the states, of Okabe and Ito, which differ for people who see few colours. Dark
 * enough on white, light enough on black, for text too (4.5:1).
 */
export const stateColours: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--state-returned': '#00735a',
    '--state-failed': '#b84300',
    '--state-late': '#8a5a00',
    '--state-waiting': '#5c6370',
    '--state-never': '#9b4b80',
  },
  dark: {
    '--state-returned': '#1fc79a',
    '--state-failed': '#ff8a4c',
    '--state-late': '#f0b429',
    '--state-waiting': '#a6adba',
    '--state-never': '#e08fc4',
  },
});
