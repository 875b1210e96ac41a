// JSON merge patches (RFC 7396).

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a patch makes of a value. Neither is changed, and parts that the patch does not name are the same objects. */
export function merged(value, patch) {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(value) ? Object.entries(value) : []);
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) result.delete(name);
    else result.set(name, merged(result.get(name), part));
  }
  return Object.fromEntries(result);
}
