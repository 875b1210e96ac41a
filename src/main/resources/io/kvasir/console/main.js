// The console: what surrounds its pages, the login, and the keyboard.
import { html, render, useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from './vendor/preact.js';
import { enter, leave, session } from './api.js';
import { clock } from './format.js';
import { live, reconnect } from './live.js';
import { Empty } from './parts.js';
import { Cluster } from './pages/cluster.js';
import { Decisions } from './pages/decisions.js';
import { Explain } from './pages/explain.js';
import { Log } from './pages/log.js';
import { Overview } from './pages/overview.js';
import { Prefixes } from './pages/prefixes.js';
import { Profiles } from './pages/profiles.js';
import { Sources } from './pages/sources.js';
import { Tenants } from './pages/tenants.js';
import { link, route } from './route.js';
import { useStore } from './store.js';
import { theme, turn } from './theme.js';

/** Their names in links and in words, and what they ask for where not every router has it. */
const PAGES = [
  ['overview', 'Overview', Overview],
  ['decisions', 'Decisions', Decisions],
  ['explain', 'Explain', Explain],
  ['prefixes', 'Prefixes', Prefixes, '/admin/prefixes'],
  ['sources', 'Event sources', Sources, '/admin/sources'],
  ['cluster', 'Cluster', Cluster],
  ['tenants', 'Tenants', Tenants, '/admin/tenants'],
  ['profiles', 'Profiles', Profiles],
  ['log', 'Log', Log, '/admin/log'],
];

const KEYS = [
  ['/', 'search or filter on this page'],
  ['1 … 9', 'the pages, from the top'],
  ['← ↑ → ↓', 'from worker to worker in the map, from run to run among the prefixes'],
  ['Enter', 'open what is chosen'],
  ['Esc', 'close what is open'],
  ['t', 'light or dark'],
  ['?', 'this list'],
];

function App() {
  const { state } = useStore(session);
  useEffect(() => {
    enter();
  }, []);
  if (state === 'open') return html`<${Frame} />`;
  return html`<main class="door">${state === 'asking' ? html`<p
      aria-busy="true">Asking the router …</p>` : html`<${Login} />`}</main>`;
}

function Login() {
  const { state, message } = useStore(session);
  const field = useRef(null);
  useEffect(() => field.current?.focus(), []);
  const submit = event => {
    event.preventDefault();
    enter(field.current.value.trim());
  };
  if (state === 'failed') {
    return html`<${Empty} title="The router does not let anybody in.">${message}<//>
      <button onClick=${() => enter()}>Try again</button>`;
  }
  return html`
    <form onSubmit=${submit}>
      <h1>Kvasir console</h1>
      <label for="key">Admin key</label>
      <input id="key" type="password" ref=${field} autocomplete="off" required />
      <p>One of <code>kvasir.management.admin-keys</code>, or of the file <code>admin-key-file</code>. A viewer's key
          shows
        everything and changes nothing. It is kept until this tab is closed.</p>
      ${message && html`<p class="fault" role="alert">${message}</p>`}
      <button class="primary">Sign in</button>
    </form>`;
}

function Frame() {
  const { page } = useStore(route);
  const { calls } = useStore(session);
  const pages = PAGES.filter(([, , , call]) => !call || calls.has(call));
  const [help, setHelp] = useState(false);
  const main = useRef(null);
  const [, name, Page] = pages.find(([id]) => id === page) ?? [];
  useEffect(() => {
    document.title = `${name ?? 'Not found'} · Kvasir`;
  }, [name]);
  useEffect(() => {
    // On a narrow screen the pages are a line that scrolls.
    const current = document.querySelector('nav [aria-current]');
    if (current) current.parentElement.scrollLeft = current.offsetLeft - current.parentElement.clientWidth / 2;
  }, [page]);
  useKeys(pages, { '?': () => setHelp(true), t: turn });
  const skip = event => {
    event.preventDefault();
    main.current.focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <aside>
      <a class="brand" href=${link('overview')}>Kvasir</a>
      <nav aria-label="Pages">${pages.map(
        ([id, title]) => html`
        <a href=${link(id)} aria-current=${id === page ? 'page' : undefined}>${title}</a>`,
      )}
      </nav>
      <${Status} onHelp=${() => setHelp(true)} />
    </aside>
    <main id="main" tabindex="-1" ref=${main} data-page=${page}>
      ${
        Page
          ? html`<${Guard} key=${page}><${Page} /><//>`
          : html`<${Empty} title="There is no such page.">Choose one on the left.<//>`
      }
    </main>
    ${help && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

/** A page that cannot be drawn does not take the others with it. */
function Guard({ children }) {
  const [error] = useErrorBoundary(failed => console.error(failed));
  return error
    ? html`<${Empty} title="This page cannot be drawn.">${error.message}. Reload it; if it stays so, its figures are
        also in /admin.<//>`
    : children;
}

function Status({ onHelp }) {
  const { principal, role } = useStore(session);
  const { topics } = useStore(live);
  const chosen = useStore(theme);
  const vitals = topics.vitals;
  return html`
    <div class="status">
      <${Liveness} />
      ${vitals && html`<p class="node" title="The node that answers, and its version">${vitals.node}<br
          />${vitals.version}</p>`}
      <p class="who" title="Whose key this is">${principal} <span>${role === 'viewer' ? 'read only' : role}</span></p>
      <div class="actions">
        <button onClick=${turn} aria-label=${`Colours: ${chosen}. Change`} title="Light or dark (t)">${chosen}</button>
        <button onClick=${onHelp} aria-label="Keyboard" title="Keyboard (?)">?</button>
        <button onClick=${leave}>Sign out</button>
      </div>
    </div>`;
}

function Liveness() {
  const { state, why, since } = useStore(live);
  if (state === 'lost') {
    return html`<div class="liveness lost" role="status">
      <strong>${since ? `Not live since ${clock(since)}` : 'Not live'}</strong> <small>${why}</small>
      <button onClick=${reconnect}>Try now</button></div>`;
  }
  return html`<div class=${`liveness ${state}`} role="status"><span>${state === 'live' ? 'Live'
      : 'Connecting …'}</span></div>`;
}

function Help({ onClose }) {
  const dialog = useRef(null);
  // Before it is painted: a key that is pressed as soon as it is seen is for it.
  useLayoutEffect(() => dialog.current.showModal(), []);
  return html`
    <dialog ref=${dialog} onClose=${onClose} aria-label="Keyboard">
      <h2>Keyboard</h2>
      <dl class="keys">${KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
      <div class="actions"><button class="primary" onClick=${() => dialog.current.close()}>Close</button></div>
    </dialog>`;
}

/** Keys that act wherever the focus is, but not while something is typed. */
function useKeys(pages, actions) {
  useEffect(() => {
    const press = event => {
      const typing = event.target.closest('input, textarea, select, dialog');
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const page = pages[Number(event.key) - 1];
      const search = document.querySelector('[data-search]');
      if (event.key === '/' && search) {
        search.focus();
        event.preventDefault();
      } else if (page) {
        location.hash = link(page[0]);
      } else {
        actions[event.key]?.();
      }
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  });
}

render(html`<${App} />`, document.getElementById('app'));
