/** For the fields of commands: letters of one width, for the text and not for its label. */
export const FIXED = { input: { fontFamily: 'var(--mantine-font-family-monospace)' } } as const;
