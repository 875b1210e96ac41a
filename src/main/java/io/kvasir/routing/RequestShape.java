package io.kvasir.routing;

/**
 * The properties of a request that decide how many workers can share it.
 *
 * @param divisible whether prefill and decode may run on two workers: the request generates one answer to one prompt
 * @param mediaItems images, audio and videos in the prompt, which an encode worker could process
 * @param severalPrompts whether it is a batch of prompts: its chain is the first one's, and engines tell what was
 *     cached of one of them, so that nothing of it is promised and its answer proves nothing
 * @param anyRank whether an engine with several ranks chooses one by itself, whatever the request's header says, as
 *     vLLM does for {@code /v1/responses}: what the index knows of a rank then promises nothing
 * @param salted whether the prompt is under a cache salt, of which not every engine's events tell
 */
public record RequestShape(
    boolean divisible, int mediaItems, boolean severalPrompts, boolean anyRank, boolean salted) {
  /** A text prompt with one answer. */
  public static final RequestShape TEXT = new RequestShape(true, 0, false, false, false);

  /** A request that one worker has to serve alone, such as one for embeddings. */
  public static final RequestShape INDIVISIBLE = new RequestShape(false, 0, false, false, false);

  /** Several prompts at once, which one worker has to serve. */
  public static final RequestShape BATCH = new RequestShape(false, 0, true, false, false);

  /** The same for a request that one worker has to serve alone. */
  public RequestShape indivisible() {
    return new RequestShape(false, mediaItems, severalPrompts, anyRank, salted);
  }

  /** The same for a request with a cache salt. */
  public RequestShape underSalt() {
    return new RequestShape(divisible, mediaItems, severalPrompts, anyRank, true);
  }

  /** Whether it is unknown which rank will compute it when a worker is chosen. */
  public boolean hidesRank(Worker worker) {
    return anyRank && worker.ranks() > 1;
  }
}
