// What administrators did and how workers' health changed, newest first.
import { html } from '../vendor/preact.js';
import { useAnswer } from '../api.js';
import { moment, UNKNOWN } from '../format.js';
import { useLive } from '../live.js';
import { Choice, Empty, Heading, Mark, Missing, Search, Table } from '../parts.js';
import { amend, route } from '../route.js';
import { useStore } from '../store.js';

const KINDS = [
  ['', 'everything'],
  ['administration', 'administration'],
  ['health', 'health'],
  ['move', 'moves of cells'],
];
const SHOWN = 200;

export function Log() {
  useLive('vitals');
  const { query } = useStore(route);
  const kind = query.kind ?? '';
  const { data, error, reload } = useAnswer(`log?limit=${SHOWN}${kind ? `&kind=${kind}` : ''}`);
  const word = (query.search ?? '').toLowerCase();
  const entries = data?.log?.filter(entry => Object.values(entry).join(' ').toLowerCase().includes(word));
  return html`
    <${Heading} title="Log" about="Administration, health and moves of cells, as this node saw them">
      <${Search} label="Anything" value=${query.search ?? ''} onInput=${search => amend({ search })} />
      <${Choice} label="Show" value=${kind} options=${KINDS} onChange=${each => amend({ kind: each })} />
      <button onClick=${reload}>Refresh</button>
    <//>
    ${
      !entries
        ? html`<${Missing} error=${error} />`
        : entries.length === 0
          ? html`<${Nothing} filtered=${word !== '' || kind !== ''} />`
          : html`
      <${Table} caption="Log" columns=${COLUMNS} rows=${entries} stacked keyOf=${entry => Object.values(entry).join(' ')} />`
    }`;
}

const Nothing = ({ filtered }) =>
  filtered
    ? html`<${Empty} title="Nothing of that kind.">Among the last entries none is as searched and chosen above.<//>`
    : html`<${Empty} title="Nothing has happened.">
        Changes by administrators, of workers' health and of cells' homes are written here as they come.<//>`;

const KINDS_OF_OUTCOME = { success: 'good', healthy: 'good', denied: 'warn', moved: 'plain' };

const outcomeOf = entry => (entry.kind === 'health' ? entry.what : entry.kind === 'move' ? 'moved' : entry.outcome);

const whoOf = entry => entry.who ?? entry.worker ?? entry.cell;

const TEXTS = { health: ({ why }) => why, move: ({ what, why }) => `${what}: ${why}` };

const COLUMNS = [
  { name: 'When', of: ({ time }) => moment(time), order: ({ time }) => time },
  { name: 'Kind', of: ({ kind }) => kind, order: ({ kind }) => kind },
  { name: 'Who', of: entry => whoOf(entry) ?? UNKNOWN, order: whoOf },
  {
    name: 'What',
    text: true,
    of: entry => html`${(TEXTS[entry.kind] ?? (({ what }) => what))(entry)} <${Change} entry=${entry} />`,
  },
  {
    name: 'Outcome',
    of: entry => html`<${Mark} kind=${KINDS_OF_OUTCOME[outcomeOf(entry)] ?? 'bad'}>${outcomeOf(entry)}<//>`,
    order: outcomeOf,
  },
];

/** Why it was refused, or what has been changed. */
function Change({ entry }) {
  if (entry.message) return html`<span class="soft">${entry.message}</span>`;
  if (entry.before === undefined && entry.after === undefined) return null;
  const state = value => JSON.stringify(value ?? null, null, 1);
  return html`<details><summary>before and after</summary><pre><del>${state(entry.before)}</del>
<ins>${state(entry.after)}</ins></pre></details>`;
}
