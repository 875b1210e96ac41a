/**
 * Access: who a request is from, and what its caller may do.
 *
 * <p>{@link io.kvasir.access.Authenticator} turns a request's credentials into a {@link io.kvasir.access.Caller}, or
 * refuses them. A caller comes from an {@link io.kvasir.access.ApiKey}, of which only a digest is known, and has the
 * key's {@link io.kvasir.access.Grants} and {@link io.kvasir.access.Limits}. A router without keys has one caller,
 * {@link io.kvasir.access.Caller#anonymous}. Nothing here waits: credentials are looked up in memory.
 */
@NullMarked
package io.kvasir.access;

import org.jspecify.annotations.NullMarked;
