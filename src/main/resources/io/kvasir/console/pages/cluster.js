// Nodes and cells: who is at home where, whose copies are how far behind, who is cut off, and what has moved.
import { html, useEffect } from '../vendor/preact.js';
import { useAnswer } from '../api.js';
import { count, millis, moment, percent, short, UNKNOWN } from '../format.js';
import { useLive } from '../live.js';
import { loadColumns, NodeName } from '../nodes.js';
import { Bar, Empty, Heading, Mark, Missing, Panel, Table } from '../parts.js';

const SHOWN_MOVES = 50;

export function Cluster() {
  const [vitals, state] = useLive('vitals', 'cluster');
  const nodes = state && Object.values(state.nodes);
  const cells = state && Object.values(state.cells);
  if (!state) return html`<${Heading} title="Cluster" /><${Missing} />`;
  return html`
    <${Heading} title="Cluster" about="As this node sees it" />
    <${Panel} title="Nodes"><${Table} caption="Nodes" columns=${nodeColumns(vitals)} rows=${nodes}
        keyOf=${node => node.address} /><//>
    <${Panel} title="Cells" about="Where each cell is at home, and which nodes keep a copy of its state" wide>
      ${
        cells.length === 0
          ? html`<${Empty} title="There are no cells.">A cell comes with the first worker of a model.<//>`
          : html`<${Table} caption="Nodes and cells" columns=${cellColumns(nodes)} rows=${cells}
              keyOf=${cell => cell.name} />`
      }
    <//>
    <${Panel} title="Moves" about="From one home to another, since the node that answers has been up" wide>
      <${Moves} cells=${cells} />
    <//>`;
}

/** The last moves, as the node that answers has seen them; asked for again when a cell has another home. */
function Moves({ cells }) {
  const { data, error, reload } = useAnswer(`log?kind=move&limit=${SHOWN_MOVES}`);
  const homes = cells.map(({ name, home }) => `${name} ${home}`).join();
  useEffect(reload, [homes]);
  const moves = data?.log;
  if (!moves) return html`<${Missing} error=${error} />`;
  if (moves.length === 0) return html`<p class="note">No cell has moved.</p>`;
  return html`
    <${Table} caption="Moves" columns=${MOVE_COLUMNS} rows=${moves} stacked
        keyOf=${({ time, cell }) => `${time} ${cell}`} />`;
}

const MOVE_COLUMNS = [
  { name: 'When', of: ({ time }) => moment(time), order: ({ time }) => time },
  { name: 'Cell', of: ({ cell }) => cell, order: ({ cell }) => cell },
  { name: 'From', of: ({ from }) => from, order: ({ from }) => from },
  { name: 'To', of: ({ to }) => to, order: ({ to }) => to },
  { name: 'Why', text: true, of: ({ why }) => why },
];

function nodeState(node) {
  if (node.cut_off) return { kind: 'bad', word: 'cut off' };
  if (!node.reachable) return { kind: 'bad', word: 'not reachable' };
  return { kind: node.state === 'up' ? 'good' : 'warn', word: node.state };
}

const nodeColumns = vitals => [
  {
    name: 'Node',
    of: node => html`<${NodeName} address=${node.address} node=${vitals?.by_node?.[node.address]} here=${node.self} />`,
    order: node => node.address,
  },
  {
    name: 'State',
    of: node => html`<${Mark} kind=${nodeState(node).kind}>${nodeState(node).word}<//>`,
    order: node => nodeState(node).word,
  },
  { name: 'Version', of: node => node.version || UNKNOWN, order: node => node.version },
  {
    name: 'Up for',
    figure: true,
    of: node => millis(node.uptime_s === undefined ? null : 1000 * node.uptime_s),
    order: node => node.uptime_s,
  },
  ...loadColumns(node => vitals?.by_node?.[node.address]),
];

const cellColumns = nodes => [
  { name: 'Cell', of: cell => cell.name, order: cell => cell.name },
  {
    name: 'Workers',
    figure: true,
    of: cell => `${count(cell.healthy)} / ${count(cell.workers)}`,
    order: cell => cell.workers,
    title: 'Healthy of all',
  },
  {
    name: 'Pressure',
    figure: true,
    of: cell =>
      html`${percent(cell.pressure)} <${Bar} share=${cell.pressure} kind=${cell.pressure > 0.9 ? 'bad' : ''} />`,
    order: cell => cell.pressure,
  },
  { name: 'In flight', figure: true, of: cell => count(cell.in_flight), order: cell => cell.in_flight },
  { name: 'Waiting', figure: true, of: cell => html`<${Line} cell=${cell} />`, order: inLine },
  { name: 'Blocks', figure: true, of: cell => short(cell.blocks), order: cell => cell.blocks },
  ...nodes.map(node => ({ name: node.address, of: cell => html`<${Place} cell=${cell} node=${node.address} />` })),
];

/** Requests that wait at a cell's home, of all classes. */
function inLine({ waiting }) {
  return Object.values(waiting ?? {}).reduce((sum, { requests }) => sum + requests, 0);
}

/** The same with what is known of them. */
function Line({ cell }) {
  const classes = Object.values(cell.waiting ?? {}).filter(({ requests }) => requests > 0);
  const words = classes.map(each => `${each.class}: ${count(each.requests)}, the first for ${millis(each.oldest_ms)}`);
  const { programs } = cell;
  if (programs) words.push(`programs: ${count(programs.live)} live, ${count(programs.waiting)} wait for room`);
  return html`<span title=${words.join('\n')}>${count(inLine(cell))}</span>`;
}

/** What a node is to a cell. */
function Place({ cell, node }) {
  if (cell.home === node) return html`<${Mark} kind="good">home<//>`;
  const standby = Object.values(cell.standbys ?? {}).find(each => each.node === node);
  if (!standby) return html`<span class="soft">${UNKNOWN}</span>`;
  const lag = standby.lag_ms === undefined ? '' : `, ${millis(standby.lag_ms)}`;
  return html`<${Mark} kind=${standby.warm ? 'plain' : 'warn'}
      title=${`${count(standby.behind)} changes behind`}>${standby.warm ? 'standby' : 'copying'}${lag}<//>`;
}
