// Where cache events come from, and how each source does.
import { html } from '../vendor/preact.js';
import { ago, count, millis, UNKNOWN } from '../format.js';
import { useLive } from '../live.js';
import { Empty, Heading, Mark, Missing, Search, Table } from '../parts.js';
import { amend, link, route } from '../route.js';
import { useStore } from '../store.js';

const KINDS = {
  live: 'good',
  replaying: 'warn',
  snapshot: 'good',
  approximate: 'plain',
  silent: 'bad',
  suspect: 'warn',
};
const MEANINGS = {
  live: 'Events arrive as they happen.',
  replaying: 'Earlier events are being read.',
  snapshot: 'What a standby had was taken over; nothing has come since.',
  approximate: 'The engine tells nothing: it is believed to keep what it was sent.',
  silent: 'The engine is not reached, or has said nothing.',
  suspect: 'Events were lost.',
};

export function Sources() {
  const { query } = useStore(route);
  const [vitals, state] = useLive('vitals', 'sources');
  const sources = state && Object.values(state.sources);
  const word = (query.search ?? '').toLowerCase();
  const found = sources?.filter(source =>
    `${source.worker} ${source.source} ${source.mode}`.toLowerCase().includes(word),
  );
  return html`
    <${Heading} title="Event sources" about=${vitals?.sources ? `${vitals.sources.live} of ${vitals.sources.known} live`
        : 'What engines tell of their caches'}>
      <${Search} label="Worker, source or mode" value=${query.search ?? ''} onInput=${search => amend({ search })} />
    <//>
    ${
      !sources
        ? html`<${Missing} />`
        : sources.length === 0
          ? html`<${Empty} title="No worker has a source of events.">
        Name one with <code>events { endpoint = "tcp://…" }</code> in its pod; until then it is believed to keep what it
            was sent.<//>`
          : html`
      <${Table} caption="Event sources" columns=${COLUMNS} rows=${found}
          keyOf=${source => `${source.worker} ${source.source}`} sorted=${{ column: 0, down: false }} />`
    }`;
}

const WORST_FIRST = ['silent', 'suspect', 'replaying', 'approximate', 'snapshot', 'live'];

const COLUMNS = [
  {
    name: 'Mode',
    of: ({ mode }) => html`<${Mark} kind=${KINDS[mode]} title=${MEANINGS[mode]}>${mode}<//>`,
    order: ({ mode }) => WORST_FIRST.indexOf(mode),
  },
  {
    name: 'Worker',
    of: ({ worker }) => html`<a href=${link('overview', '', { worker })}>${worker}</a>`,
    order: ({ worker }) => worker,
  },
  { name: 'Source', of: ({ source }) => source, order: ({ source }) => source },
  {
    name: 'Sequence',
    figure: true,
    of: ({ sequence }) => (sequence < 0 ? UNKNOWN : count(sequence)),
    order: ({ sequence }) => sequence,
  },
  {
    name: 'Lag',
    figure: true,
    title: 'From publishing to the index, by both clocks',
    of: source => millis(source.lag_ms),
    order: source => source.lag_ms,
  },
  {
    name: 'Last event',
    figure: true,
    of: source => ago(source.last_event),
    order: source => source.last_event,
  },
  { name: 'Gaps', figure: true, of: ({ gaps }) => count(gaps), order: ({ gaps }) => gaps },
  { name: 'Resyncs', figure: true, of: ({ resyncs }) => count(resyncs), order: ({ resyncs }) => resyncs },
  {
    name: 'Failures',
    figure: true,
    title: 'Times the stream failed and was opened again',
    of: ({ failures }) => count(failures),
    order: ({ failures }) => failures,
  },
  {
    name: 'Rows',
    figure: true,
    title: 'Blocks the index knows it holds',
    of: ({ rows }) => count(rows),
    order: ({ rows }) => rows,
  },
  { name: 'Last fault', text: true, of: source => source.last_fault ?? UNKNOWN },
];
