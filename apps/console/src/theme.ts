import { createTheme, type CSSVariablesResolver, darken, type MantineTheme } from '@mantine/core';

/** Fonts of the system: nothing is loaded. */
const TEXT = 'system-ui, "Segoe UI", "Liberation Sans", sans-serif';
const FIXED = 'ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace';

export const theme = createTheme({
  primaryColor: 'teal',
  // Dark enough for white text on a button.
  primaryShade: { light: 9, dark: 5 },
  autoContrast: true,
  fontFamily: TEXT,
  fontFamilyMonospace: FIXED,
  headings: { fontFamily: TEXT, sizes: { h1: { fontSize: '1.25rem' } } },
  defaultRadius: 'sm',
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    // In a text a link is not known by its colour alone.
    Anchor: { defaultProps: { underline: 'always' } },
    // What is in a line may need all of its width.
    List: { styles: { itemWrapper: { width: '100%' }, itemLabel: { width: '100%' } } },
    // A filled one has white text in both themes: 2.1:1 in the dark one.
    Chip: { defaultProps: { variant: 'light' } },
  },
});

/** How much darker than Mantine's is the text of light alerts, buttons and links. */
const DARKER = 0.4;

/**
 * Colours of the states, near those of Okabe and Ito, which differ for people who see few colours,
 * and of texts. Dark enough on white, light enough on black (4.5:1): `theme.test.ts` computes it.
 */
export const colours: CSSVariablesResolver = (all) => ({
  variables: {},
  light: {
    ...textsOnLight(all),
    '--mantine-color-dimmed': all.colors.gray[7],
    '--state-returned': '#00735a',
    '--state-failed': '#b52a00',
    '--state-late': '#84681c',
    '--state-waiting': '#5c6370',
    '--state-never': '#93469d',
  },
  dark: {
    '--mantine-color-dimmed': all.colors.dark[1],
    '--state-returned': '#1fc79a',
    '--state-failed': '#ff8257',
    '--state-late': '#f0b429',
    '--state-waiting': '#a0b0b4',
    '--state-never': '#cf92e8',
  },
});

function textsOnLight({ colors: palette }: MantineTheme): Record<string, string> {
  return Object.fromEntries(
    Object.entries(palette).map(([name, shades]) => [
      `--mantine-color-${name}-light-color`,
      darken(shades[9], DARKER),
    ]),
  );
}
