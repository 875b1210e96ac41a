// What each node has of the cluster's traffic, as columns of tables.
import { html } from './vendor/preact.js';
import { count, millis, percent, rate, UNKNOWN } from './format.js';
import { Bar, Mark } from './parts.js';

/** The nodes of vitals: those that do not answer have no figures. */
export const nodesOf = vitals => Object.values(vitals?.by_node ?? {});

/** Columns of load; of gives what vitals have of a row's node, undefined where that is not known. */
export const loadColumns = of => [
  figure('Requests', rate, node => node?.requests_per_s, of),
  {
    name: 'Share',
    figure: true,
    of: row =>
      of(row)?.share == null ? UNKNOWN : html`${percent(of(row).share)} <${Bar} share=${of(row).share} />`,
    order: row => of(row)?.share,
    title: 'Of all requests',
  },
  figure('In flight', count, node => node?.in_flight, of),
];

/** Columns of how requests fare there. */
export const qualityColumns = of => [
  figure('Errors', rate, node => node?.errors_per_s, of),
  figure('Refused', rate, node => node?.refusals_per_s, of),
  {
    name: 'First token',
    figure: true,
    of: row =>
      of(row)?.ttft_ms?.p50 == null ? UNKNOWN : `${millis(of(row).ttft_ms.p50)}, ${millis(of(row).ttft_ms.p99)}`,
    order: row => of(row)?.ttft_ms?.p99,
    title: 'p50 and p99',
  },
  figure('Tokens', rate, node => node?.tokens?.prompt_per_s, of),
  figure('From cache', percent, node => node?.tokens?.delivered, of),
];

/** A node's address, marked where its figures are missing in the sums. */
export const NodeName = ({ address, node, here }) => html`
  ${address}${here && html` <${Mark}>answers here<//>`}
  ${node && !node.answers && html` <${Mark} kind="bad" title="The sums are without it">no figures<//>`}`;

function figure(name, format, value, of) {
  return { name, figure: true, of: row => format(value(of(row))), order: row => value(of(row)) };
}
