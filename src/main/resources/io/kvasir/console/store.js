// A value that components follow: whoever uses it is drawn again when it changes.
import { useEffect, useReducer } from './vendor/preact.js';

export function store(initial) {
  let value = initial;
  const followers = new Set();
  return {
    get: () => value,
    set(next) {
      value = next;
      followers.forEach(follower => follower(value));
    },
    update(changes) {
      this.set({ ...value, ...changes });
    },
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
  };
}

/** The value of a store, in a component. */
export function useStore(followed) {
  const [, redraw] = useReducer(count => count + 1, 0);
  useEffect(() => {
    redraw(); // it may have changed between the first drawing and now
    return followed.follow(redraw);
  }, [followed]);
  return followed.get();
}
