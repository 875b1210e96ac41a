package io.kvasir.answers;

import io.kvasir.http.ApiPath;

/** What the cache says to a request. */
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
   * @param flushCount the store's flushes when it was asked: an answer from before a flush is not kept after it
   * @param maxAgeSeconds the oldest answer the client takes
   * @param refresh whether the client insists on a new answer
   */
  record Miss(ApiPath api, AnswerKey key, long flushCount, long maxAgeSeconds, boolean refresh) implements Lookup {}

  /** It has nothing to do with this request. */
  record Bypassed(Bypass reason) implements Lookup {}
}
