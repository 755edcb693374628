import { Spotlight, type SpotlightActionData } from '@mantine/spotlight';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { PAGES } from './pages.ts';

/** The jid of Salt: a time of 20 digits. */
const JID = /^\d{20}$/;
const FOUND_MAX = 12;

/** Finds pages and jobs by what one types. */
export function Palette() {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const actions: SpotlightActionData[] = PAGES.map(({ path, name, question }) => ({
    id: path,
    label: name,
    description: question,
    onClick: () => void navigate({ to: path }),
  }));
  const word = text.trim();
  if (JID.test(word)) {
    actions.unshift({
      id: 'job',
      label: `Job ${word}`,
      onClick: () => void navigate({ to: '/jobs/$jid', params: { jid: word } }),
    });
  }
  return (
    <Spotlight
      actions={actions}
      query={text}
      onQueryChange={setText}
      shortcut={['mod + K']}
      limit={FOUND_MAX}
      nothingFound="Nothing found"
      searchProps={{ placeholder: 'A page, a minion, a jid, a function', 'aria-label': 'Search' }}
    />
  );
}
