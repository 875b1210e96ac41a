// Which page is open: #/page/id?name=value. Everything that a link should carry is in there.
import { store } from './store.js';

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [page, ...rest] = path.split('/').map(decoded);
  return { page: page || 'overview', id: rest.join('/'), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** A link that somebody cut within an escape leads to what is left of it. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = store(read());

window.addEventListener('hashchange', () => route.set(read()));

/** The link to a page. */
export function link(page, id = '', query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : '';
  return `#/${page}${id ? `/${encodeURIComponent(id)}` : ''}${search}`;
}

/** Changes what the open page shows, without a step in the history. */
export function amend(changes) {
  const { page, id, query } = route.get();
  history.replaceState(null, '', link(page, id, { ...query, ...changes }));
  route.set(read());
}
