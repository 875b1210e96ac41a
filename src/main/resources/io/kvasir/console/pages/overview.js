// The first page: what is wrong, the vital figures, how they went, and the map of the fleet.
import { html, useMemo, useState } from '../vendor/preact.js';
import { call, session, useAnswer } from '../api.js';
import { Chart } from '../chart.js';
import { WorkerDrawer } from '../drawer.js';
import { count, millis, percent, rate, short } from '../format.js';
import { HeatMap } from '../heatmap.js';
import { useLive } from '../live.js';
import { condition, GROUPS, MEASURES } from '../measures.js';
import { loadColumns, NodeName, nodesOf, qualityColumns } from '../nodes.js';
import { Choice, Empty, Heading, Mark, Missing, Panel, Search, Table } from '../parts.js';
import { amend, link, route } from '../route.js';
import { useStore } from '../store.js';

/** Rows of the table; the map has them all. */
const MOST_ROWS = 200;

export function Overview() {
  const [vitals, workers] = useLive('vitals', 'workers');
  if (!vitals) return html`<${Heading} title="Overview" /><${Missing} />`;
  return html`
    <${Heading} title="Overview"
        about=${`${traffic(vitals)}, over the last ${Math.round(vitals.window_s)} s`} />
    <${Problems} problems=${vitals.problems} several=${nodesOf(vitals).length > 1} />
    <${Vitals} vitals=${vitals} />
    <${Demo} />
    <${Charts} />
    <${Nodes} vitals=${vitals} />
    ${workers && html`<${Fleet} workers=${Object.values(workers.workers)} />`}`;
}

function Problems({ problems, several }) {
  if (problems.length === 0)
    return html`<p class="calm" data-problems="0"><${Mark} kind="good">All well<//> Nothing is missing or
        degraded.</p>`;
  return html`
    <ul class="problems" aria-label="What is wrong" data-problems=${problems.length}>${problems.map(
      ({ severity, what, remedy, nodes = [] }) => html`
      <li class=${severity === 'error' ? 'bad' : 'warn'}>
        <${Mark} kind=${severity === 'error' ? 'bad' : 'warn'}>${severity === 'error' ? 'Error' : 'Warning'}<//>
        <div><strong>${what}</strong>${remedy && html`<p>${remedy}</p>`}
          ${several && nodes.length > 0 && html`<p class="soft">On ${nodes.join(', ')}</p>`}</div>
      </li>`,
    )}
    </ul>`;
}

const Vital = ({ name, value, unit, detail, kind = '', title }) => html`
  <div class=${`vital ${kind}`} title=${title} data-vital=${name}>
    <dt>${name}</dt><dd><b>${value}</b>${unit && html`<span> ${unit}</span>`}</dd>
    ${detail && html`<dd class="detail">${detail}</dd>`}
  </div>`;

/** Errors of more than one request in twenty are bad; a few, and refusals, are worth a look. */
function trouble({ requests_per_s: requests, errors_per_s: errors, refusals_per_s: refusals }) {
  return errors > requests / 20 ? 'bad' : errors > 0 || refusals > 0 ? 'warn' : '';
}

function Vitals({ vitals }) {
  const { nodes, workers, sources = {}, tokens = {}, ttft_ms: ttft } = vitals;
  return html`
    <dl class="vitals">
      <${Vital} name="Requests" value=${rate(vitals.requests_per_s)}
        detail=${`${rate(vitals.errors_per_s)} errors, ${rate(vitals.refusals_per_s)} refused`}
        kind=${trouble(vitals)} />
      <${Vital} name="First token" value=${millis(ttft?.p50)} unit="p50" detail=${`${millis(ttft?.p90)} p90, ${millis(ttft?.p99)} p99`} />
      <${Vital} name="In flight" value=${count(vitals.in_flight)} detail=${`${count(vitals.waiting)} waiting`} />
      <${Vital} name="Tokens from cache" value=${percent(tokens.delivered)}
          detail=${`${percent(tokens.promised)} promised, ${percent(tokens.best)} best`}
        title="Share of prompt tokens: what engines delivered, what the index promised, and the best any worker held" />
      <${Vital} name="Regret" value=${percent(vitals.regret)} detail=${`${rate(tokens.prompt_per_s)} prompt tokens`}
        title="Share of the prefill done that routing could have avoided" kind=${vitals.regret > 0.2 ? 'warn' : ''} />
      <${Vital} name="Workers" value=${`${count(workers.healthy)} / ${count(workers.known)}`}
          detail=${`${count(workers.draining)} draining`}
        kind=${workers.healthy < workers.known ? 'bad' : ''} title="Healthy of all known" />
      <${Vital} name="Nodes" value=${`${count(nodes.up)} / ${count(nodes.known)}`}
          detail=${nodes.counted < nodes.known ? `up, ${count(nodes.counted)} counted` : 'up'}
          kind=${nodes.up < nodes.known ? 'bad' : nodes.counted < nodes.known ? 'warn' : ''}
          title="Up of all known; the figures are of those that are counted" />
      <${Vital} name="Event sources" value=${`${count(sources.live)} / ${count(sources.known)}`}
        detail=${`${count(sources.silent)} silent, ${rate(vitals.events_per_s)}`}
            kind=${sources.silent > 0 ? 'warn' : ''} title="Live of all known" />
    </dl>`;
}

const Charts = () => html`
  <div class="charts">
    <${Chart} title="Requests" format=${rate} series=${[
      { name: 'requests', of: vitals => vitals.requests_per_s },
      { name: 'refused', of: vitals => vitals.refusals_per_s, dash: [4, 3] },
      { name: 'errors', of: vitals => vitals.errors_per_s, dash: [1, 3] },
    ]} />
    <${Chart} title="Time to the first token" format=${millis} series=${[
      { name: 'p50', of: vitals => vitals.ttft_ms?.p50 },
      { name: 'p90', of: vitals => vitals.ttft_ms?.p90, dash: [4, 3] },
      { name: 'p99', of: vitals => vitals.ttft_ms?.p99, dash: [1, 3] },
    ]} />
    <${Chart} title="Prompt tokens from cache" format=${percent} highest=${1} series=${[
      { name: 'delivered', of: vitals => vitals.tokens?.delivered },
      { name: 'promised', of: vitals => vitals.tokens?.promised, dash: [4, 3] },
      { name: 'best', of: vitals => vitals.tokens?.best, dash: [1, 3] },
      { name: 'ever', of: vitals => vitals.tokens?.ever, dash: [8, 3, 1, 3] },
    ]} />
    <${Chart} title="Requests at a time" format=${short} series=${[
      { name: 'in flight', of: vitals => vitals.in_flight },
      { name: 'waiting', of: vitals => vitals.waiting, dash: [4, 3] },
    ]} />
  </div>`;

/** Whose traffic the figures are of. */
function traffic({ node, nodes }) {
  if (nodes.known === 1) return `All traffic, through node ${node}`;
  return nodes.counted === nodes.known
    ? `Traffic of all ${count(nodes.known)} nodes`
    : `Traffic of ${count(nodes.counted)} of ${count(nodes.known)} nodes`;
}

const NODE_COLUMNS = [
  {
    name: 'Node',
    of: node => html`<${NodeName} address=${node.node} node=${node} />`,
    order: ({ node }) => node,
  },
  ...loadColumns(node => node),
  ...qualityColumns(node => node),
];

/** Each node's part of the figures; a single one has them all. */
const Nodes = ({ vitals }) =>
  nodesOf(vitals).length > 1 &&
  html`
  <${Panel} title="By node" about="What each node has of the traffic" wide>
    <${Table} caption="Nodes" columns=${NODE_COLUMNS} rows=${nodesOf(vitals)} keyOf=${({ node }) => node} />
  <//>`;

/** The demo has a traffic generator; nothing is shown elsewhere. */
function Demo() {
  const { role, demo } = useStore(session);
  const { data, reload } = useAnswer(demo ? 'demo' : null);
  const [error, setError] = useState(null);
  if (!data) return null;
  const change = async body => {
    setError(null);
    try {
      await call('demo', { method: 'POST', body });
      reload();
    } catch (refused) {
      setError(refused.message);
    }
  };
  return html`
    <${Panel} title="Demo traffic" about="Conversations that share prompts, sent to this router's own gateway.">
      <div class="demo" data-demo=${data.running ? 'running' : 'stopped'}>
        <${Mark} kind=${data.running ? 'good' : 'plain'}>${data.running ? `running, ${rate(data.rate)}` : 'stopped'}<//>
        ${
          role === 'admin' &&
          html`
          <button class="primary" onClick=${() => change({ running: !data.running, rate: data.rate })}
              data-demo-switch>${data.running ? 'Stop' : 'Start'}</button>
          <${Choice} label="Rate" value=${String(data.rate)} options=${rates(data.rate)}
            onChange=${value => change({ running: data.running, rate: Number(value) })} />`
        }
      </div>
      ${error && html`<p class="fault" role="alert">${error}</p>`}
    <//>`;
}

const rates = current =>
  [...new Set([1, 2, 5, 10, 20, 50, current])].sort((a, b) => a - b).map(each => [String(each), rate(each)]);

function Fleet({ workers }) {
  const { query } = useStore(route);
  const measure = MEASURES.find(each => each.id === query.measure) ?? firstKnown(workers);
  const group = GROUPS.find(each => each.id === query.group) ?? GROUPS[0];
  const matches = useMemo(() => finder(query.search ?? ''), [query.search]);
  const open = workers.find(worker => worker.id === query.worker);
  if (workers.length === 0) {
    return html`<${Panel} title="Fleet"><${Empty} title="There are no workers.">Add one with
      <code> kvasir admin workers add URL</code>, or name pods in the configuration.<//><//>`;
  }
  const choose = worker => amend({ worker: worker.id });
  const actions = html`
    <${Search} label="Worker, model or label" value=${query.search ?? ''} onInput=${search => amend({ search })} />
    <${Choice} label="Show" value=${measure.id} options=${MEASURES.map(({ id, name }) => [id, name])}
        onChange=${id => amend({ measure: id })} />
    <${Choice} label="Group by" value=${group.id} options=${GROUPS.map(({ id, name }) => [id, name])}
        onChange=${id => amend({ group: id })} />
    <${Choice} label="As" value=${query.as ?? 'map'} options=${[
      ['map', 'map'],
      ['table', 'table'],
    ]} onChange=${as => amend({ as })} />`;
  return html`
    <${Panel} title="Fleet" actions=${actions} wide>
      ${
        query.as === 'table'
          ? html`<${FleetTable} workers=${workers.filter(matches)} onOpen=${choose} />`
          : html`<${HeatMap} workers=${workers} measure=${measure} group=${group} chosen=${open?.id} matches=${matches}
              onChoose=${choose} />`
      }
    <//>
    ${open && html`<${WorkerDrawer} worker=${open} onClose=${() => amend({ worker: '' })} />`}`;
}

/** The first measure of which anything is known: not every engine tells how much it can hold. */
const firstKnown = workers =>
  MEASURES.find(measure => workers.some(worker => measure.of(worker) != null)) ?? MEASURES[0];

function finder(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return worker => {
    const named = [
      worker.id,
      worker.pod,
      worker.role,
      worker.cell,
      ...worker.models,
      ...Object.values(worker.labels ?? {}),
    ]
      .join(' ')
      .toLowerCase();
    return words.every(word => named.includes(word));
  };
}

const WORKER_COLUMNS = [
  { name: 'Worker', of: worker => worker.id, order: worker => worker.id },
  {
    name: 'State',
    of: worker => html`<${Mark} kind=${condition(worker).kind}>${condition(worker).word}<//>`,
    order: worker => condition(worker).word,
  },
  { name: 'Model', of: worker => worker.models[0], order: worker => worker.models[0] },
  { name: 'Role', of: worker => worker.role, order: worker => worker.role },
  ...MEASURES.map(measure => ({
    name: measure.name,
    figure: true,
    of: worker => measure.format(measure.of(worker)),
    order: measure.of,
  })),
];

const FleetTable = ({ workers, onOpen }) => html`
  <${Table} caption="Workers" columns=${WORKER_COLUMNS} rows=${workers} keyOf=${worker => worker.id}
      onOpen=${onOpen} most=${MOST_ROWS} />
  ${workers.length > MOST_ROWS && html`<p class="note">The first ${MOST_ROWS} of ${count(workers.length)}: search for
      others, or look at the map. <a href=${link('overview')}>Map</a></p>`}`;
