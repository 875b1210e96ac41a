package io.kvasir.routing;

/**
 * The properties of a request that decide how many workers can share it.
 *
 * @param divisible whether prefill and decode may run on two workers: the request generates one answer to one prompt
 * @param mediaItems images, audio and videos in the prompt, which an encode worker could process
 */
public record RequestShape(boolean divisible, int mediaItems) {
  /** A text prompt with one answer. */
  public static final RequestShape TEXT = new RequestShape(true, 0);

  /** A request that one worker has to serve alone: embeddings, several prompts at once. */
  public static final RequestShape INDIVISIBLE = new RequestShape(false, 0);
}
