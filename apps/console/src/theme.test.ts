import { DEFAULT_THEME, mergeMantineTheme } from '@mantine/core';
import { describe, expect, test } from 'vitest';
import { LEDGER_ORDER, LEDGER_SIGNS } from './state/ledger.ts';
import { colours, theme } from './theme.ts';

/** What is seen as red, green and blue of light, from a colour in linear RGB. */
type Sight = readonly (readonly [number, number, number])[];
type Triple = readonly [number, number, number];

/**
 * Sights without one kind of cones: Machado, Oliveira and Fernandes, "A Physiologically-based Model
 * for Simulation of Color Vision Deficiency", 2009, their matrices for severity 1.
 */
const SIGHTS: Readonly<Record<string, Sight>> = {
  'all cones': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** WCAG 2.2, 1.4.3: text on its background. */
const CONTRAST_MIN = 4.5;
/** CIE 1976; 2.3 is just seen to differ side by side. */
const DISTANCE_MIN = 7;
/** From linear sRGB to XYZ by the white of D65, whose Y is the luminance (IEC 61966-2-1). */
const XYZ: Sight = [
  [0.4124564 / 0.95047, 0.3575761 / 0.95047, 0.1804375 / 0.95047],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339 / 1.08883, 0.119192 / 1.08883, 0.9503041 / 1.08883],
];

const mantine = mergeMantineTheme(DEFAULT_THEME, theme);
/** The page's own background: `--mantine-color-body`. */
const BACKGROUNDS = { light: mantine.white, dark: mantine.colors.dark[7] } as const;
const THEMES = ['light', 'dark'] as const;

function colourOf(scheme: 'light' | 'dark', state: string): string {
  const colour = colours(mantine)[scheme][`--state-${state}`];
  if (colour === undefined) throw new Error(`${state} has no colour`);
  return colour;
}

/** Red, green and blue, 0 to 255, of `#rrggbb`, `#rgb` or `rgba(…)` without transparency. */
function partsOf(colour: string): readonly number[] {
  const numbers = /^rgba\((\d+), (\d+), (\d+), 1\)$/.exec(colour)?.slice(1).map(Number);
  if (numbers !== undefined) return numbers;
  const digits = colour.length === 4 ? colour.replaceAll(/\w/g, '$&$&') : colour;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}

/** The light of a colour, by the curve of sRGB. */
function lightOf(colour: string): Triple {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return [red, green, blue];
}

function through(sight: Sight, light: Triple): Triple {
  const [one, two, three] = sight.map((row) =>
    row.reduce((sum, factor, at) => sum + factor * (light[at] ?? 0), 0),
  );
  return [one ?? 0, two ?? 0, three ?? 0];
}

function contrast(one: string, other: string): number {
  const luminance = (colour: string): number => through(XYZ, lightOf(colour))[1];
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** CIELAB of a colour as it is seen. */
function seen(sight: Sight, colour: string): Triple {
  const clear = (value: number): number => Math.min(1, Math.max(0, value));
  const [red, green, blue] = through(sight, lightOf(colour));
  const [x, y, z] = through(XYZ, [clear(red), clear(green), clear(blue)]).map((value) =>
    value > 216 / 24_389 ? Math.cbrt(value) : (24_389 / 27) * (value / 116) + 16 / 116,
  ) as [number, number, number];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const PAIRS = LEDGER_ORDER.flatMap((one, at) =>
  LEDGER_ORDER.slice(at + 1).map((other) => [one, other] as const),
);

describe.each(THEMES)('colours of states and dimmed texts, %s', (scheme) => {
  test('are read on the background of the page', () => {
    const names = [...LEDGER_ORDER.map((state) => `--state-${state}`), '--mantine-color-dimmed'];
    for (const name of names) {
      const given: Readonly<Record<string, string>> = colours(mantine)[scheme];
      const colour = given[name] ?? '';
      const found = contrast(colour, BACKGROUNDS[scheme]);
      expect(found, name).toBeGreaterThanOrEqual(CONTRAST_MIN);
    }
  });

  test.each(Object.keys(SIGHTS))('differ for people with %s', (name) => {
    const sight = SIGHTS[name] ?? [];
    for (const [one, other] of PAIRS) {
      const from = seen(sight, colourOf(scheme, one));
      const to = seen(sight, colourOf(scheme, other));
      const distance = Math.hypot(...from.map((value, at) => value - (to[at] ?? 0)));
      expect(distance, `${one} and ${other}`).toBeGreaterThan(DISTANCE_MIN);
    }
  });
});

/** All but the greys of the dark theme. */
const PALETTE = Object.keys(mantine.colors).filter((name) => name !== 'dark');

test.each(PALETTE)('light parts in %s have text that is read', (name) => {
  const shades = mantine.colors[name] ?? [];
  const text = colours(mantine).light[`--mantine-color-${name}-light-color`] ?? '';
  // The background, and that below the pointer.
  for (const background of [shades[1], shades[2]]) {
    expect(contrast(text, background ?? ''), background).toBeGreaterThanOrEqual(CONTRAST_MIN);
  }
});

test('in greys states differ by shape, letter and word', () => {
  const all = LEDGER_ORDER.map((state) => LEDGER_SIGNS[state]);
  for (const name of ['shape', 'letter', 'word'] as const) {
    expect(new Set(all.map((sign) => sign[name])).size).toBe(LEDGER_ORDER.length);
  }
});

test('the simulations are those of the paper: without red cones, red is dark', () => {
  // A grey stays a grey in each of them, and protanopia takes the light of red.
  for (const [name, sight] of Object.entries(SIGHTS)) {
    for (const part of through(sight, [0.5, 0.5, 0.5])) expect(part, name).toBeCloseTo(0.5, 4);
  }
  const red = '#ff0000';
  const bright = seen(SIGHTS['all cones'] ?? [], red)[0];
  expect(seen(SIGHTS['protanopia'] ?? [], red)[0]).toBeLessThan(bright - 10);
});
