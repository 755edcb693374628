import type { Found } from '../state/palette.ts';

/** What one may use; rows of a grid have keys of their own. */
const USABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), ' +
  'textarea:not(:disabled), [role="tab"]';
/** Its text sets several of one name apart. */
const AROUND = 'li, tr, fieldset, [role="radiogroup"]';
const DIALOG = '[role="dialog"], [role="menu"]';
const PALETTE = '[data-palette]';
/** Of a page; more are not looked at. */
const USABLE_MAX = 300;
const TEXT_MAX = 120;

/** Something on the page that is open. */
export interface FoundHere {
  readonly found: Found;
  readonly element: HTMLElement;
}

/** Buttons, links, tabs and fields of the page, or of an open dialog, by their names. */
export function findHere(): readonly FoundHere[] {
  // The newest dialog, which is the last one; the palette is one itself.
  const dialogs = [...document.querySelectorAll(DIALOG)];
  const place =
    dialogs.findLast((one) => one.querySelector(PALETTE) === null) ??
    document.querySelector('main');
  const names = new Set<string>();
  return [...(place?.querySelectorAll<HTMLElement>(USABLE) ?? [])]
    .slice(0, USABLE_MAX)
    .flatMap((element, at): FoundHere[] => {
      if (element.closest('[role="grid"]') !== null || !element.checkVisibility()) return [];
      const label = nameOf(element);
      const description = aroundOf(element);
      const name = JSON.stringify([label, description]);
      if (label === '' || names.has(name)) return [];
      names.add(name);
      const found = { id: `here ${at}`, group: 'On this page', label, description } as const;
      return [{ found, element }];
    });
}

/** Goes to a field that one writes in; anything else does what a click does. */
export function actOn(element: HTMLElement): void {
  element.focus();
  if (!isWriting(element)) element.click();
}

/** Moves the focus to the rows of the page, if it has any and no dialog is open. */
export function enterRows(): void {
  if (document.activeElement?.closest(DIALOG)) return;
  document.querySelector<HTMLElement>('main [role="grid"] [role="row"][tabindex="0"]')?.focus();
}

/** Gives the keys back to the page; in a dialog Escape closes that. */
export function leaveField(field: EventTarget | null): void {
  if (!(field instanceof HTMLElement) || field.closest(DIALOG) !== null) return;
  document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
}

/** Whether letters that are typed there are text. */
export function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !/^(checkbox|radio|button|submit|reset)$/.test(target.type);
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

function nameOf(element: HTMLElement): string {
  const isField = element instanceof HTMLInputElement || element instanceof HTMLSelectElement;
  const labels = isField ? [...(element.labels ?? [])].map(textOf).join(' ') : '';
  const named = element.getAttribute('aria-label') ?? labels;
  return cut(named === '' && !isField ? textOf(element) : named);
}

function aroundOf(element: HTMLElement): string {
  const around = element.closest(AROUND);
  if (around === null) return '';
  const legend = around.querySelector(':scope > legend');
  return cut(around.getAttribute('aria-label') ?? textOf(legend ?? around));
}

function textOf({ textContent }: Element): string {
  return (textContent ?? '').replaceAll(/\s+/g, ' ').trim();
}

function cut(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
