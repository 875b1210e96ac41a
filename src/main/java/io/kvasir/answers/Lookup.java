package io.kvasir.answers;

import io.kvasir.http.ApiPath;

/** The result of looking a request up in the cache. */
public sealed interface Lookup {
  /**
   * It has the answer.
   *
   * @param ageSeconds since it was kept
   */
  record Hit(StoredAnswer answer, long ageSeconds) implements Lookup {}

  /**
   * It has none, and would keep one.
   *
   * @param api whose answer it is
   * @param key what the request is known by
   * @param flushCount the store's flushes at the look-up: an answer from before a flush is not kept after it
   * @param maxAgeSeconds the oldest answer the client takes
   * @param refresh whether the client insists on a new answer
   */
  record Miss(ApiPath api, AnswerKey key, long flushCount, long maxAgeSeconds, boolean refresh) implements Lookup {}

  /** It has nothing to do with this request. */
  record Bypassed(Bypass reason) implements Lookup {}
}
