/**
 * Keys that the admin API creates and changes: replicated to every node, and kept in a file of each. {@link
 * io.kvasir.access.store.KeyStore} takes changes; what has changed of a key is a {@link
 * io.kvasir.access.store.KeyChange}, and two of them merge into the same one in whatever order they arrive.
 */
@NullMarked
package io.kvasir.access.store;

import org.jspecify.annotations.NullMarked;
