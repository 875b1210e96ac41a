// Who uses the router, and how much of each limit is used.
import { html } from '../vendor/preact.js';
import { count, millis, percent, rate, short } from '../format.js';
import { useLive } from '../live.js';
import { Bar, Empty, Heading, Mark, Missing, Search, Table } from '../parts.js';
import { amend, route } from '../route.js';
import { useStore } from '../store.js';

export function Tenants() {
  const { query } = useStore(route);
  const [, state] = useLive('vitals', 'tenants');
  const tenants = state && Object.values(state.tenants);
  const word = (query.search ?? '').toLowerCase();
  return html`
    <${Heading} title="Tenants"
        about=${`${state ? traffic(state) : 'Traffic'} by tenant: the 50 with most, and the rest together`}>
      <${Search} label="Tenant" value=${query.search ?? ''} onInput=${search => amend({ search })} />
    <//>
    ${
      state?.missing_nodes.length > 0 &&
      html`<p class="calm"><${Mark} kind="bad" title="The sums are without them">no figures<//> of ${state.missing_nodes.join(', ')}</p>`
    }
    ${
      !tenants
        ? html`<${Missing} />`
        : tenants.length === 0
          ? html`<${Empty} title="No tenant has sent anything yet.">
        Clients are told apart by their keys: <code>kvasir keys create NAME --tenant TENANT</code>.<//>`
          : html`
      <${Table} caption="Tenants" columns=${COLUMNS}
          rows=${tenants.filter(({ tenant }) => tenant.toLowerCase().includes(word))}
        keyOf=${({ tenant }) => tenant} stacked sorted=${{ column: 1, down: true }} />`
    }`;
}

/** Whose traffic it is. */
function traffic({ nodes, missing_nodes: missing }) {
  const all = nodes + missing.length;
  return missing.length > 0 ? `Traffic of ${nodes} of ${all} nodes` : all === 1 ? 'Traffic' : `Traffic of all ${all} nodes`;
}

const COLUMNS = [
  { name: 'Tenant', of: ({ tenant }) => tenant, order: ({ tenant }) => tenant },
  {
    name: 'Requests',
    figure: true,
    of: tenant => rate(tenant.requests_per_s),
    order: tenant => tenant.requests_per_s,
  },
  { name: 'In flight', figure: true, of: tenant => count(tenant.in_flight), order: tenant => tenant.in_flight },
  { name: 'Refused', figure: true, of: ({ refused }) => count(refused), order: ({ refused }) => refused },
  {
    name: 'Prompt',
    title: 'Prompt tokens',
    figure: true,
    of: tenant => short(tenant.prompt_tokens),
    order: tenant => tenant.prompt_tokens,
  },
  { name: 'From cache', figure: true, of: tenant => percent(cached(tenant)), order: cached },
  {
    name: 'Output',
    title: 'Output tokens',
    figure: true,
    of: tenant => short(tenant.output_tokens),
    order: tenant => tenant.output_tokens,
  },
  {
    name: 'First token',
    figure: true,
    of: tenant => millis(tenant.ttft_ms),
    order: tenant => tenant.ttft_ms,
    title: 'Mean time to the first token',
  },
  {
    name: 'Limits',
    text: true,
    of: ({ limits }) =>
      html`<ul class="limits">${Object.values(limits ?? {}).map(
        ({ limit, used, of: most }) => html`
      <li>${limit}: ${short(used)} of ${short(most)} <${Bar} share=${used / most} kind=${used / most > 0.9 ? 'bad' : ''}
          /></li>`,
      )}</ul>`,
  },
];

function cached(tenant) {
  return tenant.prompt_tokens > 0 ? tenant.cached_tokens / tenant.prompt_tokens : null;
}
