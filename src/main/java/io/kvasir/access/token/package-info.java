/** Tokens of identity providers (JSON Web Tokens), checked with the provider's public keys. */
@NullMarked
package io.kvasir.access.token;

import org.jspecify.annotations.NullMarked;
