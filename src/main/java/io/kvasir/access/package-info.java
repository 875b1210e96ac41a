/**
 * Access: who a request is from, and what its caller may do.
 *
 * <p>{@link io.kvasir.access.Authenticator} turns a request's credentials into a {@link io.kvasir.access.Caller}, or
 * refuses them; {@link io.kvasir.access.AccessControl} does it with the {@link io.kvasir.access.KeyRing} of the moment.
 * A caller comes from an {@link io.kvasir.access.ApiKey}, of which only a {@linkplain io.kvasir.access.KeyDigest
 * digest} is known, and has the key's {@link io.kvasir.access.Grants} and {@link io.kvasir.access.Limits}; or from a
 * token that a {@link io.kvasir.access.TokenVerifier} accepts. A router without keys has one caller, {@link
 * io.kvasir.access.Caller#anonymous}. Nothing here waits: credentials are looked up in memory.
 */
@NullMarked
package io.kvasir.access;

import org.jspecify.annotations.NullMarked;
