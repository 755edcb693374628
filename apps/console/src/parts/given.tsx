import type { ReactNode } from 'react';

/** Characters that turn or hide text, but for line feed and tab: seen as their numbers instead. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\u2028\u2029]/gu;
/** Longer texts are cut, so that one value does not stop the page. */
const LENGTH_MAX = 20_000;

/** A text of a minion or of a user as one can read it: nothing in it is hidden or turned. */
export function shown(text: string, max = LENGTH_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max)}… (${text.length} characters)` : text;
  return cut.replace(HIDDEN, (one) => {
    const number = (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

/** A name or a short text from outside: an id, a tag, a function, a user. */
export function Given({ text, max = 300 }: { readonly text: string; readonly max?: number }) {
  return <bdi className="given">{shown(text, max)}</bdi>;
}

/** Some lines from outside. */
export function GivenLines({
  text,
  children,
}: {
  readonly text: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="given-lines">
      {shown(text)}
      {children}
    </div>
  );
}
