import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** What a page must not have. */
const GRAVE: ReadonlySet<string> = new Set(['serious', 'critical']);
const SHOWN_CHARS = 200;

/**
 * What axe finds of serious weight in a page, a line for each element.
 * @param rules the rules that are asked; none for all of them
 */
export async function graveFindings(
  page: Page,
  rules: readonly string[] = [],
): Promise<readonly string[]> {
  // The policy is that of the page's own scripts: what a debugger evaluates is not under it.
  await page.evaluate(`globalThis.axe ?? (() => { ${axe.source} })(), undefined`);
  const options = JSON.stringify(rules.length === 0 ? {} : { runOnly: rules });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
  return violations
    .filter(({ impact }) => GRAVE.has(impact ?? ''))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = '' }) =>
        `${id}: ${html.slice(0, SHOWN_CHARS)} ${failureSummary.slice(0, SHOWN_CHARS)}`.replaceAll(
          /\s+/g,
          ' ',
        ),
      ),
    );
}
