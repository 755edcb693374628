/** A page as the menu, the palette and the keys know it. */
export interface PageEntry {
  readonly path: string;
  readonly name: string;
  /** After `g`. */
  readonly key: string;
  /** The question that it answers. */
  readonly question: string;
}

/** All pages of the menu, in its order. */
export const PAGES: readonly PageEntry[] = [
  { path: '/jobs', name: 'Jobs', key: 'j', question: 'What runs, what failed?' },
];
