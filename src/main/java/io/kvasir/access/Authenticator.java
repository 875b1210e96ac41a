package io.kvasir.access;

import io.kvasir.http.Headers;

/** The check of a request's credentials. Thread-safe, and never waits. */
@FunctionalInterface
public interface Authenticator {
  /** The caller that a request's headers identify, or why they do not. */
  Authentication authenticate(Headers headers);
}
