// The last decisions that this node recorded, and each of them in full, at an address that can be sent.
import { html } from '../vendor/preact.js';
import { useAnswer } from '../api.js';
import { clock, count, millis, percent, UNKNOWN } from '../format.js';
import { Decision } from '../decision.js';
import { useLive } from '../live.js';
import { Empty, Heading, Mark, Missing, Table } from '../parts.js';
import { amend, link, route } from '../route.js';
import { useStore } from '../store.js';

const SHOWN = 100;
const FILTERS = ['model', 'worker', 'session', 'request', 'trace'];

export function Decisions() {
  useLive('vitals');
  const { id } = useStore(route);
  return id ? html`<${One} id=${id} />` : html`<${Recent} />`;
}

function One({ id }) {
  const { data, error } = useAnswer(`decisions/${encodeURIComponent(id)}`);
  const copy = () => navigator.clipboard?.writeText(location.href);
  return html`
    <${Heading} title="Decision" about=${data ? `${clock(data.time)}, request ${data.request_id}` : id}>
      <a class="button" href=${link('decisions')}>All</a>
      <button onClick=${copy}>Copy link</button>
    <//>
    ${data ? html`<${Decision} decision=${data} />` : html`<${Missing} error=${error} />`}`;
}

function Recent() {
  const { query } = useStore(route);
  const asked = new URLSearchParams({ limit: SHOWN });
  FILTERS.filter(name => query[name]).forEach(name => asked.set(name, query[name]));
  const { data, error, reload } = useAnswer(`decisions?${asked}`);
  const filtered = FILTERS.some(name => query[name]);
  return html`
    <${Heading} title="Decisions" about="The last that the cells at home on this node recorded, newest first">
      <a class="button" href=${link('explain')}>Explain a request</a>
      <button onClick=${reload}>Refresh</button>
    <//>
    <div class="filters">
      ${FILTERS.map(
        (name, at) => html`<label class="choice"><span>${name}</span>
        <input value=${query[name] ?? ''} data-search=${at === 0 ? '' : undefined} spellcheck=${false}
               onChange=${event => amend({ [name]: event.target.value.trim() })} /></label>`,
      )}
    </div>
    ${
      !data
        ? html`<${Missing} error=${error} />`
        : data.decisions.length === 0
          ? html`<${None} filtered=${filtered} />`
          : html`
      <${Table} caption="Decisions" columns=${COLUMNS} rows=${data.decisions} keyOf=${keyOf} />`
    }`;
}

const keyOf = decision => decision.id ?? `${decision.request_id} ${decision.time}`;

const None = ({ filtered }) =>
  filtered
    ? html`<${Empty} title="No record fits.">Take a filter away.<//>`
    : html`<${Empty} title="Nothing is recorded yet.">The share of requests in <code>kvasir.decisions.sample</code> is;
        send some, or
      <a href=${link('explain')}> explain a request</a> without sending it.<//>`;

const last = decision => decision.outcomes?.at(-1);
const step = decision => decision.plan[0];

const COLUMNS = [
  {
    name: 'When',
    of: decision => html`<a href=${link('decisions', keyOf(decision))}>${clock(decision.time)}</a>`,
    order: decision => decision.time,
  },
  {
    name: 'Request',
    of: decision => html`<code title=${decision.request_id}>${decision.request_id.slice(0, 12)}</code>`,
  },
  { name: 'Model', of: decision => decision.model, order: decision => decision.model },
  { name: 'Profile', of: decision => decision.profile, order: decision => decision.profile },
  {
    name: 'Sent to',
    of: decision =>
      decision.refused
        ? html`<${Mark} kind="bad">${decision.refused}<//>`
        : decision.plan.map(({ worker }) => worker).join(' → '),
    order: decision => step(decision)?.worker,
  },
  {
    name: 'Prompt',
    figure: true,
    of: decision => count(decision.prompt_tokens),
    order: decision => decision.prompt_tokens,
  },
  {
    name: 'Promised',
    figure: true,
    title: 'Share of the prompt held where it was sent',
    order: decision => share(decision),
    of: decision => percent(share(decision)),
  },
  {
    name: 'Candidates',
    figure: true,
    of: decision => count(decision.passes[0]?.candidates.length),
    order: decision => decision.passes[0]?.candidates.length,
  },
  {
    name: 'First token',
    figure: true,
    of: decision => millis(last(decision)?.ttft_ms),
    order: decision => last(decision)?.ttft_ms,
  },
  {
    name: 'Delivered',
    figure: true,
    title: 'Tokens from cache, as the engine reports',
    of: decision => count(last(decision)?.cached_tokens),
    order: decision => last(decision)?.cached_tokens,
  },
  { name: 'Outcome', of: decision => last(decision)?.outcome ?? UNKNOWN, order: decision => last(decision)?.outcome },
];

function share(decision) {
  const planned = step(decision);
  return planned && decision.prompt_tokens > 0 ? planned.cached_tokens / decision.prompt_tokens : null;
}
