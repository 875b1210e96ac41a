// The routing profiles: who is routed by which, how they do side by side, and where each differs from the defaults.
import { html, useState } from '../vendor/preact.js';
import { call, session, useAnswer } from '../api.js';
import { count, millis, moment, percent } from '../format.js';
import { useLive } from '../live.js';
import { Confirm, Empty, Facts, Heading, Mark, Missing, Panel, Table } from '../parts.js';
import { link, route } from '../route.js';
import { useStore } from '../store.js';

export function Profiles() {
  useLive('vitals');
  const { id } = useStore(route);
  const { role } = useStore(session);
  const { data, error, reload } = useAnswer('profiles');
  const [asking, setAsking] = useState(false);
  if (!data) return html`<${Heading} title="Profiles" /><${Missing} error=${error} />`;
  const open = data.profiles.find(({ name }) => name === (id || data.choice.standard)) ?? data.profiles[0];
  const act = () => call('profiles/reload', { method: 'POST' }).then(reload);
  return html`
    <${Heading} title="Profiles" about=${data.loaded_at ? `Loaded ${moment(data.loaded_at)}` : 'As they were compiled'}>
      <button onClick=${reload}>Refresh</button>
      ${role === 'admin' && html`<button onClick=${() => setAsking(true)}>Reload from the files</button>`}
    <//>
    <${Panel} title="Side by side" wide>
      <${Table} caption="Profiles" columns=${known(columns(data.choice), data.profiles)} rows=${usedFirst(data)} keyOf=${({ name }) => name}
        classOf=${({ name }) => (name === open.name ? 'picked' : '')} />
    <//>
    <${Profile} profile=${open} />
    ${
      asking &&
      html`<${Confirm} title="Reload the profiles?" verb="Reload" act=${act} onClose=${() => setAsking(false)}>
      Every node reads its files again. If anything in them is wrong, nothing changes, and every fault is told.<//>`
    }`;
}

/** The columns without the figures that the router tells of no profile. */
const known = (all, profiles) => all.filter(({ figure, order }) => !figure || profiles.some(each => order(each) != null));

/** Whom a profile routes. */
function users(choice, name) {
  const of = (kind, names) =>
    Object.entries(names)
      .filter(([, profile]) => profile === name)
      .map(([user]) => `${kind} ${user}`);
  return [
    ...(choice.standard === name ? ['everybody else'] : []),
    ...of('model', choice.models),
    ...of('tenant', choice.tenants),
  ].join(', ');
}

/** Those that route anybody or anything, then the others. */
function usedFirst({ choice, profiles }) {
  const rank = ({ name, figures }) => (users(choice, name) ? 0 : figures?.requests > 0 ? 1 : 2);
  return [...profiles].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en'));
}

const columns = choice => [
  {
    name: 'Profile',
    of: ({ name }) => html`<a href=${link('profiles', name)}>${name}</a>`,
    order: ({ name }) => name,
  },
  {
    name: 'Routes',
    text: true,
    of: ({ name }) => users(choice, name) || html`<span class="soft">nobody by itself</span>`,
  },
  {
    name: 'Requests',
    figure: true,
    of: ({ figures }) => count(figures?.requests),
    order: ({ figures }) => figures?.requests,
  },
  {
    name: 'Tokens from cache',
    figure: true,
    of: ({ figures }) => percent(figures?.hit_rate),
    order: ({ figures }) => figures?.hit_rate,
  },
  {
    name: 'First token p50',
    figure: true,
    of: ({ figures }) => millis(figures?.ttft_ms?.p50),
    order: ({ figures }) => figures?.ttft_ms?.p50,
  },
  {
    name: 'p90',
    figure: true,
    of: ({ figures }) => millis(figures?.ttft_ms?.p90),
    order: ({ figures }) => figures?.ttft_ms?.p90,
  },
  {
    name: 'Regret',
    figure: true,
    of: ({ figures }) => percent(figures?.regret),
    order: ({ figures }) => figures?.regret,
  },
  {
    name: 'Differences',
    figure: true,
    title: 'Settings that differ from the defaults',
    of: ({ differences }) => count(differences?.length),
    order: ({ differences }) => differences?.length,
  },
];

const Profile = ({ profile }) => html`
  <${Panel} title=${profile.name} about=${profile.description} wide>
    ${profile.differences && html`<${Differences} differences=${profile.differences} />`}
    ${
      profile.steps
        ? Object.entries(profile.steps).map(
            ([step, decider]) => html`<h3>Step ${step}</h3><${Stages} profile=${decider} />`,
          )
        : html`<${Stages} profile=${profile} />`
    }
  <//>`;

const Differences = ({ differences }) =>
  differences.length === 0
    ? html`<p class="note">Everything in it is as the defaults have it.</p>`
    : html`<h3>Differs from the defaults</h3>
    <${Table} caption="Differences" columns=${DIFFERENCE_COLUMNS} rows=${differences} keyOf=${({ setting }) => setting}
        />`;

const text = value =>
  value === null || value === undefined ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value);

const DIFFERENCE_COLUMNS = [
  { name: 'Setting', text: true, of: ({ setting }) => html`<code>${setting}</code>` },
  { name: 'Default', text: true, of: difference => html`<del>${text(difference.default)}</del>` },
  { name: 'Here', text: true, of: ({ value }) => html`<ins>${text(value)}</ins>` },
];

function Stages({ profile }) {
  const plugins = Object.entries(profile.stages ?? {}).flatMap(([stage, parts]) =>
    parts.map(part => ({ stage, ...part })),
  );
  if (plugins.length === 0) return html`<${Empty} title="It has no plugins.">Another profile decides for it.<//>`;
  return html`
    <h3>Plugins, by stage</h3>
    <${Table} caption="Plugins" columns=${PLUGIN_COLUMNS} rows=${plugins}
        keyOf=${plugin => `${plugin.stage} ${plugin.plugin} ${plugin.from}`} />
    ${profile.otherwise && html`<p class="note">Where nobody is left, <a
        href=${link('profiles', profile.otherwise)}>${profile.otherwise}</a> decides.</p>`}`;
}

const PLUGIN_COLUMNS = [
  { name: 'Stage', of: ({ stage }) => html`<${Mark}>${stage}<//>` },
  { name: 'Plugin', of: ({ plugin }) => plugin },
  { name: 'Weight', figure: true, of: ({ weight }) => (weight === undefined ? '' : String(weight)) },
  {
    name: 'Parameters',
    text: true,
    of: ({ parameters }) =>
      html`<${Facts} entries=${Object.entries(parameters ?? {}).map(([name, value]) => [name, text(value)])} />`,
  },
  { name: 'Set in', of: ({ from }) => html`<span class="soft">${from}</span>` },
];
