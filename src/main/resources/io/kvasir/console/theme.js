// Light, dark, or as the system has it. The choice is kept in this browser.
import { store } from './store.js';

const KEY = 'kvasir-theme';
const THEMES = ['system', 'light', 'dark'];

const chosen = localStorage.getItem(KEY);

export const theme = store(THEMES.includes(chosen) ? chosen : 'system');

function apply(name) {
  document.documentElement.dataset.theme = name;
}

/** Goes on to the next choice. */
export function turn() {
  const next = THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length];
  localStorage.setItem(KEY, next);
  apply(next);
  theme.set(next);
}

/** A colour of the style sheet, as a canvas takes it. */
export function colour(name) {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

apply(theme.get());
